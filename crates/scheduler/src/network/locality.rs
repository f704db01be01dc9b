//! Who is near whom: the groups that nodes form at every level of the fabric.
//!
//! From the inside out: an NVLink domain; a leaf (nodes whose ports hang on the same switches, so that what rail `n` of one
//! sends to rail `n` of another crosses one switch); a rail group (nodes that share most of their leaves: a scalable unit of
//! a rail-optimised fabric); a pod (what still hangs together without the top of the fabric); the fabric (what is
//! connected at all). Leaf, rail group, pod and fabric nest. NVLink domains need not: where every domain lies in one leaf,
//! [`Locality::nvlink_nests`].
//!
//! All nodes stand in one order, sorted by their groups from the outside in. So a group is a range of it, and a group's
//! groups of the next level have consecutive numbers. A node that the fabric does not show stands last and forms a group
//! of its own at every level: nothing is known of it that it could share with others.
//!
//! The top of a fabric is found part by part: cables between two switches of the highest rank (a dragonfly's global links), or,
//! where the part still hangs together without those, the switches of the highest rank. A part of two levels has no pods
//! inside it: without its spines only leaves would be left, which are a level of their own, so the whole part is one pod. So it
//! is in a fabric without ranks (a torus).

use std::fmt;

use fabric::levels::Levels;
use fabric::{Fabric, NodeId};
use pool::{NodeIndex, Pool};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::homes::Homes;
use super::hops::Hops;
use super::ports::NodePorts;
use super::sets::Sets;

/// A kind of neighbourhood, from the inside out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// GPUs that reach each other by NVLink.
    NvlinkDomain,
    /// Nodes on the same leaf switches.
    Leaf,
    /// Nodes that share most of their leaves: a scalable unit where each rail has a leaf of its own.
    RailGroup,
    /// Nodes that hang together without the top of the fabric.
    Pod,
    /// Nodes that are connected at all.
    Fabric,
}

impl Level {
    /// Every level, from the inside out.
    pub const ALL: [Self; 5] = [Self::NvlinkDomain, Self::Leaf, Self::RailGroup, Self::Pod, Self::Fabric];

    /// The word for it in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvlinkDomain => "nvlink-domain",
            Self::Leaf => "leaf",
            Self::RailGroup => "rail-group",
            Self::Pod => "pod",
            Self::Fabric => "fabric",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The word for it in a sentence.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::NvlinkDomain => "NVLink domain",
            Self::Leaf => "leaf",
            Self::RailGroup => "rail group",
            Self::Pod => "pod",
            Self::Fabric => "connected fabric",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Tiers of the tree of groups, from the outside in; the last one is a leaf's part of an NVLink domain.
pub(super) const TIERS: usize = 5;

/// The tier of a level that nests.
pub(super) const fn tier_of(level: Level) -> usize {
    match level {
        Level::Fabric => 0,
        Level::Pod => 1,
        Level::RailGroup => 2,
        Level::Leaf => 3,
        Level::NvlinkDomain => 4,
    }
}

/// Groups of one level: each is a range of a list of nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Tier {
    /// Group of each node.
    pub(super) of: Vec<u32>,
    /// Where each group begins in the list, with one more entry than there are groups.
    pub(super) first: Vec<u32>,
}

impl Tier {
    /// Groups of nodes that stand together in `order` and have the same `key`.
    fn along<K: PartialEq>(order: &[u32], key: impl Fn(u32) -> K) -> Self {
        let (mut of, mut first) = (vec![0; order.len()], Vec::new());
        let mut last = None;
        for (place, &node) in order.iter().enumerate() {
            let own = key(node);
            if last.as_ref() != Some(&own) {
                first.push(place as u32);
                last = Some(own);
            }
            of[node as usize] = first.len() as u32 - 1;
        }
        first.push(order.len() as u32);
        Self { of, first }
    }

    pub(super) fn count(&self) -> usize {
        self.first.len() - 1
    }

    pub(super) fn range(&self, group: usize) -> std::ops::Range<usize> {
        self.first[group] as usize..self.first[group + 1] as usize
    }
}

