//! What every engine promises, on whole, degraded and odd fabrics.

mod common;

use std::collections::BTreeMap;

use common::auto;
use common::build::{degraded, drawn, random, small, superpod, trees, with_lids, with_lmc};
use common::oracle::agree;
use fabric::Fabric;
use proptest::prelude::*;
use routing::{Options, Tables, engine_by_name, islands, link_load, verify};

fn route(engine: &str, fabric: &Fabric) -> Tables {
    engine_by_name(engine).unwrap().route(fabric, &Options::default()).unwrap().tables
}

/// Pairs that no cabling joins: none other may be unreachable.
fn separated(fabric: &Fabric) -> u64 {
    let parts = islands(fabric);
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for port in fabric.end_ports() {
        // An adapter with ports in two parts is in both.
        let node = fabric.node_of(port);
        let at = if fabric.is_switch(node) { node } else { fabric.node_of(fabric.peer(port).unwrap()) };
        *ends.entry(parts.of_node[at.index()]).or_default() += 1;
    }
    let all: u64 = ends.values().sum();
    ends.values().map(|&inside| inside * (all - inside)).sum()
}

#[test]
fn trees_of_every_shape_are_proven() {
    for (name, fabric) in trees() {
        for engine in ["fat-tree", "min-hop", "up-down"] {
            let found = verify(&fabric, &route(engine, &fabric));
            assert!(found.is_clean(), "{name}, {engine}: {found:?}");
        }
        let (tables, choice) = auto(&fabric).unwrap();
        assert_eq!(choice.engine, "fat-tree", "{name}");
        assert_eq!(tables, route("fat-tree", &fabric), "{name}");
    }
}

#[test]
fn superpods_are_regular_trees_and_evenly_loaded() {
    for units in [2, 4] {
        let fabric = superpod(units);
        let (tables, choice) = auto(&fabric).unwrap();
        assert_eq!(
            choice.to_string(),
            "fat tree of 2 levels: fat-tree (up, then down: no credit loop on one lane)"
        );
        assert!(verify(&fabric, &tables).is_clean());
        let load = link_load(&fabric, &tables);
        assert_eq!(load.max as f64, load.mean, "every link carries the same");
    }
}

/// Every shift permutation of all hosts, on every link: at most one path each.
fn contention(fabric: &Fabric, tables: &Tables) -> u32 {
    let hosts: Vec<_> = fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))).collect();
    let mut most = 0;
    for shift in 1..hosts.len() {
        let mut used = vec![0u32; fabric.port_slot_count()];
        for (i, &from) in hosts.iter().enumerate() {
            let to = hosts[(i + shift) % hosts.len()];
            let lid = fabric.lid(to).0;
            let mut at = fabric.peer(from).unwrap();
            while at != to {
                let node = fabric.node_of(at);
                let out = fabric.port(node, tables.get(node, lid)).unwrap();
                used[out.index()] += 1;
                most = most.max(used[out.index()]);
                at = fabric.peer(out).unwrap();
            }
        }
    }
    most
}

#[test]
fn shifts_on_full_trees_meet_no_contention() {
    for (levels, radix, parallel) in [
        (2, 4, vec![]),
        (2, 8, vec![]),
        (2, 8, vec![2]),
        (3, 4, vec![]),
        (3, 8, vec![]),
        (3, 8, vec![2]),
        (3, 8, vec![1, 2]),
    ] {
        let Some(fabric) = common::build::fat_tree(levels, radix, 1.0, parallel.clone(), None) else {
            panic!("no tree of {levels} levels, {radix} ports, {parallel:?}");
        };
        let most = contention(&fabric, &route("fat-tree", &fabric));
        assert_eq!(most, 1, "{levels} levels of {radix} ports, {parallel:?}");
    }
}

