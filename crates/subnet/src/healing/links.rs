//! Links that go out of the graph, and links that come back into it.

use std::collections::BTreeSet;

use fabric::{NodeId, NodeKind, PortId};
use ib::{PortState, Time};

use super::{Raising, Stage};
use crate::event::Event;
use crate::manager::{Phase, SubnetManager};
use crate::request::Request;

impl SubnetManager {
    /// A link is down: takes it out of the graph, and finds other ways for the manager's own packets.
    pub(crate) fn lose_link(&mut self, now: Time, port: PortId) {
        let Some(peer) = self.devices.fabric.peer(port) else { return };
        self.flapped(now, port, peer);
        let devices = &mut self.devices;
        devices.ports[port.index()].port_state = PortState::DOWN;
        devices.ports[peer.index()].port_state = PortState::DOWN;
        let ways = devices.ways_over(port, peer);
        devices.fabric.disconnect(port);
        let ends = [devices.fabric.node_of(port), devices.fabric.node_of(peer)];
        self.healing.changed.extend(ends);
        if let Some(heal) = &mut self.healing.heal {
            heal.lost += 1;
        }
        for end in ends {
            if let Some(looked) = self.healing.looking.get_mut(&end) {
                looked.found = true;
            }
            if !self.devices.fabric.is_switch(end) {
                self.reached[end.index()] = self.devices.fabric.neighbors(end).next().is_some();
            }
        }
        let cut = self.devices.reroute(&ways, &self.reached);
        self.cut_off(&cut);
        let moved: Vec<u32> = ways.iter().filter(|way| !cut.contains(way)).map(|way| way.0).collect();
        self.exchange.hurry(&moved);
    }

    /// A link was down for a moment: it is raised again, unless it flaps.
    pub(super) fn fell(&mut self, now: Time, port: PortId, peer: PortId) {
        if self.devices.ports[port.index()].port_state == PortState::INITIALIZE
            && self.flapped(now, port, peer)
        {
            self.lose_link_for_now(port);
            return;
        }
        // What one end has gone through, so has the other.
        let state = &mut self.devices.ports[peer.index()].port_state;
        *state = (*state).min(PortState::INITIALIZE);
        for end in [port, peer] {
            if !self.healing.raise.contains(&end) {
                self.healing.raise.push(end);
            }
        }
    }

    /// Leaves a link down that is up by itself: nothing is sent over it until its time is up.
    fn lose_link_for_now(&mut self, port: PortId) {
        let Some(peer) = self.devices.fabric.peer(port) else { return };
        let ways = self.devices.ways_over(port, peer);
        self.devices.fabric.disconnect(port);
        let ends = [self.devices.fabric.node_of(port), self.devices.fabric.node_of(peer)];
        self.healing.changed.extend(ends);
        let cut = self.devices.reroute(&ways, &self.reached);
        self.cut_off(&cut);
    }

    /// Notes that a link was lost; says whether it is left down for a while.
    fn flapped(&mut self, now: Time, port: PortId, peer: PortId) -> bool {
        let (one, other) = (self.end_of(port), self.end_of(peer));
        let Some(hold) = self.healing.flapping.lost(now, one, other) else { return false };
        let label = self.devices.fabric.port_label(port.min(peer));
        self.say(Event::HeldDown { port: label, seconds: hold.as_secs_f64() });
        true
    }

    /// Switches that no way leads to any more, with what hangs on them.
    fn cut_off(&mut self, switches: &[NodeId]) {
        // While the fabric is being found, other ways to them may be found yet.
        if self.phase == Phase::Discover {
            self.sweeping.without_way.extend(switches);
            return;
        }
        if switches.is_empty() {
            return;
        }
        let fabric = &self.devices.fabric;
        let mut hosts = 0;
        for &switch in switches {
            self.reached[switch.index()] = false;
            // What it was to be written it may hold or not.
            if self.is_coming_up() || self.exchange.writes_table_of(switch.0) {
                self.doubtful.insert(fabric.guid(switch));
            }
            self.exchange.forget(switch.0);
            for (_, peer) in fabric.neighbors(switch) {
                let node = fabric.node_of(peer);
                if !fabric.is_switch(node) {
                    hosts += usize::from(fabric.kind(node) == NodeKind::ChannelAdapter);
                    let elsewhere =
                        fabric.neighbors(node).any(|(_, other)| self.reached[fabric.node_of(other).index()]);
                    self.reached[node.index()] = elsewhere;
                    if !elsewhere {
                        self.exchange.forget(node.0);
                    }
                }
            }
        }
        let names = switches.iter().map(|&switch| fabric.name(switch).to_owned()).collect();
        self.say(Event::Cut { switches: names, hosts });
    }

