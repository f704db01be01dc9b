//! What users wish for, engine by engine.

mod common;

use std::collections::BTreeSet;

use common::auto;
use common::build::{degraded, drawn, fat_tree, random, small, with_lmc};
use fabric::{Fabric, NodeId, PortId};
use ib::{LinkRate, LinkSpeed};
use proptest::prelude::*;
use routing::engine::ENGINES;
use routing::engines::FromTables;
use routing::{Engine, Options, RouteError, Routes, Tables, engine_by_name, islands, link_load, verify};

fn route(engine: &str, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
    engine_by_name(engine).unwrap().route(fabric, options)
}

fn node(fabric: &Fabric, name: &str) -> NodeId {
    fabric.nodes().find(|&node| fabric.name(node) == name).unwrap()
}

fn hosts(fabric: &Fabric) -> Vec<PortId> {
    fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))).collect()
}

fn links(fabric: &Fabric) -> Vec<(PortId, PortId)> {
    let switch = |port| fabric.is_switch(fabric.node_of(port));
    fabric
        .links()
        .filter(|&(a, b)| switch(a) && switch(b) && fabric.node_of(a) != fabric.node_of(b))
        .collect()
}

/// The sending ports between switches on all paths from hosts to hosts.
fn used(fabric: &Fabric, tables: &Tables) -> BTreeSet<PortId> {
    let mut used = BTreeSet::new();
    for from in hosts(fabric) {
        for to in hosts(fabric) {
            for lid in routing::tables::lids_of(fabric, to) {
                used.extend(path(fabric, tables, from, to, lid));
            }
        }
    }
    used
}

fn path(fabric: &Fabric, tables: &Tables, from: PortId, to: PortId, lid: u32) -> Vec<PortId> {
    let (mut at, mut sent) = (fabric.peer(from).unwrap(), Vec::new());
    while at != to && from != to && fabric.is_switch(fabric.node_of(at)) {
        let node = fabric.node_of(at);
        let Some(out) = fabric.port(node, tables.get(node, lid)) else { break };
        let Some(next) = fabric.peer(out) else { break };
        if fabric.is_switch(fabric.node_of(next)) {
            sent.push(out);
        }
        at = next;
    }
    sent
}

/// The engines that route trees and spread by every wish; those for other shapes refuse trees, and `nue` takes little load
/// as it comes.
fn tree_engines() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().copied().filter(|engine| !["torus", "dragonfly-plus", "nue"].contains(engine))
}

#[test]
fn a_port_to_avoid_carries_nothing_where_there_is_another_way() {
    let fabric = fat_tree(2, 8, 1.0, vec![], None).unwrap();
    let (port, peer) = links(&fabric)[5];
    let options = Options { avoid: vec![port], ..Options::default() };
    for engine in tree_engines() {
        let tables = route(engine, &fabric, &options).unwrap().tables;
        assert!(verify(&fabric, &tables).is_clean(), "{engine}");
        let used = used(&fabric, &tables);
        assert!(!used.contains(&port) && !used.contains(&peer), "{engine}");
        assert!(used.len() == 2 * links(&fabric).len() - 2, "{engine} leaves others idle too");
    }
}

