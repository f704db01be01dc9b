//! Paths spread anew some time after a change, beside the manager: it goes on looking and healing meanwhile.
//!
//! The manager hands out a [`Task`], a value: the cabling as it is, and what is wanted. Whoever holds the door computes it
//! where it likes, on a thread of its own or at once, and gives the [`Solution`] back. What the manager was told of in
//! between makes it stale: then it is thrown away, and computed anew later. A task does not keep the tables alive that
//! it begins from: where they change meanwhile there is nothing left to compute.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use fabric::Fabric;
use ib::Time;
use routing::{Old, Patch, Repairer, RouteError, Routes, Tables, transition, verify_routes};

use crate::manager::SubnetManager;
use crate::paths::Wanted;

/// How far a rebalance is.
#[derive(Default)]
pub(crate) enum Spreading {
    /// None is wanted.
    #[default]
    Not,
    /// One is to be handed out.
    Due,
    /// One is being computed; told to stop where nobody wants it any more.
    Out(Arc<AtomicBool>),
}

/// What can be computed beside the manager.
pub struct Task {
    fabric: Fabric,
    wanted: Wanted,
    heights: Vec<u32>,
    tables: Weak<Tables>,
    stopped: Arc<AtomicBool>,
}

/// What came of a task.
pub struct Solution {
    better: Option<Better>,
    stopped: Arc<AtomicBool>,
}

/// Better tables than those in service.
struct Better {
    patch: Patch,
    repairer: Option<Repairer>,
    heights: Vec<u32>,
    routing: String,
}

impl Task {
    /// Computes it: seconds on large fabrics.
    pub fn compute(self) -> Solution {
        let better = self.better();
        Solution { better, stopped: self.stopped }
    }

    /// Proven tables whose paths climb by an order that those in service keep to, and how to come to them.
    fn better(&self) -> Option<Better> {
        let (routes, routing) = self.routes().ok()?;
        let heights = routes.heights.clone().filter(|_| routes.lanes.count() == 1)?;
        // Where the order is another one, the tables in service may keep to it all the same.
        let known = if heights == self.heights { Old::InOrder } else { Old::Unknown };
        if self.is_stopped() || !verify_routes(&self.fabric, &routes).is_clean() {
            return None;
        }
        let tables = self.tables.upgrade()?;
        let stop = || self.is_stopped();
        let patch = transition(&self.fabric, &heights, &tables, &routes.tables, known, &stop)?;
        drop(tables);
        Some(Better { patch, repairer: Repairer::new(&self.fabric, &routes), heights, routing })
    }

    fn routes(&self) -> Result<(Routes, String), RouteError> {
        self.wanted.route(&self.fabric)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl SubnetManager {
    /// What the manager would have computed beside it. It goes on meanwhile: give what came of it to
    /// [`SubnetManager::solved`].
    pub fn poll_task(&mut self) -> Option<Task> {
        if !matches!(self.healing.spreading, Spreading::Due) {
            return None;
        }
        self.healing.spreading = Spreading::Not;
        let heights = self.heights.clone()?;
        let tables = Arc::downgrade(self.tables.as_ref()?);
        let fabric = self.devices.fabric.clone();
        if !fabric.switches().all(|node| self.reached[node.index()]) {
            return None;
        }
        let stopped = Arc::new(AtomicBool::new(false));
        self.healing.spreading = Spreading::Out(stopped.clone());
        Some(Task { fabric, wanted: self.wanted_routes(), heights, tables, stopped })
    }

    /// A task is computed.
    pub fn solved(&mut self, now: Time, solution: Solution) {
        let Spreading::Out(asked) = &self.healing.spreading else { return };
        // One that was given up since.
        if !Arc::ptr_eq(asked, &solution.stopped) {
            return;
        }
        self.healing.spreading = Spreading::Not;
        let stale = solution.stopped.load(Ordering::Relaxed);
        if stale || !self.is_quiet() || !self.exchange.is_idle() {
            self.rebalance_later(now);
            return;
        }
        let Some(Better { patch, repairer, heights, routing }) = solution.better else { return };
        self.healing.repairer = repairer;
        self.heights = Some(heights);
        self.routing = Some(routing);
        self.write_rebalance(now, &patch);
        self.advance(now);
    }

    /// A rebalance is due: it is handed out.
    pub(super) fn want_spreading(&mut self) {
        self.healing.rebalance_at = None;
        self.healing.spreading = Spreading::Due;
    }
}

impl Spreading {
    /// Whether none is wanted.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Not)
    }

    /// Something has changed: what is being computed is of no use any more.
    pub fn outdated(&mut self) {
        match self {
            Self::Not => {}
            Self::Due => *self = Self::Not,
            Self::Out(stopped) => stopped.store(true, Ordering::Relaxed),
        }
    }
}
