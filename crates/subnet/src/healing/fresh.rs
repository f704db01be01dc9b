//! Devices that are new, and switches that start afresh: only they are asked and written, not the rest of the fabric.
//!
//! *New*: what is beyond a port that came up and has a GUID that nobody knows. It is asked all that a bring-up asks, and what is
//! beyond it in turn. Then it gets LIDs and, where it is a switch, a row in the tables; a repair finds the ways to it and
//! from it. *Afresh*: a switch whose table was reset gets all of it back before anything is sent over it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fabric::{NodeId, PortId};
use ib::{BLOCK_LIDS, Lid, NodeInfo, SwitchInfo, Time};
use routing::Tables;

use super::Stage;
use crate::event::Event;
use crate::manager::SubnetManager;
use crate::request::Request;

/// More new devices than this at once are looked at as a fabric is.
const MOST_NEW: usize = 1024;

impl SubnetManager {
    /// A device beyond a port that nobody has met: asks all about it. None where it is too far away, or one too many.
    pub(super) fn meet(&mut self, via: PortId, info: &NodeInfo) -> Option<NodeId> {
        let fabric = &self.devices.fabric;
        let route = self.devices.route(fabric.node_of(via)).then(fabric.port_number(via))?;
        if self.healing.new.len() >= MOST_NEW {
            return None;
        }
        let node = self.devices.add(info, route);
        self.reached.resize(self.devices.fabric.node_count(), false);
        self.healing.new.insert(node);
        self.ask_about(node, info.local_port, info);
        Some(node)
    }

    /// A new device may have a manager of its own.
    pub(crate) fn comes_with_a_manager(&mut self, port: PortId) {
        let label = self.devices.place(port);
        self.healing.anew.get_or_insert_with(|| format!("a manager may sit at {label}"));
    }

    /// Whether a link that came back is at the port.
    pub(crate) fn is_returning(&self, port: PortId) -> bool {
        self.healing.returned.iter().any(|&(a, b)| a == port || b == port)
    }

    /// Whether a switch that was in service holds nothing any more.
    pub(crate) fn is_afresh(&self, switch: NodeId, info: SwitchInfo) -> bool {
        info.linear_fdb_top == Lid::NONE && self.devices.switches[switch.index()].linear_fdb_top != Lid::NONE
    }

    /// A switch has started afresh: its table is written before anything is sent over it.
    pub(super) fn starts_afresh(&mut self, switch: NodeId, info: SwitchInfo) {
        self.devices.set_switch(switch, info);
        self.devices.tables.remove(&switch);
        self.forget_mappings(switch);
        if self.has_lanes() {
            let name = self.devices.fabric.name(switch);
            self.healing.anew.get_or_insert_with(|| format!("{name} has started afresh, without its lanes"));
        }
        self.healing.blank.insert(switch);
        self.schedule(switch, Request::Refresh(self.devices.management_port(switch)));
    }

    /// Whether a switch must not forward yet.
    pub(crate) fn is_blank(&self, switch: NodeId) -> bool {
        self.healing.blank.contains(&switch)
    }

    /// A switch did not confirm a block: all of its table is written again, when it answers. Says whether that will do.
    pub(crate) fn is_unsure_of(&mut self, switch: NodeId) -> bool {
        if self.may_heal() {
            self.healing.unsure.insert(switch);
        }
        self.may_heal()
    }

    /// Whether nothing is known of what a switch holds.
    pub(crate) fn holds_who_knows(&self, switch: NodeId) -> bool {
        self.healing.unsure.contains(&switch)
    }

    /// Whether switches that answer are to be written whole.
    pub(super) fn has_to_restore(&self) -> bool {
        let healing = &self.healing;
        healing.blank.iter().chain(&healing.unsure).any(|switch| self.reached[switch.index()])
    }