/// The groups of a pool's nodes at every level, and how far they are from each other.
#[derive(Clone, Debug)]
pub struct Locality {
    /// All nodes, sorted by their groups from the outside in.
    order: Vec<u32>,
    /// Nodes from this place of the order on are not in the fabric.
    inside: usize,
    tiers: [Tier; TIERS],
    /// NVLink domains, over the nodes sorted by domain.
    by_domain: Vec<u32>,
    domains: Tier,
    nvlink_nests: bool,
    hops: Hops,
}

/// The number that the first node of a set gives it.
fn smallest_node(nodes: usize, set_of: impl Fn(usize) -> Option<u32>) -> Vec<u32> {
    let mut label: FxHashMap<u32, u32> = FxHashMap::default();
    (0..nodes)
        .map(|node| set_of(node).map_or(node as u32, |set| *label.entry(set).or_insert(node as u32)))
        .collect()
}

/// The rank of leaves.
const LEAVES: u8 = 1;

/// What each switch hangs together with at each level.
struct Parts {
    pod: Vec<u32>,
    island: Sets,
}

impl Parts {
    fn of(fabric: &Fabric, ports: &NodePorts, homes: &Homes) -> Self {
        let levels = Levels::of(fabric);
        let switch_links = || {
            let nodes = fabric.links().map(|(one, other)| (fabric.node_of(one), fabric.node_of(other)));
            nodes.filter(|&(one, other)| fabric.is_switch(one) && fabric.is_switch(other))
        };
        let mut with_rails = Sets::new(fabric.node_count());
        homes.together.iter().for_each(|&(one, other)| with_rails.join(one.0, other.0));
        let [mut island, mut beside, mut below] = [0; 3].map(|_| with_rails.clone());
        switch_links().for_each(|(one, other)| island.join(one.0, other.0));
        let mut top = vec![0; fabric.node_count()];
        for switch in fabric.switches() {
            let island = island.find(switch.0) as usize;
            top[island] = levels.rank(switch).unwrap_or(0).max(top[island]);
        }
        let mut is_top = |switch: NodeId| {
            let top = top[island.find(switch.0) as usize];
            top > LEAVES && levels.rank(switch) == Some(top)
        };
        for (one, other) in switch_links() {
            let tops = [one, other].map(&mut is_top);
            if tops != [true, true] {
                beside.join(one.0, other.0);
            }
            if tops == [false, false] {
                below.join(one.0, other.0);
            }
        }
        // Where the links between tops hold a part together, nodes of it are apart without them.
        let mut first = vec![u32::MAX; fabric.node_count()];
        let mut parted = vec![false; fabric.node_count()];
        for node in 0..ports.node_count() {
            let Some(rail) = ports.rails(NodeIndex(node as u32)).first() else { continue };
            let island = island.find(rail.leaf.0) as usize;
            let own = beside.find(rail.leaf.0);
            if first[island] == u32::MAX {
                first[island] = own;
            }
            parted[island] |= first[island] != own;
        }
        let pod = fabric
            .nodes()
            .map(|node| {
                let own = island.find(node.0);
                match () {
                    () if parted[own as usize] => beside.find(node.0),
                    () if top[own as usize] > LEAVES + 1 => below.find(node.0),
                    () => own,
                }
            })
            .collect();
        Self { pod, island }
    }
}

/// The NVLink domain of a node; `None` where its GPUs are in none or in several.
fn domain(pool: &Pool, node: NodeIndex) -> Option<u32> {
    let mut domains = pool.gpus_of(node).map(|gpu| pool.nvlink(gpu));
    let first = domains.next().flatten()?;
    domains.all(|domain| domain == Some(first)).then_some(first)
}

