//! How many MADs, how many at once, how many lost.

use std::time::Duration;

use subnet::Config;

use crate::fabrics;
use crate::judges;
use crate::world::World;

#[test]
fn a_bring_up_takes_three_quarters_of_the_mads_that_opensm_takes_at_the_most() {
    // OpenSM sends about 120,000 for this fabric.
    let fabric = fabrics::tree(3, 36, Some(6));
    assert_eq!((fabric.hosts().count(), fabric.switch_count()), (1_944, 540));
    let mut world = World::healthy(&fabric);
    assert_eq!(world.bring_up(), []);
    let mads = world.manager().report().mads;
    println!("{mads:#?}");
    assert!(mads.sent <= 90_000, "{mads:#?}");
    assert!(mads.retried * 100 < mads.sent, "{mads:#?}");
    judges::is_the_fabric(&world);
}

#[test]
fn one_question_finds_both_ends_of_a_link() {
    let fabric = fabrics::leaf_spine(8);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let kinds = world.manager().report().mads.kinds;
    // One for the own port, one for each link, and the few that were asked from both ends at one time.
    let asked = kinds["Get NodeInfo"].answered as usize;
    let links = fabric.link_count();
    assert!(asked <= links + links / 2 + 1, "{asked} questions for {links} links");
    let ports: usize = fabric.switches().map(|s| usize::from(fabric.port_count(s)) + 1).sum();
    let hosts = fabric.hosts().count();
    assert!(kinds["Get PortInfo"].answered as usize <= ports + hosts);
    assert!(!kinds.contains_key("Get LinearForwardingTable"), "a fresh switch's table need not be read");
}

#[test]
fn few_buffers_are_not_overrun() {
    // Shapes, buffers a port, and time of an agent: retries stay under 1 per cent.
    let shapes = [
        ("three levels", fabrics::tree(3, 12, None)),
        ("two levels", fabrics::leaf_spine(24)),
        ("torus", fabrics::torus(&[6, 6])),
        ("hypercube", fabrics::hypercube(6)),
    ];
    for (shape, fabric) in shapes {
        for (buffers, agent_us) in [(4, 20), (4, 100), (2, 20), (8, 5)] {
            let emulated = emulator::Config {
                vl15_buffers: buffers,
                agent_time: Duration::from_micros(agent_us),
                ..emulator::Config::default()
            };
            let mut world = World::with(&fabric, emulated, Config::default());
            assert_eq!(world.bring_up(), [], "{shape}");
            let mads = world.manager().report().mads;
            let rate = mads.sent as f64 / world.now().since(ib::Time::ZERO).as_secs_f64();
            println!(
                "{shape}: {buffers} buffers, {agent_us} us: {} of {} sent again, {rate:.0} a second, window {}",
                mads.retried, mads.sent, world.seats[0].widest_window
            );
            if buffers >= 4 {
                assert!(mads.retried * 100 < mads.sent, "{shape}: {} of {}", mads.retried, mads.sent);
            }
            judges::is_up(&world);
        }
    }
}

#[test]
fn packets_leave_in_twos_at_the_most_once_the_window_is_open() {
    let fabric = fabrics::tree(3, 8, None);
    let mut world = World::healthy(&fabric);
    world.bring_up();
    // The first burst of a phase is the window as it stands; within a phase answers clock what is sent.
    let seat = &world.seats[0];
    assert!(seat.largest_burst <= seat.widest_window, "{} {}", seat.largest_burst, seat.widest_window);
}

#[test]
fn the_window_is_open_at_once_where_the_wire_holds_senders_back() {
    let emulated = emulator::Config {
        hop_latency: Duration::ZERO,
        forward_time: Duration::ZERO,
        agent_time: Duration::from_micros(3),
        vl15_buffers: 255,
        ..emulator::Config::default()
    };
    let config = Config { flow_controlled: true, ..Config::default() };
    let mut world = World::with(&fabrics::tree(3, 8, None), emulated, config);
    assert_eq!(world.bring_up(), []);
    let seat = &world.seats[0];
    assert!(seat.most_under_way >= 32, "{}", seat.most_under_way);
    assert_eq!(seat.manager.report().mads.retried, 0);
}

#[test]
fn a_bound_on_the_window_is_kept() {
    for bound in [1, 2, 7] {
        let config = Config { max_wire_smps: bound, ..Config::default() };
        let mut world = World::with(&fabrics::leaf_spine(6), emulator::Config::default(), config);
        assert_eq!(world.bring_up(), []);
        assert!(world.seats[0].most_under_way <= bound as usize, "{}", world.seats[0].most_under_way);
        judges::is_up(&world);
    }
}

#[test]
fn a_silent_device_does_not_hold_the_others_up() {
    let fabric = fabrics::leaf_spine(8);
    let host = fabric.hosts().nth(9).unwrap();
    let mut world = World::healthy(&fabric);
    world.emulator.apply(emulator::Fault::Agent { node: host, behaviour: emulator::Behaviour::Silent });
    let links = fabric.link_count();
    // All other devices are found, with one repeat at the most, long before the silent one is given up after 3 s.
    let found =
        world.run(Duration::from_millis(700), |world| world.manager().fabric().link_count() >= links - 1);
    assert!(found, "{:?}", world.manager().progress());
}

#[test]
fn many_silent_devices_cost_little_more_than_one() {
    let fabric = fabrics::leaf_spine(16);
    let time_with = |silent: usize| {
        let mut world = World::healthy(&fabric);
        for node in fabric.hosts().skip(20).take(silent) {
            world.emulator.apply(emulator::Fault::Agent { node, behaviour: emulator::Behaviour::Silent });
        }
        let findings = world.bring_up();
        assert_eq!(findings.len(), silent);
        assert_eq!(world.manager().report().hosts, fabric.hosts().count() - silent);
        world.now().since(ib::Time::ZERO)
    };
    // Three leaves without one host that answers. One silent host takes 3 s until it is given up.
    let (one, many) = (time_with(1), time_with(24));
    println!("one: {one:?}, many: {many:?}");
    assert!(many < one * 2, "one: {one:?}, many: {many:?}");
}
