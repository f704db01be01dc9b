//! Groups at every level, and the ways between them.

use std::collections::BTreeSet;

use fabric::generate::FatTreeSpec;
use fabric::levels::switch_neighbors;
use fabric::{Fabric, NodeId, NodeKind};
use ib::Guid;
use pool::{Attachment, NodeIndex};
use proptest::prelude::*;
use scheduler::network::hops::APART;
use scheduler::network::{
    Ask, Bound, Level, Locality, NodePorts, Spread, TooFewHosts, Want, can_ever, choose,
};

use crate::build::{Site, degraded, dragonfly, joined, site, small, superpod, with_domains};

const NESTED: [Level; 4] = [Level::Leaf, Level::RailGroup, Level::Pod, Level::Fabric];

fn counts(locality: &Locality) -> [usize; 5] {
    Level::ALL.map(|level| locality.group_count(level))
}

#[test]
fn scalable_units_are_leaf_groups_of_their_own() {
    let small = site(superpod(4));
    assert_eq!(small.pool.node_count(), 128);
    // Two levels: units are leaf groups, and all of them one pod.
    assert_eq!(counts(&small.locality), [128, 4, 4, 1, 1]);
    let [a, b, c] = ["dgx-0001", "dgx-0032", "dgx-0033"].map(|name| small.pool.node_named(name).unwrap());
    let hops = |from, to| small.locality.hops(from, to);
    assert_eq!((hops(a, a), hops(a, b), hops(a, c)), (0, 1, 3));
    assert_eq!(small.ports.rails(a).len(), 8);

    let large = site(superpod(20));
    // Three levels: a pod has 16 units, and its rails hang together by their nodes alone.
    assert_eq!(counts(&large.locality), [640, 20, 20, 2, 1]);
    let [a, b, c] = ["dgx-0001", "dgx-0512", "dgx-0513"].map(|name| large.pool.node_named(name).unwrap());
    assert_eq!((large.locality.hops(a, b), large.locality.hops(a, c)), (3, 5));
}

#[test]
fn groups_of_a_dragonfly_are_pods_and_a_torus_is_one() {
    assert_eq!(counts(&site(dragonfly()).locality)[1..], [6, 6, 3, 1]);
    assert_eq!(counts(&site(small(3)).locality)[1..], [12, 12, 1, 1]);
}

#[test]
fn a_tree_of_two_levels_is_one_pod_whatever_it_has_lost() {
    let tree = |hosts| FatTreeSpec { levels: Some(2), radix: 8, hosts: Some(hosts), ..Default::default() };
    let whole = tree(32).build().unwrap();
    assert_eq!(counts(&site(whole.clone()).locality)[1..], [8, 8, 1, 1]);
    // Without the spines each leaf is a part by itself.
    let mut apart = whole.clone();
    let spines: Vec<NodeId> = apart
        .switches()
        .filter(|&switch| apart.neighbors(switch).all(|(_, peer)| apart.is_switch(apart.node_of(peer))))
        .collect();
    for &spine in &spines {
        for port in apart.ports(spine).collect::<Vec<_>>() {
            apart.disconnect(port);
        }
    }
    assert_eq!(counts(&site(apart).locality)[1..], [8, 8, 8, 8]);
    // Three levels: pods are what the lower two are.
    let three = FatTreeSpec { levels: Some(3), radix: 8, hosts: Some(64), ..Default::default() };
    assert_eq!(counts(&site(three.build().unwrap()).locality)[1..], [16, 16, 4, 1]);
}

#[test]
fn a_gang_larger_than_a_leaf_may_require_one_pod_of_a_tree_of_two_levels() {
    let spec = FatTreeSpec { levels: Some(2), radix: 8, hosts: Some(32), ..Default::default() };
    let site = site(spec.build().unwrap());
    let capacity = vec![1; site.pool.node_count()];
    let wants = [Want { level: Level::Pod, required: true }];
    let ask = |members| Ask { capacity: &capacity, members, wants: &wants, most: 1 };
    let chosen = choose(&site.locality, &ask(10)).unwrap();
    assert_eq!((chosen[0].spread.leaves, chosen[0].spread.pods), (3, 1));
    assert!(can_ever(&site.locality, &capacity, 32, &wants).is_ok());
    assert!(can_ever(&site.locality, &capacity, 33, &wants).is_err());
}

#[test]
fn a_lost_cable_moves_no_node() {
    let whole = site(superpod(4));
    let mut fabric = superpod(4);
    let node = whole.pool.node_named("dgx-0002").unwrap();
    fabric.disconnect(whole.ports.rails(node)[2].port);
    let lost = joined(fabric, whole.pool.clone());
    let rails: Vec<u16> = lost.ports.rails(node).iter().map(|rail| rail.number).collect();
    assert_eq!(rails, [0, 1, 3, 4, 5, 6, 7]);
    for level in Level::ALL {
        assert_eq!(lost.locality.groups(level), whole.locality.groups(level), "{level}");
    }
}

