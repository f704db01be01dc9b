//! The ways of packets over random fabrics, against a walk that a reader can check at a glance.

use std::time::Duration;

use emulator::{ClientId, Config, Emulator};
use fabric::{Fabric, NodeId, NodeKind};
use ib::*;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

/// Nodes with 1 to 6 ports, two of three of them switches, and cables between whatever ports were drawn.
fn random_fabric() -> impl Strategy<Value = Fabric> {
    let nodes = proptest::collection::vec((0u8..3, 1u8..=6), 2..12);
    let cables = proptest::collection::vec((any::<u16>(), any::<u8>(), any::<u16>(), any::<u8>()), 1..40);
    (nodes, cables).prop_map(|(nodes, cables)| {
        let mut fabric = Fabric::new();
        for (number, &(kind, ports)) in nodes.iter().enumerate() {
            let kind = if kind == 0 { NodeKind::ChannelAdapter } else { NodeKind::Switch };
            fabric.add_node(kind, Guid(0x100 * (number as u64 + 1)), ports, &format!("node-{number}"));
        }
        let end = |node: u16, port: u8| {
            let node = NodeId(u32::from(node) % nodes.len() as u32);
            (node, port % nodes[node.index()].1 + 1)
        };
        for (a, a_port, b, b_port) in cables {
            let (a, b) = (end(a, a_port), end(b, b_port));
            // A port that is taken stays as it is.
            let _ = fabric.connect(a, b, Some(LinkRate::x4(LinkSpeed::Hdr)));
        }
        fabric
    })
}

/// Seats a client at the first node with a port to sit at.
fn seat(fabric: &Fabric, config: Config) -> (Emulator, ClientId, NodeId, u8) {
    let node = NodeId(0);
    let port = if fabric.is_switch(node) { 0 } else { 1 };
    let mut emulator = Emulator::new(fabric, config);
    let client = emulator.attach(node, port).expect("a port to sit at");
    (emulator, client, node, port)
}

/// Where a directed route leads, hop by hop, and the ports that the packet comes in by.
fn walk(fabric: &Fabric, start: NodeId, hops: &[u8]) -> Option<(NodeId, Vec<u8>)> {
    let (mut node, mut came_by) = (start, Vec::new());
    for (number, &out) in hops.iter().enumerate() {
        if number > 0 && !fabric.is_switch(node) || out == 0 {
            return None;
        }
        let peer = fabric.peer(fabric.port(node, out)?)?;
        node = fabric.node_of(peer);
        came_by.push(fabric.port_number(peer));
    }
    Some((node, came_by))
}

fn exchange(emulator: &mut Emulator, client: ClientId, packet: &Packet) -> Option<Packet> {
    let now = emulator.now();
    emulator.send(now, client, packet);
    emulator.advance(now + SECOND);
    let answer = emulator.receive().map(|(_, _, packet)| packet);
    assert!(emulator.receive().is_none(), "one answer at the most");
    assert_eq!(emulator.under_way(), 0);
    answer
}

proptest! {
    #[test]
    fn directed_routes_lead_where_a_walk_leads(
        fabric in random_fabric(),
        routes in proptest::collection::vec(proptest::collection::vec(0u8..=7, 0..6), 1..20),
    ) {
        let (mut emulator, client, start, own_port) = seat(&fabric, Config::default());
        for hops in routes {
            let route = DirectedRoute::new(&hops).unwrap();
            let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 9, 0);
            let answer = exchange(&mut emulator, client, &Packet::directed(mad));
            // An adapter sends by the port that the client sits at and by no other.
            let leaves = fabric.is_switch(start) || hops.first().is_none_or(|&out| out == own_port);
            match (walk(&fabric, start, &hops).filter(|_| leaves), answer) {
                (Some((end, came_by)), Some(answer)) => {
                    let info: NodeInfo = answer.mad.get();
                    prop_assert_eq!(info.node_guid, fabric.guid(end));
                    prop_assert_eq!(info.local_port, came_by.last().copied().unwrap_or(own_port));
                    prop_assert_eq!(&answer.mad.return_path()[1..=hops.len()], &came_by[..]);
                    prop_assert_eq!((answer.mad.hop_pointer(), answer.mad.is_returning()), (0, true));
                }
                (None, None) => {}
                (walked, answer) => prop_assert!(false, "{hops:?}: {walked:?} but {answer:?}"),
            }
        }
    }

    #[test]
    fn lids_lead_where_the_written_tables_lead(
        fabric in random_fabric(),
        tables in proptest::collection::vec(proptest::collection::vec(0u8..=7, 64), 12),
    ) {
        let (mut emulator, client, start, own_port) = seat(&fabric, Config::default());
        // LIDs and tables go in at each node's own seat.
        let lid = |node: NodeId| Lid(node.0 + 1);
        for node in fabric.nodes() {
            let port = u8::from(!fabric.is_switch(node));
            let own = if node == start { client } else { emulator.attach(node, port).unwrap() };
            let mut set = |mad: Mad| {
                let answer = exchange(&mut emulator, own, &Packet::directed(mad)).expect("an answer");
                assert_eq!(answer.mad.status(), Status::OK);
            };
            let local = |id, modifier| Mad::directed(Method::SET, id, modifier, &DirectedRoute::LOCAL, 3, 0);
            let mut mad = local(AttributeId::PORT_INFO, port.into());
            mad.put(&PortInfo { lid: lid(node), neighbor_mtu: Mtu::M256, ..PortInfo::default() });
            set(mad);
            if fabric.is_switch(node) {
                let mut mad = local(AttributeId::LINEAR_FORWARDING_TABLE, 0);
                mad.data_mut().copy_from_slice(&tables[node.index()]);
                set(mad);
                let mut mad = local(AttributeId::SWITCH_INFO, 0);
                mad.put(&SwitchInfo { linear_fdb_top: Lid(63), ..SwitchInfo::default() });
                set(mad);
            }
            if node != start {
                emulator.detach(own);
            }
        }
        emulator.check_invariants();
        // The way by the tables: none where they loop or lead into the open.
        let way = |from: NodeId, from_port: u8, to: NodeId| {
            let (mut node, mut hops) = (from, 0);
            while node != to {
                let out = match fabric.is_switch(node) {
                    true => tables[node.index()][lid(to).0 as usize],
                    false if hops == 0 => from_port,
                    false => return None,
                };
                let peer = fabric.port(node, out).filter(|_| out > 0).and_then(|port| fabric.peer(port))?;
                // An adapter is known by its first port's LID only.
                if !fabric.is_switch(fabric.node_of(peer)) && fabric.port_number(peer) != 1 {
                    return None;
                }
                node = fabric.node_of(peer);
                hops += 1;
                if hops > 64 {
                    return None;
                }
            }
            Some(hops)
        };
        for node in fabric.nodes() {
            let mad = Mad::lid_routed(Method::GET, AttributeId::NODE_INFO, 0, 5, 0);
            let answer = exchange(&mut emulator, client, &Packet::to_lid(lid(node), mad));
            let back = way(node, 1, start);
            let expected = way(start, own_port, node).and(back).is_some();
            prop_assert_eq!(answer.is_some(), expected, "to {}", fabric.name(node));
            if let Some(answer) = answer {
                prop_assert_eq!(answer.mad.get::<NodeInfo>().node_guid, fabric.guid(node));
                prop_assert_eq!((answer.slid, answer.dlid), (lid(node), lid(start)));
            }
        }
    }
}
