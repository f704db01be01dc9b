//! The datagrams of ibsim's clients, answered by the emulator: whoever owns sockets feeds what came in and sends what
//! comes out, and programs under ibsim's preload library work on an emulated fabric.
//!
//! Control messages are 80 bytes in the host's byte order: magic, client, type, length, 64 bytes of data. Data
//! messages are 288 bytes: LIDs as 16 bits in network order in the first bytes of 32, queue pairs, status, 4 bytes of
//! padding, length, the MAD. Several clients may sit at one port: as ibsim has it, a request's transaction number
//! carries its client's number in the upper half, by which the answer finds back; what nobody asked for goes to the
//! client that manages.

use std::collections::VecDeque;
use std::time::Duration;

use fabric::NodeId;
use ib::{AttributeId, Lid, Mad, Method, Packet, Time};

use crate::{ClientId, Emulator};

/// Length of a control message.
pub const CONTROL_LENGTH: usize = 80;
/// Length of a data message.
pub const DATA_LENGTH: usize = 288;
/// The most clients at once.
pub const MOST_CLIENTS: usize = 10;

const MAGIC: u32 = 0xdead_beef;
/// Where a control message's data begins.
const DATA_AT: usize = 16;
/// Where a data message's MAD begins.
const MAD_AT: usize = 32;
/// After this time a request counts as not delivered, and is given back.
const PATIENCE: Duration = Duration::from_millis(500);
/// The most requests that are waited for; older ones are forgotten.
const MOST_WAITING: usize = 4096;

/// One connected client.
struct Seat {
    client: ClientId,
    node: NodeId,
    port: u8,
    queue_pair: u32,
    is_manager: bool,
}

/// A request that waits for its answer.
struct Waiting {
    until: Time,
    number: usize,
    packet: Packet,
}

/// The clients that are connected, by their numbers.
#[derive(Default)]
pub struct Service {
    seats: [Option<Seat>; MOST_CLIENTS],
    /// In the order of their deadlines.
    waiting: VecDeque<Waiting>,
}

fn word(message: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]])
}

