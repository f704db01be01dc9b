//! Devices that are silent, slow, double or mad, and cables that cannot be: each is named, the rest comes up.

use std::time::Duration;

use emulator::{Behaviour, Fault};
use fabric::{Fabric, NodeId, NodeKind};
use ib::{AttributeId, Guid, Mad, NodeInfo, Packet};
use subnet::{Config, Finding, FindingKind, Phase};

use crate::fabrics::{self, Cabling, NDR};
use crate::judges;
use crate::mischief::Mischief;
use crate::world::{World, of_kind};

/// Brings a fabric up in which one agent misbehaves from the beginning.
fn with_agent(fabric: &Fabric, node: NodeId, behaviour: Behaviour) -> (World, Vec<Finding>) {
    let mut world = World::healthy(fabric);
    world.emulator.apply(Fault::Agent { node, behaviour });
    let findings = world.bring_up();
    (world, findings)
}

#[test]
fn a_silent_host_is_named_and_the_rest_comes_up() {
    let fabric = fabrics::leaf_spine(6);
    let host = fabric.hosts().nth(7).unwrap();
    let (world, findings) = with_agent(&fabric, host, Behaviour::Silent);
    let leaf = fabric.peer(fabric.port(host, 1).unwrap()).unwrap();
    let [finding] = of_kind(&findings, FindingKind::Silent)[..] else { panic!("{findings:#?}") };
    let number = fabric.port_number(leaf);
    for part in [fabric.name(fabric.node_of(leaf)), &format!("port {number}"), "route 0,"] {
        assert!(finding.place.contains(part), "{part} in {finding:?}");
    }
    assert_eq!(findings.len(), 1, "{findings:#?}");
    judges::is_up_without(&world, &[host]);
    assert_eq!(world.manager().report().hosts, fabric.hosts().count() - 1);
}

#[test]
fn a_silent_spine_is_named_at_every_leaf_and_routed_around() {
    let fabric = fabrics::leaf_spine(6);
    let spine = fabrics::node(&fabric, "spine-0002");
    let (world, findings) = with_agent(&fabric, spine, Behaviour::Silent);
    assert_eq!(of_kind(&findings, FindingKind::Silent).len(), fabric.neighbors(spine).count());
    judges::is_up_without(&world, &[spine]);
}

#[test]
fn a_device_that_falls_silent_halfway_is_named_and_left_out() {
    let fabric = fabrics::leaf_spine(6);
    for (kind, name) in [("host", "host"), ("spine", "spine-0002")] {
        let node = if kind == "host" { fabric.hosts().nth(7).unwrap() } else { fabrics::node(&fabric, name) };
        // It answers the first requests: it is known by name when it falls silent.
        for after in [30, 60, 90, 150, 250, 400] {
            let emulated = emulator::Config {
                faults: vec![(
                    Duration::from_micros(after),
                    Fault::Agent { node, behaviour: Behaviour::Silent },
                )],
                ..emulator::Config::default()
            };
            let config = Config { sweep_interval: Duration::from_secs(1), ..Config::default() };
            let mut world = World::with(&fabric, emulated, config);
            world.bring_up();
            // A switch that fell silent after it was counted on is missed by the next sweep at the latest.
            world.pass(Duration::from_secs(20));
            let findings = world.bring_up();
            judges::is_up_without(&world, &[node]);
            if fabric.is_switch(node) {
                assert!(!of_kind(&findings, FindingKind::Silent).is_empty(), "after {after} us");
            }
        }
    }
}

#[test]
fn a_slow_device_is_waited_for() {
    let fabric = fabrics::leaf_spine(6);
    for node in [fabric.hosts().nth(7).unwrap(), fabrics::node(&fabric, "spine-0002")] {
        // 2 ms an answer: far slower than all others, well within the time-out.
        let (world, findings) = with_agent(&fabric, node, Behaviour::Slow(100));
        assert_eq!(findings, []);
        judges::is_up(&world);
    }
}