    /// Writes to switches that started afresh, or of which it is not known what they hold, all that they are to hold.
    pub(super) fn begin_restore(&mut self) {
        self.healing.stage = Stage::Restore;
        let blank = std::mem::take(&mut self.healing.blank);
        self.healing.unsure.extend(blank);
        for switch in self.healing.unsure.clone() {
            // Who is gone again is written when it is back.
            if !self.reached[switch.index()] {
                continue;
            }
            if let Some(heal) = &mut self.healing.heal {
                heal.fresh += 1;
            }
            *self.cursor_of(switch) = 0;
            let guid = self.devices.fabric.guid(switch);
            self.doubtful.remove(&guid);
            self.schedule(switch, Request::ProgramTables(switch));
            self.schedule(switch, Request::SetSwitch(switch));
            self.schedule(switch, Request::SetPort(self.devices.management_port(switch)));
        }
    }

    /// They hold it; who did not confirm it a second time is left to the sweeps.
    pub(super) fn end_restore(&mut self, now: Time) {
        let gone = |switch: &NodeId| !self.reached[switch.index()];
        let (gone, written) = std::mem::take(&mut self.healing.unsure).into_iter().partition(gone);
        self.healing.unsure = gone;
        let written: BTreeSet<NodeId> = written;
        for switch in written {
            let guid = self.devices.fabric.guid(switch);
            if !self.doubtful.contains(&guid) {
                self.mute.remove(&guid);
            }
        }
        if self.healing.raise.is_empty() { self.after_write(now) } else { self.begin_raise() }
    }

    /// Whether new devices have answered all that must be known of them; else all is looked at anew.
    pub(super) fn knows_all_new(&mut self) -> bool {
        let mute = self.healing.new.iter().copied().find(|&node| !self.is_known_whole(node));
        if let Some(mute) = mute {
            let place = self.devices.place(self.devices.management_port(mute));
            self.healing.anew.get_or_insert_with(|| format!("not all is known of the new device {place}"));
        }
        mute.is_none()
    }

    /// Gives LIDs to those that are reached `again` or for the first time, and to ends of links that came back, where they have
    /// none, and takes what is new into the tables and the repairer.
    pub(super) fn admit(&mut self, again: &[NodeId]) {
        if self.give_new_lids(again).is_none() {
            self.healing.anew.get_or_insert_with(|| "there is no LID left for a new device".to_owned());
            return;
        }
        if !self.healing.new.is_empty() {
            self.know_ports_by_guid();
        }
        if let Some(heal) = &mut self.healing.heal {
            heal.fresh += self.healing.new.len();
        }
        let fabric = &self.devices.fabric;
        let (Some(tables), Some(repairer)) = (&mut self.tables, &mut self.healing.repairer) else { return };
        let width = self.healing.owner.len().max(tables.width());
        if width == tables.width() && fabric.switch_count() == tables.switches().len() {
            return;
        }
        if repairer.has_lanes() {
            self.healing.anew.get_or_insert_with(|| "a new device has no lanes yet".to_owned());
            return;
        }
        let to_adapters = |&node: &NodeId| {
            fabric.is_switch(node)
                && fabric.neighbors(node).any(|(_, peer)| !fabric.is_switch(fabric.node_of(peer)))
        };
        let low: Vec<NodeId> = self.healing.new.iter().copied().filter(to_adapters).collect();
        let grown = Tables::from_rows(fabric, width, |node| Some(tables.row(node)));
        self.heights = Some(repairer.grow(fabric, &grown, &low));
        *tables = Arc::new(grown);
    }

    /// Whether a new device has answered all that must be known. A switch that forwards already was another manager's.
    fn is_known_whole(&self, node: NodeId) -> bool {
        let devices = &self.devices;
        let ends = self.healing.returned.iter().flat_map(|&(a, b)| [a, b]);
        let mut cabled = ends.filter(|&port| devices.fabric.node_of(port) == node);
        let is_whole = cabled.all(|port| devices.knows_port(port));
        if !devices.fabric.is_switch(node) {
            return is_whole;
        }
        is_whole
            && devices.knows_switch(node)
            && devices.knows_port(devices.management_port(node))
            && devices.switches[node.index()].linear_fdb_top == Lid::NONE
    }