/// Small nasty fabrics, each with what is odd about it.
fn corpus() -> Vec<(&'static str, Fabric)> {
    let two_spines_with_hosts = "
        l0[1] t0[1]\n l0[2] t1[1]\n l1[1] t0[2]\n l1[2] t1[2]\n l2[1] t0[3]\n l2[2] t1[3]
        l0[3] h0[1]\n l0[4] h1[1]\n l1[3] h2[1]\n l1[4] h3[1]\n l2[3] h4[1]\n l2[4] h5[1]
        t0[4] h6[1]\n t1[4] h7[1]\n t0[5] a0\n t1[5] a1\n l0[5] a2";
    vec![
        ("no cable", drawn("")),
        ("one switch", drawn("s0[1] h0[1]\n s0[2] h1[1]")),
        ("one switch without a host", drawn("s0")),
        ("two adapters back to back", drawn("h0[1] h1[1]")),
        ("a switch cabled to itself", drawn("s0[1] s0[2]\n s0[3] h0[1]\n s0[4] s1[1]\n s1[2] h1[1]")),
        (
            "three parallel links",
            drawn("s0[1] s1[1]\n s0[2] s1[2]\n s0[3] s1[3]\n s0[4] h0[1]\n s0[5] h1[1]\n s1[4] h2[1]"),
        ),
        (
            "a host on two switches",
            drawn("s0[1] t[1]\n s1[1] t[2]\n s0[2] h0[1]\n s1[2] h0[2]\n s0[3] h1[1]\n s1[3] h2[1]"),
        ),
        (
            "a leaf with one uplink",
            drawn(
                "l0[1] t0[1]\n l0[2] t1[1]\n l1[1] t1[2]\n l0[3] h0[1]\n l0[4] h1[1]\n l1[3] h2[1]\n l1[4] h3[1]",
            ),
        ),
        (
            "leaves that share no spine",
            drawn(
                "l0[1] t0[1]\n l1[1] t0[2]\n l1[2] t1[1]\n l2[1] t1[2]\n l0[3] h0[1]\n l1[3] h1[1]\n l2[3] h2[1]",
            ),
        ),
        (
            "two islands",
            drawn("s0[1] s1[1]\n s0[2] h0[1]\n s1[2] h1[1]\n s2[1] s3[1]\n s2[2] h2[1]\n s3[2] h3[1]"),
        ),
        ("hosts on spines", drawn(two_spines_with_hosts)),
        (
            "a ring",
            drawn(
                "s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s3[2]\n s3[1] s4[2]\n s4[1] s0[2]\n s0[3] h0[1]\n s1[3] h1[1]\n s2[3] h2[1]\n s3[3] h3[1]\n s4[3] h4[1]",
            ),
        ),
        (
            "a chain",
            drawn("s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s3[2]\n s3[1] s4[2]\n s0[3] h0[1]\n s4[3] h4[1]"),
        ),
    ]
}

#[test]
fn nasty_fabrics_come_up_on_one_lane() {
    for (name, fabric) in corpus() {
        let (tables, choice) = auto(&fabric).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = agree(&fabric, &tables);
        assert_eq!(
            (found.unreachable, found.loops, found.credit_loops),
            (separated(&fabric), 0, 0),
            "{name}: {choice}"
        );
        for engine in ["min-hop", "up-down"] {
            let found = agree(&fabric, &route(engine, &fabric));
            assert_eq!((found.unreachable, found.loops), (separated(&fabric), 0), "{name}: {engine}");
        }
    }
}

#[test]
fn where_a_tree_has_no_common_spine_fat_tree_names_the_pair() {
    let fabric = drawn(
        "l0[1] t0[1]\n l1[1] t0[2]\n l1[2] t1[1]\n l2[1] t1[2]\n l0[3] h0[1]\n l1[3] h1[1]\n l2[3] h2[1]",
    );
    match engine_by_name("fat-tree").unwrap().route(&fabric, &Options::default()) {
        Ok(routes) => assert!(agree(&fabric, &routes.tables).is_clean()),
        Err(error) => assert!(error.to_string().contains("finds no path from"), "{error}"),
    }
}

#[test]
fn a_lid_twice_is_refused_by_name() {
    let mut fabric = drawn("s0[1] h0[1]\n s0[2] h1[1]");
    let ports: Vec<_> = fabric.end_ports().collect();
    let lid = fabric.lid(ports[1]);
    fabric.set_lid(ports[2], lid, 0);
    let error = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "LID 2 belongs to both h0[1] and h1[1]: give one of them another LID");
}

#[test]
fn an_unknown_engine_is_refused_with_the_names() {
    let error = engine_by_name("ftree").err().unwrap();
    let names = routing::engine::ENGINES.join(", ");
    assert_eq!(error.to_string(), format!("no routing engine is called 'ftree'; there are {names}"));
}

#[test]
fn a_ports_lids_take_different_ways() {
    let fabric = with_lmc(common::build::fat_tree(2, 8, 1.0, vec![], None).unwrap(), 2);
    let tables = route("fat-tree", &fabric);
    let leaf = fabric.switches().next().unwrap();
    let far = fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))).last().unwrap();
    let base = fabric.lid(far).0;
    let mut ports: Vec<u8> = (base..base + 4).map(|lid| tables.get(leaf, lid)).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4);
}

