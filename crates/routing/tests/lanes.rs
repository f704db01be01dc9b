//! What engines with virtual lanes promise: every pair reached, no credit loop on any lane, or an error that says why.

mod common;

use common::build::{degraded, drawn, random, small, with_lids, with_lmc};
use common::oracle::{agree, agree_on_lanes};
use fabric::Fabric;
use fabric::generate::{DragonflyPlusSpec, RandomRegularSpec, TorusSpec};
use proptest::prelude::*;
use routing::{Options, RouteError, Routes, engine_by_name};

fn route(engine: &str, fabric: &Fabric, most_lanes: u8) -> Result<Routes, RouteError> {
    engine_by_name(engine).unwrap().route(fabric, &Options { most_lanes, ..Options::default() })
}

/// Pairs that even shortest paths on any lane leave out.
fn separated(fabric: &Fabric) -> u64 {
    agree(fabric, &route("min-hop", fabric, 1).unwrap().tables).unreachable
}

fn torus(dimensions: &[u32], hosts: u32) -> Fabric {
    let spec = TorusSpec { dimensions: dimensions.to_vec(), hosts, ..TorusSpec::default() };
    with_lids(spec.build().unwrap())
}

fn regular(switches: u32, degree: u32, seed: u64) -> Fabric {
    with_lids(RandomRegularSpec { switches, degree, hosts: 1, seed, ..Default::default() }.build().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn layered_is_clean_and_as_short_as_can_be(kind in 0..24usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let routes = route("layered", &fabric, 8).unwrap();
        let found = agree_on_lanes(&fabric, &routes);
        prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
        let shortest = agree(&fabric, &route("min-hop", &fabric, 1).unwrap().tables);
        prop_assert_eq!(found.hops, shortest.hops);
    }

    #[test]
    fn layered_takes_any_cabling(seed: u64, lmc in 0..3u8) {
        let fabric = with_lmc(random(seed), lmc);
        let routes = route("layered", &fabric, 8).unwrap();
        let found = agree_on_lanes(&fabric, &routes);
        prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
    }

    #[test]
    fn layered_keeps_to_the_lanes_that_it_may_use(degree in 3..7u32, most in 1..4u8, seed: u64) {
        let fabric = regular(24, degree, seed);
        match route("layered", &fabric, most) {
            Ok(routes) => {
                prop_assert!(routes.lanes.count() <= most);
                prop_assert!(agree_on_lanes(&fabric, &routes).is_clean());
            }
            Err(RouteError::TooFewLanes { given, needed, .. }) => prop_assert!(given == most && needed > most),
            Err(error) => prop_assert!(matches!(error, RouteError::TooManyTurns { .. }), "{}", error),
        }
    }
}

#[test]
fn two_lanes_are_enough_for_a_ring() {
    let routes = route("layered", &torus(&[7], 1), 8).unwrap();
    assert_eq!(routes.lanes.count(), 2);
    let error = route("layered", &torus(&[7], 1), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "layered needs 2 virtual lanes and may use 1: give it more, or take 'nue', which fits any number, or \
         'up-down', which fits one"
    );
}

#[test]
fn random_regular_fabrics_take_two_or_three_lanes() {
    for seed in 0..3 {
        let fabric = regular(60, 6, seed);
        let routes = route("layered", &fabric, 8).unwrap();
        assert!(agree_on_lanes(&fabric, &routes).is_clean());
        assert!((2..=3).contains(&routes.lanes.count()), "{} lanes", routes.lanes.count());
    }
}

#[test]
fn where_one_lane_is_enough_there_is_one() {
    for kind in [0, 1, 2, 6] {
        assert_eq!(route("layered", &small(kind), 8).unwrap().lanes.count(), 1, "kind {kind}");
    }
    let fabric = drawn("s0[1] s1[1]\n s1[2] s2[1]\n s2[2] s0[2]\n s0[3] h0[1]\n s1[3] h1[1]");
    assert_eq!(route("layered", &fabric, 8).unwrap().lanes.count(), 1);
}

const SHAPES: &[&[u32]] = &[
    &[3],
    &[6],
    &[3, 3],
    &[5, 4],
    &[2, 2, 2],
    &[4, 4, 3],
    &[3, 3, 3],
    &[2, 5, 4],
    &[4, 4, 4],
    &[4, 2, 3, 2],
    &[2, 2, 2, 2, 2],
];

#[test]
fn a_whole_torus_takes_two_lanes_and_shortest_paths() {
    for shape in SHAPES {
        let fabric = torus(shape, 1);
        for engine in ["torus", "layered"] {
            let routes =
                route(engine, &fabric, 2).unwrap_or_else(|error| panic!("{shape:?}, {engine}: {error}"));
            assert!(routes.lanes.count() <= 2, "{shape:?}");
            let found = agree_on_lanes(&fabric, &routes);
            assert!(found.is_clean(), "{shape:?}: {found:?}");
            let shortest = routing::verify(&fabric, &route("min-hop", &fabric, 1).unwrap().tables);
            assert_eq!(found.hops, shortest.hops, "{shape:?}, {engine}");
        }
    }
}

/// The cables between switches, each by one end.
fn cables(fabric: &Fabric) -> Vec<fabric::PortId> {
    let switch = |port| fabric.is_switch(fabric.node_of(port));
    fabric.links().filter(|&(a, b)| switch(a) && switch(b)).map(|(a, _)| a).collect()
}

#[test]
fn a_torus_survives_any_single_failure() {
    for shape in SHAPES.iter().filter(|shape| shape.len() > 1) {
        let whole = torus(shape, 1);
        for cable in cables(&whole) {
            let mut fabric = whole.clone();
            fabric.disconnect(cable);
            let routes = route("torus", &fabric, 3);
            let routes = routes
                .unwrap_or_else(|error| panic!("{shape:?} without {}: {error}", fabric.port_label(cable)));
            assert!(routing::verify_routes(&fabric, &routes).is_clean());
        }
        for lost in whole.switches() {
            let mut fabric = whole.clone();
            whole.ports(lost).for_each(|port| {
                fabric.disconnect(port);
            });
            let routes = route("torus", &fabric, 3);
            let routes =
                routes.unwrap_or_else(|error| panic!("{shape:?} without {}: {error}", fabric.name(lost)));
            let found = routing::verify_routes(&fabric, &routes);
            // The lost switch itself is all that cannot be reached.
            let ends = found.end_ports - 1;
            assert_eq!((found.unreachable, found.loops, found.credit_loops), (2 * ends, 0, 0), "{shape:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn torus_is_clean_or_says_why_not(shape in 0..SHAPES.len(), per_cent in 0..12u32, seed: u64) {
        let fabric = degraded(torus(SHAPES[shape], 1), per_cent, seed);
        if let Ok(routes) = route("torus", &fabric, 8) {
            let found = agree_on_lanes(&fabric, &routes);
            prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
        }
    }

    #[test]
    fn torus_takes_nothing_amiss(seed: u64) {
        let fabric = random(seed);
        if let Ok(routes) = route("torus", &fabric, 8) {
            let found = agree_on_lanes(&fabric, &routes);
            prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn nue_fits_any_number_of_lanes(kind in 0..24usize, per_cent in 0..30u32, most in 1..6u8, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let routes = route("nue", &fabric, most).unwrap();
        prop_assert!(routes.lanes.count() <= most);
        let found = agree_on_lanes(&fabric, &routes);
        prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
    }

    #[test]
    fn nue_takes_any_cabling(seed: u64, most in 1..4u8, lmc in 0..2u8) {
        let fabric = with_lmc(random(seed), lmc);
        let routes = route("nue", &fabric, most).unwrap();
        let found = agree_on_lanes(&fabric, &routes);
        prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
    }

    #[test]
    fn nue_routes_what_layered_refuses(degree in 3..5u32, seed: u64) {
        let fabric = regular(40, degree, seed);
        let routes = route("nue", &fabric, 2).unwrap();
        prop_assert!(agree_on_lanes(&fabric, &routes).is_clean());
    }
}

fn dragonfly(groups: u32, leaves: u32, spines: u32, global_links: u32) -> Fabric {
    let spec = DragonflyPlusSpec { groups, leaves, spines, hosts: 1, global_links, ..Default::default() };
    with_lids(spec.build().unwrap())
}

#[test]
fn a_whole_dragonfly_takes_one_lane_and_shortest_paths() {
    for (groups, leaves, spines, global_links) in [(3, 2, 2, 2), (5, 3, 2, 2), (4, 2, 3, 4), (2, 3, 3, 1)] {
        let fabric = dragonfly(groups, leaves, spines, global_links);
        let routes = route("dragonfly-plus", &fabric, 1).unwrap();
        let found = agree_on_lanes(&fabric, &routes);
        assert!(found.is_clean(), "{groups} groups: {found:?}");
        let shortest = routing::verify(&fabric, &route("min-hop", &fabric, 1).unwrap().tables);
        assert_eq!(found.hops, shortest.hops, "{groups} groups");
        let (_, choice) = common::auto(&fabric).unwrap();
        assert_eq!(
            (choice.engine, choice.topology),
            ("dragonfly-plus", format!("dragonfly+ of {groups} groups"))
        );
    }
    let error = route("dragonfly-plus", &torus(&[5], 1), 8).unwrap_err();
    assert!(error.to_string().starts_with("dragonfly-plus needs groups of leaves below spines"), "{error}");
}

#[test]
fn lanes_cost_a_degraded_dragonfly_no_load() {
    for (seed, per_cent) in [(1, 1), (2, 1), (3, 4), (4, 7)] {
        let spec = DragonflyPlusSpec {
            groups: 5,
            leaves: 4,
            spines: 4,
            hosts: 4,
            global_links: 4,
            ..Default::default()
        };
        let fabric = degraded(with_lids(spec.build().unwrap()), per_cent, seed);
        let busiest = |routes: &Routes| routing::link_load(&fabric, &routes.tables).max;
        let shortest = busiest(&route("min-hop", &fabric, 1).unwrap());
        let routes = route("dragonfly-plus", &fabric, 3).unwrap();
        assert!(agree_on_lanes(&fabric, &routes).is_clean());
        assert!(busiest(&routes) <= shortest, "seed {seed}: {} of {shortest}", busiest(&routes));
    }
}

#[test]
fn auto_names_a_torus_and_what_lanes_would_bring() {
    let (_, choice) = common::auto(&torus(&[5, 4], 1)).unwrap();
    assert_eq!(choice.topology, "torus of 5x4");
    assert!(choice.reason.ends_with("; 'torus' takes shortest paths on 2 lanes"), "{choice}");
}

#[test]
fn auto_takes_more_lanes_where_it_may_and_one_does_worse() {
    for (fabric, engine) in [(torus(&[5, 4], 1), "torus"), (torus(&[7], 1), "torus"), (small(5), "layered")] {
        let (routes, choice) = routing::auto(&fabric, &Options::default()).unwrap();
        assert_eq!(choice.engine, engine, "{choice}");
        assert_eq!(routes.lanes.count(), 2, "{choice}");
        assert!(choice.reason.ends_with("; 2 lanes keep it apart"), "{choice}");
        assert!(agree_on_lanes(&fabric, &routes).is_clean());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn a_degraded_dragonfly_is_clean_or_says_why_not(groups in 2..5u32, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(dragonfly(groups, 2, 3, 2), per_cent, seed);
        if let Ok(routes) = route("dragonfly-plus", &fabric, 8) {
            let found = agree_on_lanes(&fabric, &routes);
            prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
        }
    }

    #[test]
    fn lanes_engines_heed_ports_to_avoid(kind in 3..8usize, seed: u64) {
        let fabric = small(kind);
        let ports = cables(&fabric);
        let avoid = vec![ports[seed as usize % ports.len()]];
        for engine in ["layered", "nue"] {
            let options = Options { avoid: avoid.clone(), ..Options::default() };
            let routes = engine_by_name(engine).unwrap().route(&fabric, &options).unwrap();
            prop_assert!(agree_on_lanes(&fabric, &routes).is_clean());
        }
    }
}
