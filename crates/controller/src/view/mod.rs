//! The fabric as readers see it: a picture that changes as a whole, so that nobody who reads holds up the subnet manager.
//!
//! [`Inventory`] is every node and link that was ever there, with what became of it; [`View`] is the newest of it, with
//! the manager's report.

mod inventory;

use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use serde::Serialize;
use subnet::{Phase, Progress, Report};
use tokio::sync::watch;
use utoipa::ToSchema;

pub use inventory::{Change, End, Inventory, Link, LinkIndex, LinkState, Node, NodeIndex};

/// What the subnet manager knows at a moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The cabling that is in use.
    pub fabric: fabric::Fabric,
    /// What the manager has done.
    pub report: Report,
}

/// The heals so far.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct Heals {
    /// How many.
    pub count: u64,
    /// The last one's time in milliseconds, from the first word of it to the last answer.
    pub last_ms: f64,
    /// The longest one's time in milliseconds.
    pub longest_ms: f64,
    /// The times of all together, in seconds.
    pub seconds: f64,
}

/// A picture of the fabric.
#[derive(Clone, Debug)]
pub struct View {
    /// When it was taken.
    pub time: Timestamp,
    /// Nodes and links.
    pub inventory: Arc<Inventory>,
    /// The cabling that is in use; nothing before it is known.
    pub fabric: Option<Arc<fabric::Fabric>>,
    /// What the manager has done.
    pub report: Option<Report>,
    /// How far the bring-up under way is.
    pub progress: Option<Progress>,
    /// The heals so far.
    pub heals: Heals,
}

impl View {
    /// Before anything is known.
    pub fn empty(time: Timestamp) -> Self {
        Self {
            time,
            inventory: Arc::default(),
            fabric: None,
            report: None,
            progress: None,
            heals: Heals::default(),
        }
    }

    /// Where the manager stands.
    pub fn phase(&self) -> Phase {
        match (&self.progress, &self.report) {
            (Some(progress), _) => progress.phase,
            (None, Some(report)) => report.state,
            (None, None) => Phase::Discover,
        }
    }
}

/// The newest picture, for any number of readers.
#[derive(Debug)]
pub struct Newest {
    view: RwLock<Arc<View>>,
    changed: watch::Sender<u64>,
}

impl Newest {
    /// With a first picture.
    pub fn new(view: View) -> Self {
        Self { view: RwLock::new(Arc::new(view)), changed: watch::Sender::new(0) }
    }

    /// The newest picture.
    pub fn get(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a newer one in its place.
    pub fn set(&self, view: View) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        self.changed.send_modify(|number| *number += 1);
    }

    /// Counts pictures, as they change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
