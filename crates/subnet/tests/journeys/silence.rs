//! Who does not tell, or does not answer, is not waited for: its neighbours are asked.

use std::time::Duration;

use emulator::{Behaviour, Fault};
use fabric::NodeId;
use subnet::{Config, Event, FindingKind};

use crate::fabrics;
use crate::judges;
use crate::mischief::{Mischief, Wire};
use crate::world::{SECOND, World, of_kind};

fn seldom() -> Config {
    Config { sweep_interval: 1000 * SECOND, ..Config::default() }
}

/// Time-outs that ended in a finding or in a look at the whole fabric.
fn waited_for_nobody(world: &World) {
    for event in &world.seats[0].events {
        let wide = matches!(event, Event::Resweep { .. } | Event::Reroute { .. });
        let silent = matches!(event, Event::Finding(finding) if finding.kind == FindingKind::Silent);
        assert!(!wide && !silent, "{event:?}");
    }
}

/// A switch has power again, and all is as it was.
fn comes_back(world: &mut World, switch: NodeId) {
    world.emulator.apply(Fault::PowerOn { node: switch });
    world.pass(5 * SECOND);
    judges::is_up(world);
}

/// Two of eight neighbours are heard, for want of buffers: the others are asked, and nobody waits for them to tell again, which
/// is after 200 ms.
#[test]
fn a_switch_without_power_is_known_by_its_neighbours() {
    let fabric = fabrics::tree(3, 8, None);
    for name in ["core-0001", "spine-0002", "leaf-0004"] {
        let switch = fabrics::node(&fabric, name);
        let emulated = emulator::Config { vl15_buffers: 2, ..emulator::Config::default() };
        let mut world = World::with(&fabric, emulated, seldom());
        world.bring_up();
        world.emulator.apply(Fault::PowerOff { node: switch });
        let is_healed = |world: &World| {
            let healed = |event: &Event| matches!(event, Event::Healed { lost, .. } if *lost > 1);
            world.seats[0].events.iter().any(healed)
        };
        assert!(world.run(SECOND / 20, is_healed), "{name}");
        let cut = |event: &&Event| matches!(event, Event::Cut { switches, .. } if switches[..] == [name]);
        assert_eq!(world.seats[0].events.iter().filter(cut).count(), 1, "{name}");
        waited_for_nobody(&world);
        world.pass(5 * SECOND);
        waited_for_nobody(&world);
        comes_back(&mut world, switch);
    }
}

/// The same where more than a third of all questions come to nothing.
#[test]
fn a_switch_without_power_is_known_where_much_is_lost() {
    let fabric = fabrics::tree(3, 8, None);
    for (seed, name) in (1..).zip(["core-0001", "spine-0002", "leaf-0004"]) {
        let switch = fabrics::node(&fabric, name);
        let mut world = World::with(&fabric, emulator::Config::default(), seldom());
        world.bring_up();
        world.wire = Wire::new(Mischief { lose: 360_000, seed, ..Mischief::default() });
        world.emulator.apply(Fault::PowerOff { node: switch });
        world.pass(2 * SECOND);
        let cut = |event: &&Event| matches!(event, Event::Cut { switches, .. } if switches[..] == [name]);
        assert_eq!(world.seats[0].events.iter().filter(cut).count(), 1, "{name}");
        waited_for_nobody(&world);
        world.wire = Wire::new(Mischief::default());
        comes_back(&mut world, switch);
    }
}

/// One end of a link has told, the trap of the other is lost: the other is asked, and has nothing left to tell.
#[test]
fn an_end_that_was_not_heard_is_asked() {
    let fabric = fabrics::tree(3, 8, None);
    let emulated = emulator::Config { vl15_buffers: 1, ..emulator::Config::default() };
    let mut world = World::with(&fabric, emulated, seldom());
    world.bring_up();
    let leaf = fabrics::node(&fabric, "leaf-0007");
    let leads_up = |&(_, peer): &(fabric::PortId, fabric::PortId)| fabric.is_switch(fabric.node_of(peer));
    let (uplink, beyond) = fabric.neighbors(leaf).find(leads_up).unwrap();
    world.emulator.apply(Fault::Unlink { node: leaf, port: fabric.port_number(uplink) });
    world.pass(Duration::from_millis(100));
    waited_for_nobody(&world);
    for node in [leaf, fabric.node_of(beyond)] {
        assert!(!world.emulator.switch_info(node).state_change, "{}", fabric.name(node));
    }
    judges::is_up(&world);
}

/// A switch's agent hangs while its links are up: that is said, and nothing else happens. When the agent answers again, nothing
/// is left of it.
#[test]
fn a_hung_agent_is_named_and_nothing_else_is_looked_at() {
    let fabric = fabrics::tree(3, 8, None);
    for name in ["core-0001", "spine-0002", "leaf-0004"] {
        let switch = fabrics::node(&fabric, name);
        let config = Config { sweep_interval: 10 * SECOND, ..Config::default() };
        let mut world = World::with(&fabric, emulator::Config::default(), config);
        world.bring_up();
        world.emulator.apply(Fault::Agent { node: switch, behaviour: Behaviour::Silent });
        world.pass(100 * SECOND);
        let events = &world.seats[0].events;
        let wide =
            events.iter().filter(|event| matches!(event, Event::Resweep { .. } | Event::Reroute { .. }));
        assert_eq!(wide.count(), 0, "{name}: {events:?}");
        let said = world.manager().report().findings;
        let [finding] = of_kind(&said, FindingKind::Silent)[..] else { panic!("{name}: {said:#?}") };
        assert!(finding.place.starts_with(name), "{finding:?}");
        judges::is_up(&world);
        world.emulator.apply(Fault::Agent { node: switch, behaviour: Behaviour::Sound });
        world.pass(2000 * SECOND);
        assert_eq!(world.manager().report().findings, [], "{name}");
        judges::is_up(&world);
    }
}
