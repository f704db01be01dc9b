//! The difference of two sets of tables, against walking every path.

mod common;

use common::auto;
use common::build::{degraded, drawn, small, with_lmc};
use fabric::{Fabric, PortId};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use routing::{AffectedPairs, NO_ROUTE, Tables, difference};

/// The ports that packets leave switches by, and whether they arrive. A circle is walked once around.
fn walk(fabric: &Fabric, tables: &Tables, from: PortId, to: PortId, lid: u32) -> (Vec<(u32, u8)>, bool) {
    let mut node = fabric.node_of(from);
    if !fabric.is_switch(node) {
        node = fabric.node_of(fabric.peer(from).unwrap());
    }
    let mut path = Vec::new();
    for _ in 0..=fabric.switch_count() {
        let out = tables.get(node, lid);
        path.push((node.0, out));
        let Some(port) = fabric.port(node, out) else { return (path, false) };
        if port == to || fabric.peer(port) == Some(to) {
            return (path, true);
        }
        match fabric.peer(port).map(|peer| fabric.node_of(peer)) {
            Some(next) if fabric.is_switch(next) && next != node => node = next,
            _ => return (path, false),
        }
    }
    (path, false)
}

fn walked(fabric: &Fabric, old: &Tables, new: &Tables) -> AffectedPairs {
    let on_switch = |port: &PortId| {
        fabric.is_switch(fabric.node_of(*port))
            || fabric.peer(*port).is_some_and(|peer| fabric.is_switch(fabric.node_of(peer)))
    };
    let ends: Vec<PortId> = fabric.end_ports().filter(on_switch).collect();
    let mut pairs = AffectedPairs::default();
    for &to in &ends {
        for &from in ends.iter().filter(|&&from| from != to) {
            let (mut before, mut after, mut differs) = (true, true, false);
            for lid in routing::tables::lids_of(fabric, to) {
                let (one, other) = (walk(fabric, old, from, to, lid), walk(fabric, new, from, to, lid));
                differs |= one.0 != other.0;
                before &= one.1;
                after &= other.1;
            }
            pairs.all += 1;
            pairs.changed += u64::from(differs);
            pairs.lost += u64::from(before && !after);
            pairs.gained += u64::from(after && !before);
        }
    }
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_difference_is_what_walking_finds(kind in 0..24usize, per_cent in 0..30u32, changes in 0..6u32, seed: u64) {
        let fabric = with_lmc(degraded(small(kind), per_cent, seed), (seed % 2) as u8);
        let (old, _) = auto(&fabric).unwrap();
        let mut chance = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut new = old.clone();
        let switches = old.switches();
        for _ in 0..changes {
            let switch = switches[chance.next_u32() as usize % switches.len()];
            let port = [(chance.next_u32() % 9) as u8, NO_ROUTE][usize::from(chance.next_u32() % 8 == 0)];
            new.set(switch, chance.next_u32() % old.width() as u32, port);
        }
        let found = difference(&fabric, &old, &new);
        let entries = |switch| old.row(switch).iter().zip(new.row(switch)).filter(|(a, b)| a != b).count() as u64;
        prop_assert_eq!(found.entries, switches.iter().map(|&switch| entries(switch)).sum::<u64>());
        prop_assert_eq!(found.blocks, new.changed_blocks(&old).count() as u64);
        for change in &found.switches {
            prop_assert_eq!(change.entries, entries(change.switch));
        }
        prop_assert_eq!(found.pairs, walked(&fabric, &old, &new));
    }
}

#[test]
fn a_wider_table_differs_by_what_it_holds() {
    let fabric = drawn("s0[1] h0[1]\n s0[2] h1[1]\n s0[3] s1[1]\n s1[2] h2[1]");
    let (tables, _) = auto(&fabric).unwrap();
    let wide = Tables::empty_up_to(&fabric, 500);
    let found = difference(&fabric, &wide, &tables);
    assert_eq!((found.switches.len(), found.lids, found.pairs.lost), (2, 5, 0));
    assert_eq!((found.pairs.changed, found.pairs.gained), (found.pairs.all, found.pairs.all));
    assert_eq!(difference(&fabric, &tables, &wide).pairs.lost, found.pairs.all);
    assert_eq!(difference(&fabric, &tables, &tables).entries, 0);
}
