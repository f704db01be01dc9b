//! Figures of quality against plain counting, and against what cannot be beaten.

mod common;

use common::build::{degraded, drawn, fat_tree, small, with_lids};
use common::{auto, build};
use fabric::generate::FatTreeSpec;
use fabric::{Fabric, NodeId, PortId};
use ib::{LinkRate, LinkSpeed};
use proptest::prelude::*;
use routing::switches::Switches;
use routing::{Options, Tables, bounds, engine_by_name, link_load, permutation_load, ranks, shift_load};

/// Hosts' ports in tree order.
fn hosts(fabric: &Fabric) -> Vec<PortId> {
    let switches = Switches::new(fabric);
    let order = ranks::tree_order(&switches, &ranks::of(fabric, &switches));
    let on = |switch: u32| switches.destinations(switch as usize).iter().filter(|to| to.host);
    order
        .into_iter()
        .flat_map(|switch| on(switch).map(move |host| (switch, host)))
        .filter_map(|(switch, host)| switches.end_port(fabric, switch as usize, host))
        .collect()
}

/// The sending ports between switches on a path that arrives.
fn walk(fabric: &Fabric, tables: &Tables, from: PortId, to: PortId) -> Vec<PortId> {
    let (mut at, mut sent) = (fabric.peer(from).unwrap(), Vec::new());
    while at != to {
        let node: NodeId = fabric.node_of(at);
        let out = fabric.port(node, tables.get(node, fabric.lid(to).0));
        let Some((out, next)) = out.and_then(|out| Some((out, fabric.peer(out)?))) else { return vec![] };
        if fabric.is_switch(fabric.node_of(next)) {
            sent.push(out);
        }
        at = next;
    }
    sent
}

/// The largest load at each shift.
fn shifts_counted(fabric: &Fabric, tables: &Tables) -> Vec<u64> {
    let hosts = hosts(fabric);
    let mut worst = vec![0];
    for shift in 1..hosts.len() {
        let mut used = vec![0u64; fabric.port_slot_count()];
        for (i, &from) in hosts.iter().enumerate() {
            for port in walk(fabric, tables, from, hosts[(i + shift) % hosts.len()]) {
                used[port.index()] += 1;
            }
        }
        worst.push(used.into_iter().max().unwrap_or(0));
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn shifts_are_what_walking_counts(kind in 0..24usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let (tables, _) = auto(&fabric).unwrap();
        let found = shift_load(&fabric, &tables);
        let counted = shifts_counted(&fabric, &tables);
        prop_assert_eq!(found.max, counted.iter().copied().max().unwrap_or(0));
        prop_assert!(found.max == 0 || counted[found.shift as usize] == found.max);
    }

    #[test]
    fn no_engine_beats_the_bounds(kind in 0..24usize, per_cent in 0..30u32, seed: u64) {
        let fabric = degraded(small(kind), per_cent, seed);
        let least = bounds(&fabric, 20, seed);
        for engine in ["auto", "min-hop", "up-down"] {
            let tables = match engine {
                "auto" => auto(&fabric).unwrap().0,
                _ => engine_by_name(engine).unwrap().route(&fabric, &Options::default()).unwrap().tables,
            };
            prop_assert!(link_load(&fabric, &tables).max >= least.all_to_all, "{}", engine);
            prop_assert!(shift_load(&fabric, &tables).max >= least.shifts, "{}", engine);
            let found = permutation_load(&fabric, &tables, 20, seed);
            prop_assert!(found.effective_bandwidth <= least.effective_bandwidth + 1e-12, "{}", engine);
            prop_assert!(found.worst <= found.effective_bandwidth + 1e-12 && found.max_mean <= found.max as f64);
        }
    }

    #[test]
    fn any_bytes_are_counted_without_a_fault(seed: u64, lmc in 0..3u8) {
        use rand_core::{Rng, SeedableRng};
        let fabric = build::with_lmc(small(seed as usize), lmc);
        let mut chance = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut tables = Tables::empty(&fabric);
        for switch in fabric.switches() {
            for lid in 0..tables.width() as u32 {
                tables.set(switch, lid, (chance.next_u32() % 14) as u8);
            }
        }
        let load = link_load(&fabric, &tables);
        prop_assert!(shift_load(&fabric, &tables).max <= load.max);
        prop_assert!(permutation_load(&fabric, &tables, 3, seed).effective_bandwidth <= 1.0);
    }
}

#[test]
fn whole_fat_trees_reach_their_bounds() {
    for (levels, radix, taper, shifts) in
        [(2, 8, 1.0, 1), (3, 4, 1.0, 1), (3, 8, 1.0, 1), (2, 12, 3.0, 3), (3, 12, 3.0, 9)]
    {
        let fabric = fat_tree(levels, radix, taper, vec![], None).unwrap();
        let (tables, _) = auto(&fabric).unwrap();
        let (load, least) = (link_load(&fabric, &tables), bounds(&fabric, 1, 1));
        assert_eq!(load.max, least.all_to_all, "{levels} levels of {radix}, taper {taper}");
        assert_eq!(
            shift_load(&fabric, &tables).max,
            least.shifts,
            "{levels} levels of {radix}, taper {taper}"
        );
        assert_eq!(least.shifts, shifts);
    }
}

#[test]
fn permutations_on_one_switch_have_all_bandwidth_and_a_lone_link_shares_it() {
    let star = drawn("s[1] h0[1]\n s[2] h1[1]\n s[3] h2[1]");
    let (tables, _) = auto(&star).unwrap();
    assert_eq!(permutation_load(&star, &tables, 50, 1).effective_bandwidth, 1.0);
    assert_eq!(bounds(&star, 50, 1).effective_bandwidth, 1.0);
    // Two hosts on either side of one cable: at most one flow each way at full speed.
    let pair = drawn("s[1] t[1]\n s[2] h0[1]\n s[3] h1[1]\n t[2] h2[1]\n t[3] h3[1]");
    let (tables, _) = auto(&pair).unwrap();
    let found = permutation_load(&pair, &tables, 1000, 1);
    // A cable that two flows share gives each a half, and that is the best there is.
    assert_eq!(found.max, 2);
    assert!((found.effective_bandwidth - bounds(&pair, 1000, 1).effective_bandwidth).abs() < 1e-9);
    assert!(found.effective_bandwidth < 0.95 && found.worst == 0.5);
    assert_eq!(found, permutation_load(&pair, &tables, 1000, 1));
    assert_ne!(found, permutation_load(&pair, &tables, 1000, 2));
}

#[test]
fn a_slow_link_counts_as_often_as_it_is_slower() {
    let mut fabric =
        with_lids(FatTreeSpec { levels: Some(2), radix: 8, ..Default::default() }.build().unwrap());
    let (tables, _) = auto(&fabric).unwrap();
    let even = link_load(&fabric, &tables);
    assert_eq!(even.max_by_speed, even.max as f64);
    let (link, _) = fabric
        .links()
        .find(|&(a, b)| fabric.is_switch(fabric.node_of(a)) && fabric.is_switch(fabric.node_of(b)))
        .unwrap();
    let full = fabric.rate(link).unwrap();
    let slow = LinkRate { speed: LinkSpeed::Hdr, ..full };
    fabric.set_rate(link, Some(slow));
    let load = link_load(&fabric, &tables);
    assert_eq!((load.max, load.max_by_speed), (even.max, even.max as f64 * full.gbps() / slow.gbps()));
}
