//! Sets of nodes for a gang.

use std::collections::BTreeSet;

use pool::NodeIndex;
use proptest::prelude::*;
use scheduler::network::{Ask, Candidate, Level, Refusal, Want, can_ever, choose};

use crate::build::{Site, degraded, joined, site, small, superpod, with_domains};

fn ask<'a>(capacity: &'a [u32], members: u32, wants: &'a [Want]) -> Ask<'a> {
    Ask { capacity, members, wants, most: 4 }
}

const fn required(level: Level) -> Want {
    Want { level, required: true }
}

fn names(site: &Site, candidate: &Candidate) -> (String, String, usize) {
    let name = |at: usize| site.pool.node_name(candidate.nodes[at].0).to_owned();
    (name(0), name(candidate.nodes.len() - 1), candidate.nodes.len())
}

#[test]
fn small_gangs_fill_the_fullest_unit_that_holds_them() {
    let site = site(superpod(4));
    let mut free = vec![1; 128];
    // 10 are left of the second unit, 20 of the third.
    free[32..54].fill(0);
    free[64..76].fill(0);
    let chosen = choose(&site.locality, &ask(&free, 8, &[])).unwrap();
    assert_eq!(names(&site, &chosen[0]), ("dgx-0055".into(), "dgx-0062".into(), 8));
    assert_eq!((chosen[0].spread.leaves, chosen[0].spread.mean_hops), (1, 1.0));
    // Every next one breaks more.
    let of: Vec<u32> = chosen.iter().map(|set| site.locality.group(Level::Leaf, set.nodes[0].0)).collect();
    assert_eq!(of, [1, 2, 0, 3]);
    let chosen = choose(&site.locality, &ask(&free, 20, &[])).unwrap();
    assert_eq!(names(&site, &chosen[0]), ("dgx-0077".into(), "dgx-0096".into(), 20));
    // 42 fit one whole unit and what is left of the second to the last node.
    let chosen = choose(&site.locality, &ask(&free, 42, &[])).unwrap();
    assert_eq!((chosen.len(), chosen[0].spread.leaves), (1, 2));
    assert_eq!(names(&site, &chosen[0]), ("dgx-0001".into(), "dgx-0064".into(), 42));
}

#[test]
fn a_gang_stays_in_one_pod_where_one_has_room() {
    let site = site(superpod(20));
    let mut free = vec![1; 640];
    // The second pod has 4 units, which suit 64 nodes better than the 16 of the first.
    let chosen = choose(&site.locality, &ask(&free, 64, &[])).unwrap();
    assert_eq!(names(&site, &chosen[0]), ("dgx-0513".into(), "dgx-0576".into(), 64));
    assert_eq!((chosen[0].spread.pods, chosen[0].spread.leaves), (1, 2));
    assert_eq!(site.locality.group(Level::Pod, chosen[1].nodes[0].0), 0);
    // With a node of each of its units gone it would take three leaves there, and two here.
    for unit in 16..20 {
        free[unit * 32] = 0;
    }
    let chosen = choose(&site.locality, &ask(&free, 64, &[])).unwrap();
    assert_eq!(names(&site, &chosen[0]), ("dgx-0001".into(), "dgx-0064".into(), 64));
    // Larger than any pod: both.
    let chosen = choose(&site.locality, &ask(&free, 600, &[])).unwrap();
    assert_eq!((chosen[0].spread.pods, chosen[0].nodes.len()), (2, 600));
}