    /// Puts links that came back into the graph and their ports into service.
    pub(super) fn begin_raise(&mut self) {
        self.healing.stage = Stage::Raise(Raising::Ask);
        if !self.knows_all_new() {
            return;
        }
        let mut unreached = false;
        for (a, b) in std::mem::take(&mut self.healing.returned) {
            let fabric = &mut self.devices.fabric;
            let end = |fabric: &fabric::Fabric, port| (fabric.node_of(port), fabric.port_number(port));
            let (from, to) = (end(fabric, a), end(fabric, b));
            let info = if self.devices.ports[a.index()].port_state > PortState::DOWN { a } else { b };
            let rate = self.devices.ports[info.index()].link_rate();
            if fabric.connect(from, to, rate).is_err() {
                continue;
            }
            if let Some(heal) = &mut self.healing.heal {
                heal.back += 1;
            }
            for port in [a, b] {
                let node = self.devices.fabric.node_of(port);
                self.healing.changed.insert(node);
                unreached |= !self.reached[node.index()];
                self.healing.raise.push(port);
            }
        }
        let again = if unreached { self.reach_again() } else { Vec::new() };
        self.admit(&again);
        if self.healing.anew.is_some() {
            return;
        }
        self.healing.raise.sort_unstable();
        self.healing.raise.dedup();
        let raise = self.healing.raise.clone();
        let nodes: BTreeSet<NodeId> = raise.iter().map(|&port| self.devices.fabric.node_of(port)).collect();
        for switch in nodes {
            if !self.devices.fabric.is_switch(switch) {
                continue;
            }
            // It may have started afresh meanwhile: then its table is empty.
            self.schedule(switch, Request::Sweep(switch));
        }
        for port in raise {
            let node = self.devices.fabric.node_of(port);
            self.schedule(node, Request::Refresh(port));
            let kind = self.devices.fabric.kind(node);
            if !matches!(kind, NodeKind::Switch | NodeKind::Router) {
                self.schedule(node, Request::GetPartitions(port));
            }
        }
    }

    /// Devices that no way led to, and to which one leads again, with all that hangs on them: switches are asked how they are.
    fn reach_again(&mut self) -> Vec<NodeId> {
        let before = self.reached.clone();
        let fabric = &self.devices.fabric;
        let mut left: Vec<NodeId> = fabric.nodes().filter(|node| before[node.index()]).collect();
        let own = self.devices.own.map(|own| fabric.node_of(own));
        while let Some(node) = left.pop() {
            // Adapters pass nothing on, but for what the manager's own sends.
            if !fabric.is_switch(node) && own != Some(node) {
                continue;
            }
            for (_, peer) in fabric.neighbors(node) {
                let beyond = fabric.node_of(peer);
                if !std::mem::replace(&mut self.reached[beyond.index()], true) {
                    left.push(beyond);
                }
            }
        }
        let again = |node: &NodeId| self.reached[node.index()] && !before[node.index()];
        let nodes: Vec<NodeId> = fabric.nodes().filter(again).collect();
        let switches: Vec<NodeId> = nodes.iter().copied().filter(|&node| fabric.is_switch(node)).collect();
        let cut = self.devices.reroute(&switches, &self.reached);
        self.cut_off(&cut);
        for switch in switches {
            self.healing.changed.insert(switch);
            // All was computed anew while it was away, or it went while it was written: what it holds is of old.
            let has_row = self.tables.as_ref().is_some_and(|tables| tables.top_lid(switch) > 0);
            let is_written = has_row && !self.doubtful.contains(&self.devices.fabric.guid(switch));
            if !is_written && self.devices.switches[switch.index()].linear_fdb_top != ib::Lid::NONE {
                self.healing.unsure.insert(switch);
            }
            self.schedule(switch, Request::Sweep(switch));
        }
        nodes
    }

    /// What ports hold is known: writes what they should hold and takes them to ARMED.
    pub(super) fn arm_raised(&mut self, now: Time) {
        if let Some(cause) = self.healing.anew.take().or_else(|| self.sweeping.take_change()) {
            self.look_anew(now, cause);
            return;
        }
        if self.has_to_restore() {
            self.begin_restore();
            return;
        }
        self.healing.stage = Stage::Raise(Raising::Arm);
        for node in std::mem::take(&mut self.healing.new) {
            if self.devices.fabric.is_switch(node) {
                self.schedule(node, Request::SetPort(self.devices.management_port(node)));
            }
        }
        for port in self.healing.raise.clone() {
            let node = self.devices.fabric.node_of(port);
            let waits = self.devices.ports[port.index()].port_state == PortState::INITIALIZE;
            if self.devices.fabric.peer(port).is_none() || !waits {
                continue;
            }
            if !self.devices.fabric.is_switch(node) {
                self.program_adapter(node);
            }
            self.schedule(node, Request::SetPort(port));
        }
    }

    /// From ARMED to ACTIVE.
    pub(super) fn activate_raised(&mut self) {
        self.healing.stage = Stage::Raise(Raising::Activate);
        for port in self.healing.raise.clone() {
            if self.devices.ports[port.index()].port_state == PortState::ARMED {
                self.schedule(self.devices.fabric.node_of(port), Request::Activate(port));
            }
        }
    }

    /// Ports are in service: the tables may use them. Links that did not come up are left out again.
    pub(super) fn end_raise(&mut self, now: Time) {
        for port in std::mem::take(&mut self.healing.raise) {
            if self.devices.ports[port.index()].port_state != PortState::ACTIVE {
                self.lose_link_for_now(port);
                self.sweeping.look_again();
            }
        }
        if self.healing.changed.is_empty() { self.after_write(now) } else { self.want_repair() }
    }
}