#[test]
fn ports_without_a_lid_or_with_an_impossible_one_are_left_out() {
    let mut fabric = drawn("s0[1] h0[1]\n s0[2] h1[1]\n s0[3] h2[1]");
    let ports: Vec<_> = fabric.end_ports().collect();
    fabric.set_lid(ports[1], ib::Lid(u32::MAX), 7);
    fabric.set_lid(ports[2], ib::Lid::PERMISSIVE, 0);
    let (tables, _) = auto(&fabric).unwrap();
    let found = verify(&fabric, &tables);
    assert_eq!((found.pairs, found.unreachable), (2, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn degraded_fabrics_come_up_on_one_lane(kind in 0..24usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let (tables, choice) = auto(&fabric).unwrap();
        let found = agree(&fabric, &tables);
        prop_assert_eq!((found.unreachable, found.loops), (separated(&fabric), 0), "{}", choice);
        prop_assert_eq!(found.credit_loops, 0, "{}", choice);
    }

    #[test]
    fn any_cabling_comes_up_on_one_lane(seed: u64) {
        let fabric = random(seed);
        let (tables, choice) = auto(&fabric).unwrap();
        let found = agree(&fabric, &tables);
        prop_assert_eq!((found.loops, found.credit_loops), (0, 0), "{}", choice);
        let shortest = agree(&fabric, &route("min-hop", &fabric));
        prop_assert_eq!(found.unreachable, shortest.unreachable);
    }

    #[test]
    fn fat_tree_gives_clean_tables_or_an_error(kind in 0..3usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        if let Ok(tables) = engine_by_name("fat-tree").unwrap().route(&fabric, &Options::default()).map(|routes| routes.tables) {
            let found = agree(&fabric, &tables);
            prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (separated(&fabric), 0, 0));
        }
    }

    #[test]
    fn order_of_lids_does_not_matter_to_the_proof(kind in 0..24usize, step in 1..40u32) {
        let mut fabric = small(kind);
        let ports: Vec<_> = fabric.end_ports().collect();
        for (i, port) in ports.into_iter().enumerate() {
            fabric.set_lid(port, ib::Lid(1 + i as u32 * step), 0);
        }
        let (tables, _) = auto(&fabric).unwrap();
        prop_assert!(agree(&fabric, &tables).is_clean());
    }
}

#[test]
fn tables_depend_on_the_fabric_alone() {
    let fabric = with_lids(degraded(small(1), 10, 5));
    assert_eq!(auto(&fabric).unwrap(), auto(&fabric).unwrap());
}

#[test]
fn a_chain_longer_than_a_subnet_is_refused_by_name() {
    let chain = |switches: u32| {
        let mut cables = String::new();
        for i in 1..switches {
            cables += &format!("s{}[1] s{i}[2]\n", i - 1);
        }
        drawn(&(cables + &format!("s0[3] h0[1]\ns{}[3] h1[1]", switches - 1)))
    };
    for engine in ["fat-tree", "min-hop", "up-down"] {
        assert!(verify(&chain(120), &route(engine, &chain(120))).is_clean(), "{engine}");
        let error =
            engine_by_name(engine).unwrap().route(&chain(300), &Options::default()).unwrap_err().to_string();
        assert!(error.contains("s0") && error.contains("s299") || error.contains("s255"), "{error}");
    }
    assert!(auto(&chain(300)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn evening_out_never_loads_a_link_more(kind in 0..24usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let switches = routing::switches::Switches::new(&fabric);
        let paths = routing::paths::Paths::shortest(&fabric, &switches).unwrap();
        let rank = routing::ranks::of(&fabric, &switches);
        let plain = link_load(&fabric, &routing::spread::spread(&fabric, &switches, &paths, &rank));
        let even = link_load(&fabric, &routing::balance::balanced(&fabric, &switches, &paths, &rank));
        prop_assert!(even.max <= plain.max);
        // All paths are shortest ones in both.
        prop_assert_eq!(even.mean, plain.mean);
    }

    #[test]
    fn load_is_what_walking_counts(kind in 0..24usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let (tables, _) = auto(&fabric).unwrap();
        let hosts: Vec<_> = fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))).collect();
        let mut used = vec![0u64; fabric.port_slot_count()];
        for &from in &hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                let mut at = fabric.peer(from).unwrap();
                while fabric.is_switch(fabric.node_of(at)) {
                    let node = fabric.node_of(at);
                    let out = fabric.port(node, tables.get(node, fabric.lid(to).0));
                    let Some((out, next)) = out.and_then(|out| Some((out, fabric.peer(out)?))) else { break };
                    used[out.index()] += u64::from(fabric.is_switch(fabric.node_of(next)));
                    at = next;
                }
            }
        }
        prop_assert_eq!(link_load(&fabric, &tables).max, used.into_iter().max().unwrap_or(0));
    }
}
