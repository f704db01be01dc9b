//! What holds for every generated fabric, whatever was asked: cables with two ends, one island, unique GUIDs and names,
//! no more ports than the switches have, and the counts of the kind's formula.

use std::collections::BTreeSet;

use fabric::generate::{
    DragonflyPlusSpec, FatTreeSpec, Generation, HypercubeSpec, RandomRegularSpec, SuperpodSpec, TorusSpec,
};
use fabric::{Fabric, NodeId};
use proptest::prelude::*;

/// How many nodes can be reached from the first.
fn reached(fabric: &Fabric) -> usize {
    let mut seen = vec![false; fabric.node_count()];
    let mut left = vec![NodeId(0)];
    seen[0] = true;
    let mut count = 0;
    while let Some(node) = left.pop() {
        count += 1;
        for (_, peer) in fabric.neighbors(node) {
            let peer = fabric.node_of(peer);
            if !std::mem::replace(&mut seen[peer.index()], true) {
                left.push(peer);
            }
        }
    }
    count
}

/// What holds for any kind.
fn check_common(fabric: &Fabric) {
    fabric.check_invariants();
    assert_eq!(reached(fabric), fabric.node_count(), "one island");
    let guids: BTreeSet<u64> = fabric.nodes().map(|node| fabric.guid(node).0).collect();
    assert_eq!(guids.len(), fabric.node_count(), "a GUID a node");
    // What ibsim makes of them: port N of an adapter has the node's GUID plus N.
    assert!(fabric.hosts().all(|host| !guids.contains(&(fabric.guid(host).0 + 1))), "a GUID a port");
    let names: BTreeSet<&str> = fabric.nodes().map(|node| fabric.name(node)).collect();
    assert_eq!(names.len(), fabric.node_count(), "a name a node");
    assert!(names.iter().all(|name| name.len() <= 64), "a name fits a NodeDescription");
    assert!(fabric.hosts().all(|host| fabric.neighbors(host).count() == 1), "every host is cabled");
    assert!(fabric.links().all(|(port, _)| fabric.rate(port).is_some()), "every link has a rate");
}

/// Whether two fabrics are the same, names and GUIDs included.
fn check_same(a: &Fabric, b: &Fabric) {
    assert!(a.links().eq(b.links()));
    assert!(a.nodes().map(|n| (a.guid(n), a.name(n))).eq(b.nodes().map(|n| (b.guid(n), b.name(n)))));
}

