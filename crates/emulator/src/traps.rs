//! Notices to the subnet manager: sent as traps to the LID that it wrote, again and again until repressed.

use std::collections::BTreeMap;

use fabric::{NodeId, PortId};
use ib::{AttributeId, Lid, Mad, Method, Notice, Packet, Time};

use crate::Emulator;
use crate::queue::Event;

/// How often a trap is sent until the node gives up.
const MOST_REPEATS: u32 = 20;

/// Traps that wait for their repress: one a node, trap number and port that the trap is about (0: the whole node).
#[derive(Default)]
pub(crate) struct Traps {
    waiting: BTreeMap<(NodeId, u16, u8), Waiting>,
    sent: u64,
    /// When one was first raised since somebody asked.
    first: Option<Time>,
}

struct Waiting {
    notice: Notice,
    from: PortId,
    tid: u64,
    repeats: u32,
    /// When it is sent next.
    due: Time,
}

impl Emulator {
    /// When a trap was first raised since this was asked before.
    pub fn take_first_trap(&mut self) -> Option<Time> {
        self.traps.first.take()
    }

    /// A port's state has changed: a switch sets its change bit and tells.
    pub(crate) fn raise_state_change(&mut self, port: PortId) {
        let node = self.state.fabric.node_of(port);
        if !self.state.fabric.is_switch(node) || self.state.off[node.index()] {
            return;
        }
        self.state.switches[node.index()].state_change = true;
        let from = self.state.end_port(port);
        let lid = self.state.ports[from.index()].lid;
        self.raise(from, 0, Notice::link_state_change(lid));
    }

    /// A port's capability mask has changed.
    pub(crate) fn raise_local_changes(&mut self, port: PortId) {
        let info = &self.state.ports[port.index()];
        let node_type = self.state.node_type(self.state.fabric.node_of(port));
        let notice = Notice::local_changes(node_type, info.lid, info.capability_mask, 0);
        self.raise(port, 0, notice);
    }

    /// A threshold of a port is reached.
    pub(crate) fn raise_threshold(&mut self, port: PortId, trap: u16) {
        let node = self.state.fabric.node_of(port);
        let from = self.state.end_port(port);
        let lid = self.state.ports[from.index()].lid;
        let number = self.state.fabric.port_number(port);
        self.raise(from, number, Notice::port_threshold(trap, self.state.node_type(node), lid, number));
    }

    /// Tells at once, or, where the last trap of this kind still waits for its repress, when that is due again: an
    /// agent sends no faster than its interval.
    fn raise(&mut self, from: PortId, about: u8, notice: Notice) {
        let node = self.state.fabric.node_of(from);
        self.traps.sent += 1;
        self.traps.first.get_or_insert(self.now);
        let tid = self.traps.sent;
        let key = (node, notice.number, about);
        let due = self.traps.waiting.get(&key).map_or(self.now, |waiting| waiting.due);
        self.traps.waiting.insert(key, Waiting { notice, from, tid, repeats: 0, due });
        if due <= self.now {
            self.trap_due(node);
        }
    }

    /// Sends what a node still has to tell and is due, and comes back to it later.
    pub(crate) fn trap_due(&mut self, node: NodeId) {
        let (now, again) = (self.now, self.now + self.config.trap_interval);
        let off = self.state.off[node.index()];
        let mut packets = Vec::new();
        for (_, waiting) in self.traps.waiting.range_mut((node, 0, 0)..=(node, u16::MAX, u8::MAX)) {
            if waiting.due > now {
                continue;
            }
            waiting.repeats += 1;
            waiting.due = again;
            let manager = self.state.ports[waiting.from.index()].sm_lid;
            // Before a manager has said where it is there is nobody to tell.
            if manager == Lid::NONE || off {
                waiting.repeats = MOST_REPEATS;
                continue;
            }
            let mut mad = Mad::lid_routed(Method::TRAP, AttributeId::NOTICE, 0, waiting.tid, 0);
            mad.put(&waiting.notice);
            packets.push((waiting.from, Packet::to_lid(manager, mad)));
        }
        self.traps.waiting.retain(|&(owner, _, _), waiting| owner != node || waiting.repeats < MOST_REPEATS);
        if !packets.is_empty() {
            self.queue.push(again, Event::Trap(node));
        }
        for (from, packet) in packets {
            self.inject(now, from, &packet);
        }
    }

    /// The manager has heard: the notice that it names is not sent again.
    pub(crate) fn repress(&mut self, node: NodeId, mad: &Mad) {
        let notice: Notice = mad.get();
        let traps = (node, notice.number, 0)..=(node, notice.number, u8::MAX);
        let heard = self.traps.waiting.range(traps).find(|(_, waiting)| waiting.tid == mad.tid());
        if let Some((&key, _)) = heard {
            self.traps.waiting.remove(&key);
        }
    }
}
