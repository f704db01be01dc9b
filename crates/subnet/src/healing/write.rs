//! Writes a repair: wave by wave, in each the blocks nearest the change first.

use std::sync::Arc;

use fabric::{NodeId, PortId};
use ib::Time;
use routing::{Patch, PatchEntry};

use super::Stage;
use crate::event::Event;
use crate::manager::{Phase, SubnetManager};
use crate::request::Request;

impl SubnetManager {
    /// Puts each wave's entries in the order of their switches' distance from what has changed.
    pub(super) fn sort_waves(&mut self, changed: &[NodeId]) {
        let rows: usize = self.healing.waves.iter().map(Vec::len).sum();
        if rows < 2 {
            return;
        }
        let (Some(tables), Some(repairer)) = (&self.tables, &self.healing.repairer) else { return };
        let fabric = &self.devices.fabric;
        let starts = changed.iter().flat_map(|&node| {
            let beside = fabric.neighbors(node).map(|(_, peer)| fabric.node_of(peer));
            std::iter::once(node).chain(beside.filter(move |_| !fabric.is_switch(node)))
        });
        let distance = repairer.distances(starts.filter_map(|node| tables.row_index(node)));
        for wave in &mut self.healing.waves {
            wave.sort_by_key(|entry| (distance[entry.row as usize], entry.row, entry.lid));
        }
    }

    /// A wave is written: the next one, unless something has happened meanwhile.
    pub(super) fn next_wave(&mut self, now: Time) {
        if self.is_disturbed() || self.healing.anew.is_some() || !self.healing.changed.is_empty() {
            // What is left of this repair is part of the next one.
            self.healing.undone = true;
            self.healing.waves.clear();
            self.after_write(now);
            return;
        }
        while self.begin_wave() {
            if !self.exchange.is_idle() {
                return;
            }
        }
        if self.raise_tops() || self.let_hosts_ask_again() {
            return;
        }
        if let Some(repairer) = &mut self.healing.repairer {
            repairer.settle();
        }
        self.after_write(now);
    }

    /// Takes a patch to write, wave by wave.
    pub(crate) fn write_in_waves(&mut self, patch: &Patch) {
        self.healing.tops_raised = false;
        self.healing.waves = patch.waves().map(<[PatchEntry]>::to_vec).collect();
    }

    /// Begins the next wave; says whether there was one.
    pub(crate) fn begin_wave(&mut self) -> bool {
        let wave = self.healing.waves.pop_front();
        if let Some(wave) = &wave {
            self.write_wave(wave);
        }
        wave.is_some()
    }

    /// Tells switches that more LIDs have a route than before; says whether there were any.
    fn raise_tops(&mut self) -> bool {
        // Who refuses is not asked again.
        if std::mem::replace(&mut self.healing.tops_raised, true) {
            return false;
        }
        let Some(tables) = &self.tables else { return false };
        let lacks = |node: &NodeId| {
            self.reached[node.index()]
                && tables.top_lid(*node) > self.devices.switches[node.index()].linear_fdb_top.0
        };
        for switch in tables.switches().iter().copied().filter(lacks).collect::<Vec<_>>() {
            self.schedule(switch, Request::SetSwitch(switch));
        }
        !self.exchange.is_idle()
    }

    /// Tells hosts that some of their paths bear other service levels than before; says whether there were any.
    fn let_hosts_ask_again(&mut self) -> bool {
        let switches = std::mem::take(&mut self.healing.ask_again);
        for switch in switches {
            let fabric = &self.devices.fabric;
            if !self.reached[switch.index()] {
                continue;
            }
            let hosts: Vec<PortId> = fabric
                .neighbors(switch)
                .map(|(_, peer)| peer)
                .filter(|&peer| !fabric.is_switch(fabric.node_of(peer)) && self.devices.knows_port(peer))
                .collect();
            for port in hosts {
                self.schedule(self.devices.fabric.node_of(port), Request::SetPort(port));
            }
        }
        !self.exchange.is_idle()
    }

    /// Writes a rebalance while the fabric is in service.
    pub(crate) fn write_rebalance(&mut self, now: Time, patch: &Patch) {
        self.write_in_waves(patch);
        self.begin_heal(now, "paths are spread anew");
        self.healing.rebalancing = Some(patch.entries().len());
        self.healing.stage = Stage::Write;
        self.next_wave(now);
    }

    fn write_wave(&mut self, wave: &[PatchEntry]) {
        let Some(tables) = self.tables.as_mut().map(Arc::make_mut) else { return };
        // Who is cut off holds what it held: it is written when it is back.
        let reached = |entry: &&PatchEntry| self.reached[tables.switches()[entry.row as usize].index()];
        let wave: Vec<PatchEntry> = wave.iter().filter(reached).copied().collect();
        // What the engine itself has chosen is where it belongs.
        let repairs = self.phase == Phase::Up && self.healing.rebalancing.is_none();
        if let Some(repairer) = self.healing.repairer.as_mut().filter(|_| repairs) {
            repairer.displace(tables, &wave);
        }
        for block in Patch::apply(tables, &wave) {
            self.schedule(block.switch, Request::SetTable(block.switch, block.block));
        }
    }

    /// No repair will do: the engine computes all anew over the graph as it is.
    pub(super) fn reroute_all(&mut self, now: Time, why: &str) {
        // The graph is not what is there: devices are new, or one that it has did not answer.
        if !self.healing.new.is_empty() || !self.healing.unsure.is_empty() {
            self.look_anew(now, why.to_owned());
            return;
        }
        self.say(Event::Reroute { cause: why.to_owned() });
        let cause = self.healing.heal.take().map_or_else(String::new, |heal| heal.cause);
        self.healing.restart();
        self.keep_tables();
        self.devices.tables.clear();
        self.sweeping.restart();
        self.route_again(now, cause);
    }
}
