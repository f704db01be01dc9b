//! Whatever happens to a fabric, its books stay in order and its links come back.

use std::time::Duration;

use emulator::{Behaviour, Config, Counter, Emulator, Fault};
use fabric::generate::FatTreeSpec;
use fabric::{Fabric, NodeId};
use ib::*;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn tree() -> Fabric {
    FatTreeSpec { levels: Some(2), radix: 4, ..FatTreeSpec::default() }.build().unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Fault(Fault),
    Packet(Box<[u8; 256]>, u32, u32),
    Wait(u64),
}

fn fault() -> impl Strategy<Value = Fault> {
    let place = || ((0u32..16).prop_map(NodeId), 0u8..6);
    prop_oneof![
        place().prop_map(|(node, port)| Fault::Unlink { node, port }),
        place().prop_map(|(node, port)| Fault::Relink { node, port }),
        place().prop_map(|(node, _)| Fault::PowerOff { node }),
        place().prop_map(|(node, _)| Fault::PowerOn { node }),
        place().prop_map(|(node, _)| Fault::Reset { node }),
        (place(), 0u64..80_000, 1u32..6).prop_map(|((node, port), every, changes)| Fault::Flap {
            node,
            port,
            every: Duration::from_micros(every),
            changes
        }),
        (place(), 0u32..1_000_000).prop_map(|((node, port), per_million)| Fault::Loss {
            node,
            port,
            per_million
        }),
        (place(), any::<u32>()).prop_map(|((node, port), lid)| Fault::Lid { node, port, lid: Lid(lid) }),
        (place(), 128u16..146).prop_map(|((node, port), trap)| Fault::Threshold { node, port, trap }),
        (place(), any::<u64>()).prop_map(|((node, port), value)| Fault::Count {
            node,
            port,
            counter: Counter::LinkDowned,
            value
        }),
        (place(), 0usize..6).prop_map(|((node, _), which)| {
            use Behaviour::*;
            let behaviour = [Sound, Silent, Slow(u32::MAX), Twice, Garbage, WrongAttribute][which];
            Fault::Agent { node, behaviour }
        }),
    ]
}

