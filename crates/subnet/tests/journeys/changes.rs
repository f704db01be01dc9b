//! Changes are seen by traps at once and by light sweeps in time, and only what differs is written.

use std::time::Duration;

use emulator::Fault;
use fabric::NodeId;
use subnet::{Config, Event, Input, Phase};

use crate::fabrics;
use crate::judges;
use crate::mischief::Mischief;
use crate::world::{SECOND, World};

/// Waits until the manager has come up once more.
fn comes_up_again(world: &mut World, within: Duration) {
    let before = world.times_up();
    let up = world.run(within, |world| world.times_up() > before && world.manager().is_settled());
    assert!(up, "not up again after {within:?}: {:?}", world.manager().progress());
}

fn quick(sweep: Duration) -> Config {
    Config { sweep_interval: sweep, ..Config::default() }
}

#[test]
fn a_quiet_fabric_costs_one_question_a_switch_and_sweep() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::with(&fabric, emulator::Config::default(), quick(SECOND));
    world.bring_up();
    let (gets, sets) = (world.seats[0].gets, world.seats[0].sets);
    world.pass(5 * SECOND + SECOND / 2);
    assert_eq!(world.seats[0].gets - gets, 5 * fabric.switch_count() as u64);
    assert_eq!((world.seats[0].sets, world.times_up()), (sets, 1));
}

#[test]
fn a_pulled_cable_is_healed_after_its_trap() {
    let fabric = fabrics::leaf_spine(8);
    let mut world = World::with(&fabric, emulator::Config::default(), quick(1000 * SECOND));
    world.bring_up();
    let leaf = fabrics::node(&fabric, "leaf-0003");
    let uplink = fabric.neighbors(leaf).find(|&(_, peer)| fabric.is_switch(fabric.node_of(peer))).unwrap().0;
    let blocks = world.manager().report().lft_blocks_written;
    world.emulator.apply(Fault::Unlink { node: leaf, port: fabric.port_number(uplink) });
    comes_up_again(&mut world, SECOND);
    // Both ends tell of it; the trap of one may have gone by the link that was lost.
    world.pass(SECOND);
    judges::is_up(&world);
    judges::is_the_fabric(&world);
    let rewritten = world.manager().report().lft_blocks_written - blocks;
    assert!(rewritten > 0 && rewritten < blocks, "{rewritten} of {blocks}");
    let traps = world.seats[0].events.iter().filter(|e| matches!(e, Event::Trap { number: 128, .. })).count();
    assert!((1..=4).contains(&traps), "{traps} traps heard: each is repressed");

    world.emulator.apply(Fault::Relink { node: leaf, port: fabric.port_number(uplink) });
    comes_up_again(&mut world, SECOND);
    world.pass(SECOND);
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}

#[test]
fn a_pulled_cable_is_healed_by_the_sweep_where_traps_are_lost() {
    let fabric = fabrics::leaf_spine(6);
    let mischief = Mischief { mute_traps: true, ..Mischief::default() };
    let mut world = World::with(&fabric, emulator::Config::default(), quick(10 * SECOND)).mischief(mischief);
    world.bring_up();
    let leaf = fabrics::node(&fabric, "leaf-0003");
    let uplink = fabric.neighbors(leaf).find(|&(_, peer)| fabric.is_switch(fabric.node_of(peer))).unwrap().0;
    world.emulator.apply(Fault::Unlink { node: leaf, port: fabric.port_number(uplink) });
    // The sweep first asks in vain over the cable that has gone.
    comes_up_again(&mut world, 15 * SECOND);
    judges::is_up(&world);
}

/// Agents tell again after 200 ms: what was not heard for want of buffers is asked before that.
#[test]
fn who_was_not_heard_among_many_is_asked() {
    let fabric = fabrics::tree(3, 8, None);
    let emulated = emulator::Config { vl15_buffers: 2, ..emulator::Config::default() };
    let mut world = World::with(&fabric, emulated, quick(1000 * SECOND));
    world.bring_up();
    let leads_up = |&(_, peer): &(fabric::PortId, fabric::PortId)| fabric.is_switch(fabric.node_of(peer));
    let uplinks: Vec<fabric::PortId> = (2..8)
        .map(|leaf| fabrics::node(&fabric, &format!("leaf-{leaf:04}")))
        .map(|leaf| fabric.neighbors(leaf).find(leads_up).unwrap().0)
        .collect();
    let end = |port| (fabric.node_of(port), fabric.port_number(port));
    for (node, port) in uplinks.iter().map(|&port| end(port)) {
        world.emulator.apply(Fault::Unlink { node, port });
        world.pass(SECOND);
    }
    for (node, port) in uplinks.iter().map(|&port| end(port)) {
        world.emulator.apply(Fault::Relink { node, port });
    }
    let serves = |world: &World| {
        uplinks.iter().all(|&port| world.emulator.port_info(port).port_state == ib::PortState::ACTIVE)
    };
    assert!(world.run(SECOND / 10, |world| serves(world) && world.manager().is_settled()));
    judges::is_up(&world);
}

