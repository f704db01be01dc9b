//! LIDs persist, conflicts are resolved, too many hosts are refused.

use std::collections::BTreeMap;

use fabric::generate::FatTreeSpec;
use fabric::{Fabric, NodeKind, PortId};
use ib::{Guid, Lid};
use subnet::{Config, FindingKind, Phase};

use crate::fabrics::{self, NDR};
use crate::judges;
use crate::world::{World, of_kind};

fn lid(world: &World, name: &str) -> Lid {
    let fabric = world.emulator.fabric();
    let node = fabrics::node(fabric, name);
    world.emulator.port_info(end_port(fabric, node)).lid
}

fn end_port(fabric: &Fabric, node: fabric::NodeId) -> PortId {
    fabric.port(node, u8::from(!fabric.is_switch(node))).unwrap()
}

fn guid(fabric: &Fabric, name: &str) -> Guid {
    fabric.guid(fabrics::node(fabric, name))
}

#[test]
fn who_is_on_record_gets_what_is_on_record() {
    let fabric = fabrics::star(4);
    let known_lids = BTreeMap::from([
        (guid(&fabric, "host-3"), Lid(700)),
        (guid(&fabric, "switch"), Lid(2)),
        (Guid(0xdead), Lid(5)),
    ]);
    let mut world =
        World::with(&fabric, emulator::Config::default(), Config { known_lids, ..Config::default() });
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
    assert_eq!((lid(&world, "host-3"), lid(&world, "switch")), (Lid(700), Lid(2)));
}

#[test]
fn the_record_goes_before_what_was_found_and_what_was_found_before_anything_new() {
    let fabric = fabrics::star(4);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let (first, second) = (lid(&world, "host-1"), lid(&world, "host-2"));
    // Host 3 is on record with what host 2 holds.
    let known_lids = BTreeMap::from([(guid(&fabric, "host-3"), second)]);
    world.restart(Config { known_lids, ..Config::default() });
    let findings = world.bring_up();
    judges::is_up(&world);
    assert_eq!(lid(&world, "host-3"), second, "the record");
    assert_eq!(lid(&world, "host-1"), first, "what was found");
    assert_ne!(lid(&world, "host-2"), second);
    let [finding] = of_kind(&findings, FindingKind::DuplicateLid)[..] else { panic!("{findings:#?}") };
    assert!(finding.place.contains("host-2"), "{finding:?}");
    assert!(finding.message.contains("host-3"), "{finding:?}");
}

#[test]
fn two_on_record_with_one_lid_do_not_share_it() {
    let fabric = fabrics::star(4);
    let known_lids = BTreeMap::from([(guid(&fabric, "host-1"), Lid(9)), (guid(&fabric, "host-2"), Lid(9))]);
    let mut world =
        World::with(&fabric, emulator::Config::default(), Config { known_lids, ..Config::default() });
    let findings = world.bring_up();
    judges::is_up(&world);
    assert_eq!(of_kind(&findings, FindingKind::DuplicateLid).len(), 1);
    assert!(lid(&world, "host-1") == Lid(9) || lid(&world, "host-2") == Lid(9));
}

#[test]
fn lids_that_cannot_be_are_not_kept() {
    let fabric = fabrics::star(4);
    for bad in [0, 0xc000, 0xffff, 0x1_2345, u32::MAX] {
        let known_lids = BTreeMap::from([(guid(&fabric, "host-2"), Lid(bad))]);
        let mut world =
            World::with(&fabric, emulator::Config::default(), Config { known_lids, ..Config::default() });
        world.bring_up();
        judges::is_up(&world);
        assert!((1..0xc000).contains(&lid(&world, "host-2").0), "{bad:#x}");
    }
}

#[test]
fn a_host_that_was_away_gets_its_lid_back_and_nobody_else_does() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let known = world.known_lids();
    // Another host stands in for the one with the middle LID, then both are there.
    let away = fabric.hosts().nth(4).unwrap();
    let leaf = fabric.peer(end_port(&fabric, away)).unwrap();
    let mut changed = fabric.clone();
    changed.disconnect(leaf);
    let new = changed.add_node(NodeKind::ChannelAdapter, Guid(0xabc), 1, "new");
    let seat = (changed.node_of(leaf), changed.port_number(leaf));
    changed.connect((new, 1), seat, NDR).unwrap();
    let mut later = World::with(
        &changed,
        emulator::Config::default(),
        Config { known_lids: known.clone(), ..Config::default() },
    );
    assert_eq!(later.bring_up(), []);
    judges::is_up(&later);
    for (&guid, &lid) in &known {
        if guid != fabric.guid(away) {
            assert_eq!(later.known_lids()[&guid], lid);
        }
    }
}

#[test]
fn hosts_behind_one_uplink_have_lids_in_a_row_and_switches_a_range_of_their_own() {
    let fabric = FatTreeSpec { levels: Some(3), radix: 8, ..FatTreeSpec::default() }.build().unwrap();
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let lid = |node| world.emulator.port_info(end_port(&fabric, node)).lid.0;
    for leaf in fabric.switches().filter(|&switch| fabric.name(switch).starts_with("leaf")) {
        let table = world.emulator.forwarding_table(leaf);
        let up = fabric.neighbors(leaf).filter(|&(_, peer)| fabric.is_switch(fabric.node_of(peer)));
        for port in up.map(|(port, _)| fabric.port_number(port)) {
            let behind: Vec<u32> =
                fabric.hosts().map(lid).filter(|&lid| table[lid as usize] == port).collect();
            let (min, max) = (behind.iter().min().unwrap(), behind.iter().max().unwrap());
            assert!(behind.len() >= 31, "{} port {port}: {}", fabric.name(leaf), behind.len());
            assert_eq!(min / 64, max / 64, "{} port {port}: two blocks", fabric.name(leaf));
        }
    }
    let hosts: Vec<u32> = fabric.hosts().map(lid).collect();
    let switches: Vec<u32> = fabric.switches().map(lid).collect();
    let apart = switches.iter().min() > hosts.iter().max() || hosts.iter().min() > switches.iter().max();
    assert!(apart, "switches among hosts");
    // Dense: the tables are no longer than they need be.
    let top = hosts.iter().chain(&switches).max().unwrap();
    assert!((*top as usize) < 2 * (hosts.len() + switches.len()) + 128, "{top}");
}

#[test]
fn more_ports_than_lids_are_refused_with_how_many_and_a_way_out() {
    // 200 stars of 250 hosts: 50,000 hosts and 201 switches, where 49,151 LIDs are.
    let mut fabric = Fabric::new();
    let hub = fabric.add_node(NodeKind::Switch, Guid(1), 254, "hub");
    for leaf in 0..200u8 {
        let base = 0x1_0000 * (u64::from(leaf) + 1);
        let star = fabric.add_node(NodeKind::Switch, Guid(base), 254, &format!("star-{leaf}"));
        fabric.connect((hub, leaf + 1), (star, 254), NDR).unwrap();
        for number in 1..=250u8 {
            let host = Guid(base + u64::from(number) * 0x10);
            let host = fabric.add_node(NodeKind::ChannelAdapter, host, 1, &format!("host-{leaf}-{number}"));
            fabric.connect((host, 1), (star, number), NDR).unwrap();
        }
    }
    let mut world = World::healthy(&fabric);
    world.settle();
    let report = world.manager().report();
    assert_eq!(report.state, Phase::Refused);
    let reason = report.refused.unwrap();
    let over = 50_000 + 201 - 49_151;
    assert!(reason.contains(&format!("{over} too few")) && reason.contains("--addressing wide"), "{reason}");
    assert_eq!(report.mads.set, 0);
}
