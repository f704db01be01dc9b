//! Fabrics of every shape come up, and what stands in the devices is right.

use fabric::generate::{DragonflyPlusSpec, Generation, SuperpodSpec};
use fabric::{Fabric, NodeKind};
use ib::wide::Addressing;
use ib::{
    AttributeId, Guid, Lid, LinkRate, LinkSpeed, LinkWidth, Mad, Method, NodeDescription, PKeyTable, Packet,
};
use subnet::{Config, Event, Phase};

use crate::fabrics::{self, Cabling, NDR};
use crate::judges;
use crate::world::{SECOND, World};

/// Brings a sound fabric up and judges it; nothing may be found wrong and nothing lost.
fn comes_up(fabric: &Fabric) -> World {
    let mut world = World::healthy(fabric);
    let findings = world.bring_up();
    assert_eq!(findings, []);
    judges::is_up(&world);
    judges::is_the_fabric(&world);
    world
}

#[test]
fn fabrics_of_every_shape() {
    let shapes = [
        ("star", fabrics::star(8)),
        ("leaf and spine", fabrics::leaf_spine(8)),
        ("three levels", fabrics::tree(3, 6, None)),
        ("half a tree", fabrics::tree(3, 8, Some(3))),
        ("ring", fabrics::torus(&[5])),
        ("torus", fabrics::torus(&[4, 3])),
        ("hypercube", fabrics::hypercube(4)),
        ("random regular", fabrics::random_regular(16, 4, 2, 7)),
        ("dragonfly+", DragonflyPlusSpec::default().build().unwrap()),
        ("superpod", SuperpodSpec { units: 1, generation: Generation::Ndr }.build().unwrap()),
    ];
    for (shape, fabric) in shapes {
        println!("{shape}");
        let world = comes_up(&fabric);
        let report = world.manager().report();
        assert_eq!(report.switches, fabric.switch_count(), "{shape}");
        assert_eq!(report.hosts, fabric.hosts().count(), "{shape}");
        assert_eq!(report.links, fabric.link_count(), "{shape}");
        assert_eq!(report.lids, fabric.end_ports().count(), "{shape}");
        assert_eq!(report.verify.unreachable, 0, "{shape}");
        let ends = report.lids as u64;
        assert_eq!(report.verify.pairs, ends * (ends - 1), "{shape}");
    }
}

#[test]
fn one_switch_alone() {
    let mut cabling = Cabling::new();
    cabling.switch(36, "alone");
    let world = comes_up(&cabling.fabric);
    assert_eq!(world.manager().report().lids, 1);
}

#[test]
fn two_hosts_back_to_back() {
    let world = comes_up(&fabrics::pair());
    let report = world.manager().report();
    assert_eq!((report.switches, report.hosts, report.links, report.lids), (0, 2, 1, 2));
}

#[test]
fn a_host_alone_without_a_cable() {
    let mut cabling = Cabling::new();
    let host = cabling.host("alone");
    let mut world = World::new(&cabling.fabric, emulator::Config::default());
    world.sit(host, 1, Config::default());
    world.bring_up();
    assert_eq!(world.manager().report().lids, 1);
}

#[test]
fn a_manager_that_sits_at_a_switch() {
    let fabric = fabrics::leaf_spine(6);
    let spine = fabrics::node(&fabric, "spine-0001");
    let mut world = World::new(&fabric, emulator::Config::default());
    world.sit(spine, 0, Config::default());
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}

#[test]
fn an_island_that_cannot_be_reached_is_left_alone() {
    let mut cabling = Cabling::new();
    for name in ["near", "far"] {
        let switch = cabling.switch(4, name);
        for number in 1..=2 {
            let host = cabling.host(&format!("{name}-host-{number}"));
            cabling.cable((host, 1), (switch, number));
        }
    }
    let world = comes_up(&cabling.fabric);
    let report = world.manager().report();
    assert_eq!((report.switches, report.hosts), (1, 2));
    let fabric = world.emulator.fabric();
    let far = fabric.port(fabrics::node(fabric, "far"), 0).unwrap();
    assert_eq!(world.emulator.port_info(far).lid, Lid::NONE);
}