/// Hangs one more host on a fabric, by a port on each of these switches.
fn hang(fabric: &mut Fabric, name: &str, leaves: &[NodeId]) {
    let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(0xabc), 4, &format!("{name} mlx5_0"));
    for (at, &leaf) in leaves.iter().enumerate() {
        let free = fabric.ports(leaf).find(|&port| fabric.peer(port).is_none()).unwrap();
        let number = fabric.port_number(free);
        fabric.connect((host, at as u8 + 1), (leaf, number), None).unwrap();
    }
}

#[test]
fn one_node_on_two_leaves_brings_none_together() {
    // Three levels with free ports for one more host on each of two leaves, in different pods.
    let spec = FatTreeSpec { levels: Some(3), radix: 8, hosts: Some(100), ..Default::default() };
    let fabric = spec.build().unwrap();
    let plain = site(fabric.clone());
    let names: Vec<NodeIndex> = plain.pool.nodes().collect();
    let leaf = |node: NodeIndex| plain.ports.rails(node)[0].leaf;
    let free = |leaf: &NodeId| fabric.ports(*leaf).any(|port| fabric.peer(port).is_none());
    let pod = |node: NodeIndex| plain.locality.group(Level::Pod, node);
    let one = names.iter().copied().find(|&node| free(&leaf(node))).unwrap();
    let other = names.iter().copied().find(|&node| free(&leaf(node)) && pod(node) != pod(one)).unwrap();
    let mut with = fabric.clone();
    hang(&mut with, "zz-gateway", &[leaf(one), leaf(other)]);
    let with = site(with);
    for level in [Level::Leaf, Level::RailGroup, Level::Pod] {
        for &a in &names {
            for &b in &names {
                let together = |site: &Site| site.locality.group(level, a) == site.locality.group(level, b);
                assert_eq!(together(&plain), together(&with), "{level}");
            }
        }
    }
    assert_eq!(with.locality.hops(one, other), plain.locality.hops(one, other));
    check_groups(&with);
}

#[test]
fn a_node_without_ports_is_alone() {
    let fabric = superpod(1);
    let pool = with_domains(&fabric, 4, 0);
    let site = joined(fabric, pool);
    let alone = site.pool.node_named("elsewhere").unwrap();
    let near = NodeIndex(0);
    assert!(!site.locality.is_inside(alone) && site.locality.is_inside(near));
    assert_eq!((site.locality.hops(alone, near), site.locality.hops(alone, alone)), (APART, 0));
    for level in Level::ALL {
        let group = site.locality.group(level, alone);
        assert_eq!(site.locality.nodes(level, group).collect::<Vec<_>>(), [alone], "{level}");
    }
    let spread = Spread::of(&site.locality, &[(near, 2), (alone, 1)]);
    assert_eq!((spread.fabrics, spread.pairs_apart, spread.mean_hops), (2, 4, 0.0));
}