#[test]
fn never_is_told_from_not_now() {
    let site = site(superpod(4));
    let empty = vec![1; 128];
    let mut free = empty.clone();
    free[0..4].fill(0);
    free[32..36].fill(0);
    free[64..70].fill(0);
    free[96..100].fill(0);
    let wants = [required(Level::Leaf)];
    let refusal = choose(&site.locality, &ask(&free, 30, &wants)).unwrap_err();
    let expected = Refusal {
        wants: vec![Level::Leaf],
        asked: 30,
        largest: 28,
        largest_at: Some(NodeIndex(0)),
        never: false,
    };
    assert_eq!(refusal, expected);
    assert_eq!(
        refusal.describe(&site.pool),
        "30 members are required in one leaf, and the largest has room for 28 (that of dgx-0001)"
    );
    assert_eq!(can_ever(&site.locality, &empty, 30, &wants), Ok(()));
    let refusal = can_ever(&site.locality, &empty, 33, &wants).unwrap_err();
    assert!(refusal.never);
    assert_eq!(
        refusal.to_string(),
        "33 members are required in one leaf, and the largest could take, empty, 32"
    );
    let refusal = can_ever(&site.locality, &empty, 129, &wants).unwrap_err();
    assert_eq!(refusal.to_string(), "129 members are asked for, and the whole pool could take, empty, 128");
    // A preferred want never stands in the way, and is named where it is not met.
    let preferred = [Want { level: Level::Leaf, required: false }];
    let chosen = choose(&site.locality, &ask(&free, 33, &preferred)).unwrap();
    assert_eq!(chosen[0].unmet, [Level::Leaf]);
}

#[test]
fn racks_of_one_nvlink_domain_stay_whole() {
    // Units of 32 nodes in racks of 8; two racks are begun.
    let fabric = superpod(2);
    let pool = with_domains(&fabric, 8, 0);
    let site = joined(fabric, pool);
    assert!(site.locality.nvlink_nests());
    let mut free = vec![1; 65];
    free[64] = 0;
    free[8..11].fill(0);
    free[40..46].fill(0);
    let chosen = choose(&site.locality, &ask(&free, 2, &[])).unwrap();
    assert_eq!(chosen[0].nodes, [(NodeIndex(46), 1), (NodeIndex(47), 1)]);
    let chosen = choose(&site.locality, &ask(&free, 4, &[])).unwrap();
    assert_eq!((chosen[0].nodes[0].0, chosen[0].spread.nvlink_domains), (NodeIndex(11), 1));
    // 13: a whole rack and what is left of one, rather than two whole ones.
    let chosen = choose(&site.locality, &ask(&free, 13, &[])).unwrap();
    let racks: BTreeSet<u32> =
        chosen[0].nodes.iter().map(|&(node, _)| site.locality.group(Level::NvlinkDomain, node)).collect();
    assert!(racks.contains(&1) && racks.len() == 2, "{racks:?}");
    assert!(choose(&site.locality, &ask(&free, 9, &[required(Level::NvlinkDomain)])).is_err());
}

#[test]
fn domains_over_several_leaves_are_heeded() {
    // Racks of 8 nodes that begin four nodes off, so that one lies in two units.
    let fabric = superpod(2);
    let pool = with_domains(&fabric, 8, 4);
    let site = joined(fabric, pool);
    assert!(!site.locality.nvlink_nests());
    let mut free = vec![0; 65];
    free[28..36].fill(1);
    free[0..3].fill(1);
    let wants = [required(Level::NvlinkDomain)];
    let chosen = choose(&site.locality, &ask(&free, 8, &wants)).unwrap();
    assert_eq!((chosen.len(), chosen[0].spread.nvlink_domains, chosen[0].spread.leaves), (1, 1, 2));
    let both = [required(Level::Leaf), required(Level::NvlinkDomain)];
    let refusal = choose(&site.locality, &ask(&free, 5, &both)).unwrap_err();
    assert_eq!((refusal.wants.clone(), refusal.largest), (vec![Level::NvlinkDomain, Level::Leaf], 4));
    assert_eq!(
        refusal.to_string(),
        "5 members are required in one NVLink domain and one leaf, and the largest has room for 4"
    );
    // Preferred: the domain comes first, then the leaf with more room.
    let preferred = [Want { level: Level::NvlinkDomain, required: false }];
    let chosen = choose(&site.locality, &ask(&free, 7, &preferred)).unwrap();
    assert!(chosen[0].unmet.is_empty() && chosen[0].spread.leaves == 2);
    assert_eq!(chosen[1].unmet, [Level::NvlinkDomain]);
}

