//! Repairs of random fabrics after random changes: proven whole afterwards, and sound after every single write.

mod common;

use std::collections::BTreeSet;

use common::build::{degraded, random, small, trees};
use common::changes::{change, is_whole, one_part, write};
use fabric::{Fabric, NodeId, PortId};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::{Old, Options, Patch, Repairer, Routes, Tables, engine_by_name, islands, transition};

fn route(fabric: &Fabric) -> Routes {
    let options = Options::default();
    let tree = engine_by_name("fat-tree").unwrap().route(fabric, &options);
    tree.unwrap_or_else(|_| engine_by_name("up-down").unwrap().route(fabric, &options).unwrap())
}

/// Goes over to what the engine would choose for the fabric as it is, where the order of the paths stays.
fn spread_anew(fabric: &Fabric, routes: &mut Routes, repairer: &mut Repairer, rng: &mut Xoshiro256PlusPlus) {
    let wanted = route(fabric);
    let heights = routes.heights.clone().unwrap();
    let wide = wanted.tables.width() == routes.tables.width();
    if wanted.heights.as_ref() != Some(&heights) || !wide {
        return;
    }
    let same = transition(fabric, &heights, &wanted.tables, &wanted.tables, Old::Unknown, &|| false).unwrap();
    assert!(same.is_empty());
    let patch =
        transition(fabric, &heights, &routes.tables, &wanted.tables, Old::InOrder, &|| false).unwrap();
    *repairer = Repairer::new(fabric, &wanted).unwrap();
    let mut unused = Repairer::new(fabric, &wanted).unwrap();
    assert!(write(fabric, routes, &mut unused, &patch, rng, usize::MAX, true));
    assert!(routes.tables == wanted.tables);
}

/// What became of the changes: repaired, left to the engine.
fn journey(fabric: Fabric, seed: u64, changes: usize) -> (usize, usize) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let routes = route(&fabric);
    let Some(repairer) = Repairer::new(&fabric, &routes) else { return (0, 0) };
    travel(fabric, routes, repairer, &mut rng, changes)
}

fn travel(
    mut fabric: Fabric,
    mut routes: Routes,
    mut repairer: Repairer,
    rng: &mut Xoshiro256PlusPlus,
    changes: usize,
) -> (usize, usize) {
    let (mut gone, mut counts) = (Vec::new(), (0, 0));
    for _ in 0..changes {
        let mut together = one_part(&fabric);
        let mut changed = change(&mut fabric, &mut gone, rng);
        loop {
            match repairer.repair(&fabric, &routes.tables, &changed) {
                Ok(patch) => {
                    let most = if rng.next_u32().is_multiple_of(4) { 2 } else { usize::MAX };
                    if write(&fabric, &mut routes, &mut repairer, &patch, rng, most, together) {
                        counts.0 += 1;
                        break;
                    }
                    together &= one_part(&fabric);
                    // Something else happens in the middle of it.
                    changed = change(&mut fabric, &mut gone, rng);
                }
                Err(_) => {
                    counts.1 += 1;
                    routes = route(&fabric);
                    repairer = Repairer::new(&fabric, &routes).unwrap();
                    break;
                }
            }
        }
        is_whole(&fabric, &routes);
        if rng.next_u32().is_multiple_of(3) {
            spread_anew(&fabric, &mut routes, &mut repairer, rng);
        }
    }
    counts
}

/// Some switches of a fabric, with the hosts on them, come later than the rest: says whether a repair took them in.
fn growth(whole: &Fabric, seed: u64) -> Option<bool> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let few = 1 + rng.next_u32() as usize % 2;
    let mut switches: Vec<NodeId> = whole.switches().collect();
    let late: BTreeSet<NodeId> = (0..few.min(switches.len().saturating_sub(2)))
        .map(|_| switches.swap_remove(rng.next_u32() as usize % switches.len()))
        .collect();
    let on_late = |node: NodeId| {
        let doors = || whole.neighbors(node).map(|(_, peer)| whole.node_of(peer));
        late.contains(&node)
            || !whole.is_switch(node) && doors().next().is_some() && doors().all(|door| late.contains(&door))
    };
    let (later, first): (Vec<NodeId>, Vec<NodeId>) = whole.nodes().partition(|&node| on_late(node));
    let mut fabric = Fabric::new();
    let mut new_of = vec![NodeId(0); whole.node_count()];
    let mut add = |fabric: &mut Fabric, nodes: &[NodeId]| {
        for &node in nodes {
            let new =
                fabric.add_node(whole.kind(node), whole.guid(node), whole.port_count(node), whole.name(node));
            new_of[node.index()] = new;
            for number in 0..=whole.port_count(node) {
                if let (Some(from), Some(to)) = (whole.port(node, number), fabric.port(new, number)) {
                    fabric.set_lid(to, whole.lid(from), whole.lmc(from));
                }
            }
        }
        let end = |port| (new_of[whole.node_of(port).index()], whole.port_number(port));
        let here = |port| whole.node_of(port);
        for (a, b) in whole.links().filter(|&(a, b)| nodes.contains(&here(a)) || nodes.contains(&here(b))) {
            if end(a).0 != NodeId(0) && end(b).0 != NodeId(0) {
                // Those between two that were there before are connected already.
                let _ = fabric.connect(end(a), end(b), whole.rate(a));
            }
        }
    };
    // A node without a cable, so that no other one has the number that means none.
    fabric.add_node(fabric::NodeKind::ChannelAdapter, ib::Guid(u64::MAX), 1, "none");
    add(&mut fabric, &first);
    let islands = islands(&fabric);
    let mut left = fabric.switches();
    let one = left.next()?;
    if !left.all(|switch| islands.together(one, switch)) {
        return None;
    }
    drop(left);
    let mut routes = route(&fabric);
    let mut repairer = Repairer::new(&fabric, &routes)?;
    add(&mut fabric, &later);
    let width = routes.tables.width().max(routing::tables::top_lid(&fabric) as usize + 1);
    routes.tables = Tables::from_rows(&fabric, width, |node| Some(routes.tables.row(node)));
    let is_host = |&(_, peer): &(PortId, PortId)| !fabric.is_switch(fabric.node_of(peer));
    let new: Vec<NodeId> = late.iter().map(|node| new_of[node.index()]).collect();
    let low: Vec<NodeId> =
        new.iter().copied().filter(|&node| fabric.neighbors(node).any(|link| is_host(&link))).collect();
    routes.heights = Some(repairer.grow(&fabric, &routes.tables, &low));
    let beside = new.iter().flat_map(|&node| fabric.neighbors(node)).map(|(_, peer)| fabric.node_of(peer));
    let changed: Vec<NodeId> = beside.chain(new.iter().copied()).collect();
    let Ok(patch) = repairer.repair(&fabric, &routes.tables, &changed) else { return Some(false) };
    assert!(write(&fabric, &mut routes, &mut repairer, &patch, &mut rng, usize::MAX, true));
    is_whole(&fabric, &routes);
    // What is new is healed around, and heals, like all else.
    travel(fabric, routes, repairer, &mut rng, 3);
    Some(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, rng_seed: proptest::test_runner::RngSeed::Fixed(4), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repairs_of_generated_fabrics_hold(kind in 0usize..64, seed: u64) {
        journey(small(kind), seed, 8);
    }

    #[test]
    fn repairs_of_random_fabrics_hold(seed: u64) {
        journey(random(seed), seed, 6);
    }

    #[test]
    fn new_switches_are_taken_in(kind in 0usize..64, seed: u64) {
        growth(&small(kind), seed);
        growth(&random(seed), seed);
    }

    #[test]
    fn repairs_of_degraded_fabrics_hold(kind in 0usize..64, seed: u64) {
        journey(degraded(small(kind), 15, seed), seed, 6);
    }
}

