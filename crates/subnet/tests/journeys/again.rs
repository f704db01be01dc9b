//! A second bring-up of a fabric that has not changed writes nothing; the same inputs give the same outputs.

use fabric::Fabric;
use subnet::{Config, Event};

use crate::fabrics;
use crate::judges;
use crate::mischief::Mischief;
use crate::world::World;

/// Brings a fabric up, then again with a new manager: without any write, and with the same tables.
fn writes_nothing(fabric: &Fabric, config: &Config, keeps_lids: bool) {
    let mut world = World::with(fabric, emulator::Config::default(), config.clone());
    world.bring_up();
    assert!(world.seats[0].sets > 0);
    let held: Vec<Vec<u8>> = fabric.switches().map(|s| world.emulator.forwarding_table(s).to_vec()).collect();
    let known_lids = if keeps_lids { world.known_lids() } else { Default::default() };
    let lids = world.known_lids();

    world.restart(Config { known_lids, ..config.clone() });
    assert_eq!(world.bring_up(), []);
    let report = world.manager().report();
    assert_eq!(world.seats[0].sets, 0, "{:#?}", report.mads);
    assert_eq!((report.mads.set, report.lft_blocks_written), (0, 0));
    assert_eq!(world.known_lids(), lids);
    let new = world.seats[0].events.iter().find_map(|event| match event {
        Event::LidsAssigned { new, .. } => Some(*new),
        _ => None,
    });
    if keeps_lids {
        assert_eq!(new, Some(0));
    }
    for (switch, held) in fabric.switches().zip(held) {
        assert_eq!(world.emulator.forwarding_table(switch), held, "{}", fabric.name(switch));
    }
    judges::is_up(&world);
}

#[test]
fn a_second_bring_up_writes_nothing() {
    for fabric in
        [fabrics::star(5), fabrics::leaf_spine(8), fabrics::tree(3, 6, None), fabrics::torus(&[4, 4])]
    {
        writes_nothing(&fabric, &Config::default(), true);
        writes_nothing(&fabric, &Config::default(), false);
    }
    writes_nothing(&fabrics::pair(), &Config::default(), true);
}

#[test]
fn a_second_bring_up_writes_nothing_with_lanes_for_services_either() {
    writes_nothing(&fabrics::leaf_spine(4), &Config { qos: true, ..Config::default() }, true);
}

#[test]
fn other_settings_write_only_what_they_change() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let config = Config { packet_life_time: 16, known_lids: world.known_lids(), ..Config::default() };
    world.restart(config);
    world.bring_up();
    let report = world.manager().report();
    assert_eq!(report.mads.set, fabric.switch_count() as u64, "{:#?}", report.mads);
    assert_eq!(report.lft_blocks_written, 0);
}

#[test]
fn a_switch_that_was_reset_is_written_anew_and_no_other() {
    let fabric = fabrics::leaf_spine(6);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let spine = fabrics::node(&fabric, "spine-0001");
    let known_lids = world.known_lids();
    world.kill(0);
    world.emulator.apply(emulator::Fault::Reset { node: spine });
    world.emulator.advance(world.now() + crate::world::SECOND);
    world.restart(Config { known_lids, ..Config::default() });
    assert_eq!(world.bring_up(), []);
    judges::is_up(&world);
    let report = world.manager().report();
    let blocks = world.emulator.forwarding_table(spine).len() as u64 / 64;
    assert_eq!(report.lft_blocks_written, blocks, "{:#?}", report.mads);
}

#[test]
fn the_same_inputs_give_the_same_outputs() {
    let history = |seed| {
        let mischief = Mischief {
            lose: 20_000,
            double: 20_000,
            delay: 100_000,
            latest: std::time::Duration::from_millis(3),
            spoil: 5_000,
            seed,
            ..Mischief::default()
        };
        let emulated = emulator::Config { loss_per_million: 5_000, seed, ..emulator::Config::default() };
        let mut world = World::with(&fabrics::leaf_spine(6), emulated, Config::default()).mischief(mischief);
        world.settle();
        let seat = &world.seats[0];
        (seat.digest, format!("{:?}", seat.events), format!("{:?}", seat.manager.report()))
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1).0, history(2).0);
}

#[test]
fn a_report_is_a_value_that_prints_as_json() {
    let mut world = World::healthy(&fabrics::star(3));
    world.bring_up();
    let report = world.manager().report();
    let by_kind: u64 = report.mads.kinds.values().map(|kind| kind.sent).sum();
    assert_eq!(by_kind, report.mads.sent);
    assert_eq!(report.mads.get + report.mads.set, report.mads.sent);
    assert_eq!((world.seats[0].gets, world.seats[0].sets), (report.mads.get, report.mads.set));
    assert_eq!(report.mads.retried, 0);
    assert!(report.mads.kinds.values().all(|kind| kind.answered == kind.sent));
    let held: usize =
        world.emulator.fabric().switches().map(|s| world.emulator.forwarding_table(s).len()).sum();
    assert_eq!(report.lft_blocks_written, held as u64 / 64);
}
