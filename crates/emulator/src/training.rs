//! Links that go down and come up again.

use fabric::PortId;
use ib::{LinkRate, LinkSpeed, PhysicalState, PortInfo, PortState};

use crate::Emulator;
use crate::queue::Event;

impl Emulator {
    /// The cable at a port is pulled: both ends are down.
    pub(crate) fn pull_cable(&mut self, port: PortId) {
        let Some(peer) = self.state.fabric.peer(port) else { return };
        self.state.fabric.disconnect(port);
        for end in [port, peer] {
            let disabled = self.state.ports[end.index()].physical_state == PhysicalState::DISABLED;
            self.goes_down(end, if disabled { PhysicalState::DISABLED } else { PhysicalState::POLLING });
        }
    }

    /// The cable that was at a port is put back, where both ends are free and have power; the link trains.
    pub(crate) fn put_cable_back(&mut self, port: PortId) {
        let Some((peer, rate)) = self.state.cable[port.index()] else { return };
        let fabric = &mut self.state.fabric;
        let end = |p| (fabric.node_of(p), fabric.port_number(p));
        let (a, b) = (end(port), end(peer));
        if self.state.off[a.0.index()] || self.state.off[b.0.index()] || fabric.connect(a, b, rate).is_err() {
            return;
        }
        self.state.note(port);
        self.state.note(peer);
        self.train(port, peer);
    }

    /// A port is told to stay down; its neighbour goes down with it.
    pub(crate) fn disable(&mut self, port: PortId) {
        self.goes_down(port, PhysicalState::DISABLED);
        if let Some(peer) = self.state.fabric.peer(port)
            && self.state.ports[peer.index()].physical_state != PhysicalState::DISABLED
        {
            self.goes_down(peer, PhysicalState::POLLING);
        }
    }

    /// The link at a port goes down and trains again.
    pub(crate) fn retrain(&mut self, port: PortId) {
        self.goes_down(port, PhysicalState::POLLING);
        let Some(peer) = self.state.fabric.peer(port) else { return };
        if self.state.ports[peer.index()].physical_state != PhysicalState::DISABLED {
            self.goes_down(peer, PhysicalState::POLLING);
            self.train(port, peer);
        }
    }

    fn train(&mut self, port: PortId, peer: PortId) {
        let at = self.now + self.config.training_time;
        // A link that trains already begins anew.
        self.state.trained_at.insert(port.min(peer), at);
        self.queue.push(at, Event::Trained(port));
    }

    fn goes_down(&mut self, port: PortId, physical: PhysicalState) {
        let info = &mut self.state.ports[port.index()];
        let was = info.port_state;
        info.port_state = PortState::DOWN;
        info.physical_state = physical;
        self.state.note(port);
        if was != PortState::DOWN {
            if was == PortState::ACTIVE {
                let counters = self.counters(port);
                counters.link_downed = counters.link_downed.saturating_add(1);
            }
            self.raise_state_change(port);
        }
    }

    /// The link at a port has had the time to train: it is up, where nothing has happened to it meanwhile.
    pub(crate) fn trained(&mut self, port: PortId) {
        let Some(peer) = self.state.fabric.peer(port) else { return };
        if self.state.trained_at.get(&port.min(peer)).is_some_and(|&at| at > self.now) {
            return;
        }
        self.state.trained_at.remove(&port.min(peer));
        let ready = |p: PortId| {
            let info = &self.state.ports[p.index()];
            info.port_state == PortState::DOWN && info.physical_state == PhysicalState::POLLING
        };
        if !ready(port) || !ready(peer) {
            return;
        }
        let Some(rate) = negotiated(&self.state.ports[port.index()], &self.state.ports[peer.index()]) else {
            return;
        };
        for end in [port, peer] {
            let info = &mut self.state.ports[end.index()];
            info.set_link_rate(rate);
            info.port_state = PortState::INITIALIZE;
            info.physical_state = PhysicalState::LINK_UP;
            self.state.note(end);
            self.raise_state_change(end);
        }
    }
}

/// The widest and fastest that both ends of a link enable.
fn negotiated(a: &PortInfo, b: &PortInfo) -> Option<LinkRate> {
    let width = Emulator::common_width(a, b)?;
    let extended2 = a.link_speed_ext_enabled2 & b.link_speed_ext_enabled2;
    let extended = a.link_speed_ext_enabled & b.link_speed_ext_enabled;
    let basic = a.link_speed_enabled & b.link_speed_enabled;
    let speed = match (extended2 & 1, extended & 0xf, basic & 7) {
        (1, _, _) => LinkSpeed::Xdr,
        (_, 8.., _) => LinkSpeed::Ndr,
        (_, 4.., _) => LinkSpeed::Hdr,
        (_, 2.., _) => LinkSpeed::Edr,
        (_, 1, _) => LinkSpeed::Fdr,
        (_, _, 4..) => LinkSpeed::Qdr,
        (_, _, 2..) => LinkSpeed::Ddr,
        (_, _, 1) => LinkSpeed::Sdr,
        _ => return None,
    };
    Some(LinkRate { width, speed })
}
