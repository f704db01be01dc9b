//! A packet's way from port to port.
//!
//! Directed routes follow the standard's section 14.2.2 (Linux has the same rules in `smi.c`); LID-routed packets
//! follow the tables that were written, switch by switch.

use fabric::PortId;
use ib::{Lid, Packet, PortState, Time};
use rand_core::Rng;

use crate::Emulator;
use crate::fault::Behaviour;
use crate::queue::UnderWay;

/// Links that a LID-routed packet may cross: more is a loop.
const MOST_HOPS: u8 = 64;

/// Where a directed-route packet goes from a node.
enum Step {
    /// Out by this port.
    Out(u8),
    /// To the node's agent.
    Agent,
    /// To the client at the node: the answer has come home.
    Client,
    /// Nowhere: the header breaks the rules.
    Nowhere,
}

/// The standard's step of a directed-route packet that is at a node, having come in by port `ingress` (0 where it
/// starts here). Changes the header as the node does.
fn directed_step(mad: &mut ib::Mad, ingress: u8, transit: bool) -> Step {
    let (pointer, count) = (mad.hop_pointer(), mad.hop_count());
    if count > 63 {
        return Step::Nowhere;
    }
    if !mad.is_returning() {
        if pointer < count {
            if pointer > 0 {
                if !transit {
                    return Step::Nowhere;
                }
                mad.return_path_mut()[usize::from(pointer)] = ingress;
            }
            mad.set_hop_pointer(pointer + 1);
            Step::Out(mad.initial_path()[usize::from(pointer) + 1])
        } else if pointer == count {
            if count > 0 {
                mad.return_path_mut()[usize::from(pointer)] = ingress;
            }
            mad.set_hop_pointer(pointer + 1);
            Step::Agent
        } else {
            Step::Nowhere
        }
    } else if pointer == 0 || pointer > count + 1 {
        Step::Nowhere
    } else {
        mad.set_hop_pointer(pointer - 1);
        if pointer == 1 {
            Step::Client
        } else if pointer <= count && !transit {
            Step::Nowhere
        } else {
            Step::Out(mad.return_path()[usize::from(pointer) - 1])
        }
    }
}

impl Emulator {
    /// A packet starts at an end port.
    pub(crate) fn inject(&mut self, at: Time, port: PortId, mut packet: Packet) {
        let node = self.state.fabric.node_of(port);
        if self.state.off[node.index()] {
            self.statistics.discarded += 1;
            return;
        }
        if packet.mad.is_directed() && packet.dlid == Lid::PERMISSIVE {
            match directed_step(&mut packet.mad, 0, true) {
                Step::Out(out) => self.leave(at, port, out, UnderWay { packet, at: port, hops: 0 }),
                Step::Agent => self.serve(port, packet),
                Step::Client | Step::Nowhere => self.statistics.discarded += 1,
            }
            return;
        }
        if packet.slid == Lid::NONE {
            packet.slid = self.state.ports[port.index()].lid;
        }
        self.route_by_lid(at, UnderWay { packet, at: port, hops: 0 });
    }

    /// A packet under way arrives at the node that its port belongs to.
    pub(crate) fn arrive(&mut self, slot: u32) {
        let under_way = self.queue.packet(slot);
        let port = under_way.at;
        let node = self.state.fabric.node_of(port);
        if self.state.off[node.index()] || self.state.fabric.peer(port).is_none() {
            self.statistics.discarded += 1;
            self.queue.end(slot);
            return;
        }
        if !under_way.packet.mad.is_directed() || under_way.packet.dlid != Lid::PERMISSIVE {
            let under_way = *under_way;
            self.queue.end(slot);
            self.route_by_lid(self.now, under_way);
            return;
        }
        let ingress = self.state.fabric.port_number(port);
        let transit = self.state.fabric.is_switch(node);
        match directed_step(&mut under_way.packet.mad, ingress, transit) {
            Step::Out(out) => {
                // The agent of the switch passes it on; until then it takes one of the port's buffers.
                let Some(done) = self.state.take_buffer(port, self.now, self.config.forward_time) else {
                    self.overrun(port);
                    self.queue.end(slot);
                    return;
                };
                let under_way = *self.queue.packet(slot);
                self.queue.end(slot);
                self.leave(done, port, out, under_way);
            }
            Step::Agent => {
                let packet = under_way.packet;
                self.queue.end(slot);
                self.serve(port, packet);
            }
            Step::Client => {
                let packet = under_way.packet;
                self.queue.end(slot);
                self.hand_to_client(port, packet);
            }
            Step::Nowhere => {
                self.statistics.discarded += 1;
                self.queue.end(slot);
            }
        }
    }

