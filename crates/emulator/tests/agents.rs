//! Agents as a manager meets them: one request, one answer, over directed routes and by LID.

use std::time::Duration;

use emulator::{Behaviour, ClientId, Config, Emulator, Fault};
use fabric::generate::FatTreeSpec;
use fabric::{Fabric, NodeId};
use ib::*;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

/// A manager at the first host of a small tree.
struct Manager {
    emulator: Emulator,
    client: ClientId,
    at: NodeId,
    tid: u64,
}

fn tree() -> Fabric {
    FatTreeSpec { levels: Some(2), radix: 4, ..FatTreeSpec::default() }.build().unwrap()
}

impl Manager {
    fn new(config: Config) -> Self {
        let fabric = tree();
        let at = fabric.hosts().next().unwrap();
        let mut emulator = Emulator::new(&fabric, config);
        let client = emulator.attach(at, 1).unwrap();
        Self { emulator, client, at, tid: 0 }
    }

    fn exchange(&mut self, packet: Packet) -> Option<Mad> {
        let now = self.emulator.now();
        self.emulator.send(now, self.client, &packet);
        self.emulator.advance_to_delivery(now + SECOND);
        self.emulator.receive().map(|(_, _, packet)| packet.mad)
    }

    fn directed(
        &mut self,
        method: Method,
        route: &[u8],
        modifier: u32,
        fill: impl FnOnce(&mut Mad),
    ) -> Option<Mad> {
        self.tid += 1;
        let route = DirectedRoute::new(route).unwrap();
        let mut mad = Mad::directed(method, AttributeId::NODE_INFO, modifier, &route, self.tid, 0);
        fill(&mut mad);
        let answer = self.exchange(Packet::directed(mad))?;
        assert_eq!(answer.tid(), self.tid);
        Some(answer)
    }

    fn get<A: Attribute>(&mut self, route: &[u8], modifier: u32) -> (A, Status) {
        let answer = self
            .directed(Method::GET, route, modifier, |mad| mad.set_attribute_id(A::ID))
            .expect("an answer");
        (answer.get(), answer.status())
    }

    fn set<A: Attribute>(&mut self, route: &[u8], modifier: u32, value: &A) -> (A, Status) {
        let answer = self.directed(Method::SET, route, modifier, |mad| mad.put(value)).expect("an answer");
        (answer.get(), answer.status())
    }

    fn set_state(&mut self, route: &[u8], port: u32, state: PortState) -> Status {
        let (mut info, _) = self.get::<PortInfo>(route, port);
        info.port_state = state;
        info.physical_state = PhysicalState::NO_CHANGE;
        self.set(route, port, &info).1
    }

    fn state(&mut self, route: &[u8], port: u32) -> PortState {
        self.get::<PortInfo>(route, port).0.port_state
    }
}

#[test]
fn directed_routes_name_the_port_they_came_in_by() {
    let mut manager = Manager::new(Config::default());
    let (own, _) = manager.get::<NodeInfo>(&[], 0);
    assert_eq!((own.node_type, own.local_port, own.port_count), (NodeType::CHANNEL_ADAPTER, 1, 1));
    let (leaf, _) = manager.get::<NodeInfo>(&[1], 0);
    assert_eq!((leaf.node_type, leaf.local_port, leaf.port_count), (NodeType::SWITCH, 1, 4));
    let (spine, _) = manager.get::<NodeInfo>(&[1, 3], 0);
    assert_eq!((spine.node_type, spine.local_port), (NodeType::SWITCH, 1));
    let (other, _) = manager.get::<NodeInfo>(&[1, 3, 2, 2], 0);
    assert_eq!((other.node_type, other.local_port), (NodeType::CHANNEL_ADAPTER, 1));
    let (name, _) = manager.get::<NodeDescription>(&[1, 3], 0);
    assert!(name.text().starts_with("spine-"));
    // No such way: no answer, and nothing is left under way.
    assert!(manager.directed(Method::GET, &[1, 9], 0, |_| ()).is_none());
    assert!(manager.directed(Method::GET, &[1, 1, 1], 0, |_| ()).is_none());
    assert_eq!(manager.emulator.under_way(), 0);
}

