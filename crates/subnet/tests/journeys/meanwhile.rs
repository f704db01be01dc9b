//! What happens while the fabric is coming up is looked at by itself: the fabric is found once.

use std::time::Duration;

use emulator::Fault;
use fabric::{Fabric, NodeId};
use subnet::{Config, Event};

use crate::fabrics;
use crate::judges;
use crate::world::{SECOND, World};

/// A world whose devices have heard of a manager before: they tell it of changes.
fn second_start(fabric: &Fabric, buffers: u8) -> (World, Config) {
    let emulated = emulator::Config { vl15_buffers: buffers, ..emulator::Config::default() };
    let mut world = World::with(fabric, emulated, Config::default());
    world.bring_up();
    let config = Config {
        known_lids: world.known_lids(),
        sweep_interval: 1000 * SECOND,
        rebalance_after: 2000 * SECOND,
        ..Config::default()
    };
    (world, config)
}

fn was_found_once(world: &World, what: &str) {
    let wide = |event: &&Event| matches!(event, Event::Resweep { .. } | Event::Reroute { .. });
    let wide: Vec<&Event> = world.seats[0].events.iter().filter(wide).collect();
    assert!(wide.is_empty(), "{what}: {wide:?}");
}

/// A switch loses its power and the manager is killed: traps go on coming while the next one looks around.
#[test]
fn old_traps_do_not_make_a_fresh_manager_look_twice() {
    let fabric = fabrics::tree(3, 8, None);
    for name in ["core-0001", "spine-0002", "leaf-0004"] {
        let switch = fabrics::node(&fabric, name);
        let (mut world, config) = second_start(&fabric, 2);
        world.emulator.apply(Fault::PowerOff { node: switch });
        world.restart(config);
        world.bring_up();
        let traps = world.seats[0].events.iter().filter(|event| matches!(event, Event::Trap { .. }));
        assert!(traps.count() > 0, "{name}");
        world.pass(5 * SECOND);
        was_found_once(&world, name);
        judges::is_up_without(&world, &lost_with(&fabric, switch));
    }
}

/// A switch and the hosts that hang on it alone.
fn lost_with(fabric: &Fabric, switch: NodeId) -> Vec<NodeId> {
    let beyond = fabric.neighbors(switch).map(|(_, peer)| fabric.node_of(peer));
    beyond.filter(|&node| !fabric.is_switch(node)).chain([switch]).collect()
}

/// An uplink is lost at any time while a fabric in service is found again and written.
#[test]
fn a_link_that_is_lost_meanwhile_is_healed_around() {
    let fabric = fabrics::tree(2, 8, None);
    let leaf = fabrics::node(&fabric, "leaf-0003");
    let leads_up = |&(_, peer): &(fabric::PortId, fabric::PortId)| fabric.is_switch(fabric.node_of(peer));
    let (uplink, _) = fabric.neighbors(leaf).find(leads_up).unwrap();
    let port = fabric.port_number(uplink);
    for step in 0..60 {
        let (mut world, config) = second_start(&fabric, 4);
        // Other settings, so that there is something to write.
        let config = Config { head_of_queue_life: 17, ..config };
        world.restart(config);
        world.pass(Duration::from_micros(100) * step);
        let was_up = world.manager().is_settled();
        world.emulator.apply(Fault::Unlink { node: leaf, port });
        world.pass(SECOND);
        was_found_once(&world, &format!("after {step} times 100 us"));
        judges::is_up(&world);
        if was_up {
            return;
        }
    }
    panic!("the fabric was still coming up");
}