#[test]
fn a_port_to_avoid_serves_where_nothing_else_is_left() {
    // s1 hangs on one cable; the three others are to be avoided as well, but one of them is needed.
    let fabric = drawn(
        "s0[1] s1[1]\n s0[2] h0[1]\n s1[2] h1[1]\n s1[3] s2[1]\n s1[4] s2[2]\n s1[5] s2[3]\n s2[4] h2[1]",
    );
    let avoid: Vec<PortId> = links(&fabric).iter().map(|&(port, _)| port).collect();
    let options = Options { avoid, ..Options::default() };
    for engine in ["min-hop", "up-down", "fat-tree"] {
        let tables = route(engine, &fabric, &options).unwrap().tables;
        assert_eq!(verify(&fabric, &tables).unreachable, 0, "{engine}");
        assert_eq!(used(&fabric, &tables).len(), 4, "{engine}: one cable to each");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn wishes_never_cost_a_path(kind in 0..24usize, per_cent in 0..20u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let pick = |from: &[PortId], salt: u64| {
            let place = |i: u64| (seed.wrapping_add(salt).wrapping_mul(i + 7) >> 7) as usize % from.len().max(1);
            (0..4).filter_map(|i| from.get(place(i)).copied()).collect::<Vec<_>>()
        };
        let cables: Vec<PortId> = links(&fabric).iter().map(|&(port, _)| port).collect();
        let options = Options {
            avoid: pick(&cables, 1),
            io_nodes: pick(&hosts(&fabric), 2),
            weights: pick(&hosts(&fabric), 3).into_iter().map(|port| (port, 5)).collect(),
            scatter: (seed % 3 == 0).then_some(seed),
            most_lanes: 1,
            ..Options::default()
        };
        let plain = verify(&fabric, &auto(&fabric).unwrap().0);
        let (routes, choice) = routing::auto(&fabric, &options).unwrap();
        let found = verify(&fabric, &routes.tables);
        prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (plain.unreachable, 0, 0), "{}", choice);
        for engine in ["min-hop", "up-down"] {
            let found = verify(&fabric, &route(engine, &fabric, &options).unwrap().tables);
            prop_assert_eq!((found.unreachable, found.loops), (plain.unreachable, 0), "{}", engine);
        }
    }

    #[test]
    fn down_up_is_clean_or_names_a_pair(seed: u64) {
        for fabric in [random(seed), small(seed as usize)] {
            match route("down-up", &fabric, &Options::default()) {
                Ok(routes) => {
                    let found = verify(&fabric, &routes.tables);
                    let plain = verify(&fabric, &route("min-hop", &fabric, &Options::default()).unwrap().tables);
                    prop_assert_eq!((found.unreachable, found.loops, found.credit_loops), (plain.unreachable, 0, 0));
                }
                Err(error) => prop_assert!(error.to_string().contains("finds no path from"), "{}", error),
            }
        }
    }
}

#[test]
fn roots_are_the_top_and_down_up_turns_the_order_over() {
    // Two leaves and two spines, with a host on a spine.
    let fabric = drawn(
        "l0[1] t0[1]\n l0[2] t1[1]\n l1[1] t0[2]\n l1[2] t1[2]\n l0[3] h0[1]\n l1[3] h1[1]\n t0[3] h2[1]\n t1[3] h3[1]",
    );
    let height = |routes: &Routes, name: &str| {
        let row = routes.tables.row_index(node(&fabric, name)).unwrap();
        routes.heights.as_ref().unwrap()[row]
    };
    let at = |name: &str| Options { roots: vec![node(&fabric, name)], ..Options::default() };
    for root in ["t0", "t1", "l0"] {
        let routes = route("up-down", &fabric, &at(root)).unwrap();
        assert_eq!(height(&routes, root), 3, "{root}");
        assert!(verify(&fabric, &routes.tables).is_clean());
    }
    // Both cannot be on top: their hosts would have no path.
    let both = Options { roots: vec![node(&fabric, "t0"), node(&fabric, "t1")], ..Options::default() };
    assert!(verify(&fabric, &route("up-down", &fabric, &both).unwrap().tables).is_clean());
    let tree = fat_tree(2, 8, 1.0, vec![], None).unwrap();
    let spines: Vec<NodeId> = tree
        .switches()
        .filter(|&s| tree.neighbors(s).all(|(_, peer)| tree.is_switch(tree.node_of(peer))))
        .collect();
    let options = Options { roots: spines.clone(), ..Options::default() };
    for engine in ["up-down", "fat-tree"] {
        let routes = route(engine, &tree, &options).unwrap();
        let heights = routes.heights.unwrap();
        let at = |&switch: &NodeId| heights[routes.tables.row_index(switch).unwrap()];
        assert_eq!(spines.iter().map(at).min(), Some(8), "{engine}: all spines above all leaves");
    }
    // Paths start at the roots, go down to the others, and up again.
    let leaves = Options { roots: vec![node(&fabric, "l0"), node(&fabric, "l1")], ..Options::default() };
    let error = route("down-up", &fabric, &leaves).unwrap_err().to_string();
    assert!(error.contains("finds no path from t0 to t1"), "{error}");
    let mut fabric = fabric.clone();
    fabric.disconnect(fabric.port(node(&fabric, "t1"), 3).unwrap());
    let routes = route("down-up", &fabric, &leaves).unwrap();
    assert!(height(&routes, "l0") < height(&routes, "t0"));
    assert!(verify(&fabric, &routes.tables).is_clean());
    // From the spines down to the leaves: two leaves have nothing below both.
    let error = route(
        "down-up",
        &drawn("l0[1] t0[1]\n l1[1] t0[2]\n l0[2] h0[1]\n l1[2] h1[1]"),
        &Options { roots: vec![NodeId(1)], ..Options::default() },
    );
    assert!(error.unwrap_err().to_string().contains("finds no path from l0 to l1"));
}