#[test]
fn a_gang_of_none_is_placed_and_one_on_a_pool_without_fabric_too() {
    let site = site(superpod(1));
    assert_eq!(choose(&site.locality, &ask(&[], 0, &[])).unwrap()[0].nodes, []);
    let fabric = superpod(1);
    let pool = with_domains(&fabric, 8, 0);
    let bare = joined(fabric::Fabric::new(), pool);
    let chosen = choose(&bare.locality, &ask(&[3, 8, 2, 5], 10, &[])).unwrap();
    assert_eq!(chosen[0].nodes, [(NodeIndex(1), 8), (NodeIndex(2), 2)]);
    assert!(choose(&bare.locality, &ask(&[3, 8, 2, 5], 10, &[required(Level::Fabric)])).is_err());
}

/// Whether some set of nodes meets what is required, by trying every combination of groups.
fn possible(site: &Site, capacity: &[u32], members: u32, wants: &[Want]) -> bool {
    let levels: Vec<Level> = wants.iter().filter(|want| want.required).map(|want| want.level).collect();
    let keys: BTreeSet<Vec<u32>> = site.pool.nodes().map(|node| key(site, node, &levels)).collect();
    keys.iter().any(|own| {
        let inside = site.pool.nodes().filter(|&node| key(site, node, &levels) == *own);
        inside.map(|node| capacity[node.index()]).sum::<u32>() >= members
    })
}

fn key(site: &Site, node: NodeIndex, levels: &[Level]) -> Vec<u32> {
    levels.iter().map(|&level| site.locality.group(level, node)).collect()
}