#[test]
fn a_link_that_flaps_is_left_down_for_a_while_and_then_taken_in() {
    let fabric = fabrics::leaf_spine(8);
    // Sweeps find the link up with nothing in use beyond it: that is no reason to take it in before its time.
    let mut world = World::with(&fabric, emulator::Config::default(), quick(SECOND / 5));
    world.bring_up();
    let leaf = fabrics::node(&fabric, "leaf-0003");
    let uplink = fabric.neighbors(leaf).find(|&(_, peer)| fabric.is_switch(fabric.node_of(peer))).unwrap().0;
    let port = fabric.port_number(uplink);
    let serves = |world: &World| world.emulator.port_info(uplink).port_state == ib::PortState::ACTIVE;
    for _ in 0..2 {
        world.emulator.apply(Fault::Unlink { node: leaf, port });
        comes_up_again(&mut world, SECOND);
        world.emulator.apply(Fault::Relink { node: leaf, port });
        comes_up_again(&mut world, SECOND);
        assert!(serves(&world));
    }
    world.emulator.apply(Fault::Unlink { node: leaf, port });
    comes_up_again(&mut world, SECOND);
    let held = |event: &Event| matches!(event, Event::HeldDown { seconds, .. } if *seconds == 1.0);
    assert_eq!(world.seats[0].events.iter().filter(|event| held(event)).count(), 1);
    world.emulator.apply(Fault::Relink { node: leaf, port });
    world.pass(SECOND * 4 / 5);
    assert!(!serves(&world), "its time is not up");
    // A look at the whole fabric leaves it down too.
    let now = world.now();
    world.seats[0].manager.input(now, Input::Sweep);
    comes_up_again(&mut world, SECOND / 10);
    assert!(!serves(&world), "found anew, and taken in before its time");
    world.pass(SECOND);
    assert!(serves(&world));
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}

#[test]
fn a_new_host_gets_a_lid_and_one_that_leaves_and_returns_keeps_its_own() {
    let fabric = fabrics::leaf_spine(6);
    let host = fabric.hosts().nth(5).unwrap();
    let port = fabric.port(host, 1).unwrap();
    let mut world = World::healthy(&fabric);
    world.emulator.apply(Fault::PowerOff { node: host });
    assert_eq!(world.bring_up(), []);
    assert_eq!(world.manager().report().hosts, fabric.hosts().count() - 1);
    let mut lids = Vec::new();
    for _ in 0..3 {
        world.emulator.apply(Fault::PowerOn { node: host });
        comes_up_again(&mut world, 10 * SECOND);
        judges::is_up(&world);
        lids.push(world.emulator.port_info(port).lid);
        world.emulator.apply(Fault::PowerOff { node: host });
        comes_up_again(&mut world, 10 * SECOND);
        judges::is_up(&world);
    }
    assert!(lids.iter().all(|&lid| lid == lids[0] && lid != ib::Lid::NONE), "{lids:?}");
}

#[test]
fn a_switch_that_restarts_is_written_anew() {
    let fabric = fabrics::leaf_spine(6);
    let restart = |node: NodeId| {
        let mut world = World::with(&fabric, emulator::Config::default(), quick(SECOND));
        world.bring_up();
        world.emulator.apply(Fault::Reset { node });
        comes_up_again(&mut world, 20 * SECOND);
        // Links train one by one: there may be more than one bring-up.
        world.pass(5 * SECOND);
        world.settle();
        judges::is_up(&world);
    };
    restart(fabrics::node(&fabric, "spine-0001"));
    restart(fabrics::node(&fabric, "leaf-0004"));
}

#[test]
fn thresholds_are_told_and_change_nothing() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let spine = fabrics::node(&fabric, "spine-0001");
    for trap in [129, 130, 131] {
        world.emulator.apply(Fault::Threshold { node: spine, port: 2, trap });
        world.pass(5 * SECOND);
        let told: Vec<&Event> = world.seats[0]
            .events
            .iter()
            .filter(|e| matches!(e, Event::Trap { number, .. } if *number == trap))
            .collect();
        assert_eq!(told.len(), 1, "told once, then repressed: {told:?}");
        let Event::Trap { text, .. } = told[0] else { unreachable!() };
        assert!(text.contains("spine-0001") && text.contains("port 2"), "{text}");
    }
    assert_eq!(world.times_up(), 1);
}

#[test]
fn a_sweep_that_is_asked_for_looks_anew_and_writes_nothing() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let sets = world.seats[0].sets;
    let now = world.now();
    world.seats[0].manager.input(now, Input::Sweep);
    comes_up_again(&mut world, SECOND);
    assert_eq!(world.seats[0].sets, sets);
    judges::is_up(&world);
}

#[test]
fn changes_during_a_bring_up_are_not_missed() {
    let fabric = fabrics::leaf_spine(6);
    let leaf = fabrics::node(&fabric, "leaf-0003");
    let uplink = fabric.neighbors(leaf).find(|&(_, peer)| fabric.is_switch(fabric.node_of(peer))).unwrap().0;
    let port = fabric.port_number(uplink);
    for after in (50..3000).step_by(150) {
        let emulated = emulator::Config {
            faults: vec![(Duration::from_micros(after), Fault::Unlink { node: leaf, port })],
            ..emulator::Config::default()
        };
        let mut world = World::with(&fabric, emulated, quick(2 * SECOND));
        // Whatever was asked over the link that has gone is asked in vain for 3 s.
        world.pass(30 * SECOND);
        world.settle();
        assert_eq!(world.manager().phase(), Phase::Up);
        println!("after {after} us: {:#?}", world.manager().report().findings);
        judges::is_up(&world);
    }
}

#[test]
fn a_flapping_link_ends_up_as_it_is_left() {
    let fabric = fabrics::leaf_spine(6);
    let leaf = fabrics::node(&fabric, "leaf-0002");
    let uplink = fabric.neighbors(leaf).find(|&(_, peer)| fabric.is_switch(fabric.node_of(peer))).unwrap().0;
    let port = fabric.port_number(uplink);
    let mut world = World::with(&fabric, emulator::Config::default(), quick(SECOND));
    world.bring_up();
    for round in 0..12 {
        let fault = if round % 2 == 0 {
            Fault::Unlink { node: leaf, port }
        } else {
            Fault::Relink { node: leaf, port }
        };
        world.emulator.apply(fault);
        world.pass(Duration::from_millis(37 + 11 * round));
    }
    world.pass(20 * SECOND);
    world.settle();
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}
