//! Switches that tell of a change while the fabric is being found or written: they are looked at, not the whole fabric.
//!
//! A trap that nobody heard is sent again and again, so a manager that starts in the middle of a failure hears for seconds of
//! what was before it. *While it finds the fabric* it remembers who told, and reads the ports of those once more when all else
//! is known. *While it writes* the graph stands: who told is healed around when the fabric is up; a link that is lost on the
//! way to a device that does not answer is left out of the ways to it at once.

use fabric::{NodeId, PortId};
use ib::{Lid, PhysicalState, PortInfo, PortState, SwitchInfo, Time};

use crate::manager::{Phase, SubnetManager};
use crate::request::Request;

impl SubnetManager {
    /// Whether the fabric is being found or written.
    pub(crate) fn is_coming_up(&self) -> bool {
        !matches!(self.phase, Phase::Up | Phase::Standby | Phase::Refused)
    }

    /// The switch with this LID tells of a change while the fabric is coming up: says whether it will be looked at by itself.
    pub(crate) fn told_meanwhile(&mut self, lid: Lid) -> bool {
        if matches!(self.phase, Phase::Discover | Phase::Route) {
            self.sweeping.told.insert(lid);
            return true;
        }
        let Some(switch) = self.switches_with(|held| held == lid).next() else { return false };
        self.sweeping.told_since.insert(switch);
        true
    }

    /// Switches that hold a LID like this.
    fn switches_with(&self, is_meant: impl Fn(Lid) -> bool) -> impl Iterator<Item = NodeId> {
        let devices = &self.devices;
        devices.fabric.switches().filter(move |&node| {
            let port = devices.management_port(node);
            devices.knows_port(port) && is_meant(devices.ports[port.index()].lid)
        })
    }

    /// All that answers is known: reads who told meanwhile once more; says whether there was anybody.
    pub(crate) fn look_again_at_told(&mut self) -> bool {
        let told = std::mem::take(&mut self.sweeping.told);
        if told.is_empty() {
            return false;
        }
        let switches: Vec<NodeId> = self.switches_with(|held| told.contains(&held)).collect();
        self.reached = vec![true; self.devices.fabric.node_count()];
        for &switch in &switches {
            self.schedule(switch, Request::Sweep(switch));
            for port in self.devices.fabric.ports(switch) {
                self.schedule(switch, Request::Examine(port));
            }
        }
        !switches.is_empty()
    }

    /// The fabric is found, and its nodes are numbered: who told after the last look is healed around later.
    pub(crate) fn keep_who_told(&mut self) {
        let told = std::mem::take(&mut self.sweeping.told);
        let switches: Vec<NodeId> = self.switches_with(|held| told.contains(&held)).collect();
        self.sweeping.told_since.extend(switches);
    }

    /// A switch that told says how it is.
    pub(crate) fn seen_again(&mut self, switch: NodeId, info: SwitchInfo) {
        if self.is_afresh(switch, info) {
            self.devices.tables.remove(&switch);
            self.forget_mappings(switch);
        }
        self.devices.set_switch(switch, info);
    }

    /// A port says how it is while the fabric is coming up.
    pub(crate) fn examined_meanwhile(&mut self, now: Time, port: PortId, info: PortInfo) {
        self.devices.set_port(port, info);
        self.reached.resize(self.devices.fabric.node_count(), true);
        let up = info.physical_state == PhysicalState::LINK_UP && info.port_state != PortState::DOWN;
        match self.devices.fabric.peer(port) {
            Some(peer) if !up => {
                self.lose_link(now, port);
                self.exchange.forget_request(Request::Probe(port));
                self.exchange.forget_request(Request::Probe(peer));
                self.ask_around(self.devices.fabric.node_of(peer));
            }
            None if up && self.probes_again(port) => {
                self.schedule(self.devices.fabric.node_of(port), Request::Probe(port));
            }
            None if !up => self.exchange.forget_request(Request::Probe(port)),
            _ => {}
        }
    }

    /// A link was found: it may be the way to switches that have none.
    pub(crate) fn find_other_ways(&mut self) {
        if self.sweeping.without_way.is_empty() {
            return;
        }
        let mut void: Vec<NodeId> = std::mem::take(&mut self.sweeping.without_way).into_iter().collect();
        self.reached.resize(self.devices.fabric.node_count(), true);
        self.sweeping.without_way.extend(self.devices.reroute(&void, &self.reached));
        void.retain(|node| !self.sweeping.without_way.contains(node));
        let moved: Vec<u32> = void.iter().map(|node| node.0).collect();
        self.exchange.hurry(&moved);
    }

    /// Whether it is to be asked what is beyond a port, and is not being asked.
    fn probes_again(&self, port: PortId) -> bool {
        let is_odd = self.devices.odd.contains(&port);
        self.phase == Phase::Discover && !is_odd && !self.exchange.is_asking(Request::Probe(port))
    }

    /// The fabric is up: heals around what was told and lost since it was found.
    pub(crate) fn heal_what_was_told(&mut self, now: Time) {
        for switch in std::mem::take(&mut self.sweeping.told_since) {
            let cause = format!("a port of {} changed its state", self.devices.fabric.name(switch));
            if self.reached[switch.index()] && !self.suspect(now, switch, &cause) {
                self.sweep_soon(now, &cause);
            }
        }
        self.heal_what_was_lost(now);
    }
}