/// The most paths on a link up to these hosts alone, from all others.
fn most_to(fabric: &Fabric, tables: &Tables, targets: &[PortId]) -> usize {
    let mut load = vec![0; fabric.port_slot_count()];
    for &to in targets {
        for from in hosts(fabric) {
            path(fabric, tables, from, to, fabric.lid(to).0).iter().for_each(|port| load[port.index()] += 1);
        }
    }
    load.into_iter().max().unwrap_or(0)
}

#[test]
fn heavy_hosts_are_kept_apart() {
    // Four spines; the first hosts of all leaves would meet on one of them.
    let fabric = fat_tree(2, 8, 1.0, vec![], None).unwrap();
    let heavy: Vec<PortId> = hosts(&fabric).into_iter().step_by(4).collect();
    let weights = heavy.iter().map(|&port| (port, 50)).collect();
    let plain = most_to(&fabric, &auto(&fabric).unwrap().0, &heavy);
    let options = Options { weights, ..Options::default() };
    for engine in tree_engines() {
        let tables = route(engine, &fabric, &options).unwrap().tables;
        assert!(verify(&fabric, &tables).is_clean(), "{engine}");
        let found = most_to(&fabric, &tables, &heavy);
        assert!(found < plain, "{engine}: {found} paths to heavy hosts on a link, {plain} without weights");
    }
}

#[test]
fn compute_nodes_are_spread_evenly_among_themselves() {
    // Three levels of missing hosts: the last one of every leaf is storage.
    let fabric = fat_tree(2, 8, 1.0, vec![], None).unwrap();
    let all = hosts(&fabric);
    let (io, compute): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(i, _)| i % 4 == 3);
    let ports = |list: Vec<(usize, &PortId)>| list.into_iter().map(|(_, &port)| port).collect::<Vec<_>>();
    let (io, compute) = (ports(io), ports(compute));
    let most = |tables: &Tables| most_to(&fabric, tables, &compute);
    let by_compute = Options { compute_nodes: compute.clone(), ..Options::default() };
    let by_io = Options { io_nodes: io, ..Options::default() };
    let plain = most(&auto(&fabric).unwrap().0);
    for options in [by_compute, by_io] {
        let tables = route("fat-tree", &fabric, &options).unwrap().tables;
        assert!(verify(&fabric, &tables).is_clean());
        assert!(most(&tables) <= plain, "{} against {plain}", most(&tables));
    }
}

#[test]
fn scatter_follows_its_seed_and_uses_all_ways() {
    let fabric = fat_tree(2, 8, 1.0, vec![], None).unwrap();
    let with = |seed| Options { scatter: Some(seed), ..Options::default() };
    for engine in tree_engines() {
        let one = route(engine, &fabric, &with(1)).unwrap().tables;
        assert!(verify(&fabric, &one).is_clean(), "{engine}");
        assert_eq!(one, route(engine, &fabric, &with(1)).unwrap().tables);
        assert_ne!(one, route(engine, &fabric, &with(2)).unwrap().tables);
        assert_eq!(used(&fabric, &one).len(), 2 * links(&fabric).len(), "{engine}");
        assert!(link_load(&fabric, &one).max > link_load(&fabric, &auto(&fabric).unwrap().0).max);
    }
}

