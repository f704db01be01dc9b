//! Rules of the standard that a manager seldom meets: keys by level, routes with LID parts, methods that no agent has,
//! data that brings an armed link into service, traps on a schedule.

use std::time::Duration;

use emulator::{ClientId, Config, Emulator, Fault};
use fabric::{Fabric, NodeId, NodeKind};
use ib::*;

const SECOND: Duration = Duration::from_secs(1);
const HOST: NodeId = NodeId(0);
const SWITCH: NodeId = NodeId(1);
const FAR: NodeId = NodeId(2);

/// A host, a switch and another host, with LIDs 1, 2 and 3 and the switch's table.
fn world(config: Config) -> (Emulator, ClientId) {
    let mut fabric = Fabric::new();
    fabric.add_node(NodeKind::ChannelAdapter, Guid(0x10), 1, "host");
    fabric.add_node(NodeKind::Switch, Guid(0x20), 4, "switch");
    fabric.add_node(NodeKind::ChannelAdapter, Guid(0x30), 1, "far");
    fabric.connect((HOST, 1), (SWITCH, 1), None).unwrap();
    fabric.connect((FAR, 1), (SWITCH, 2), None).unwrap();
    let mut emulator = Emulator::new(&fabric, config);
    let client = emulator.attach(HOST, 1).unwrap();
    for (hops, port, lid) in [(&[][..], 1, 1), (&[1], 0, 2), (&[1, 2], 1, 3)] {
        let info =
            PortInfo { lid: Lid(lid), sm_lid: Lid(1), neighbor_mtu: Mtu::M2048, ..PortInfo::default() };
        let answer = directed(&mut emulator, client, Method::SET, hops, port, |mad| mad.put(&info)).unwrap();
        assert_eq!(answer.status(), Status::OK);
    }
    let mut table = LinearForwardingTable([NO_ROUTE; 64]);
    table.0[1..4].copy_from_slice(&[1, 0, 2]);
    directed(&mut emulator, client, Method::SET, &[1], 0, |mad| mad.put(&table)).unwrap();
    let info = SwitchInfo { linear_fdb_top: Lid(3), ..SwitchInfo::default() };
    directed(&mut emulator, client, Method::SET, &[1], 0, |mad| mad.put(&info)).unwrap();
    (emulator, client)
}

fn exchange(emulator: &mut Emulator, client: ClientId, packet: &Packet) -> Option<Mad> {
    let now = emulator.now();
    emulator.send(now, client, packet);
    emulator.advance_to_delivery(now + SECOND);
    emulator.receive().map(|(_, _, packet)| packet.mad)
}

fn directed(
    emulator: &mut Emulator,
    client: ClientId,
    method: Method,
    hops: &[u8],
    modifier: u32,
    fill: impl FnOnce(&mut Mad),
) -> Option<Mad> {
    let route = DirectedRoute::new(hops).unwrap();
    let mut mad = Mad::directed(method, AttributeId::NODE_INFO, modifier, &route, 7, 0);
    fill(&mut mad);
    exchange(emulator, client, &Packet::directed(mad))
}

fn set_state(emulator: &mut Emulator, client: ClientId, hops: &[u8], port: u32, state: PortState) {
    let info = PortInfo { port_state: state, neighbor_mtu: Mtu::M2048, ..PortInfo::default() };
    let mut wanted = info;
    if port == 1 && hops != [1] {
        // An end port's own fields go with it.
        (wanted.lid, wanted.sm_lid) = (Lid(if hops.is_empty() { 1 } else { 3 }), Lid(1));
    }
    let answer = directed(emulator, client, Method::SET, hops, port, |mad| mad.put(&wanted)).unwrap();
    assert_eq!(answer.status(), Status::OK);
}

#[test]
fn a_route_may_begin_and_end_with_lids() {
    let (mut emulator, client) = world(Config::default());
    // By LID to the switch, from there by its port 2, and back the same way.
    let route = DirectedRoute::new(&[2]).unwrap();
    let mut mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 8, 0);
    mad.set_dr_slid(1);
    let packet = Packet { dlid: Lid(2), slid: Lid(1), ..Packet::directed(mad) };
    let answer = exchange(&mut emulator, client, &packet).expect("an answer");
    assert_eq!((answer.get::<NodeInfo>().node_guid, answer.tid()), (Guid(0x30), 8));
    // By a directed route to the switch, from there by LID to the far host.
    let route = DirectedRoute::new(&[1]).unwrap();
    let mut mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 9, 0);
    mad.set_dr_dlid(3);
    let answer = exchange(&mut emulator, client, &Packet::directed(mad)).expect("an answer");
    assert_eq!((answer.get::<NodeInfo>().node_guid, answer.tid()), (Guid(0x30), 9));
    assert_eq!(emulator.under_way(), 0);
}