fn hosts(fabric: &Fabric) -> u64 {
    fabric.hosts().count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn full_fat_trees_have_the_counts_of_the_formula(levels in 1u8..=4, half in 1u64..=9) {
        let radix = 2 * half;
        prop_assume!(2 * half.pow(levels.into()) <= 8192);
        let fabric = FatTreeSpec { levels: Some(levels), radix: radix as u8, ..Default::default() }.build().unwrap();
        // h levels of k ports: 2 (k/2)^h hosts, (2h - 1) (k/2)^(h-1) switches, as many links above each level as hosts.
        let level = half.pow(u32::from(levels) - 1);
        prop_assert_eq!(hosts(&fabric), 2 * half * level);
        prop_assert_eq!(fabric.switch_count() as u64, (2 * u64::from(levels) - 1) * level);
        prop_assert_eq!(fabric.link_count() as u64, u64::from(levels) * 2 * half * level);
        // One level of k ports has k hosts on one switch; with two ports there may be no more than a pair.
        check_common(&fabric);
    }

    #[test]
    fn trees_for_a_number_of_hosts_hold_just_those_evenly(
        hosts_wanted in 1u32..3000,
        radix in 8u8..=64,
        taper in prop::sample::select(vec![1.0, 1.5, 2.0, 3.0]),
    ) {
        let spec = FatTreeSpec { hosts: Some(hosts_wanted), radix, taper: vec![taper], ..Default::default() };
        let fabric = spec.build().unwrap();
        check_common(&fabric);
        prop_assert_eq!(hosts(&fabric), u64::from(hosts_wanted));
        let leaves = fabric.switches().filter(|&s| fabric.name(s).starts_with("leaf"));
        let below: Vec<usize> = leaves
            .map(|leaf| fabric.neighbors(leaf).filter(|&(_, peer)| !fabric.is_switch(fabric.node_of(peer))).count())
            .collect();
        prop_assert!(below.iter().max().unwrap() - below.iter().min().unwrap() <= 1, "{:?}", below);
        prop_assert!(fabric.switches().all(|s| fabric.port_count(s) == radix));
        check_same(&fabric, &spec.build().unwrap());
    }

    #[test]
    fn trees_in_part_and_with_parallel_links_hang_together(
        levels in 2u8..=3,
        quarter in 1u8..=6,
        pods in 1u32..=4,
        parallel in 1u8..=2,
    ) {
        let radix = quarter * 4;
        let spec =
            FatTreeSpec { levels: Some(levels), radix, pods: Some(pods), parallel: vec![parallel], ..Default::default() };
        let Ok(fabric) = spec.build() else {
            prop_assert!(u64::from(pods) > u64::from(radix / parallel), "{:?}", spec);
            return Ok(());
        };
        check_common(&fabric);
        for switch in fabric.switches() {
            for (_, peer) in fabric.neighbors(switch) {
                let peer = fabric.node_of(peer);
                let links = fabric.neighbors(switch).filter(|&(_, other)| fabric.node_of(other) == peer).count();
                prop_assert_eq!(links, if fabric.is_switch(peer) { usize::from(parallel) } else { 1 });
            }
        }
    }

    #[test]
    fn superpods_give_each_server_a_port_on_each_rail(units in 1u32..=9, xdr: bool) {
        let generation = if xdr { Generation::Xdr } else { Generation::Ndr };
        let units = if xdr { units.min(3) } else { units };
        let fabric = SuperpodSpec { units, generation }.build().unwrap();
        check_common(&fabric);
        for host in fabric.hosts() {
            let rail = fabric.name(host).chars().last().and_then(|c| c.to_digit(10)).unwrap();
            let (_, peer) = fabric.neighbors(host).next().unwrap();
            let leaf = fabric.name(fabric.node_of(peer));
            prop_assert!(leaf.ends_with(&format!("r{}", rail + 1)), "{} on {}", fabric.name(host), leaf);
        }
    }

    #[test]
    fn dragonflies_join_every_pair_of_groups(
        groups in 1u32..=9,
        leaves in 1u32..=5,
        spines in 1u32..=5,
        hosts_each in 0u32..=4,
        global_links in 0u32..=6,
    ) {
        let spec = DragonflyPlusSpec { groups, leaves, spines, hosts: hosts_each, global_links, ..Default::default() };
        let Ok(fabric) = spec.build() else {
            prop_assert!(spines * global_links < groups - 1, "{:?}", spec);
            return Ok(());
        };
        check_common(&fabric);
        prop_assert_eq!(hosts(&fabric), u64::from(groups * leaves * hosts_each));
        let group = |node: NodeId| fabric.name(node).split('-').nth(1).map(str::to_owned);
        let pairs: BTreeSet<_> = fabric
            .links()
            .map(|(a, b)| (fabric.node_of(a), fabric.node_of(b)))
            .filter(|&(a, b)| fabric.is_switch(a) && fabric.is_switch(b) && group(a) != group(b))
            .map(|(a, b)| (group(a), group(b)))
            .collect();
        prop_assert_eq!(pairs.len() as u32, groups * (groups - 1) / 2);
    }

    #[test]
    fn tori_have_their_neighbours(
        dimensions in prop::collection::vec(1u32..=5, 1..=4),
        hosts_each in 0u32..=2,
        parallel in 1u32..=2,
    ) {
        let spec = TorusSpec { dimensions: dimensions.clone(), hosts: hosts_each, parallel, ..Default::default() };
        let fabric = spec.build().unwrap();
        check_common(&fabric);
        let switches: u32 = dimensions.iter().product();
        prop_assert_eq!(fabric.switch_count() as u32, switches);
        prop_assert_eq!(hosts(&fabric), u64::from(switches * hosts_each));
        let neighbours: u32 = dimensions.iter().map(|&d| (d - 1).min(2)).sum();
        prop_assert!(
            fabric.switches().all(|s| fabric.neighbors(s).count() as u32 == neighbours * parallel + hosts_each)
        );
    }

    #[test]
    fn hypercubes_are_of_one_degree(dimensions in 1u32..=8, hosts_each in 0u32..=3) {
        let fabric = HypercubeSpec { dimensions, hosts: hosts_each, ..Default::default() }.build().unwrap();
        check_common(&fabric);
        prop_assert_eq!(fabric.switch_count(), 1 << dimensions);
        prop_assert!(fabric.switches().all(|s| fabric.neighbors(s).count() as u32 == dimensions + hosts_each));
    }

    #[test]
    fn random_regular_graphs_are_simple_and_of_one_degree(
        switches in 1u32..=60,
        degree in 0u32..=9,
        hosts_each in 0u32..=3,
        seed: u64,
    ) {
        let spec = RandomRegularSpec { switches, degree, hosts: hosts_each, seed, ..Default::default() };
        let possible = degree < switches
            && switches * degree % 2 == 0
            && (degree >= 2 || switches <= 2 && degree + 1 == switches);
        let Ok(fabric) = spec.build() else {
            prop_assert!(!possible, "{:?}", spec);
            return Ok(());
        };
        prop_assert!(possible, "{:?}", spec);
        check_common(&fabric);
        for switch in fabric.switches() {
            let peers: BTreeSet<NodeId> = fabric.neighbors(switch).map(|(_, peer)| fabric.node_of(peer)).collect();
            prop_assert_eq!(peers.len() as u32, degree + hosts_each);
            prop_assert!(!peers.contains(&switch));
        }
        check_same(&fabric, &spec.build().unwrap());
    }
}

#[test]
fn the_sizes_that_others_are_measured_on() {
    let tree = |levels, radix| FatTreeSpec { levels: Some(levels), radix, ..Default::default() };
    for (spec, sizes) in [
        (tree(2, 36), (648, 54)),
        (FatTreeSpec { pods: Some(6), ..tree(3, 36) }, (1944, 540)),
        (tree(3, 32), (8192, 1280)),
        (tree(3, 48), (27_648, 2880)),
        (tree(4, 16), (8192, 3584)),
    ] {
        let fabric = spec.build().unwrap();
        check_common(&fabric);
        assert_eq!((hosts(&fabric), fabric.switch_count()), sizes);
    }
    let fabric = FatTreeSpec { pods: Some(6), ..tree(3, 36) }.build().unwrap();
    let tops = fabric.switches().filter(|&s| fabric.name(s).starts_with("core"));
    let used: Vec<usize> = tops.map(|top| fabric.neighbors(top).count()).collect();
    assert_eq!((used.len(), used.iter().min(), used.iter().max()), (324, Some(&6), Some(&6)));

    let fabric = FatTreeSpec { hosts: Some(114_688), radix: 80, ..Default::default() }.build().unwrap();
    check_common(&fabric);
    let leaves = fabric.switches().filter(|&s| fabric.name(s).starts_with("leaf")).count();
    assert_eq!((hosts(&fabric), leaves), (114_688, 72 * 40));
}
