//! Two managers on one fabric: one of them manages, the other watches, and they never fight.

use std::time::Duration;

use fabric::{Fabric, NodeId};
use ib::{AttributeId, Mad, Method, Packet, SmInfo, SmState};
use subnet::{Config, Event, Phase};

use crate::fabrics;
use crate::judges;
use crate::world::{SECOND, World, of_kind};

fn config(priority: u8) -> Config {
    Config { priority, sweep_interval: SECOND, ..Config::default() }
}

fn last_host(fabric: &Fabric) -> NodeId {
    fabric.hosts().last().unwrap()
}

fn phases(world: &World) -> Vec<Phase> {
    world.seats.iter().map(|seat| seat.manager.phase()).collect()
}

#[test]
fn the_higher_priority_manages_when_two_begin_at_once() {
    for (first, second) in [(8, 9), (9, 8), (0, 15)] {
        let fabric = fabrics::leaf_spine(6);
        let mut world = World::with(&fabric, emulator::Config::default(), config(first));
        world.sit(last_host(&fabric), 1, config(second));
        world.settle();
        world.pass(10 * SECOND);
        let expected = if first > second { [Phase::Up, Phase::Standby] } else { [Phase::Standby, Phase::Up] };
        assert_eq!(phases(&world), expected);
        let loser = usize::from(first > second);
        assert_eq!(world.seats[loser].sets, 0, "the one that stands by writes nothing");
    }
}

#[test]
fn the_smaller_guid_manages_at_equal_priority() {
    let fabric = fabrics::leaf_spine(6);
    let (own, last) = (crate::world::first_seat(&fabric).0, last_host(&fabric));
    let mut world = World::with(&fabric, emulator::Config::default(), config(8));
    world.sit(last, 1, config(8));
    world.settle();
    world.pass(10 * SECOND);
    let first =
        fabric.port_guid(fabric.port(own, 1).unwrap()) < fabric.port_guid(fabric.port(last, 1).unwrap());
    let expected = if first { [Phase::Up, Phase::Standby] } else { [Phase::Standby, Phase::Up] };
    assert_eq!(phases(&world), expected);
}

#[test]
fn who_comes_later_stands_by_and_says_who_is_the_master() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::with(&fabric, emulator::Config::default(), config(8));
    world.bring_up();
    judges::is_up(&world);
    let sets = world.seats[0].sets;
    world.sit(last_host(&fabric), 1, config(3));
    world.pass(10 * SECOND);
    assert_eq!(phases(&world), [Phase::Up, Phase::Standby]);
    assert_eq!((world.seats[0].sets, world.seats[1].sets), (sets, 0));
    let master = fabric.port_guid(fabric.port(world.seats[0].at.0, 1).unwrap());
    let said = world.seats[1].events.iter().find_map(|event| match event {
        Event::Standby { master, priority } => Some((*master, *priority)),
        _ => None,
    });
    assert_eq!(said, Some((master, 8)));
    let findings = world.seats[1].manager.report().findings;
    assert_eq!(of_kind(&findings, subnet::FindingKind::OtherManager).len(), 1, "{findings:#?}");
    judges::is_up(&world);
}

#[test]
fn the_one_that_watches_takes_over_when_the_master_is_gone() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::with(&fabric, emulator::Config::default(), config(8));
    world.bring_up();
    world.sit(last_host(&fabric), 1, config(3));
    world.pass(5 * SECOND);
    assert_eq!(phases(&world)[1], Phase::Standby);
    world.kill(0);
    let up = world.run(60 * SECOND, |world| world.seats[1].manager.phase() == Phase::Up);
    assert!(up, "{:?}", world.seats[1].manager.progress());
    assert!(world.seats[1].events.iter().any(|event| matches!(event, Event::TakeOver { .. })));
    world.settle();
    let second = world.seats.remove(1);
    world.seats[0] = second;
    judges::is_up(&world);
    // LIDs stay: what was up goes on to work.
    assert_eq!(world.manager().report().lft_blocks_written, 0, "the tables were right already");
}

#[test]
fn the_master_answers_who_it_is() {
    let fabric = fabrics::leaf_spine(4);
    let mut world = World::with(&fabric, emulator::Config::default(), config(11));
    world.bring_up();
    let client = world.emulator.attach(last_host(&fabric), 1).unwrap();
    let own = fabric.port(world.seats[0].at.0, 1).unwrap();
    let lid = world.emulator.port_info(own).lid;
    let mut counts = Vec::new();
    for tid in 1..=3 {
        let mad = Mad::lid_routed(Method::GET, AttributeId::SM_INFO, 0, tid << 32 | 5, 0);
        let now = world.now();
        world.emulator.send(now, client, &Packet::to_lid(lid, mad));
        world.pass(Duration::from_millis(5));
        let (_, answer) = world.strays.pop_front().expect("an answer");
        assert_eq!((answer.mad.method(), answer.mad.tid()), (Method::GET_RESP, tid << 32 | 5));
        let info: SmInfo = answer.mad.get();
        assert_eq!((info.guid, info.priority, info.state), (fabric.port_guid(own), 11, SmState::MASTER));
        assert_eq!(info.sm_key, 0);
        counts.push(info.activity_count);
    }
    assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
}

#[test]
fn managers_with_lossy_wires_agree_in_the_end() {
    for seed in 0..8 {
        let fabric = fabrics::leaf_spine(4);
        let emulated = emulator::Config { loss_per_million: 20_000, seed, ..emulator::Config::default() };
        let config = |priority| Config { retries: 10, timeout: Duration::from_millis(5), ..config(priority) };
        let mut world = World::with(&fabric, emulated, config(5));
        world.sit(last_host(&fabric), 1, config(6));
        world.pass(60 * SECOND);
        let mut phases = phases(&world);
        phases.sort();
        assert_eq!(phases, [Phase::Up, Phase::Standby], "seed {seed}");
    }
}
