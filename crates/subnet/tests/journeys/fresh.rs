//! What is new, and what starts afresh, is found, addressed and written without a look at the rest of the fabric.

use std::time::Duration;

use emulator::Fault;
use fabric::{Fabric, NodeId};
use subnet::{Config, Event, Phase};

use crate::fabrics;
use crate::judges;
use crate::world::{SECOND, World};

fn seldom() -> Config {
    Config { sweep_interval: 1000 * SECOND, rebalance_after: 500 * SECOND, ..Config::default() }
}

/// A switch with all the hosts on it.
fn with_hosts(fabric: &Fabric, switch: NodeId) -> Vec<NodeId> {
    let beside = fabric.neighbors(switch).map(|(_, peer)| fabric.node_of(peer));
    std::iter::once(switch).chain(beside.filter(|&node| !fabric.is_switch(node))).collect()
}

fn all(world: &mut World, nodes: &[NodeId], fault: fn(NodeId) -> Fault) {
    for &node in nodes {
        world.emulator.apply(fault(node));
    }
}

/// Requests sent so far.
fn sent(world: &World) -> u64 {
    world.seats[0].gets + world.seats[0].sets
}

/// Devices that the manager has taken in or restored, over all heals since the last look at the whole fabric.
fn taken_in(world: &World) -> usize {
    let fresh = |event: &Event| if let Event::Healed { fresh, .. } = event { *fresh } else { 0 };
    world.seats[0].events.iter().map(fresh).sum()
}

fn looked_anew(world: &World) -> Vec<&Event> {
    let wide = |event: &&Event| matches!(event, Event::Resweep { .. } | Event::Reroute { .. });
    world.seats[0].events.iter().filter(wide).collect()
}

/// Ports and tables are as a manager that begins now would have them: it finds nothing to write.
fn nothing_is_left_to_write(world: &mut World) {
    judges::is_up(world);
    judges::is_the_fabric(world);
    let lids = world.known_lids();
    world.restart(Config { known_lids: lids.clone(), ..seldom() });
    world.bring_up();
    judges::is_up(world);
    assert_eq!(world.known_lids(), lids);
    let report = world.manager().report();
    let sets = |name: &str| report.mads.kinds.get(name).map_or(0, |kind| kind.sent);
    let ports = ["Set PortInfo (configure)", "Set PortInfo (activate)", "Set P_KeyTable"].map(sets);
    assert_eq!(ports, [0; 3], "{:?}", report.mads);
}

#[test]
fn a_new_switch_with_hosts_is_taken_in() {
    for radix in [6, 8] {
        let fabric = fabrics::leaf_spine(radix);
        let new = with_hosts(&fabric, fabrics::node(&fabric, "leaf-0003"));
        let mut world = World::with(&fabric, emulator::Config::default(), seldom());
        all(&mut world, &new, |node| Fault::PowerOff { node });
        world.bring_up();
        let before = sent(&world);
        let found = world.manager().report();
        all(&mut world, &new, |node| Fault::PowerOn { node });
        world.pass(5 * SECOND);
        world.settle();
        assert_eq!(looked_anew(&world), [] as [&Event; 0]);
        assert_eq!(taken_in(&world), new.len());
        let report = world.manager().report();
        assert_eq!(report.hosts - found.hosts, new.len() - 1);
        assert_eq!(report.switches - found.switches, 1);
        println!("radix {radix}: {} MADs for {} new devices", sent(&world) - before, new.len());
        nothing_is_left_to_write(&mut world);
    }
}

/// The MADs that a new leaf costs grow with what is new and with the switches that must know the way to it: the rest of the
/// fabric is not asked.
#[test]
fn a_new_switch_costs_what_is_new() {
    let fabric = fabrics::tree(3, 8, None);
    let new = with_hosts(&fabric, fabrics::node(&fabric, "leaf-0003"));
    let mut world = World::with(&fabric, emulator::Config::default(), seldom());
    all(&mut world, &new, |node| Fault::PowerOff { node });
    world.bring_up();
    let (before, asked) = (sent(&world), world.seats[0].gets);
    all(&mut world, &new, |node| Fault::PowerOn { node });
    world.pass(5 * SECOND);
    world.settle();
    assert_eq!(looked_anew(&world), [] as [&Event; 0]);
    let (mads, asked) = (sent(&world) - before, world.seats[0].gets - asked);
    // Each of the ports that are new is asked about a few times, with its peer; each end of it is written twice.
    let ports: u64 = new.iter().map(|&node| u64::from(fabric.port_count(node)) + 1).sum();
    // So many told at once that all switches are asked once whether they did.
    let asked_once = fabric.switch_count() as u64;
    assert!(asked < 8 * ports + asked_once, "{asked} questions about {ports} new ports");
    // Every switch gets the blocks that the new LIDs are in, and its top.
    let written = 4 * fabric.switch_count() as u64 + 8 * ports;
    assert!(mads < asked + written, "{mads} MADs, {asked} of them questions");
    nothing_is_left_to_write(&mut world);
}

#[test]
fn new_hosts_on_known_switches_are_taken_in() {
    let fabric = fabrics::leaf_spine(8);
    let hosts: Vec<NodeId> = fabric.hosts().skip(5).step_by(7).collect();
    let mut world = World::with(&fabric, emulator::Config::default(), seldom());
    all(&mut world, &hosts, |node| Fault::PowerOff { node });
    world.bring_up();
    let before = sent(&world);
    for &host in &hosts {
        world.emulator.apply(Fault::PowerOn { node: host });
        world.pass(SECOND);
    }
    world.settle();
    assert_eq!(looked_anew(&world), [] as [&Event; 0]);
    assert_eq!(taken_in(&world), hosts.len());
    let most = hosts.len() as u64 * (4 * fabric.switch_count() as u64 + 40);
    assert!(sent(&world) - before < most, "{} MADs", sent(&world) - before);
    nothing_is_left_to_write(&mut world);
}

#[test]
fn a_switch_that_starts_afresh_is_written_alone() {
    let fabric = fabrics::tree(3, 8, None);
    for name in ["core-0001", "spine-0002", "leaf-0004"] {
        let switch = fabrics::node(&fabric, name);
        let mut world = World::with(&fabric, emulator::Config::default(), seldom());
        world.bring_up();
        let before = sent(&world);
        world.emulator.apply(Fault::Reset { node: switch });
        world.pass(10 * SECOND);
        world.settle();
        assert_eq!(looked_anew(&world), [] as [&Event; 0], "{name}");
        assert_eq!(world.manager().phase(), Phase::Up);
        let mads = sent(&world) - before;
        // While its links train it is gone, and all goes around it: then the ways over it are written a second time.
        assert!(mads * 4 < before, "{name}: {mads} MADs, and {before} for the whole fabric");
        nothing_is_left_to_write(&mut world);
    }
}

#[test]
fn a_switch_that_was_off_comes_back_with_empty_tables() {
    let fabric = fabrics::tree(3, 4, None);
    for name in ["core-0001", "spine-0002", "leaf-0004"] {
        for away in [Duration::from_millis(5), Duration::from_millis(138), 20 * SECOND] {
            let switch = fabrics::node(&fabric, name);
            let mut world = World::with(&fabric, emulator::Config::default(), seldom());
            world.bring_up();
            world.emulator.apply(Fault::PowerOff { node: switch });
            world.pass(away);
            world.emulator.apply(Fault::PowerOn { node: switch });
            world.pass(10 * SECOND);
            world.settle();
            assert_eq!(looked_anew(&world), [] as [&Event; 0], "{name}, away for {away:?}");
            nothing_is_left_to_write(&mut world);
        }
    }
}
