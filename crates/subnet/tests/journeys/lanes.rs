//! Engines for several virtual lanes: what devices hold of lanes is what the proof is about.

use emulator::Fault;
use fabric::generate::DragonflyPlusSpec;
use fabric::{Fabric, PortId};
use subnet::{Config, Event, Phase};

use crate::fabrics;
use crate::judges;
use crate::world::{SECOND, World};

fn with_engine(engine: &str) -> Config {
    Config { engine: engine.to_owned(), sweep_interval: 1000 * SECOND, ..Config::default() }
}

fn dragonfly() -> Fabric {
    DragonflyPlusSpec { groups: 4, leaves: 2, spines: 3, hosts: 1, global_links: 2, ..Default::default() }
        .build()
        .unwrap()
}

/// Fabrics with the engines that suit them, and whether these need more than one lane there.
fn shapes() -> Vec<(Fabric, &'static [&'static str], bool)> {
    vec![
        (fabrics::torus(&[4, 4, 4]), &["torus", "layered", "nue"], true),
        (fabrics::torus(&[5, 5]), &["torus", "layered", "nue"], true),
        (fabrics::random_regular(12, 4, 1, 7), &["layered", "nue"], false),
        (dragonfly(), &["layered", "nue"], false),
    ]
}

#[test]
fn engines_for_several_lanes_come_up_and_a_second_bring_up_writes_nothing() {
    for (fabric, engines, several) in shapes() {
        for engine in engines {
            for optimized_sl_to_vl in [false, true] {
                let emulated = emulator::Config { optimized_sl_to_vl, ..emulator::Config::default() };
                let mut world = World::with(&fabric, emulated, with_engine(engine));
                assert_eq!(world.bring_up(), [], "{engine}");
                judges::is_up(&world);
                let lanes = world.manager().lanes();
                assert!(lanes > 1 || !several, "{engine} takes {lanes} lane");
                assert_eq!(world.manager().report().virtual_lanes, lanes);

                let known_lids = world.known_lids();
                world.restart(Config { known_lids, ..with_engine(engine) });
                assert_eq!(world.bring_up(), [], "{engine}");
                assert_eq!(world.seats[0].sets, 0, "{engine}: {:#?}", world.manager().report().mads);
                judges::is_up(&world);
            }
        }
    }
}

#[test]
fn a_switch_that_takes_short_writes_gets_few() {
    let fabric = fabrics::torus(&[5, 5]);
    let writes = |optimized_sl_to_vl, engine| {
        let emulated = emulator::Config { optimized_sl_to_vl, ..emulator::Config::default() };
        let mut world = World::with(&fabric, emulated, with_engine(engine));
        world.bring_up();
        world.manager().report().mads.kinds["Set SLtoVLMappingTable"].sent
    };
    let (switches, hosts) = (25, 25);
    // Four neighbours and a host: five ports out, and for each the switch itself and four ports in.
    for engine in ["nue", "layered", "torus"] {
        assert_eq!(writes(false, engine), switches * 25 + hosts, "{engine}");
    }
    // Where a service level is a lane, one write says all; else those to the host are alike.
    assert_eq!(writes(true, "nue"), switches + hosts);
    let few = writes(true, "layered");
    assert!(few <= switches * 21 + hosts, "{few}");
}

#[test]
fn hardware_with_too_few_lanes_is_named() {
    let emulated = emulator::Config { vl_cap: 1, ..emulator::Config::default() };
    let fabric = fabrics::torus(&[5, 5]);
    let mut world = World::with(&fabric, emulated, with_engine("torus"));
    world.settle();
    let report = world.manager().report();
    let said = report.refused.unwrap();
    assert_eq!(report.state, Phase::Refused);
    assert!(said.starts_with("torus needs 2 virtual lanes and ") && said.contains(" port "), "{said}");
    assert_eq!(world.seats[0].sets, 0);
    // The same by wish: what was asked for is too little.
    let mut world =
        World::with(&fabric, emulator::Config::default(), Config { lanes: 1, ..with_engine("torus") });
    world.settle();
    let said = world.manager().report().refused.unwrap();
    assert!(said.contains("may use 1"), "{said}");
}

#[test]
fn auto_takes_lanes_where_it_is_given_some() {
    let with_lanes = |lanes| Config { lanes, ..Config::default() };
    for (fabric, lanes, taken, engine) in [
        (fabrics::torus(&[5, 5]), 0, 1, "up-down"),
        (fabrics::torus(&[5, 5]), 4, 2, "torus"),
        (fabrics::random_regular(12, 4, 1, 7), 4, 2, "layered"),
        (fabrics::leaf_spine(8), 4, 1, "fat-tree"),
    ] {
        let mut world = World::with(&fabric, emulator::Config::default(), with_lanes(lanes));
        world.bring_up();
        judges::is_up(&world);
        let routing = world.manager().report().routing.unwrap();
        assert_eq!(world.manager().lanes(), taken, "{routing}");
        assert!(routing.contains(engine), "{routing}");
    }
}

/// A cable between two switches.
fn cable(fabric: &Fabric) -> PortId {
    let between =
        |&(a, b): &(PortId, PortId)| [a, b].into_iter().all(|end| fabric.is_switch(fabric.node_of(end)));
    fabric.links().filter(between).nth(3).unwrap().0
}

