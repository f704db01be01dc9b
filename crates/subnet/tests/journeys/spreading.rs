//! Some time after a change paths are spread anew, computed beside the manager; what has grown stale is thrown away.

use std::time::Duration;

use emulator::Fault;
use fabric::{Fabric, PortId};
use subnet::{Config, Event};

use crate::fabrics;
use crate::judges;
use crate::world::{SECOND, World};

const SOON: Duration = Duration::from_millis(500);

/// A leaf's uplinks.
fn uplinks(fabric: &Fabric, leaf: &str) -> Vec<PortId> {
    let leaf = fabrics::node(fabric, leaf);
    let leads_up = |&(_, peer): &(PortId, PortId)| fabric.is_switch(fabric.node_of(peer));
    fabric.neighbors(leaf).filter(leads_up).map(|(port, _)| port).collect()
}

fn unlink(world: &mut World, fabric: &Fabric, port: PortId) {
    let fault = Fault::Unlink { node: fabric.node_of(port), port: fabric.port_number(port) };
    world.emulator.apply(fault);
}

fn count(world: &World, wanted: fn(&Event) -> bool) -> usize {
    world.seats[0].events.iter().filter(|event| wanted(event)).count()
}

fn healed(world: &World) -> usize {
    count(world, |event| matches!(event, Event::Healed { .. }))
}

fn rebalanced(world: &World) -> usize {
    count(world, |event| matches!(event, Event::Rebalanced { .. }))
}

/// Whether the tables are those that the engine would make for the fabric as it is.
fn are_the_engines(world: &World) -> bool {
    let (routes, _) = routing::auto(world.manager().fabric(), &routing::Options::default()).unwrap();
    world.manager().tables() == Some(&routes.tables)
}

/// A fabric with one uplink lost and healed, whose manager will spread paths anew in a while.
fn healed_once(fabric: &Fabric) -> World {
    let config = Config { rebalance_after: SOON, sweep_interval: 1000 * SECOND, ..Config::default() };
    let mut world = World::with(fabric, emulator::Config::default(), config);
    world.bring_up();
    unlink(&mut world, fabric, uplinks(fabric, "leaf-0003")[0]);
    assert!(world.run(SECOND / 4, |world| healed(world) == 1 && world.manager().is_settled()));
    assert!(!are_the_engines(&world), "a repair is local");
    world
}

#[test]
fn what_was_computed_beside_the_manager_is_written() {
    let fabric = fabrics::leaf_spine(8);
    let mut world = healed_once(&fabric);
    assert!(world.run(SECOND, |world| rebalanced(world) == 1 && world.manager().is_settled()));
    assert!(are_the_engines(&world));
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}

#[test]
fn a_failure_meanwhile_is_healed_at_once_and_what_is_stale_is_thrown_away() {
    let fabric = fabrics::leaf_spine(8);
    let mut world = healed_once(&fabric);
    world.aside_takes = SECOND / 10;
    assert!(world.run(SECOND, |world| !world.manager().is_settled()), "something is computed");
    let began = world.now();
    unlink(&mut world, &fabric, uplinks(&fabric, "leaf-0002")[1]);
    assert!(world.run(SECOND, |world| healed(world) == 2));
    assert!(world.now().since(began) < SECOND / 20, "the heal does not wait for the computation");
    let tables = world.manager().tables().cloned();
    assert!(world.run(SECOND / 4, |world| world.manager().is_settled()), "the computation has come in");
    assert_eq!(rebalanced(&world), 0);
    assert!(world.manager().tables() == tables.as_ref(), "it changed nothing");
    judges::is_up(&world);
    assert!(world.run(2 * SECOND, |world| rebalanced(world) == 1 && world.manager().is_settled()));
    assert!(are_the_engines(&world));
    judges::is_up(&world);
    judges::is_the_fabric(&world);
}

#[test]
fn a_look_at_the_whole_fabric_makes_it_stale_too() {
    let fabric = fabrics::leaf_spine(8);
    let mut world = healed_once(&fabric);
    world.aside_takes = SECOND / 10;
    assert!(world.run(SECOND, |world| !world.manager().is_settled()));
    let now = world.now();
    world.seats[0].manager.input(now, subnet::Input::Sweep);
    world.pass(SECOND);
    world.settle();
    assert_eq!(rebalanced(&world), 0, "all was computed anew");
    assert!(are_the_engines(&world));
    judges::is_up(&world);
}