#[test]
fn what_an_agent_does_not_have_it_names() {
    let (mut emulator, client) = world(Config::default());
    let mut status = |method, id, version: u8| {
        let answer = directed(&mut emulator, client, method, &[1], 0, |mad| {
            mad.set_attribute_id(id);
            mad.set_class_version(version);
        });
        answer.map(|mad| (mad.method(), mad.status()))
    };
    let refused = |status| Some((Method::GET_RESP, status));
    assert_eq!(status(Method::SET, AttributeId::NODE_INFO, 1), refused(Status::UNSUPPORTED_ATTRIBUTE));
    assert_eq!(status(Method::GET, AttributeId::SM_INFO, 1), refused(Status::UNSUPPORTED_ATTRIBUTE));
    assert_eq!(status(Method::GET, AttributeId(0x7777), 1), refused(Status::UNSUPPORTED_ATTRIBUTE));
    assert_eq!(status(Method::GET, AttributeId::NODE_INFO, 9), refused(Status::BAD_VERSION));
    let table = status(Method(0x12), AttributeId::NODE_INFO, 1).map(|(_, status)| status);
    assert_eq!(table, Some(Status::UNSUPPORTED_METHOD));
    assert_eq!(status(Method::GET_RESP, AttributeId::NODE_INFO, 1), None);
}

#[test]
fn a_key_hides_itself_and_refuses_writes_by_its_level() {
    for (level, reads) in [(0, true), (1, true), (2, false), (3, false)] {
        let (mut emulator, client) = world(Config::default());
        let keyed = PortInfo {
            m_key: 99,
            m_key_protect_bits: level,
            lid: Lid(2),
            sm_lid: Lid(1),
            ..PortInfo::default()
        };
        directed(&mut emulator, client, Method::SET, &[1], 0, |mad| mad.put(&keyed)).unwrap();
        let mut read = |key| {
            directed(&mut emulator, client, Method::GET, &[1], 0, |mad| {
                mad.set_attribute_id(AttributeId::PORT_INFO);
                mad.set_m_key(key);
            })
        };
        assert_eq!(read(99).unwrap().get::<PortInfo>().m_key, 99);
        let seen = read(0).map(|mad| mad.get::<PortInfo>().m_key);
        assert_eq!(seen, reads.then_some(if level == 0 { 99 } else { 0 }), "level {level}");
        let write = directed(&mut emulator, client, Method::SET, &[1], 0, |mad| {
            mad.put(&keyed);
            mad.set_m_key(98);
        });
        assert!(write.is_none(), "level {level}");
    }
}

#[test]
fn data_brings_an_armed_neighbour_into_service() {
    let (mut emulator, client) = world(Config::default());
    for (hops, port) in [(&[][..], 1), (&[1], 1)] {
        set_state(&mut emulator, client, hops, port, PortState::ARMED);
    }
    set_state(&mut emulator, client, &[], 1, PortState::ACTIVE);
    let mut mad = Mad::performance(Method::GET, AttributeId::PORT_COUNTERS, 4);
    mad.put(&PortCounters { port_select: 1, ..PortCounters::default() });
    let packet = Packet { dest_qp: 1, source_qp: 1, ..Packet::to_lid(Lid(2), mad) };
    assert!(exchange(&mut emulator, client, &packet).is_some());
    let port = emulator.fabric().port(SWITCH, 1).unwrap();
    assert_eq!(emulator.port_info(port).port_state, PortState::ACTIVE);
    // Beyond, the link is not in service: the packet ends there and is counted.
    let packet = Packet { dlid: Lid(3), ..packet };
    assert!(exchange(&mut emulator, client, &packet).is_none());
    let out = emulator.fabric().port(SWITCH, 2).unwrap();
    assert_eq!(emulator.counters(out).transmit_discards, 1);
}

#[test]
fn scheduled_faults_raise_their_traps() {
    let at = |microseconds| Duration::from_micros(microseconds);
    let faults = vec![
        (at(10_000), Fault::Threshold { node: SWITCH, port: 2, trap: 129 }),
        (at(20_000), Fault::Threshold { node: SWITCH, port: 1, trap: 130 }),
        (at(30_000), Fault::Unlink { node: FAR, port: 1 }),
    ];
    let (mut emulator, client) = world(Config { faults, ..Config::default() });
    emulator.advance(Time::ZERO + at(50_000));
    let lid = Lid(2);
    let mut seen = Vec::new();
    while let Some((when, to, packet)) = emulator.receive() {
        assert_eq!((to, packet.slid, packet.dlid), (client, lid, Lid(1)));
        seen.push((when.0 / 10_000_000, packet.mad.get::<Notice>().trap()));
    }
    let expected = [
        (1, Trap::LocalLinkIntegrity { lid, port: 2 }),
        (2, Trap::BufferOverrun { lid, port: 1 }),
        (3, Trap::LinkStateChange { lid }),
    ];
    assert_eq!(seen, expected);
    // A port that begins to say IsSM tells by trap 144, to itself where it is the manager's.
    emulator.set_is_manager(client, true);
    emulator.advance(emulator.now() + at(1_000));
    let traps: Vec<_> = std::iter::from_fn(|| emulator.receive())
        .map(|(_, _, packet)| packet.mad.get::<Notice>().trap())
        .collect();
    assert!(
        traps.iter().any(|trap| matches!(trap, Trap::LocalChanges { lid: Lid(1), capability_mask, .. }
            if capability_mask & capability::IS_SM != 0)),
        "{traps:?}"
    );
}