#[test]
fn a_lost_link_is_healed_and_no_moment_between_closes_a_loop() {
    for (engine, shape) in [("torus", [5, 4]), ("layered", [4, 4]), ("nue", [4, 4])] {
        let fabric = fabrics::torus(&shape);
        let mut world = World::with(&fabric, emulator::Config::default(), with_engine(engine));
        world.bring_up();
        let port = cable(&fabric);
        let (node, number) = (fabric.node_of(port), fabric.port_number(port));
        for fault in [Fault::Unlink { node, port: number }, Fault::Relink { node, port: number }] {
            let (before, levels) = (world.times_up(), judges::service_levels(&world));
            world.emulator.apply(fault);
            let mut written = 0;
            let up = world.run(100 * SECOND, |world| {
                // Whatever devices took since the last look, they hold now.
                if std::mem::replace(&mut written, world.seats[0].sets) != written {
                    judges::closes_no_loop(world, &levels);
                }
                world.times_up() > before && world.manager().is_settled()
            });
            assert!(up, "{engine}: {:?}", world.manager().progress());
            world.pass(SECOND);
            judges::is_up(&world);
            judges::is_the_fabric(&world);
            assert!(world.manager().lanes() > 1);
        }
    }
}

#[test]
fn a_lost_link_is_healed_by_entries_alone() {
    for engine in ["torus", "layered", "nue"] {
        let fabric = fabrics::torus(&[5, 4]);
        let mut world = World::with(&fabric, emulator::Config::default(), with_engine(engine));
        world.bring_up();
        let levels = judges::service_levels(&world);
        let lane_writes = |world: &World| world.manager().report().mads.kinds["Set SLtoVLMappingTable"].sent;
        let written = lane_writes(&world);
        world.seats[0].events.clear();
        let port = cable(&fabric);
        let (node, number) = (fabric.node_of(port), fabric.port_number(port));
        for fault in [Fault::Unlink { node, port: number }, Fault::Relink { node, port: number }] {
            world.emulator.apply(fault);
            let mut sets = 0;
            world.run(10 * SECOND, |world| {
                if std::mem::replace(&mut sets, world.seats[0].sets) != sets {
                    judges::closes_no_loop(world, &levels);
                }
                false
            });
            judges::is_up(&world);
        }
        let events = &world.seats[0].events;
        let healed = events.iter().filter(|event| matches!(event, Event::Healed { .. })).count();
        let wide = |event: &&Event| matches!(event, Event::Resweep { .. } | Event::Reroute { .. });
        assert_eq!((healed, events.iter().find(wide)), (2, None), "{engine}");
        // Hosts go on by the service levels that they know, and switches by the lanes that they hold.
        assert!(judges::service_levels(&world) == levels, "{engine}");
        assert_eq!(lane_writes(&world), written, "{engine}");
    }
}

#[test]
fn hosts_whose_paths_move_to_other_levels_ask_again() {
    let fabric = fabrics::random_regular(20, 5, 1, 3);
    let switches = |&(a, b): &(PortId, PortId)| {
        fabric.is_switch(fabric.node_of(a)) && fabric.is_switch(fabric.node_of(b))
    };
    let mut moved = 0;
    for (port, _) in fabric.links().filter(switches).step_by(5) {
        let mut world = World::with(&fabric, emulator::Config::default(), with_engine("layered"));
        world.bring_up();
        world.seats[0].events.clear();
        let levels = judges::service_levels(&world);
        let told = |world: &World| world.manager().report().mads.kinds["Set PortInfo (configure)"].sent;
        let before = told(&world);
        world.emulator.apply(Fault::Unlink { node: fabric.node_of(port), port: fabric.port_number(port) });
        let mut sets = 0;
        world.run(10 * SECOND, |world| {
            if std::mem::replace(&mut sets, world.seats[0].sets) != sets {
                judges::closes_no_loop(world, &levels);
            }
            false
        });
        judges::is_up(&world);
        let events = &world.seats[0].events;
        assert!(events.iter().any(|event| matches!(event, Event::Healed { .. })), "{events:?}");
        assert!(!events.iter().any(|event| matches!(event, Event::Reroute { .. })), "{events:?}");
        let now = judges::service_levels(&world);
        let hosts: std::collections::BTreeSet<_> = levels
            .iter()
            .filter(|&(pair, level)| now[pair] != *level)
            .map(|((switch, _), _)| switch)
            .collect();
        // A host hangs on each of the switches.
        assert_eq!(told(&world) - before, hosts.len() as u64);
        moved += hosts.len();
    }
    assert!(moved > 0);
}

#[test]
fn a_switch_that_starts_afresh_gets_its_lanes_too() {
    let fabric = fabrics::torus(&[5, 4]);
    let mut world = World::with(&fabric, emulator::Config::default(), with_engine("torus"));
    world.bring_up();
    let node = fabric.switches().nth(7).unwrap();
    for fault in [Fault::PowerOff { node }, Fault::PowerOn { node }] {
        world.emulator.apply(fault);
        world.pass(20 * SECOND);
    }
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}

#[test]
fn another_engine_takes_over_from_what_is_in_service() {
    let fabric = fabrics::torus(&[5, 5]);
    let engines = ["up-down", "torus", "layered", "nue", "torus", "up-down"];
    let mut world = World::with(&fabric, emulator::Config::default(), with_engine(engines[0]));
    world.bring_up();
    for engine in &engines[1..] {
        world.restart(Config { known_lids: world.known_lids(), ..with_engine(engine) });
        assert_eq!(world.bring_up(), [], "{engine}");
        judges::is_up(&world);
        // On a whole torus the engine for any fabric takes the very paths of the one for tori.
        assert!(world.seats[0].sets > 0 || *engine == "layered", "{engine}");
    }
}