fn set_word(message: &mut [u8], at: usize, value: u32) {
    message[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

impl Service {
    /// Answers a control message; `None` where it is none. Type 0 in the answer: refused.
    pub fn control(&mut self, emulator: &mut Emulator, message: &[u8]) -> Option<[u8; CONTROL_LENGTH]> {
        let mut reply: [u8; CONTROL_LENGTH] = message.try_into().ok()?;
        if word(&reply, 0) != MAGIC {
            return None;
        }
        let (number, kind) = (word(&reply, 4) as usize, word(&reply, 8));
        let data: &mut [u8; 64] = (&mut reply[DATA_AT..]).try_into().ok()?;
        let done = match kind {
            1 => self.connect(emulator, data),
            2 => self.disconnect(emulator, number),
            9 => self.set_is_manager(emulator, number, word(data, 0) != 0),
            3..=8 | 10 => self.look_up(emulator, number, kind, data),
            _ => None,
        };
        if done.is_none() {
            set_word(&mut reply, 8, 0);
        }
        Some(reply)
    }

    fn connect(&mut self, emulator: &mut Emulator, data: &mut [u8; 64]) -> Option<()> {
        let number = self.seats.iter().position(Option::is_none)?;
        let (queue_pair, is_manager) = (word(data, 4), word(data, 8) != 0);
        let name = data[12..44].split(|&byte| byte == 0).next().unwrap_or_default();
        let fabric = emulator.fabric();
        let node = if name.is_empty() {
            fabric.nodes().next()?
        } else {
            // The field holds 31 bytes of a name that may be longer.
            fabric.nodes().find(|&node| {
                let own = fabric.name(node).as_bytes();
                own == name || name.len() == 31 && own.starts_with(name)
            })?
        };
        let cabled = fabric.neighbors(node).next().map(|(port, _)| fabric.port_number(port));
        let port = if fabric.is_switch(node) { 0 } else { cabled.unwrap_or(1) };
        if is_manager && self.seats.iter().flatten().any(|seat| seat.node == node && seat.is_manager) {
            return None;
        }
        let shared = self.seats.iter().flatten().find(|seat| seat.node == node && seat.port == port);
        let client = match shared {
            Some(seat) => seat.client,
            None => emulator.attach(node, port).ok()?,
        };
        let name = emulator.fabric().name(node).as_bytes();
        let length = name.len().min(31);
        data[12..44].fill(0);
        data[12..12 + length].copy_from_slice(&name[..length]);
        set_word(data, 0, number as u32);
        self.seats[number] = Some(Seat { client, node, port, queue_pair, is_manager: false });
        if is_manager {
            self.set_is_manager(emulator, number, true)?;
        }
        Some(())
    }

    /// A client goes; so it is too where its socket has died.
    pub fn disconnect(&mut self, emulator: &mut Emulator, number: usize) -> Option<()> {
        let seat = self.seats.get_mut(number)?.take();
        let Some(seat) = seat else { return Some(()) };
        self.waiting.retain(|waiting| waiting.number != number);
        let mut others = self.seats.iter().flatten().filter(|other| other.client == seat.client);
        if others.next().is_none() {
            emulator.detach(seat.client);
        } else if seat.is_manager {
            emulator.set_is_manager(seat.client, false);
        }
        Some(())
    }

    fn set_is_manager(&mut self, emulator: &mut Emulator, number: usize, is_manager: bool) -> Option<()> {
        let seat = self.seats.get_mut(number)?.as_mut()?;
        seat.is_manager = is_manager;
        let client = seat.client;
        let any = self.seats.iter().flatten().any(|seat| seat.client == client && seat.is_manager);
        emulator.set_is_manager(client, any);
        Some(())
    }

    fn look_up(&self, emulator: &mut Emulator, number: usize, kind: u32, data: &mut [u8; 64]) -> Option<()> {
        let seat = self.seats.get(number)?.as_ref()?;
        let asked = data[0];
        *data = [0; 64];
        let fabric = emulator.fabric();
        let slot = fabric.port(seat.node, seat.port)?;
        let info = emulator.port_info(slot);
        match kind {
            3 => {
                data[..2].copy_from_slice(&(info.lid.0 as u16).to_ne_bytes());
                data[2] = info.port_state.0;
            }
            4 => {
                set_word(data, 0, fabric.vendor_id(seat.node));
                set_word(data, 4, fabric.device_id(seat.node).into());
                set_word(data, 8, 0xa1);
                data[16..24].copy_from_slice(&1u64.to_ne_bytes());
            }
            5 => {
                data[..8].copy_from_slice(&info.gid_prefix.to_be_bytes());
                data[8..16].copy_from_slice(&fabric.port_guid(slot).0.to_be_bytes());
            }
            6 => data[..8].copy_from_slice(&fabric.guid(seat.node).0.to_be_bytes()),
            7 => *data = emulator.read_local(slot, AttributeId::NODE_INFO, 0),
            8 => {
                let named = if fabric.port(seat.node, asked).is_some() { asked } else { 0 };
                *data = emulator.read_local(slot, AttributeId::PORT_INFO, named.into());
            }
            _ => *data = emulator.read_local(slot, AttributeId::P_KEY_TABLE, u32::from(seat.port) << 16),
        }
        Some(())
    }

    /// Takes in a data message of a client. What is no message, or of no client, is passed over.
    pub fn data(&mut self, emulator: &mut Emulator, now: Time, number: usize, message: &[u8]) {
        let Some(seat) = self.seats.get(number).and_then(Option::as_ref) else { return };
        let Some(mut packet) = parse_data(message) else { return };
        if packet.mad.method().is_request() {
            packet.mad.set_tid(packet.mad.tid() & 0xffff_ffff | (number as u64) << 32);
            if self.waiting.len() == MOST_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(Waiting { until: now + PATIENCE, number, packet });
        }
        emulator.send(now, seat.client, &packet);
    }

    /// When a request will have waited long enough.
    pub fn next_deadline(&self) -> Option<Time> {
        self.waiting.front().map(|waiting| waiting.until)
    }

    /// The next message for a client, with the client's number, out of what has come until the emulator's now: answers,
    /// traps, and requests that nothing answered, with status 110.
    pub fn poll(&mut self, emulator: &mut Emulator) -> Option<(usize, [u8; DATA_LENGTH])> {
        while let Some((_, client, packet)) = emulator.receive() {
            if let Some(number) = self.receiver(client, &packet) {
                return Some((number, emit_data(&packet)));
            }
        }
        let waited = self.waiting.pop_front_if(|waiting| waiting.until <= emulator.now())?;
        let packet = Packet { status: Packet::TIMED_OUT, ..waited.packet };
        Some((waited.number, emit_data(&packet)))
    }

    /// Whom a packet is for that came to a port.
    fn receiver(&mut self, client: ClientId, packet: &Packet) -> Option<usize> {
        let here = |seat: &Option<Seat>| seat.as_ref().is_some_and(|seat| seat.client == client);
        if packet.mad.method().is_response() && packet.mad.method() != Method::TRAP_REPRESS {
            let tid = packet.mad.tid();
            if let Some(at) = self.waiting.iter().position(|waiting| waiting.packet.mad.tid() == tid) {
                self.waiting.remove(at);
            }
            let number = (tid >> 32) as usize;
            return self.seats.get(number).is_some_and(here).then_some(number);
        }
        let by_queue_pair = |seat: &Option<Seat>| {
            packet.dest_qp > 1 && seat.as_ref().is_some_and(|seat| seat.queue_pair == packet.dest_qp)
        };
        let manages = |seat: &Option<Seat>| seat.as_ref().is_some_and(|seat| seat.is_manager);
        let mine = |wanted: &dyn Fn(&Option<Seat>) -> bool| {
            self.seats.iter().position(|seat| here(seat) && wanted(seat))
        };
        mine(&by_queue_pair).or_else(|| mine(&manages))
    }
}

impl Emulator {
    /// What a node would answer a local question with.
    fn read_local(&mut self, slot: fabric::PortId, id: AttributeId, modifier: u32) -> [u8; 64] {
        let key = self.port_info(slot).m_key;
        let mut mad = Mad::directed(Method::GET, id, modifier, &ib::DirectedRoute::LOCAL, 0, key);
        self.answer(slot, &mut mad);
        *mad.data()
    }
}

/// Reads a data message; `None` where it is not one.
fn parse_data(message: &[u8]) -> Option<Packet> {
    let message: &[u8; DATA_LENGTH] = message.try_into().ok()?;
    let number = |at: usize| word(message, at).to_be();
    let lid = |at: usize| Lid(u32::from(u16::from_be_bytes([message[at], message[at + 1]])));
    Some(Packet {
        dlid: lid(0),
        slid: lid(4),
        dest_qp: number(8),
        source_qp: number(12),
        status: number(16),
        mad: Mad(message[MAD_AT..].try_into().ok()?),
    })
}

/// Writes a data message.
fn emit_data(packet: &Packet) -> [u8; DATA_LENGTH] {
    let mut message = [0; DATA_LENGTH];
    message[..2].copy_from_slice(&(packet.dlid.0 as u16).to_be_bytes());
    message[4..6].copy_from_slice(&(packet.slid.0 as u16).to_be_bytes());
    for (at, value) in [(8, packet.dest_qp), (12, packet.source_qp), (16, packet.status)] {
        message[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    message[24..32].copy_from_slice(&256u64.to_be_bytes());
    message[MAD_AT..].copy_from_slice(&packet.mad.0);
    message
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fabric::{Fabric, NodeKind};
    use ib::{DirectedRoute, Guid, NodeInfo};
    use proptest::prelude::*;

    use super::*;
    use crate::Config;

    fn world() -> (Service, Emulator) {
        let mut fabric = Fabric::new();
        let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(0x10), 1, "host");
        let switch = fabric.add_node(NodeKind::Switch, Guid(0x20), 4, "switch");
        fabric.connect((host, 1), (switch, 2), None).unwrap();
        (Service::default(), Emulator::new(&fabric, Config::default()))
    }

    fn control(kind: u32, client: u32, data: &[u8]) -> [u8; CONTROL_LENGTH] {
        let mut message = [0; CONTROL_LENGTH];
        for (at, value) in [(0, MAGIC), (4, client), (8, kind), (12, data.len() as u32)] {
            set_word(&mut message, at, value);
        }
        message[16..16 + data.len()].copy_from_slice(data);
        message
    }

    fn connect(name: &str, is_manager: bool) -> [u8; CONTROL_LENGTH] {
        let mut data = [0; 44];
        set_word(&mut data, 0, 4711);
        set_word(&mut data, 8, is_manager.into());
        data[12..12 + name.len()].copy_from_slice(name.as_bytes());
        control(1, 0, &data)
    }

    #[test]
    fn two_clients_at_one_port_get_their_own_answers() {
        let (mut service, mut emulator) = world();
        let first = service.control(&mut emulator, &connect("", false)).unwrap();
        let second = service.control(&mut emulator, &connect("host", true)).unwrap();
        assert_eq!((word(&first, 8), word(&first, 16), word(&second, 16)), (1, 0, 1));
        assert_eq!(first[28..33], *b"host\0");
        let third = service.control(&mut emulator, &connect("host", true)).unwrap();
        assert_eq!(word(&third, 8), 0, "one manager a node");
        for (number, hops) in [(0, &[1][..]), (1, &[])] {
            let route = DirectedRoute::new(hops).unwrap();
            let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 77, 0);
            service.data(&mut emulator, Time::ZERO, number, &emit_data(&Packet::directed(mad)));
        }
        emulator.advance(Time(1_000_000));
        let mut answers: Vec<_> = std::iter::from_fn(|| service.poll(&mut emulator)).collect();
        answers.sort_by_key(|(number, _)| *number);
        let guids = answers.iter().map(|(number, message)| {
            let packet = parse_data(message).unwrap();
            assert_eq!((packet.status, packet.mad.tid() & 0xffff_ffff), (0, 77));
            (*number, packet.mad.get::<NodeInfo>().node_guid)
        });
        assert_eq!(guids.collect::<Vec<_>>(), [(0, Guid(0x20)), (1, Guid(0x10))]);
        // The manager shows in the port's mask until it goes.
        let mask = |emulator: &Emulator| {
            let port = emulator.fabric().port(NodeId(0), 1).unwrap();
            emulator.port_info(port).capability_mask & ib::capability::IS_SM
        };
        assert_ne!(mask(&emulator), 0);
        service.control(&mut emulator, &control(2, 1, &[])).unwrap();
        assert_eq!(mask(&emulator), 0);
        let info = service.control(&mut emulator, &control(7, 0, &[])).unwrap();
        assert_eq!(info[16 + 3], 1, "one port");
    }

    #[test]
    fn what_nobody_answers_comes_back_with_a_status() {
        let (mut service, mut emulator) = world();
        service.control(&mut emulator, &connect("switch", false)).unwrap();
        let route = DirectedRoute::new(&[3]).unwrap();
        let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 5, 0);
        service.data(&mut emulator, Time::ZERO, 0, &emit_data(&Packet::directed(mad)));
        assert!(service.poll(&mut emulator).is_none());
        let deadline = service.next_deadline().unwrap();
        emulator.advance(deadline);
        let (number, message) = service.poll(&mut emulator).unwrap();
        assert_eq!((number, parse_data(&message).unwrap().status), (0, Packet::TIMED_OUT));
        assert!(service.next_deadline().is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            messages in proptest::collection::vec(
                (any::<bool>(), 0u32..12, 0u32..12, proptest::collection::vec(any::<u8>(), 80..=288)), 1..30,
            ),
        ) {
            let (mut service, mut emulator) = world();
            service.control(&mut emulator, &connect("", true)).unwrap();
            for (is_control, kind, client, mut bytes) in messages {
                if is_control {
                    bytes.truncate(CONTROL_LENGTH);
                    for (at, value) in [(0, MAGIC), (4, client), (8, kind)] {
                        set_word(&mut bytes, at, value);
                    }
                    bytes[28] = 0;
                    service.control(&mut emulator, &bytes);
                } else {
                    bytes.resize(DATA_LENGTH, 0x81);
                    let now = emulator.now() + Duration::from_millis(1);
                    service.data(&mut emulator, now, client as usize, &bytes);
                }
                while service.poll(&mut emulator).is_some() {}
            }
        }
    }
}