/// A MAD of random data whose header leads somewhere.
fn packet() -> impl Strategy<Value = Step> {
    const CLASSES: [u8; 4] = [0x01, 0x81, 0x04, 0x03];
    const METHODS: [u8; 6] = [0x01, 0x02, 0x05, 0x07, 0x81, 0x12];
    const ATTRIBUTES: [u16; 14] =
        [0x02, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x1d, 0x20, 0xff90];
    let modifier = prop_oneof![0u32..8, any::<u32>(), (0u32..5, 0u32..8).prop_map(|(a, b)| a << 16 | b)];
    let random = proptest::collection::vec(any::<u8>(), 256);
    let header = (0usize..4, 0usize..6, 0usize..14, proptest::collection::vec(1u8..5, 0..4));
    let lid = prop_oneof![3 => Just(0xffffu32), 1 => 0u32..8];
    (random, header, modifier, lid, 0u32..2, 0u8..6).prop_map(
        |(mut bytes, (class, method, attribute, hops), modifier, dlid, qp, pointer)| {
            bytes[0] = 1;
            bytes[1] = CLASSES[class];
            bytes[2] = 1;
            bytes[3] = METHODS[method];
            bytes[4..6].copy_from_slice(&[if method == 4 { 0x80 } else { 0 }, 0]);
            bytes[6] = if pointer < 5 { 0 } else { pointer };
            bytes[7] = hops.len() as u8;
            bytes[16..18].copy_from_slice(&ATTRIBUTES[attribute].to_be_bytes());
            bytes[20..24].copy_from_slice(&modifier.to_be_bytes());
            bytes[24..32].fill(0);
            bytes[32..36].fill(0xff);
            bytes[129..129 + hops.len()].copy_from_slice(&hops);
            Step::Packet(Box::new(bytes.try_into().unwrap()), dlid, qp)
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => fault().prop_map(Step::Fault),
        5 => packet(),
        2 => (0u64..60_000_000).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Lets the steps happen; gives back what the client received, and a digest of what the ports hold.
fn run(steps: &[Step]) -> (Vec<(Time, [u8; 256])>, Vec<PortInfo>) {
    let fabric = tree();
    let seat = fabric.hosts().next().unwrap();
    let mut emulator = Emulator::new(&fabric, Config { loss_per_million: 5_000, ..Config::default() });
    let client = emulator.attach(seat, 1).unwrap();
    emulator.set_is_manager(client, true);
    for step in steps {
        let now = emulator.now();
        match step {
            Step::Fault(fault) => emulator.apply(*fault),
            Step::Packet(bytes, dlid, qp) => {
                let packet = Packet { dlid: Lid(*dlid), dest_qp: *qp, ..Packet::directed(Mad(**bytes)) };
                emulator.send(now, client, &packet);
            }
            Step::Wait(nanoseconds) => emulator.advance(now + Duration::from_nanos(*nanoseconds)),
        }
        emulator.check_invariants();
    }
    emulator.advance(emulator.now() + 100 * SECOND);
    emulator.check_invariants();
    let received =
        std::iter::from_fn(|| emulator.receive()).map(|(at, _, packet)| (at, packet.mad.0)).collect();
    let slots = 0..fabric.port_slot_count() as u32;
    (received, slots.map(|slot| *emulator.port_info(fabric::PortId(slot))).collect())
}

proptest! {
    #[test]
    fn the_books_stay_in_order_and_the_same_steps_give_the_same_history(steps in steps()) {
        prop_assert!(run(&steps) == run(&steps));
    }
}

#[test]
fn a_link_that_flaps_ends_as_it_began_and_trains_once() {
    let fabric = tree();
    let leaf = fabric.switches().next().unwrap();
    let port = fabric.port(leaf, 3).unwrap();
    let mut emulator = Emulator::new(&fabric, Config::default());
    let every = Duration::from_millis(10);
    emulator.apply(Fault::Flap { node: leaf, port: 3, every, changes: 4 });
    let state = |emulator: &Emulator| emulator.port_info(port).port_state;
    assert_eq!(state(&emulator), PortState::DOWN);
    // Put back at 10 ms and again at 30 ms: the training that began at 10 ms is void.
    emulator.advance(Time(65_000_000));
    assert_eq!(state(&emulator), PortState::DOWN);
    emulator.advance(Time(80_000_000));
    assert_eq!(state(&emulator), PortState::INITIALIZE);
    emulator.check_invariants();
}

#[test]
fn a_lossy_link_loses_on_that_link_only() {
    let fabric = tree();
    let seat = fabric.hosts().next().unwrap();
    let leaf = fabric.switches().next().unwrap();
    let mut emulator = Emulator::new(&fabric, Config::default());
    let client = emulator.attach(seat, 1).unwrap();
    emulator.apply(Fault::Loss { node: leaf, port: 3, per_million: 1_000_000 });
    let mut answers = |hops: &[u8]| {
        let route = DirectedRoute::new(hops).unwrap();
        let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 1, 0);
        let now = emulator.now();
        emulator.send(now, client, &Packet::directed(mad));
        emulator.advance(now + SECOND);
        emulator.receive().is_some()
    };
    assert_eq!([answers(&[1]), answers(&[1, 3]), answers(&[1, 4])], [true, false, true]);
}

#[test]
fn clones_and_counters_show_what_the_fault_says() {
    let fabric = tree();
    let seat = fabric.hosts().next().unwrap();
    let leaf = fabric.switches().next().unwrap();
    let mut emulator = Emulator::new(&fabric, Config::default());
    let client = emulator.attach(seat, 1).unwrap();
    emulator.apply(Fault::CloneGuid { node: leaf, of: seat });
    let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &DirectedRoute::new(&[1]).unwrap(), 1, 0);
    emulator.send(Time::ZERO, client, &Packet::directed(mad));
    emulator.advance(Time::ZERO + SECOND);
    let (_, _, answer) = emulator.receive().unwrap();
    assert_eq!(answer.mad.get::<NodeInfo>().node_guid, fabric.guid(seat));
    let port = fabric.port(leaf, 2).unwrap();
    emulator.apply(Fault::Count { node: leaf, port: 2, counter: Counter::SymbolErrors, value: 77 });
    emulator.count_data(port, 3, 4096);
    assert_eq!(emulator.counters(port).symbol_errors, 77);
    assert_eq!((emulator.counters(port).transmit_packets, emulator.counters(port).transmit_data), (3, 1024));
    let peer = fabric.peer(port).unwrap();
    assert_eq!(emulator.counters(peer).receive_packets, 3);
}