#[test]
fn a_device_slower_than_the_time_out_comes_up_or_is_named() {
    let fabric = fabrics::leaf_spine(6);
    let host = fabric.hosts().nth(7).unwrap();
    // 300 ms an answer, 200 ms until it is asked again: answers come late, to questions asked twice.
    let (world, findings) = with_agent(&fabric, host, Behaviour::Slow(15_000));
    let report = world.manager().report();
    assert!(report.mads.retried > 0 && report.mads.ignored > 0, "{:#?}", report.mads);
    let without: &[NodeId] = if findings.is_empty() { &[] } else { &[host] };
    judges::is_up_without(&world, without);
}

#[test]
fn double_answers_are_counted_and_change_nothing() {
    let fabric = fabrics::leaf_spine(6);
    for node in [fabric.hosts().nth(7).unwrap(), fabrics::node(&fabric, "leaf-0002")] {
        let (world, findings) = with_agent(&fabric, node, Behaviour::Twice);
        assert_eq!(findings, []);
        judges::is_up(&world);
        assert!(world.manager().report().mads.ignored > 0);
    }
}

#[test]
fn garbage_is_named_and_the_rest_comes_up() {
    let fabric = fabrics::leaf_spine(6);
    let places = [fabric.hosts().nth(7).unwrap(), fabrics::node(&fabric, "spine-0002")];
    for node in places {
        for behaviour in [Behaviour::Garbage, Behaviour::WrongAttribute] {
            for seed in 0..20 {
                let emulated = emulator::Config { seed, ..emulator::Config::default() };
                let mut world = World::with(&fabric, emulated, Config::default());
                world.emulator.apply(Fault::Agent { node, behaviour });
                let findings = world.bring_up();
                assert!(!findings.is_empty(), "{behaviour:?} seed {seed}");
                judges::is_up_without(&world, &[node]);
            }
        }
    }
}

#[test]
fn garbage_from_the_first_switch_or_the_own_port_is_told() {
    let fabric = fabrics::leaf_spine(4);
    let own = crate::world::first_seat(&fabric).0;
    let leaf = fabric.node_of(fabric.peer(fabric.port(own, 1).unwrap()).unwrap());
    for node in [own, leaf] {
        for behaviour in [Behaviour::Silent, Behaviour::Garbage, Behaviour::WrongAttribute] {
            let mut world = World::healthy(&fabric);
            world.emulator.apply(Fault::Agent { node, behaviour });
            world.settle();
            let report = world.manager().report();
            let told = report.state == Phase::Refused || !report.findings.is_empty();
            assert!(told, "{behaviour:?} {report:#?}");
        }
    }
}

#[test]
fn two_devices_with_one_guid_are_found() {
    let mut cabling = Cabling::new();
    let (a, b) = (cabling.switch(8, "a"), cabling.switch(8, "b"));
    cabling.cable((a, 8), (b, 8));
    let first = cabling.host("first");
    cabling.cable((first, 1), (a, 1));
    for (number, switch) in [(2, a), (2, b)] {
        let twin = cabling.fabric.add_node(NodeKind::ChannelAdapter, Guid(0x7777), 1, "twin");
        cabling.fabric.connect((twin, 1), (switch, number), NDR).unwrap();
    }
    let mut world = World::healthy(&cabling.fabric);
    let findings = world.bring_up();
    let [finding] = of_kind(&findings, FindingKind::DuplicateGuid)[..] else { panic!("{findings:#?}") };
    assert!(finding.place.contains("7777") && finding.place.contains("route"), "{finding:?}");
    assert_eq!(world.manager().report().hosts, 2);
}

#[test]
fn two_switches_with_one_guid_are_found() {
    let mut cabling = Cabling::new();
    let root = cabling.switch(8, "root");
    let first = cabling.host("first");
    cabling.cable((first, 1), (root, 1));
    for (number, ports) in [(2, 4), (3, 4), (4, 6)] {
        let twin = cabling.fabric.add_node(NodeKind::Switch, Guid(0x7777), ports, "twin");
        cabling.fabric.connect((twin, 1), (root, number), NDR).unwrap();
        let host = cabling.host(&format!("behind-{number}"));
        cabling.cable((host, 1), (twin, 2));
    }
    let mut world = World::healthy(&cabling.fabric);
    world.settle();
    let report = world.manager().report();
    assert_eq!(report.state, Phase::Up, "{report:#?}");
    assert!(!of_kind(&report.findings, FindingKind::DuplicateGuid).is_empty(), "{report:#?}");
}