    /// Sends a packet out of the node of `port` by the port of number `out`.
    fn leave(&mut self, at: Time, port: PortId, out: u8, mut under_way: UnderWay) {
        let out = self.state.fabric.port(self.state.fabric.node_of(port), out).filter(|_| out > 0);
        let next = out.and_then(|out| Some((out, self.state.fabric.peer(out)?)));
        let Some((out, next)) = next else {
            self.statistics.discarded += 1;
            return;
        };
        if self.state.ports[out.index()].port_state == PortState::DOWN {
            self.statistics.discarded += 1;
            return;
        }
        if self.config.loss_per_million > 0
            && self.random.next_u64() % 1_000_000 < u64::from(self.config.loss_per_million)
        {
            self.statistics.lost += 1;
            return;
        }
        under_way.at = next;
        under_way.hops = under_way.hops.saturating_add(1);
        self.queue.send(at + self.config.hop_latency, under_way);
    }

    /// One step of a LID-routed packet that is at a node.
    fn route_by_lid(&mut self, at: Time, under_way: UnderWay) {
        let port = under_way.at;
        let node = self.state.fabric.node_of(port);
        let end_port = self.state.end_port(port);
        let dlid = under_way.packet.dlid;
        if self.state.owns(end_port, dlid) || (under_way.hops > 0 && dlid == Lid::PERMISSIVE) {
            self.take_in(port, end_port, under_way.packet);
            return;
        }
        let out = if self.state.fabric.is_switch(node) {
            let table = &self.state.tables[node.index()];
            let top = self.state.switches[node.index()].linear_fdb_top;
            let entry = table.get(dlid.0 as usize).copied().filter(|_| dlid <= top);
            entry.filter(|&entry| entry != ib::NO_ROUTE && entry != 0)
        } else if under_way.hops == 0 {
            Some(self.state.fabric.port_number(port))
        } else {
            None
        };
        let Some(out) = out.filter(|_| under_way.hops < MOST_HOPS) else {
            self.statistics.discarded += 1;
            return;
        };
        // Management of the subnet passes links that are not in service yet, all else does not.
        let in_service = self
            .state
            .fabric
            .port(node, out)
            .is_some_and(|out| self.state.ports[out.index()].port_state == PortState::ACTIVE);
        if under_way.packet.dest_qp != 0 && !in_service {
            self.statistics.discarded += 1;
            return;
        }
        self.count_traffic(node, out, port, under_way.hops);
        self.leave(at, port, out, under_way);
    }

    /// A LID-routed packet has come to its port.
    fn take_in(&mut self, port: PortId, end_port: PortId, packet: Packet) {
        if packet.mad.method().is_response() && packet.mad.method() != ib::Method::TRAP_REPRESS
            || packet.mad.method() == ib::Method::TRAP
            || packet.mad.class() == ib::ManagementClass::SUBN_ADM
        {
            self.hand_to_client(end_port, packet);
        } else {
            self.serve(port, packet);
        }
    }

    fn hand_to_client(&mut self, port: PortId, packet: Packet) {
        let end_port = self.state.end_port(port);
        if self.is_client(end_port) {
            self.deliver(end_port, packet);
        } else {
            self.statistics.discarded += 1;
        }
    }

    fn overrun(&mut self, port: PortId) {
        self.statistics.overruns += 1;
        self.counters(port).vl15_dropped += 1;
    }