#[test]
fn states_move_in_order_only() {
    let mut manager = Manager::new(Config::default());
    assert_eq!(manager.state(&[1], 3), PortState::INITIALIZE);
    assert_eq!(manager.set_state(&[1], 3, PortState::ACTIVE), Status::INVALID_FIELD);
    assert_eq!(manager.state(&[1], 3), PortState::INITIALIZE);
    assert_eq!(manager.set_state(&[1], 3, PortState::ARMED), Status::OK);
    assert_eq!(manager.set_state(&[1], 3, PortState::ACTIVE), Status::OK);
    assert_eq!(manager.set_state(&[1], 3, PortState::ARMED), Status::INVALID_FIELD);
    assert_eq!(manager.set_state(&[1], 3, PortState::INITIALIZE), Status::INVALID_FIELD);
    assert_eq!(manager.state(&[1], 3), PortState::ACTIVE);
    assert_eq!(manager.state(&[1], 0), PortState::ACTIVE, "port 0 is in service by itself");

    // Down: both ends, then both train again.
    assert_eq!(manager.set_state(&[1], 3, PortState::DOWN), Status::OK);
    assert_eq!(manager.state(&[1], 3), PortState::DOWN);
    let now = manager.emulator.now();
    manager.emulator.advance(now + SECOND);
    assert_eq!(manager.state(&[1], 3), PortState::INITIALIZE);
    assert_eq!(manager.state(&[1, 3], 1), PortState::INITIALIZE);
}

#[test]
fn a_disabled_link_stays_down_until_it_may_poll() {
    let mut manager = Manager::new(Config::default());
    let (mut info, _) = manager.get::<PortInfo>(&[1], 3);
    info.port_state = PortState::NO_CHANGE;
    info.physical_state = PhysicalState::DISABLED;
    assert_eq!(manager.set(&[1], 3, &info).1, Status::OK);
    let now = manager.emulator.now();
    manager.emulator.advance(now + SECOND);
    assert_eq!(manager.state(&[1], 3), PortState::DOWN);
    info.physical_state = PhysicalState::POLLING;
    manager.set(&[1], 3, &info);
    let now = manager.emulator.now();
    manager.emulator.advance(now + SECOND);
    assert_eq!(manager.state(&[1], 3), PortState::INITIALIZE);
}

#[test]
fn narrower_and_slower_is_what_a_link_trains_to() {
    let mut manager = Manager::new(Config::default());
    let (mut info, _) = manager.get::<PortInfo>(&[1], 3);
    assert_eq!(info.link_rate(), Some(LinkRate::x4(LinkSpeed::Ndr)));
    info.link_width_enabled = LinkWidth::X1.code();
    info.link_speed_ext_enabled = 2;
    info.port_state = PortState::DOWN;
    info.physical_state = PhysicalState::NO_CHANGE;
    assert_eq!(manager.set(&[1], 3, &info).1, Status::OK);
    let now = manager.emulator.now();
    manager.emulator.advance(now + SECOND);
    let rate = LinkRate { width: LinkWidth::X1, speed: LinkSpeed::Edr };
    assert_eq!(manager.get::<PortInfo>(&[1, 4], 1).0.link_rate(), Some(LinkRate::x4(LinkSpeed::Ndr)));
    assert_eq!(manager.get::<PortInfo>(&[1], 3).0.link_rate(), Some(rate));
    info.link_width_enabled = LinkWidth::X12.code();
    assert_eq!(manager.set(&[1], 3, &info).1, Status::INVALID_FIELD, "a width that the port does not have");
}

#[test]
fn tables_hold_what_was_written() {
    let mut manager = Manager::new(Config::default());
    let (mut switch, _) = manager.get::<SwitchInfo>(&[1], 0);
    assert_eq!((switch.linear_fdb_cap, switch.linear_fdb_top), (0xc000, Lid(0)));
    switch.linear_fdb_top = Lid(200);
    assert_eq!(manager.set(&[1], 0, &switch).0.linear_fdb_top, Lid(200));
    let block = LinearForwardingTable(std::array::from_fn(|i| i as u8));
    assert_eq!(manager.set(&[1], 2, &block), (block, Status::OK));
    assert_eq!(manager.get::<LinearForwardingTable>(&[1], 2).0, block);
    assert_eq!(manager.get::<LinearForwardingTable>(&[1], 1).0, LinearForwardingTable([NO_ROUTE; 64]));
    assert_eq!(manager.get::<LinearForwardingTable>(&[1], 768).1, Status::INVALID_FIELD);
    assert_eq!(manager.get::<LinearForwardingTable>(&[], 0).1, Status::UNSUPPORTED_ATTRIBUTE);
    let (keys, _) = manager.get::<PKeyTable>(&[], 0);
    assert_eq!(keys.0[..2], [PartitionKey::DEFAULT_FULL, PartitionKey(0)]);
    let map = SlToVlMapping([3; 16]);
    manager.set(&[1], 0x0102, &map);
    assert_eq!(manager.get::<SlToVlMapping>(&[1], 0x0102).0, map);
    assert_eq!(manager.get::<SlToVlMapping>(&[1], 0x0103).0, SlToVlMapping::round_robin(8));
    assert_eq!(manager.get::<SlToVlMapping>(&[1], 0x0109).1, Status::INVALID_FIELD);
}