#[test]
fn a_cable_from_a_switch_to_itself_does_no_harm() {
    let mut cabling = Cabling::new();
    let (a, b) = (cabling.switch(8, "a"), cabling.switch(8, "b"));
    let host = cabling.host("host");
    cabling.cable((host, 1), (a, 1));
    cabling.cable((a, 2), (b, 2));
    cabling.cable((b, 5), (b, 6));
    cabling.cable((a, 7), (a, 8));
    let mut world = World::healthy(&cabling.fabric);
    world.bring_up();
    judges::is_up(&world);
}

/// Answers every NodeInfo request over exactly this route with `forge`.
fn forge_node_info(
    route: Vec<u8>,
    forge: impl Fn(&mut NodeInfo) + 'static,
    real: NodeInfo,
) -> crate::mischief::Forger {
    Box::new(move |packet: &Packet| {
        let mad = &packet.mad;
        if mad.attribute_id() != AttributeId::NODE_INFO || mad.route().hops() != route {
            return None;
        }
        let mut answer: Mad = *mad;
        answer.make_response();
        let mut info = real;
        forge(&mut info);
        answer.put(&info);
        Some(Packet { mad: answer, ..*packet })
    })
}

fn switch_info_of(fabric: &Fabric, node: NodeId, local_port: u8) -> NodeInfo {
    NodeInfo {
        base_version: 1,
        class_version: 1,
        node_type: ib::NodeType::SWITCH,
        port_count: fabric.port_count(node),
        node_guid: fabric.guid(node),
        port_guid: fabric.guid(node),
        system_image_guid: fabric.guid(node),
        local_port,
        ..NodeInfo::default()
    }
}

#[test]
fn a_loopback_plug_is_found() {
    let mut cabling = Cabling::new();
    let switch = cabling.switch(8, "switch");
    let host = cabling.host("host");
    cabling.cable((host, 1), (switch, 1));
    let beyond = cabling.host("plug");
    cabling.cable((beyond, 1), (switch, 5));
    let mut world = World::healthy(&cabling.fabric);
    // A plug sends the probe back into the port that it came from.
    let real = switch_info_of(&cabling.fabric, switch, 5);
    world.forger = Some(forge_node_info(vec![1, 5], |_| {}, real));
    let findings = world.bring_up();
    let [finding] = of_kind(&findings, FindingKind::Loopback)[..] else { panic!("{findings:#?}") };
    assert!(finding.place.contains("switch port 5"), "{finding:?}");
    judges::is_up_without(&world, &[beyond]);
}

#[test]
fn node_infos_that_cannot_be_do_no_harm() {
    let mut cabling = Cabling::new();
    let (a, b) = (cabling.switch(8, "a"), cabling.switch(8, "b"));
    let host = cabling.host("host");
    cabling.cable((host, 1), (a, 1));
    cabling.cable((a, 2), (b, 2));
    let real = switch_info_of(&cabling.fabric, b, 2);
    type Forge = fn(&mut NodeInfo);
    let forgeries: [(&str, Forge); 9] = [
        ("no ports", |info| info.port_count = 0),
        ("255 ports", |info| info.port_count = 255),
        ("a port beyond the last", |info| info.local_port = 9),
        ("port 0", |info| info.local_port = 0),
        ("no GUID", |info| info.node_guid = Guid(0)),
        ("no such type", |info| info.node_type = ib::NodeType(9)),
        ("fewer ports than asked later", |info| info.port_count = 2),
        ("another type", |info| info.node_type = ib::NodeType::CHANNEL_ADAPTER),
        ("the first switch's GUID", |info| info.node_guid = Guid(0x0c42_a103_0000_1100)),
    ];
    for (what, forge) in forgeries {
        let mut world = World::healthy(&cabling.fabric);
        world.forger = Some(forge_node_info(vec![1, 2], forge, real));
        world.settle();
        let report = world.manager().report();
        assert_eq!(report.state, Phase::Up, "{what}: {report:#?}");
        // What could be is believed: no device can be told from one that lies well.
        if !matches!(what, "fewer ports than asked later" | "another type") {
            assert!(!report.findings.is_empty(), "{what}");
        }
        judges::is_up_without(&world, &[b]);
    }
}