#[test]
fn lids_of_one_port_take_different_spines() {
    for lmc in 1..=2 {
        let fabric = with_lmc(fat_tree(3, 8, 1.0, vec![], None).unwrap(), lmc);
        for engine in tree_engines() {
            let tables = route(engine, &fabric, &Options::default()).unwrap().tables;
            assert!(verify(&fabric, &tables).is_clean(), "{engine}");
            let all = hosts(&fabric);
            let (from, to) = (all[0], all[all.len() - 1]);
            let tops: BTreeSet<NodeId> = routing::tables::lids_of(&fabric, to)
                .map(|lid| fabric.node_of(fabric.peer(path(&fabric, &tables, from, to, lid)[1]).unwrap()))
                .collect();
            assert_eq!(tops.len(), 1 << lmc, "{engine}, LMC {lmc}");
        }
    }
}

#[test]
fn given_tables_are_taken_as_far_as_they_go() {
    let fabric = fat_tree(2, 8, 1.0, vec![], None).unwrap();
    let tables = route("up-down", &fabric, &Options::default()).unwrap().tables;
    let taken =
        |tables: &Tables| FromTables::new(tables.clone()).route(&fabric, &Options::default()).unwrap().tables;
    assert_eq!(taken(&tables), tables);
    // A hole: all entries of that LID come from elsewhere, the others stay.
    let lid = fabric.lid(hosts(&fabric)[3]).0;
    let mut spoilt = tables.clone();
    spoilt.set(tables.switches()[7], lid, 200);
    let found = taken(&spoilt);
    assert!(verify(&fabric, &found).is_clean());
    for &switch in tables.switches() {
        for other in (0..tables.width() as u32).filter(|&other| other != lid) {
            assert_eq!(found.get(switch, other), tables.get(switch, other));
        }
    }
    // Nothing but circles: min-hop serves.
    let mut circles = Tables::empty(&fabric);
    for &switch in tables.switches() {
        (1..tables.width() as u32).for_each(|lid| assert!(circles.set(switch, lid, 8)));
    }
    let found = verify(&fabric, &taken(&circles));
    assert_eq!((found.unreachable, found.loops), (0, 0));
    assert_eq!(islands(&fabric).count(), 1);
}

#[test]
fn min_hop_loads_links_by_their_speed() {
    // Three cables between two switches, one of them twice as fast: it carries half of the paths, the others a quarter.
    let mut cables = "s0[1] s1[1]\n s0[2] s1[2]\n s0[3] s1[3]\n".to_owned();
    for host in 0..4 {
        cables += &format!("s0[{}] h{host}[1]\n s1[{}] h{}[1]\n", 5 + host, 5 + host, 10 + host);
    }
    let mut fabric = drawn(&cables);
    let speeds = [LinkSpeed::Edr, LinkSpeed::Hdr, LinkSpeed::Edr];
    for (&(port, _), speed) in links(&fabric).iter().zip(speeds) {
        fabric.set_rate(port, Some(LinkRate::x4(speed)));
    }
    let tables = route("min-hop", &fabric, &Options::default()).unwrap().tables;
    let load = link_load(&fabric, &tables);
    // 16 pairs each way: 8 on the fast one, 4 on each slow one.
    assert_eq!((load.max, load.max_by_speed), (8, 8.0));
    fabric.set_rate(links(&fabric)[1].0, Some(LinkRate::x4(LinkSpeed::Edr)));
    let tables = route("min-hop", &fabric, &Options::default()).unwrap().tables;
    assert_eq!(link_load(&fabric, &tables).max_by_speed, 8.0);
}