#[test]
fn a_key_keeps_others_out_until_its_lease_ends() {
    let mut manager = Manager::new(Config::default());
    let (mut info, _) = manager.get::<PortInfo>(&[1], 0);
    info.m_key = 7;
    info.m_key_protect_bits = 2;
    info.m_key_lease_period = 10;
    info.port_state = PortState::NO_CHANGE;
    info.physical_state = PhysicalState::NO_CHANGE;
    manager.set(&[1], 0, &info);
    assert!(manager.directed(Method::GET, &[1], 0, |_| ()).is_none());
    let right = manager.directed(Method::GET, &[1], 0, |mad| mad.set_m_key(7));
    assert!(right.is_some());
    assert!(manager.directed(Method::GET, &[1], 0, |_| ()).is_none());
    let now = manager.emulator.now();
    manager.emulator.advance(now + 11 * SECOND);
    let (info, _) = manager.get::<PortInfo>(&[1], 0);
    assert_eq!((info.m_key_protect_bits, info.m_key_violations), (0, 2));
}

/// Gives LIDs and tables to the path between the manager and its leaf, so that LIDs work there.
fn address_leaf(manager: &mut Manager) {
    let mut own = manager.get::<PortInfo>(&[], 1).0;
    (own.lid, own.sm_lid, own.port_state, own.physical_state) =
        (Lid(1), Lid(1), PortState::NO_CHANGE, PhysicalState::NO_CHANGE);
    manager.set(&[], 1, &own);
    let mut leaf = manager.get::<PortInfo>(&[1], 0).0;
    (leaf.lid, leaf.sm_lid, leaf.port_state, leaf.physical_state) =
        (Lid(2), Lid(1), PortState::NO_CHANGE, PhysicalState::NO_CHANGE);
    manager.set(&[1], 0, &leaf);
    let mut table = LinearForwardingTable([NO_ROUTE; 64]);
    (table.0[1], table.0[2]) = (1, 0);
    manager.set(&[1], 0, &table);
    let switch = SwitchInfo { linear_fdb_top: Lid(2), ..manager.get(&[1], 0).0 };
    manager.set(&[1], 0, &switch);
}

#[test]
fn lids_lead_where_the_tables_say() {
    let mut manager = Manager::new(Config::default());
    address_leaf(&mut manager);
    let mad = Mad::lid_routed(Method::GET, AttributeId::NODE_INFO, 0, 77, 0);
    let answer = manager.exchange(Packet::to_lid(Lid(2), mad)).unwrap();
    assert_eq!((answer.tid(), answer.get::<NodeInfo>().node_type), (77, NodeType::SWITCH));
    assert!(manager.exchange(Packet::to_lid(Lid(3), mad)).is_none());

    // Counters answer over links that are in service, not before.
    let mut mad = Mad::performance(Method::GET, AttributeId::PORT_COUNTERS, 78);
    mad.put(&PortCounters { port_select: 1, ..PortCounters::default() });
    let packet = Packet { dest_qp: 1, source_qp: 1, ..Packet::to_lid(Lid(2), mad) };
    assert!(manager.exchange(packet).is_none());
    for state in [PortState::ARMED, PortState::ACTIVE] {
        manager.set_state(&[], 1, state);
        manager.set_state(&[1], 1, state);
    }
    let answer = manager.exchange(packet).unwrap();
    assert_eq!(answer.class(), ManagementClass::PERF);
    let counters = manager.exchange(packet).unwrap().get::<PortCounters>();
    assert!(counters.transmit_packets > 0, "{counters:?}");
}

#[test]
fn a_lost_link_sets_the_change_bit_and_traps_until_repressed() {
    let mut manager = Manager::new(Config::default());
    address_leaf(&mut manager);
    let leaf = manager.emulator.fabric().switches().next().unwrap();
    manager.emulator.apply(Fault::Unlink { node: leaf, port: 3 });
    let mut traps = Vec::new();
    let now = manager.emulator.now();
    for k in 1..=3 {
        manager.emulator.advance(now + Config::default().trap_interval * k);
        while let Some((_, _, packet)) = manager.emulator.receive() {
            traps.push(packet);
        }
    }
    assert!(traps.len() >= 2, "{traps:?}");
    assert_eq!(traps[0].mad.get::<Notice>().trap(), Trap::LinkStateChange { lid: Lid(2) });
    let mut repress = traps[0].mad;
    repress.make_response();
    assert_eq!(repress.method(), Method::TRAP_REPRESS);
    let now = manager.emulator.now();
    manager.emulator.send(now, manager.client, &Packet::to_lid(Lid(2), repress));
    // One that was under way already may still come.
    manager.emulator.advance(now + Duration::from_millis(1));
    while manager.emulator.receive().is_some() {}
    manager.emulator.advance(now + 10 * SECOND);
    assert!(manager.emulator.receive().is_none(), "a repressed trap is not sent again");

    let (mut switch, _) = manager.get::<SwitchInfo>(&[1], 0);
    assert!(switch.state_change);
    manager.set(&[1], 0, &switch);
    switch = manager.get(&[1], 0).0;
    assert!(!switch.state_change, "writing a 1 clears the bit");
}