impl Locality {
    /// Groups the nodes of `pool`, whose ports in `fabric` are `ports`.
    pub fn new(fabric: &Fabric, pool: &Pool, ports: &NodePorts) -> Self {
        let count = pool.node_count();
        let homes = Homes::of(ports);
        let mut parts = Parts::of(fabric, ports, &homes);
        let leaf_of: Vec<Option<NodeId>> =
            homes.rail.iter().map(|rail| rail.map(|rail| homes.leaf_of_rail[rail as usize])).collect();
        let island_of: Vec<_> =
            leaf_of.iter().map(|leaf| leaf.map(|leaf| parts.island.find(leaf.0))).collect();
        let domain_of: Vec<_> = pool.nodes().map(|node| domain(pool, node)).collect();

        let island = smallest_node(count, |node| island_of[node]);
        let pod = smallest_node(count, |node| leaf_of[node].map(|leaf| parts.pod[leaf.index()]));
        let rail = smallest_node(count, |node| homes.rail[node]);
        let leaf = smallest_node(count, |node| homes.leaf[node]);
        let domain = smallest_node(count, |node| domain_of[node]);
        let key = |node: u32| {
            let at = node as usize;
            (leaf_of[at].is_none(), island[at], pod[at], rail[at], leaf[at], domain[at])
        };
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_cached_key(|&node| key(node));
        let inside = order.partition_point(|&node| leaf_of[node as usize].is_some());
        let tiers = [
            Tier::along(&order, |node| key(node).1),
            Tier::along(&order, |node| key(node).2),
            Tier::along(&order, |node| key(node).3),
            Tier::along(&order, |node| key(node).4),
            Tier::along(&order, |node| (key(node).4, key(node).5)),
        ];
        let mut by_domain = order.clone();
        by_domain.sort_by_key(|&node| domain[node as usize]);
        let domains = Tier::along(&by_domain, |node| domain[node as usize]);
        let nvlink_nests = domains.count() == tiers[TIERS - 1].count();
        let leaves = &tiers[tier_of(Level::Leaf)];
        let groups = leaves.first.partition_point(|&first| (first as usize) < inside);
        let hops = Hops::new(fabric, groups, |group| {
            let nodes = &order[leaves.range(group)];
            nodes.iter().flat_map(|&node| ports.rails(NodeIndex(node))).map(|rail| rail.leaf)
        });
        Self { order, inside, tiers, by_domain, domains, nvlink_nests, hops }
    }

    /// How many nodes.
    pub fn node_count(&self) -> usize {
        self.order.len()
    }

    /// Whether the fabric shows the node.
    pub fn is_inside(&self, node: NodeIndex) -> bool {
        let leaves = self.tier(Level::Leaf);
        (leaves.first[leaves.of[node.index()] as usize] as usize) < self.inside
    }

    /// How many groups a level has.
    pub fn group_count(&self, level: Level) -> usize {
        self.tier(level).count()
    }

    /// The group of each node at a level, numbered from 0.
    pub fn groups(&self, level: Level) -> &[u32] {
        &self.tier(level).of
    }

    /// The group of a node at a level.
    #[inline]
    pub fn group(&self, level: Level, node: NodeIndex) -> u32 {
        self.tier(level).of[node.index()]
    }

    /// The nodes of a group.
    pub fn nodes(&self, level: Level, group: u32) -> impl ExactSizeIterator<Item = NodeIndex> + '_ {
        let order = if level == Level::NvlinkDomain { &self.by_domain } else { &self.order };
        order[self.tier(level).range(group as usize)].iter().map(|&node| NodeIndex(node))
    }

    /// Whether every NVLink domain lies in one leaf.
    pub fn nvlink_nests(&self) -> bool {
        self.nvlink_nests
    }

    /// All nodes in the order that has every group together: ranks in this order have near neighbours.
    pub fn order(&self) -> impl ExactSizeIterator<Item = NodeIndex> + '_ {
        self.order.iter().map(|&node| NodeIndex(node))
    }

    /// Switches on the way from one node to another; 0 to itself, [`super::hops::APART`] where there is no way.
    pub fn hops(&self, a: NodeIndex, b: NodeIndex) -> u8 {
        if a == b {
            return 0;
        }
        self.leaf_hops(self.group(Level::Leaf, a), self.group(Level::Leaf, b))
    }

    /// Switches on the way between different nodes of two leaf groups, or of one.
    pub(super) fn leaf_hops(&self, a: u32, b: u32) -> u8 {
        self.hops.between(a, b)
    }

    pub(super) fn tier(&self, level: Level) -> &Tier {
        if level == Level::NvlinkDomain { &self.domains } else { &self.tiers[tier_of(level)] }
    }

    pub(super) fn tree(&self) -> &[Tier; TIERS] {
        &self.tiers
    }

    pub(super) fn node_at(&self, place: usize) -> u32 {
        self.order[place]
    }
}