#[test]
fn an_adapter_with_two_ports_has_a_lid_at_each() {
    let mut cabling = Cabling::new();
    let (a, b) = (cabling.switch(4, "a"), cabling.switch(4, "b"));
    cabling.cable((a, 3), (b, 3));
    for (switch, first) in [(a, "host-a"), (b, "host-b")] {
        let host = cabling.host(first);
        cabling.cable((host, 1), (switch, 1));
    }
    let double = cabling.fabric.add_node(NodeKind::ChannelAdapter, Guid(0x77_0000), 2, "double");
    for number in 1..=2 {
        let port = cabling.fabric.port(double, number).unwrap();
        cabling.fabric.set_port_guid(port, Guid(0x77_0000 + u64::from(number)));
    }
    cabling.cable((double, 1), (a, 2));
    cabling.cable((double, 2), (b, 2));
    let world = comes_up(&cabling.fabric);
    assert_eq!(world.manager().report().lids, 6);
    // The adapter passes nothing on: the manager may sit at it all the same.
    let mut world = World::new(&cabling.fabric, emulator::Config::default());
    world.sit(double, 2, Config::default());
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
}

#[test]
fn rates_names_and_aggregation_nodes_are_found() {
    let mut cabling = Cabling::new();
    let (a, b) = (cabling.switch(4, "Quantum Switch: a/U1"), cabling.switch(4, "b 'quoted'"));
    let host = cabling.host("host mlx5_0");
    cabling.cable((host, 1), (a, 1));
    let slow = LinkRate { width: LinkWidth::X2, speed: LinkSpeed::Hdr };
    cabling.fabric.connect((a, 2), (b, 2), Some(slow)).unwrap();
    cabling.fabric.connect((a, 3), (b, 3), Some(LinkRate::x4(LinkSpeed::Xdr))).unwrap();
    let reducer = cabling.host("Mellanox Technologies Aggregation Node");
    cabling.fabric.set_device(reducer, 0x2c9, 0xcf09);
    cabling.fabric.set_kind(reducer, NodeKind::AggregationNode);
    cabling.cable((reducer, 1), (a, 4));
    let world = comes_up(&cabling.fabric);
    let report = world.manager().report();
    assert_eq!((report.hosts, report.lids), (1, 4), "an aggregation node has a LID and is no host");
}

#[test]
fn links_that_are_down_are_left_alone() {
    let mut cabling = Cabling::new();
    let switch = cabling.switch(8, "switch");
    let host = cabling.host("host");
    cabling.cable((host, 1), (switch, 1));
    let dark = cabling.fabric.add_node(NodeKind::Switch, Guid(0x99_0000), 8, "dark");
    cabling.fabric.connect((switch, 2), (dark, 2), NDR).unwrap();
    let mut world = World::healthy(&cabling.fabric);
    world.emulator.apply(emulator::Fault::Unlink { node: switch, port: 2 });
    assert_eq!(world.bring_up(), []);
    assert_eq!(world.manager().report().switches, 1);
    judges::is_up(&world);
}

#[test]
fn another_host_reaches_everything_by_lid() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = comes_up(&fabric);
    let last = fabric.hosts().last().unwrap();
    let client = world.emulator.attach(last, 1).unwrap();
    let found = world.manager().fabric().clone();
    let manager = found.hosts().next().unwrap();
    let mut ask = |lid: Lid, id: AttributeId| {
        let mad = Mad::lid_routed(Method::GET, id, 0, u64::from(lid.0) << 32 | 0xffff_0001, 0);
        let now = world.now();
        world.emulator.send(now, client, &Packet::to_lid(lid, mad));
        world.pass(SECOND / 1000);
        let answer = world.strays.pop_front();
        answer.unwrap_or_else(|| panic!("no answer from LID {lid}")).1.mad
    };
    for port in found.end_ports() {
        let description: NodeDescription = ask(found.lid(port), AttributeId::NODE_DESCRIPTION).get();
        assert_eq!(description.text(), found.name(found.node_of(port)));
        if !found.is_switch(found.node_of(port)) {
            let keys: PKeyTable = ask(found.lid(port), AttributeId::P_KEY_TABLE).get();
            assert_eq!(keys.0[0], ib::PartitionKey::DEFAULT_FULL, "{}", found.port_label(port));
        }
    }
    let _ = manager;
}

#[test]
fn wide_addresses_reach_beyond_sixteen_bits() {
    let fabric = fabrics::leaf_spine(4);
    let far = fabrics::node(&fabric, "spine-0001");
    let known_lids =
        [(fabric.guid(far), Lid(0x1_2345)), (fabric.guid(fabric.hosts().next().unwrap()), Lid(0x1_0001))];
    let config = Config {
        addressing: Addressing::Wide,
        known_lids: known_lids.into_iter().collect(),
        ..Config::default()
    };
    let emulated = emulator::Config { addressing: Addressing::Wide, ..emulator::Config::default() };
    let mut world = World::with(&fabric, emulated, config.clone());
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
    let port = fabric.port(far, 0).unwrap();
    assert_eq!(world.emulator.port_info(port).lid, Lid(0x1_2345));
    assert_eq!(world.emulator.switch_info(far).linear_fdb_top, Lid(0x1_2345));
    world.restart(config);
    assert_eq!(world.bring_up(), []);
    assert_eq!(world.seats[0].sets, 0);
}

