//! Adaptive groups: what every packet may do by them, whichever port it takes.

mod common;

use std::collections::BTreeSet;

use common::build::{degraded, drawn, fat_tree, small};
use fabric::{Fabric, NodeId, PortId};
use proptest::prelude::*;
use routing::{AdaptiveGroups, Options, Routes, adaptive_groups, engine_by_name};

fn groups(fabric: &Fabric, routes: &Routes) -> Result<AdaptiveGroups, String> {
    adaptive_groups(fabric, &Options::default(), routes).map_err(|error| error.to_string())
}

/// All pairs of sending ports one of which may wait for the other, over all ways between switches with adapters.
fn waits(fabric: &Fabric, groups: &AdaptiveGroups) -> BTreeSet<(PortId, PortId)> {
    let index = |node| groups.switches().iter().position(|&switch| switch == node).unwrap();
    let holds = |switch: usize| {
        fabric.neighbors(groups.switches()[switch]).any(|(_, peer)| !fabric.is_switch(fabric.node_of(peer)))
    };
    let count = groups.switches().len();
    let mut waits = BTreeSet::new();
    for target in (0..count).filter(|&target| holds(target)) {
        let mut seen = BTreeSet::new();
        let mut walk: Vec<(usize, Option<PortId>)> =
            (0..count).filter(|&s| holds(s)).map(|s| (s, None)).collect();
        while let Some((switch, came)) = walk.pop() {
            for &port in groups.ports(switch, target) {
                let out = fabric.port(groups.switches()[switch], port).unwrap();
                waits.extend(came.map(|came| (came, out)));
                let next = index(fabric.node_of(fabric.peer(out).unwrap()));
                if seen.insert((came, out)) {
                    walk.push((next, Some(out)));
                }
            }
        }
    }
    waits
}

fn has_circle(waits: &BTreeSet<(PortId, PortId)>) -> bool {
    let mut left = waits.clone();
    loop {
        let waited: BTreeSet<PortId> = left.iter().map(|&(_, next)| next).collect();
        let before = left.len();
        left.retain(|(link, _)| waited.contains(link));
        if left.is_empty() {
            return false;
        }
        if left.len() == before {
            return true;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn packets_arrive_whichever_port_they_take_and_never_wait_in_a_circle(kind in 0..24usize, per_cent in 0..25u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        for engine in ["fat-tree", "up-down", "min-hop"] {
            let Ok(routes) = engine_by_name(engine).unwrap().route(&fabric, &Options::default()) else { continue };
            let groups = match groups(&fabric, &routes) {
                Ok(groups) => groups,
                Err(error) => {
                    prop_assert!(engine == "min-hop" && error.contains("deadlock"), "{}: {}", engine, error);
                    continue;
                }
            };
            prop_assert!(!has_circle(&waits(&fabric, &groups)), "{}", engine);
            let rows = groups.switches().len();
            for target in 0..rows {
                // The longest way ends: each hop leads nearer, so no packet runs in a circle.
                let mut at: BTreeSet<usize> = (0..rows).filter(|&s| groups.group_of(s, target).is_some()).collect();
                for _ in 0..rows {
                    at = at.iter().flat_map(|&s| groups.ports(s, target).iter().map(move |&port| (s, port))).map(|(s, port)| {
                        let out = fabric.port(groups.switches()[s], port).unwrap();
                        let next = fabric.node_of(fabric.peer(out).unwrap());
                        groups.switches().iter().position(|&switch| switch == next).unwrap()
                    }).collect();
                    prop_assert!(at.iter().all(|&s| s == target || groups.group_of(s, target).is_some()));
                    at.remove(&target);
                }
                prop_assert!(at.is_empty());
            }
        }
    }
}

#[test]
fn the_tables_own_port_is_in_its_group_and_groups_are_few() {
    let fabric = fat_tree(3, 8, 1.0, vec![], None).unwrap();
    let routes = engine_by_name("fat-tree").unwrap().route(&fabric, &Options::default()).unwrap();
    let groups = groups(&fabric, &routes).unwrap();
    for port in fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))) {
        let door = fabric.node_of(fabric.peer(port).unwrap());
        let target = groups.switches().iter().position(|&switch| switch == door).unwrap();
        for (row, &switch) in groups.switches().iter().enumerate().filter(|&(row, _)| row != target) {
            let own = routes.tables.get(switch, fabric.lid(port).0);
            assert!(groups.ports(row, target).contains(&own));
        }
    }
    // A leaf climbs to another by all four of its uplinks, and by one alone to a switch above that only one leads to.
    let leaf = |switch: &NodeId| fabric.name(*switch).starts_with("leaf");
    let leaves: Vec<usize> =
        (0..groups.switches().len()).filter(|&at| leaf(&groups.switches()[at])).collect();
    assert!(leaves.iter().all(|&to| to == leaves[0] || groups.ports(leaves[0], to).len() == 4));
    assert_eq!(groups.groups(leaves[0]).len(), 1 + 4);
    assert!((0..groups.switches().len()).all(|switch| groups.groups(switch).len() <= 8 + 1));
}

#[test]
fn a_ring_has_no_groups_without_an_order() {
    let ring = drawn(
        "s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s3[2]\n s3[1] s4[2]\n s4[1] s0[2]\n s0[3] h0[1]\n s1[3] h1[1]\n s2[3] h2[1]\n s3[3] h3[1]\n s4[3] h4[1]",
    );
    let route = |engine: &str| engine_by_name(engine).unwrap().route(&ring, &Options::default()).unwrap();
    assert!(groups(&ring, &route("min-hop")).unwrap_err().contains("adaptive groups would deadlock"));
    assert!(groups(&ring, &route("up-down")).is_ok());
}