/// The fewest groups of a level that hold the members, by trying every set of them within groups of a level around.
fn fewest(site: &Site, capacity: &[u32], members: u32, level: Level, around: Option<Level>) -> Option<u32> {
    let rooms = |outer: u32| {
        let mut rooms = vec![0; site.locality.group_count(level)];
        for node in site.pool.nodes() {
            if around.is_none_or(|around| site.locality.group(around, node) == outer) {
                rooms[site.locality.group(level, node) as usize] += capacity[node.index()];
            }
        }
        rooms.sort_unstable_by(|a, b| b.cmp(a));
        let mut rest = members;
        let count = rooms.iter().take_while(|&&room| {
            let needed = rest > 0;
            rest = rest.saturating_sub(room);
            needed
        });
        let count = count.count() as u32;
        (rest == 0).then_some(count)
    };
    let outer = around.map_or(1, |around| site.locality.group_count(around)) as u32;
    (0..outer).filter_map(rooms).min()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn chosen_sets_hold_the_gang_and_keep_to_what_is_required(
        (kind, lost, seed) in (0usize..7, 0u32..20, any::<u64>()),
        (domain, start) in (1u32..7, 0u32..7),
        room in prop::collection::vec(0u32..4, 40),
        members in 1u32..50,
        wants in prop::collection::vec((0usize..5, any::<bool>()), 0..4),
    ) {
        let fabric = degraded(small(kind), lost, seed);
        let pool = with_domains(&fabric, domain, start);
        let site = joined(fabric, pool);
        let capacity: Vec<u32> = room.iter().copied().cycle().take(site.pool.node_count()).collect();
        let wants: Vec<Want> =
            wants.into_iter().map(|(level, required)| Want { level: Level::ALL[level], required }).collect();
        let chosen = choose(&site.locality, &ask(&capacity, members, &wants));
        prop_assert_eq!(chosen.is_ok(), possible(&site, &capacity, members, &wants));
        let candidates = match chosen {
            Ok(candidates) => candidates,
            Err(refusal) => {
                prop_assert!(refusal.largest < u64::from(members), "{}", refusal);
                prop_assert_eq!(refusal.asked, u64::from(members));
                return Ok(());
            }
        };
        prop_assert!(!candidates.is_empty() && candidates.len() <= 4);
        for candidate in &candidates {
            let nodes: BTreeSet<NodeIndex> = candidate.nodes.iter().map(|&(node, _)| node).collect();
            prop_assert_eq!(nodes.len(), candidate.nodes.len());
            prop_assert_eq!(candidate.nodes.iter().map(|&(_, count)| count).sum::<u32>(), members);
            for &(node, count) in &candidate.nodes {
                prop_assert!(count > 0 && count <= capacity[node.index()]);
            }
            for want in &wants {
                let groups: BTreeSet<u32> =
                    nodes.iter().map(|&node| site.locality.group(want.level, node)).collect();
                prop_assert_eq!(candidate.unmet.contains(&want.level), groups.len() > 1);
                prop_assert!(!want.required || groups.len() == 1);
            }
        }
    }

    #[test]
    fn the_first_set_touches_as_few_groups_as_can_be(
        (kind, lost, seed) in (0usize..7, 0u32..20, any::<u64>()),
        room in (1u32..4).prop_flat_map(|most| prop::collection::vec(0..=most, 40)),
        members in 1u32..60,
    ) {
        let site = site(degraded(small(kind), lost, seed));
        let capacity: Vec<u32> = room.iter().copied().cycle().take(site.pool.node_count()).collect();
        let Ok(candidates) = choose(&site.locality, &ask(&capacity, members, &[])) else { return Ok(()) };
        let spread = candidates[0].spread;
        // One group wherever one is enough, at every level; in one pod the fewest rail groups of any one pod.
        for (level, touched) in [
            (Level::Leaf, spread.leaves),
            (Level::RailGroup, spread.rail_groups),
            (Level::Pod, spread.pods),
            (Level::Fabric, spread.fabrics),
        ] {
            let least = fewest(&site, &capacity, members, level, None).unwrap();
            prop_assert!(touched >= least);
            prop_assert_eq!(touched == 1, least == 1, "{} {} of {}", level, touched, least);
        }
        prop_assert_eq!(Some(spread.fabrics), fewest(&site, &capacity, members, Level::Fabric, None));
        if spread.pods == 1 {
            let least = fewest(&site, &capacity, members, Level::RailGroup, Some(Level::Pod));
            prop_assert_eq!(Some(spread.rail_groups), least);
        }
        if spread.leaves == 1 && spread.nodes > 1 {
            // No leaf takes it on fewer nodes; where nodes take one member each, none that has less room takes it.
            let alike = capacity.iter().all(|&own| own < 2);
            let leaf = site.locality.group(Level::Leaf, candidates[0].nodes[0].0);
            let own = leaf_room(&site, &capacity, leaf);
            for other in 0..site.locality.group_count(Level::Leaf) as u32 {
                let nodes = leaf_nodes(&site, &capacity, other, members);
                let room = leaf_room(&site, &capacity, other);
                prop_assert!(room < members || nodes >= spread.nodes);
                prop_assert!(room < members || !alike || room >= own);
            }
        }
    }
}

fn leaf_room(site: &Site, capacity: &[u32], leaf: u32) -> u32 {
    site.locality.nodes(Level::Leaf, leaf).map(|node| capacity[node.index()]).sum()
}

/// The fewest nodes of a leaf that hold the members.
fn leaf_nodes(site: &Site, capacity: &[u32], leaf: u32, members: u32) -> u32 {
    let mut rooms: Vec<u32> =
        site.locality.nodes(Level::Leaf, leaf).map(|node| capacity[node.index()]).collect();
    rooms.sort_unstable_by(|a, b| b.cmp(a));
    let mut rest = members;
    let mut count = 0;
    for room in rooms {
        if rest == 0 {
            break;
        }
        rest = rest.saturating_sub(room);
        count += 1;
    }
    count
}