#[test]
fn faults_of_agents_show() {
    let mut manager = Manager::new(Config::default());
    let node = manager.emulator.fabric().switches().next().unwrap();
    let mut is = |behaviour| manager.emulator.apply(Fault::Agent { node, behaviour });
    is(Behaviour::Silent);
    assert!(manager.directed(Method::GET, &[1], 0, |_| ()).is_none());
    manager.emulator.apply(Fault::Agent { node, behaviour: Behaviour::Twice });
    assert!(manager.directed(Method::GET, &[1], 0, |_| ()).is_some());
    manager.emulator.advance(manager.emulator.now() + SECOND);
    assert!(manager.emulator.receive().is_some());
    manager.emulator.apply(Fault::Agent { node, behaviour: Behaviour::WrongAttribute });
    let answer = manager.directed(Method::GET, &[1], 0, |_| ()).unwrap();
    assert_ne!(answer.attribute_id(), AttributeId::NODE_INFO);
    manager.emulator.apply(Fault::PowerOff { node });
    assert!(manager.directed(Method::GET, &[1], 0, |_| ()).is_none());
    manager.emulator.apply(Fault::PowerOn { node });
    manager.emulator.apply(Fault::Agent { node, behaviour: Behaviour::Sound });
    manager.emulator.advance(manager.emulator.now() + SECOND);
    assert_eq!(manager.state(&[1], 3), PortState::INITIALIZE);
}

#[test]
fn buffers_overrun_and_are_counted() {
    let mut manager = Manager::new(Config::default());
    let now = manager.emulator.now();
    let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &DirectedRoute::new(&[1]).unwrap(), 1, 0);
    for _ in 0..10 {
        manager.emulator.send(now, manager.client, &Packet::directed(mad));
    }
    manager.emulator.advance(now + SECOND);
    assert_eq!(manager.emulator.statistics().received, 4);
    assert_eq!(manager.emulator.statistics().overruns, 6);
    let leaf = manager.emulator.fabric().switches().next().unwrap();
    let port = manager.emulator.fabric().port(leaf, 1).unwrap();
    assert_eq!(manager.emulator.counters(port).vl15_dropped, 6);
}

proptest! {
    #[test]
    fn no_packet_panics_and_none_stays(
        bytes in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 256), 1..20),
        dlid in prop_oneof![Just(0xffffu32), 0u32..0x20000],
        class in prop_oneof![Just(1u8), Just(0x81), Just(4), any::<u8>()],
        qp in 0u32..2,
    ) {
        let mut manager = Manager::new(Config { loss_per_million: 1000, ..Config::default() });
        for bytes in bytes {
            let mut mad = Mad(bytes.try_into().unwrap());
            mad.0[1] = class;
            let now = manager.emulator.now();
            let packet = Packet { dlid: Lid(dlid), dest_qp: qp, ..Packet::directed(mad) };
            manager.emulator.send(now, manager.client, &packet);
        }
        manager.emulator.advance(manager.emulator.now() + 100 * SECOND);
        prop_assert_eq!(manager.emulator.under_way(), 0);
        manager.emulator.fabric().check_invariants();
        prop_assert_eq!(manager.emulator.fabric().is_switch(manager.at), false);
    }
}

#[test]
fn one_seed_gives_one_history() {
    let history = |seed| {
        let mut manager = Manager::new(Config { loss_per_million: 200_000, seed, ..Config::default() });
        let mut seen = Vec::new();
        for k in 0..200u64 {
            let route = DirectedRoute::new(&[1, 3, 1 + (k % 2) as u8]).unwrap();
            let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, k, 0);
            let now = manager.emulator.now() + Duration::from_micros(30);
            manager.emulator.send(now, manager.client, &Packet::directed(mad));
            while let Some((at, _, packet)) = manager.emulator.receive() {
                seen.push((at, packet.mad.tid()));
            }
        }
        seen
    };
    assert_eq!(history(3), history(3));
    assert_ne!(history(3), history(4));
}