#[test]
fn adapters_are_found_by_name_and_by_the_nodes_name() {
    let fabric = superpod(1);
    let by_guid = site(fabric.clone());
    let expected: Vec<_> = by_guid.pool.nodes().map(|node| by_guid.ports.rails(node).to_vec()).collect();
    let attachments: [fn(usize) -> Option<Attachment>; 2] =
        [|gpu| Some(Attachment::Adapter(format!("mlx5_{gpu}"))), |_| None];
    for attachment in attachments {
        let mut pool = pool::Pool::new();
        let model = pool.model_named("gpu", 0);
        for node in by_guid.pool.nodes() {
            let gpus = (0..8).map(|gpu| pool::Gpu {
                model,
                nvlink: None,
                numa: 0,
                attachment: attachment(gpu),
                health: pool::Health::default(),
            });
            let node = pool::Node {
                name: by_guid.pool.node_name(node).to_owned(),
                cpu_milli: vec![0],
                memory_mib: 0,
                health: pool::Health::default(),
                gpus: gpus.collect(),
            };
            pool.add_node(node).unwrap();
        }
        let named = joined(fabric.clone(), pool);
        let found: Vec<_> = named.pool.nodes().map(|node| named.ports.rails(node).to_vec()).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn nodes_of_another_cluster_get_hosts_in_the_order_of_their_names() {
    let fabric = superpod(1);
    let foreign = |count: usize| {
        let mut pool = pool::Pool::new();
        for at in 0..count {
            let node = pool::Node {
                name: format!("openb-node-{at:04}"),
                cpu_milli: vec![0],
                memory_mib: 0,
                health: pool::Health::default(),
                gpus: Vec::new(),
            };
            pool.add_node(node).unwrap();
        }
        pool
    };
    let own = site(fabric.clone());
    let hosts = own.pool.node_count();
    let pool = foreign(hosts - 2);
    let (ports, bound) = NodePorts::bind(&fabric, &pool).unwrap();
    assert_eq!(bound, Bound::InOrder);
    for node in pool.nodes() {
        let host = own.pool.node_named(&format!("dgx-{:04}", node.0 + 1)).unwrap();
        assert_eq!(ports.rails(node), own.ports.rails(host));
    }
    let refused = NodePorts::bind(&fabric, &foreign(hosts + 1)).unwrap_err();
    assert_eq!(refused, TooFewHosts { nodes: hosts + 1, hosts });
    // Names that are the same are taken, and who has none of them is outside.
    assert_eq!(NodePorts::bind(&fabric, &own.pool).unwrap().1, Bound::ByName { outside: 0 });
    let more = with_domains(&fabric, 1, 0);
    assert_eq!(NodePorts::bind(&fabric, &more).unwrap().1, Bound::ByName { outside: 1 });
}

/// Switches on the shortest way between any leaf of one node and any of another, by a plain search.
fn searched(site: &Site, a: NodeIndex, b: NodeIndex) -> u8 {
    let leaves = |node| site.ports.rails(node).iter().map(|rail| rail.leaf).collect::<BTreeSet<NodeId>>();
    let (mut front, goal) = (leaves(a), leaves(b));
    let mut seen = front.clone();
    for crossed in 1..APART {
        if !front.is_disjoint(&goal) {
            return crossed;
        }
        let next = front.iter().flat_map(|&switch| switch_neighbors(&site.fabric, switch));
        front = next.filter(|switch| !seen.contains(switch)).collect();
        seen.extend(&front);
        if front.is_empty() {
            break;
        }
    }
    APART
}

/// Every level's groups are a partition, and each lies in one group of the next level.
pub fn check_groups(site: &Site) {
    let locality = &site.locality;
    for level in Level::ALL {
        let mut seen = vec![0; site.pool.node_count()];
        for group in 0..locality.group_count(level) as u32 {
            let nodes: Vec<NodeIndex> = locality.nodes(level, group).collect();
            assert!(!nodes.is_empty(), "{level} {group} is empty");
            for node in nodes {
                assert_eq!(locality.group(level, node), group);
                seen[node.index()] += 1;
            }
        }
        assert!(seen.iter().all(|&seen| seen == 1), "{level}");
    }
    for group in 0..locality.group_count(Level::Leaf) as u32 {
        let leaves = |node| site.ports.rails(node).iter().map(|rail| rail.leaf).collect::<BTreeSet<_>>();
        let sets: Vec<_> = locality.nodes(Level::Leaf, group).map(leaves).collect();
        let apart = sets.iter().any(|a| sets.iter().any(|b| a.is_disjoint(b)));
        assert!(sets.len() == 1 || !apart, "leaf {group} has nodes that share no leaf");
    }
    for pair in NESTED.windows(2) {
        for group in 0..locality.group_count(pair[0]) as u32 {
            let around: BTreeSet<u32> =
                locality.nodes(pair[0], group).map(|node| locality.group(pair[1], node)).collect();
            assert_eq!(around.len(), 1, "{} {group} lies in several of {}", pair[0], pair[1]);
        }
    }
    let straying = (0..locality.group_count(Level::NvlinkDomain) as u32).any(|domain| {
        let leaves =
            locality.nodes(Level::NvlinkDomain, domain).map(|node| locality.group(Level::Leaf, node));
        leaves.collect::<BTreeSet<_>>().len() > 1
    });
    assert_eq!(locality.nvlink_nests(), !straying);
}

fn any_fabric() -> impl Strategy<Value = Fabric> {
    (0usize..7, 0u32..30, any::<u64>()).prop_map(|(kind, lost, seed)| degraded(small(kind), lost, seed))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn groups_nest_on_any_fabric(fabric in any_fabric(), domain in 1u32..6, start in 0u32..6) {
        let pool = with_domains(&fabric, domain, start);
        check_groups(&joined(fabric, pool));
    }

    #[test]
    fn ways_are_the_shortest_and_their_mean_is_that_of_all_pairs(
        fabric in any_fabric(),
        members in prop::collection::vec((0usize..60, 1u32..5), 1..9),
    ) {
        let site = site(fabric);
        let nodes: Vec<NodeIndex> = site.pool.nodes().collect();
        let mut placement: Vec<(NodeIndex, u32)> =
            members.iter().map(|&(at, count)| (nodes[at % nodes.len()], count)).collect();
        placement.sort_unstable();
        placement.dedup_by_key(|&mut (node, _)| node);
        let (mut sum, mut pairs, mut apart) = (0, 0, 0);
        for &(a, a_members) in &placement {
            for &(b, b_members) in &placement {
                let count = u64::from(a_members) * u64::from(b_members - u32::from(a == b));
                let way = if a == b { 0 } else { searched(&site, a, b) };
                if site.locality.is_inside(a) && site.locality.is_inside(b) {
                    prop_assert_eq!(site.locality.hops(a, b), way);
                }
                if way == APART {
                    apart += count;
                } else {
                    sum += u64::from(way) * count;
                    pairs += count;
                }
            }
        }
        let spread = Spread::of(&site.locality, &placement);
        prop_assert_eq!(spread.pairs_apart, apart);
        prop_assert_eq!(spread.mean_hops, if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 });
    }
}