    /// The agent of the node takes a request in, and answers it when it has had the time to.
    fn serve(&mut self, port: PortId, mut packet: Packet) {
        let node = self.state.fabric.node_of(port);
        let behaviour = self.state.behaviour[node.index()];
        let service = match behaviour {
            Behaviour::Slow(times) => self.config.agent_time.saturating_mul(times),
            _ => self.config.agent_time,
        };
        let Some(done) = self.state.take_buffer(port, self.now, service) else {
            self.overrun(port);
            return;
        };
        if behaviour == Behaviour::Silent {
            return;
        }
        // A question to the manager that sits here is the client's to answer.
        let end_port = self.state.end_port(port);
        if packet.mad.attribute_id() == ib::AttributeId::SM_INFO
            && matches!(packet.mad.class().0, 0x01 | 0x81)
            && self.is_manager(end_port)
        {
            self.queue.deliver(done, UnderWay { packet, at: end_port, hops: 0 });
            return;
        }
        if !self.answer(port, &mut packet.mad) {
            return;
        }
        self.spoil(behaviour, &mut packet.mad);
        let copies = if behaviour == Behaviour::Twice { 2 } else { 1 };
        for _ in 0..copies {
            self.send_answer(done, port, packet);
        }
    }

    /// Sends an answer back the way its request came.
    fn send_answer(&mut self, at: Time, port: PortId, mut packet: Packet) {
        if packet.mad.is_directed() && packet.dlid == Lid::PERMISSIVE {
            let under_way = |packet| UnderWay { packet, at: port, hops: 0 };
            match directed_step(&mut packet.mad, 0, true) {
                Step::Out(out) => self.leave(at, port, out, under_way(packet)),
                // A route of no hops: the client sits at this node.
                Step::Client => {
                    let end_port = self.state.end_port(port);
                    self.queue.deliver(at, UnderWay { packet, at: end_port, hops: 0 });
                }
                Step::Agent | Step::Nowhere => self.statistics.discarded += 1,
            }
            return;
        }
        let own = self.state.ports[self.state.end_port(port).index()].lid;
        (packet.dlid, packet.slid) = (packet.slid, own);
        (packet.dest_qp, packet.source_qp) = (packet.source_qp, packet.dest_qp);
        self.inject(at, self.state.end_port(port), packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ib::{AttributeId, DirectedRoute, Mad, Method};

    fn request(hops: &[u8]) -> Mad {
        Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &DirectedRoute::new(hops).unwrap(), 1, 0)
    }

    #[test]
    fn a_directed_route_goes_there_and_back() {
        let mut mad = request(&[1, 5]);
        assert!(matches!(directed_step(&mut mad, 0, true), Step::Out(1)));
        assert!(matches!(directed_step(&mut mad, 7, true), Step::Out(5)));
        assert!(matches!(directed_step(&mut mad, 3, false), Step::Agent));
        assert_eq!(mad.return_path()[..3], [0, 7, 3]);
        mad.make_response();
        assert!(matches!(directed_step(&mut mad, 0, true), Step::Out(3)));
        assert!(matches!(directed_step(&mut mad, 5, true), Step::Out(7)));
        assert!(matches!(directed_step(&mut mad, 1, false), Step::Client));
        assert_eq!(mad.hop_pointer(), 0);
    }

    #[test]
    fn broken_headers_go_nowhere() {
        let mut mad = request(&[1, 5]);
        mad.set_hop_pointer(9);
        assert!(matches!(directed_step(&mut mad, 0, true), Step::Nowhere));
        let mut mad = request(&[1, 5]);
        mad.set_hop_count(200);
        assert!(matches!(directed_step(&mut mad, 0, true), Step::Nowhere));
        let mut mad = request(&[1, 5]);
        mad.set_hop_pointer(1);
        assert!(matches!(directed_step(&mut mad, 2, false), Step::Nowhere), "an adapter passes nothing on");
        let mut mad = request(&[1]);
        mad.make_response();
        assert!(matches!(directed_step(&mut mad, 0, true), Step::Nowhere));
    }
}