#[test]
fn every_engine_that_is_asked_for_is_used_and_an_unknown_one_is_refused() {
    let fabric = fabrics::leaf_spine(6);
    // Two are for cablings of their own.
    let others = routing::engine::ENGINES.iter().filter(|name| !["torus", "dragonfly-plus"].contains(name));
    for &engine in others {
        let config = Config { engine: engine.to_owned(), ..Config::default() };
        let mut world = World::with(&fabric, emulator::Config::default(), config);
        assert_eq!(world.bring_up(), []);
        judges::is_up(&world);
        assert!(world.manager().report().routing.unwrap().contains(engine));
    }
    let config = Config { engine: "mni-hop".to_owned(), ..Config::default() };
    let mut world = World::with(&fabric, emulator::Config::default(), config);
    world.settle();
    let report = world.manager().report();
    assert_eq!(report.state, Phase::Refused);
    let reason = report.refused.unwrap();
    assert!(reason.contains("mni-hop") && reason.contains("min-hop"), "{reason}");
    assert_eq!(report.mads.set, 0);
}

#[test]
fn tables_with_a_credit_loop_are_never_written() {
    // On a ring of five the shortest paths wait for each other in a circle.
    let config = Config { engine: "min-hop".to_owned(), ..Config::default() };
    let mut world = World::with(&fabrics::torus(&[5]), emulator::Config::default(), config);
    world.settle();
    let report = world.manager().report();
    assert_eq!(report.state, Phase::Refused);
    assert!(report.verify.credit_loops > 0);
    assert!(report.refused.unwrap().contains("credit loop"));
    assert_eq!(world.seats[0].sets, 0);
    assert!(world.seats[0].events.iter().any(|event| matches!(event, Event::Refused { .. })));
}

#[test]
fn a_key_is_written_everywhere_and_opens_everything_later() {
    let fabric = fabrics::leaf_spine(4);
    let config = Config { m_key: 0x1122_3344, ..Config::default() };
    let mut world = World::with(&fabric, emulator::Config::default(), config.clone());
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
    for port in fabric.end_ports() {
        assert_eq!(world.emulator.port_info(port).m_key, 0x1122_3344, "{}", fabric.port_label(port));
    }
    world.restart(config);
    assert_eq!(world.bring_up(), []);
    assert_eq!(world.seats[0].sets, 0);
}

#[test]
fn phases_come_in_order_and_progress_is_told() {
    let mut world = World::healthy(&fabrics::leaf_spine(6));
    let mut nodes = 0;
    world.run(crate::world::LONG, |world| {
        let progress = world.manager().progress();
        assert!(progress.done <= progress.of, "{progress:?}");
        assert!(progress.nodes >= nodes, "{progress:?}");
        nodes = progress.nodes;
        progress.phase == Phase::Up
    });
    let phases: Vec<Phase> = world.seats[0]
        .events
        .iter()
        .filter_map(|event| if let Event::Phase { phase } = event { Some(*phase) } else { None })
        .collect();
    assert_eq!(
        phases,
        [Phase::Discover, Phase::Route, Phase::Program, Phase::Arm, Phase::Activate, Phase::Up]
    );
    let seconds = world.manager().report().seconds;
    assert!(
        seconds.discover > 0.0
            && seconds.program > 0.0
            // Sums of fractions may differ in the last digit.
            && seconds.total >= seconds.discover + seconds.program - 1e-12
    );
}

#[test]
fn nothing_is_active_before_all_tables_are_written() {
    let fabric = fabrics::tree(3, 4, None);
    let mut world = World::healthy(&fabric);
    world.run(crate::world::LONG, |world| {
        let active = fabric.links().any(|(a, b)| {
            [a, b].iter().all(|&end| world.emulator.port_info(end).port_state == ib::PortState::ACTIVE)
        });
        if active {
            for switch in fabric.switches() {
                assert_ne!(
                    world.emulator.switch_info(switch).linear_fdb_top,
                    Lid::NONE,
                    "{}",
                    fabric.name(switch)
                );
            }
        }
        world.manager().phase() == Phase::Up
    });
    judges::is_up(&world);
}
