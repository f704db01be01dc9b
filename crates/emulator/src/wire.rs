//! A packet's way from port to port.
//!
//! Directed routes follow the standard's section 14.2.2 (Linux has the same rules in `smi.c`), with LID-routed parts
//! before and after where the header names LIDs; LID-routed packets follow the tables that were written, switch by
//! switch. A packet keeps its slot in the queue from its sending to its end.

use fabric::PortId;
use ib::{Lid, Mad, ManagementClass, Method, Packet, PortState, Time};
use rand_core::Rng;

use crate::Emulator;
use crate::fault::Behaviour;
use crate::state::Place;

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

/// Whether a MAD is one of subnet management, which travels on virtual lane 15 and needs no link in service.
fn is_subnet_management(mad: &Mad) -> bool {
    matches!(mad.class(), ManagementClass::SUBN_LID | ManagementClass::SUBN_DIRECTED)
}

/// The standard's step of a directed-route packet that is at a node, having come in by port `ingress` (0 where it
/// starts here). Changes the header as the node does.
fn directed_step(mad: &mut Mad, ingress: u8, transit: bool) -> Step {
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
    pub(crate) fn inject(&mut self, at: Time, port: PortId, packet: &Packet) {
        if self.state.off[self.state.places[port.index()].node.index()] {
            self.statistics.discarded += 1;
            return;
        }
        let slot = self.queue.keep(packet, port);
        let packet = &mut self.queue.packet(slot).packet;
        if packet.mad.is_directed() && packet.dlid == Lid::PERMISSIVE {
            let place = &self.state.places[port.index()];
            let mad = &packet.mad;
            let begins = !mad.is_returning() && mad.hop_pointer() == 0 && mad.hop_count() > 0;
            if begins && !place.is_switch() && mad.initial_path()[1] != place.number {
                // An adapter's port sends by itself only.
                self.discard(slot);
            } else {
                self.follow_route(at, slot, 0);
            }
            return;
        }
        if packet.slid == Lid::NONE || packet.slid == Lid::PERMISSIVE {
            packet.slid = self.state.ports[port.index()].lid;
        }
        self.route_by_lid(at, slot);
    }

    /// A packet under way arrives at the node that its port belongs to.
    #[inline]
    pub(crate) fn arrive(&mut self, slot: u32) {
        let under_way = self.queue.packet(slot);
        let port = under_way.at;
        let place = self.state.places[port.index()];
        if !place.is_up() {
            self.discard(slot);
            return;
        }
        let packet = &mut under_way.packet;
        if !packet.mad.is_directed() || packet.dlid != Lid::PERMISSIVE {
            self.route_by_lid(self.now, slot);
            return;
        }
        let next = match directed_step(&mut packet.mad, place.number, place.is_switch()) {
            Step::Out(out) => out,
            Step::Agent => return self.end_of_route(slot),
            Step::Client => return self.come_home(slot),
            Step::Nowhere => return self.discard(slot),
        };
        // The agent of the switch passes it on; until then it takes one of the port's buffers.
        match self.state.take_buffer(port, self.now, self.forward_time) {
            Some(done) => self.leave(done, slot, &place, next),
            None => self.overrun(port, slot),
        }
    }

    /// Takes the next step of a directed route from a node that the packet did not just come to by that route.
    fn follow_route(&mut self, at: Time, slot: u32, ingress: u8) {
        let under_way = self.queue.packet(slot);
        let place = self.state.places[under_way.at.index()];
        match directed_step(&mut under_way.packet.mad, ingress, true) {
            Step::Out(out) => self.leave(at, slot, &place, out),
            Step::Agent => self.end_of_route(slot),
            Step::Client => self.come_home(slot),
            Step::Nowhere => self.discard(slot),
        }
    }

    /// A request has come to the end of its directed route: to the agent here, or on by LID.
    fn end_of_route(&mut self, slot: u32) {
        let under_way = self.queue.packet(slot);
        let onward = under_way.packet.mad.dr_dlid();
        if onward == Lid::PERMISSIVE.0 as u16 {
            self.serve(slot);
            return;
        }
        let end_port = self.state.end_port(under_way.at);
        under_way.packet.dlid = Lid(u32::from(onward));
        under_way.packet.slid = self.state.ports[end_port.index()].lid;
        self.route_by_lid(self.now, slot);
    }

    /// An answer has come to the beginning of its directed route: to the client here, or on by LID.
    fn come_home(&mut self, slot: u32) {
        let under_way = self.queue.packet(slot);
        let onward = under_way.packet.mad.dr_slid();
        if onward == Lid::PERMISSIVE.0 as u16 {
            self.hand_to_client(slot);
            return;
        }
        let end_port = self.state.end_port(under_way.at);
        under_way.packet.dlid = Lid(u32::from(onward));
        under_way.packet.slid = self.state.ports[end_port.index()].lid;
        self.route_by_lid(self.now, slot);
    }

    /// Sends a packet out of a node by the port of number `out`.
    #[inline]
    fn leave(&mut self, at: Time, slot: u32, place: &Place, out: u8) {
        let Some(next) = self.state.next_port(place, out) else {
            self.discard(slot);
            return;
        };
        if (self.config.loss_per_million > 0 || !self.state.losses.is_empty()) && self.is_lost(next) {
            self.statistics.lost += 1;
            self.queue.end(slot);
            return;
        }
        let under_way = self.queue.packet(slot);
        under_way.at = next;
        under_way.hops = under_way.hops.saturating_add(1);
        self.queue.arrive(at + self.hop_latency, slot);
    }

    /// Whether chance loses a packet on the link that ends at a port.
    fn is_lost(&mut self, end: PortId) -> bool {
        let own = self.state.losses.get(&end).copied().unwrap_or(0);
        let chance = self.config.loss_per_million.max(own);
        chance > 0 && self.random.next_u64() % 1_000_000 < u64::from(chance)
    }

    fn discard(&mut self, slot: u32) {
        self.statistics.discarded += 1;
        self.queue.end(slot);
    }

    /// One step of a LID-routed packet that is at a node.
    fn route_by_lid(&mut self, at: Time, slot: u32) {
        let under_way = self.queue.packet(slot);
        let (port, hops, dlid) = (under_way.at, under_way.hops, under_way.packet.dlid);
        let data = !is_subnet_management(&under_way.packet.mad);
        let place = self.state.places[port.index()];
        let end_port = self.state.end_port(port);
        if self.state.owns(end_port, dlid) || (hops > 0 && dlid == Lid::PERMISSIVE) {
            if data && hops > 0 {
                self.count_received(port);
            }
            self.take_in(slot);
            return;
        }
        let out = if place.is_switch() {
            let table = &self.state.tables[place.node.index()];
            let top = self.state.switches[place.node.index()].linear_fdb_top;
            let entry = table.get(dlid.0 as usize).copied().filter(|_| dlid <= top);
            entry.filter(|&entry| entry != ib::NO_ROUTE && entry != 0)
        } else if hops == 0 {
            Some(place.number)
        } else {
            None
        };
        let Some(out) = out.filter(|_| hops < MOST_HOPS) else {
            if data && hops > 0 {
                let counters = self.counters(port);
                counters.receive_switch_relay_errors = counters.receive_switch_relay_errors.saturating_add(1);
            }
            self.discard(slot);
            return;
        };
        // Management of the subnet passes links that are not in service yet, all else does not.
        if data && !self.carries_data(&place, out) {
            if let Some(out) = self.state.fabric.port(place.node, out) {
                let counters = self.counters(out);
                counters.transmit_discards = counters.transmit_discards.saturating_add(1);
            }
            self.discard(slot);
            return;
        }
        if data {
            if hops > 0 {
                self.count_received(port);
            }
            if let Some(out) = self.state.fabric.port(place.node, out) {
                self.count_sent(out);
            }
        }
        self.leave(at, slot, &place, out);
    }

    /// Whether data may leave by a port: it is ACTIVE. A neighbour that is ARMED becomes ACTIVE by what it receives.
    fn carries_data(&mut self, place: &Place, out: u8) -> bool {
        let (Some(out), Some(next)) =
            (self.state.fabric.port(place.node, out), self.state.next_port(place, out))
        else {
            return false;
        };
        if self.state.ports[out.index()].port_state != PortState::ACTIVE {
            return false;
        }
        let next = &mut self.state.ports[next.index()].port_state;
        if *next == PortState::ARMED {
            *next = PortState::ACTIVE;
        }
        *next == PortState::ACTIVE
    }

    /// A LID-routed packet has come to its port.
    fn take_in(&mut self, slot: u32) {
        let packet = &self.queue.packet(slot).packet;
        let mad = &packet.mad;
        let (class, method) = (mad.class(), mad.method());
        if class == ManagementClass::SUBN_DIRECTED {
            let (pointer, count) = (mad.hop_pointer(), mad.hop_count());
            match (mad.is_returning(), pointer) {
                // The directed route begins here, or its answer comes to where the route ended.
                (false, 0) => self.follow_route_from_here(slot),
                (true, pointer) if pointer > 0 && pointer == count.saturating_add(1) => {
                    self.follow_route_from_here(slot);
                }
                (false, pointer) if pointer == count.saturating_add(1) => self.serve(slot),
                (true, 0) => self.hand_to_client(slot),
                _ => self.discard(slot),
            }
        } else if class == ManagementClass::SUBN_LID {
            if method.is_response() && method != Method::TRAP_REPRESS {
                self.hand_to_client(slot);
            } else {
                self.serve(slot);
            }
        } else if class == ManagementClass::PERF && !method.is_response() {
            self.serve_performance(slot);
        } else {
            self.hand_to_client(slot);
        }
    }

    fn follow_route_from_here(&mut self, slot: u32) {
        self.queue.packet(slot).packet.dlid = Lid::PERMISSIVE;
        self.follow_route(self.now, slot, 0);
    }

    /// Hands a packet to the client at the node that it has come to.
    fn hand_to_client(&mut self, slot: u32) {
        let under_way = *self.queue.packet(slot);
        let end_port = self.state.end_port(under_way.at);
        if self.is_client(end_port) {
            self.queue.end(slot);
            self.deliver(end_port, under_way.packet);
        } else {
            self.discard(slot);
        }
    }

    fn overrun(&mut self, port: PortId, slot: u32) {
        self.statistics.overruns += 1;
        let counters = self.counters(port);
        counters.vl15_dropped = counters.vl15_dropped.saturating_add(1);
        self.queue.end(slot);
    }

    /// The agent of the node takes a request in, and answers it when it has had the time to.
    fn serve(&mut self, slot: u32) {
        let under_way = self.queue.packet(slot);
        let (port, mut mad) = (under_way.at, under_way.packet.mad);
        let behaviour = self.state.behaviour[self.state.places[port.index()].node.index()];
        let service = match behaviour {
            Behaviour::Slow(times) => self.config.agent_time.saturating_mul(times),
            _ => self.agent_time,
        };
        let Some(done) = self.state.take_buffer(port, self.now, service) else {
            self.overrun(port, slot);
            return;
        };
        if behaviour == Behaviour::Silent {
            self.queue.end(slot);
            return;
        }
        // What is said to the manager that sits here is the client's to answer.
        if mad.method() == Method::TRAP
            || mad.attribute_id() == ib::AttributeId::SM_INFO && self.is_manager(self.state.end_port(port))
        {
            let packet = under_way_packet(&mut self.queue, slot);
            self.queue.deliver(done, &packet, self.state.end_port(port));
            return;
        }
        if !self.answer(port, &mut mad) {
            self.queue.end(slot);
            return;
        }
        self.spoil(behaviour, &mut mad);
        self.queue.packet(slot).packet.mad = mad;
        if behaviour == Behaviour::Twice {
            let copy = self.queue.packet(slot).packet;
            let copy = self.queue.keep(&copy, port);
            self.send_answer(done, slot);
            self.send_answer(done, copy);
        } else {
            self.send_answer(done, slot);
        }
    }

    /// Performance management comes over data lanes, whose credits keep it from being dropped.
    fn serve_performance(&mut self, slot: u32) {
        let under_way = self.queue.packet(slot);
        let (port, mut mad) = (under_way.at, under_way.packet.mad);
        let behaviour = self.state.behaviour[self.state.places[port.index()].node.index()];
        if behaviour == Behaviour::Silent || !self.answer(port, &mut mad) {
            self.queue.end(slot);
            return;
        }
        self.spoil(behaviour, &mut mad);
        self.queue.packet(slot).packet.mad = mad;
        let times = if let Behaviour::Slow(times) = behaviour { times } else { 1 };
        self.send_answer(self.now + self.config.agent_time.saturating_mul(times), slot);
    }

    /// Sends an answer back the way its request came.
    fn send_answer(&mut self, at: Time, slot: u32) {
        let under_way = self.queue.packet(slot);
        under_way.hops = 0;
        let end_port = self.state.end_port(under_way.at);
        let packet = &mut under_way.packet;
        if packet.mad.is_directed() && packet.dlid == Lid::PERMISSIVE {
            let place = self.state.places[under_way.at.index()];
            match directed_step(&mut packet.mad, 0, true) {
                Step::Out(out) => self.leave(at, slot, &place, out),
                // A route of no hops: the client sits at this node, or the request came by LID.
                Step::Client if packet.mad.dr_slid() == 0xffff => {
                    let packet = under_way_packet(&mut self.queue, slot);
                    self.queue.deliver(at, &packet, end_port);
                }
                Step::Client => self.come_home(slot),
                Step::Agent | Step::Nowhere => self.discard(slot),
            }
            return;
        }
        let own = self.state.ports[end_port.index()].lid;
        (packet.dlid, packet.slid) = (packet.slid, own);
        (packet.dest_qp, packet.source_qp) = (packet.source_qp, packet.dest_qp);
        under_way.at = end_port;
        self.answer_by_lid(at, slot);
    }

    /// An answer by LID leaves when the agent has made it; to a client at the same port it is handed then.
    fn answer_by_lid(&mut self, at: Time, slot: u32) {
        let under_way = self.queue.packet(slot);
        let port = under_way.at;
        if self.state.owns(port, under_way.packet.dlid) && !under_way.packet.mad.is_directed() {
            let packet = under_way_packet(&mut self.queue, slot);
            self.queue.deliver(at, &packet, port);
        } else {
            self.route_by_lid(at, slot);
        }
    }
}

/// Takes a packet out of its slot.
fn under_way_packet(queue: &mut crate::queue::Queue, slot: u32) -> Packet {
    let packet = queue.packet(slot).packet;
    queue.end(slot);
    packet
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