    /// Gives LIDs to ports that have none, of devices reached `again` and at the ends of links that came back: those on record,
    /// else free ones, near those of their neighbours.
    fn give_new_lids(&mut self, again: &[NodeId]) -> Option<()> {
        let fabric = &self.devices.fabric;
        let raised = self.healing.raise.iter().map(|&port| fabric.node_of(port));
        let nodes: BTreeSet<NodeId> = again.iter().copied().chain(raised).collect();
        let ends = |&node: &NodeId| {
            let own = fabric.is_switch(node).then(|| self.devices.management_port(node));
            let cabled = fabric.neighbors(node).filter(move |_| !fabric.is_switch(node));
            own.map(|port| (port, port)).into_iter().chain(cabled.map(|(port, beside)| (beside, port)))
        };
        // By neighbour, so that what hangs together gets LIDs in a row.
        let mut wanted: Vec<(PortId, PortId)> = nodes.iter().flat_map(ends).collect();
        wanted.retain(|&(_, port)| fabric.lid(port) == Lid::NONE);
        wanted.sort_unstable();
        if wanted.is_empty() {
            return Some(());
        }
        let mut free = FreeLids::new(self);
        let mut given = BTreeMap::new();
        for (beside, port) in wanted {
            let guid = self.devices.fabric.port_guid(port);
            let lid = match self.config.known_lids.get(&guid) {
                Some(&lid) if self.owner_of(lid).is_none() => lid,
                _ => free.next_near(self, beside)?,
            };
            self.devices.fabric.set_lid(port, lid, 0);
            let owner = &mut self.healing.owner;
            owner.resize(owner.len().max(lid.0 as usize + 1), None);
            owner[lid.0 as usize] = Some(port);
            given.insert(guid, lid);
        }
        self.lids_given += given.len();
        let new = given.keys().filter(|guid| !self.config.known_lids.contains_key(guid)).count();
        self.config.known_lids.extend(given);
        self.say(Event::LidsAssigned { lids: self.config.known_lids.clone(), new });
        Some(())
    }
}

/// LIDs that nobody has, nor had.
struct FreeLids {
    /// Those of ports that are away.
    kept: BTreeSet<Lid>,
    most: Lid,
    end: u32,
}

impl FreeLids {
    fn new(manager: &SubnetManager) -> Self {
        let kept: BTreeSet<Lid> = manager.config.known_lids.values().copied().collect();
        let last = kept.last().map_or(0, |lid| lid.0);
        let owned = manager.healing.owner.iter().rposition(Option::is_some).unwrap_or(0) as u32;
        Self { kept, most: manager.config.addressing.unicast_max(), end: last.max(owned) + 1 }
    }

    fn is_free(&self, manager: &SubnetManager, lid: u32) -> bool {
        let lid = Lid(lid);
        lid != Lid::NONE
            && lid != Lid::PERMISSIVE
            && lid <= self.most
            && !self.kept.contains(&lid)
            && manager.owner_of(lid).is_none()
    }

    /// A free LID in a block of a neighbour's adapters, else at the end, else anywhere.
    fn next_near(&mut self, manager: &SubnetManager, beside: PortId) -> Option<Lid> {
        let fabric = &manager.devices.fabric;
        let block = BLOCK_LIDS as u32;
        let beyond = fabric.neighbors(fabric.node_of(beside)).map(|(_, peer)| peer);
        let adapters = beyond.filter(|&peer| !fabric.is_switch(fabric.node_of(peer)));
        let near = adapters.map(|port| fabric.lid(port).0).filter(|&lid| lid > 0).max();
        let in_block = near.map_or(0..0, |lid| lid..(lid / block + 1) * block);
        let mut candidates = in_block.chain(self.end..=self.most.0).chain(1..self.end.min(self.most.0 + 1));
        let lid = candidates.find(|&lid| self.is_free(manager, lid))?;
        self.kept.insert(Lid(lid));
        self.end = self.end.max(lid + 1);
        Some(Lid(lid))
    }
}