#[test]
fn nearly_all_changes_of_trees_are_repaired() {
    let (mut repaired, mut left) = (0, 0);
    for (number, (_, fabric)) in trees().into_iter().enumerate() {
        if fabric.switch_count() > 30 {
            continue;
        }
        let counts = journey(fabric, number as u64, 6);
        (repaired, left) = (repaired + counts.0, left + counts.1);
    }
    assert!(repaired > 10 * left && repaired > 50, "{repaired} repaired, {left} left to the engine");
}

#[test]
fn nearly_all_new_switches_of_trees_are_taken_in() {
    let fabrics = trees().into_iter().filter(|(_, fabric)| fabric.switch_count() <= 30);
    let grown: Vec<bool> =
        fabrics.flat_map(|(_, fabric)| (0..4).filter_map(move |seed| growth(&fabric, seed))).collect();
    let taken = grown.iter().filter(|&&taken| taken).count();
    assert!(taken * 10 > grown.len() * 9 && taken > 20, "{taken} of {}", grown.len());
}

#[test]
fn what_comes_back_goes_back_to_what_it_was() {
    for (name, mut fabric) in trees().into_iter().step_by(3) {
        let mut routes = route(&fabric);
        let before = routes.tables.clone();
        let mut repairer = Repairer::new(&fabric, &routes).unwrap();
        let links: Vec<_> = fabric.links().collect();
        let mut repair = |fabric: &Fabric, tables: &mut Tables, nodes: &[NodeId]| {
            let patch = repairer.repair(fabric, tables, nodes).ok()?;
            for wave in patch.waves() {
                repairer.displace(tables, wave);
                Patch::apply(tables, wave);
            }
            repairer.settle();
            Some(repairer.displaced())
        };
        for &(a, b) in links.iter().step_by(links.len().div_ceil(20)) {
            let nodes = [fabric.node_of(a), fabric.node_of(b)];
            let (end_a, end_b) = ((nodes[0], fabric.port_number(a)), (nodes[1], fabric.port_number(b)));
            fabric.disconnect(a);
            repair(&fabric, &mut routes.tables, &nodes);
            fabric.connect(end_a, end_b, None).unwrap();
            let displaced = repair(&fabric, &mut routes.tables, &nodes);
            assert!(routes.tables == before, "{name}");
            assert_eq!(displaced, Some(0), "{name}");
        }
    }
}

#[test]
fn a_lost_uplink_turns_few_tables_for_the_sake_of_a_switch() {
    let spec = fabric::generate::FatTreeSpec { levels: Some(3), radix: 8, ..Default::default() };
    let whole = common::build::with_lids(spec.build().unwrap());
    let routes = route(&whole);
    let leaf =
        whole.node_of(whole.peer(whole.neighbors(whole.hosts().nth(9).unwrap()).next().unwrap().0).unwrap());
    for (port, peer) in whole.neighbors(leaf).filter(|&(_, peer)| whole.is_switch(whole.node_of(peer))) {
        let mut fabric = whole.clone();
        fabric.disconnect(port);
        let nodes = [leaf, fabric.node_of(peer)];
        let mut repairer = Repairer::new(&whole, &routes).unwrap();
        let patch = repairer.repair(&fabric, &routes.tables, &nodes).unwrap();
        for switch in fabric.switches() {
            let lid = fabric.lid(fabric.port(switch, 0).unwrap()).0;
            let turned = patch.entries().iter().filter(|entry| entry.lid == lid).count();
            assert!(turned <= 3, "{turned} tables change for LID {lid} of {}", fabric.name(switch));
        }
    }
}