#[test]
fn a_wire_that_loses_doubles_delays_and_spoils_brings_the_fabric_up_all_the_same() {
    let fabric = fabrics::leaf_spine(4);
    let ms = Duration::from_millis;
    // Loss, double, delay, spoil per million; and how late.
    let grid = [
        (10_000, 0, 0, 0, ms(0)),
        (50_000, 0, 0, 0, ms(0)),
        (200_000, 0, 0, 0, ms(0)),
        (0, 200_000, 0, 0, ms(1)),
        (0, 300_000, 300_000, 0, ms(500)),
        (0, 0, 500_000, 0, ms(150)),
        (0, 0, 0, 20_000, ms(0)),
        (50_000, 50_000, 50_000, 0, ms(300)),
    ];
    for (lose, double, delay, spoil, latest) in grid {
        for seed in 0..4 {
            let mischief = Mischief { lose, double, delay, spoil, latest, seed, ..Mischief::default() };
            // So many repeats that nothing is given up by chance.
            let config = Config { retries: 12, ..Config::default() };
            let mut world = World::with(&fabric, emulator::Config::default(), config).mischief(mischief);
            world.settle();
            let report = world.manager().report();
            assert_eq!(report.state, Phase::Up, "{mischief:?} {report:#?}");
            // A spoilt value may be believed: then the picture is wrong until the next sweep, and nothing else.
            if spoil == 0 {
                assert_eq!(report.findings, [], "{mischief:?}");
                judges::is_up(&world);
                judges::is_the_fabric(&world);
            }
        }
    }
}

#[test]
fn links_that_lose_are_retried_until_all_is_up() {
    let fabric = fabrics::leaf_spine(4);
    for loss_per_million in [10_000, 50_000, 100_000, 200_000] {
        for seed in 0..5 {
            let emulated = emulator::Config { loss_per_million, seed, ..emulator::Config::default() };
            let config = Config { retries: 120, timeout: Duration::from_millis(2), ..Config::default() };
            let mut world = World::with(&fabric, emulated, config);
            let findings = world.bring_up();
            assert_eq!(findings, [], "{loss_per_million} seed {seed}");
            judges::is_up(&world);
            judges::is_the_fabric(&world);
            assert!(world.manager().report().mads.retried > 0);
        }
    }
}

#[test]
fn requests_that_the_door_gives_back_are_asked_again() {
    let fabric = fabrics::leaf_spine(6);
    let mischief = Mischief { give_back: 100_000, seed: 3, ..Mischief::default() };
    let config = Config { retries: 8, ..Config::default() };
    let mut world = World::with(&fabric, emulator::Config::default(), config).mischief(mischief);
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
    assert!(world.manager().report().mads.retried > 0);
    assert!(
        world.now().since(ib::Time::ZERO) < Duration::from_millis(200),
        "it waited for what the door had told"
    );
}

#[test]
fn any_bytes_at_any_time_do_no_harm() {
    let fabric = fabrics::leaf_spine(4);
    let mut world = World::healthy(&fabric);
    let mut word = 1u64;
    world.run(crate::world::SECOND, |_| false);
    for length in 0..20_000u64 {
        let mut mad = Mad::default();
        for chunk in mad.0.chunks_exact_mut(8) {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        // Half of them look like something that a manager listens to.
        if length % 2 == 0 {
            mad.0[..4].copy_from_slice(&[
                1,
                if length % 4 == 0 { 0x81 } else { 1 },
                1,
                [1, 2, 5, 0x81, 7][length as usize % 5],
            ]);
            mad.set_attribute_id(AttributeId([0x11, 0x12, 0x15, 0x20, 2, 0x19][length as usize % 6]));
        }
        let now = world.now();
        let packet = Packet { status: u32::from(length % 7 == 0), ..Packet::directed(mad) };
        world.seats[0].manager.input(now, subnet::Input::Packet(&packet));
        let mut out = Vec::new();
        world.seats[0].manager.poll_send(now, &mut out);
        assert!(out.len() < 100);
    }
    world.settle();
    judges::is_up(&world);
}
