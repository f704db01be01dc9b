//! How far a placement is strewn over the fabric.

use pool::NodeIndex;
use serde::Serialize;

use super::hops::APART;
use super::locality::{Level, Locality};

/// How many groups of each level a placement touches, and how far its members are from each other.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spread {
    /// Nodes.
    pub nodes: u32,
    /// NVLink domains.
    pub nvlink_domains: u32,
    /// Leaf groups.
    pub leaves: u32,
    /// Rail groups.
    pub rail_groups: u32,
    /// Pods.
    pub pods: u32,
    /// Parts of the fabric that are not connected with each other.
    pub fabrics: u32,
    /// Switches on the way between two members, the mean over all ordered pairs; members on one node are 0 apart.
    /// Pairs without a way are left out.
    pub mean_hops: f64,
    /// Ordered pairs of members without a way, by what the fabric shows.
    pub pairs_apart: u64,
}

impl Spread {
    /// Measures a placement: nodes, each once, with how many members each takes.
    pub fn of(locality: &Locality, placement: &[(NodeIndex, u32)]) -> Self {
        let mut numbers: Vec<u32> = Vec::with_capacity(placement.len());
        let mut count = |level: Level| {
            numbers.clear();
            numbers.extend(placement.iter().map(|&(node, _)| locality.group(level, node)));
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len() as u32
        };
        let [nvlink_domains, leaves, rail_groups, pods, fabrics] = Level::ALL.map(&mut count);

        let mut by_leaf: Vec<(u32, u64, u64)> = placement
            .iter()
            .map(|&(node, members)| {
                let members = u64::from(members);
                (locality.group(Level::Leaf, node), members, members * members)
            })
            .collect();
        by_leaf.sort_unstable();
        by_leaf.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
                kept.2 += next.2;
            }
            same
        });
        // Ordered pairs of members on different nodes, leaf by leaf.
        let (mut hops, mut pairs, mut pairs_apart) = (0u64, 0u64, 0u64);
        let mut between = |a: u32, b: u32, count: u64| match locality.leaf_hops(a, b) {
            _ if count == 0 => {}
            APART => pairs_apart += count,
            way => {
                hops += u64::from(way) * count;
                pairs += count;
            }
        };
        let mut on_one_node = 0;
        for (at, &(leaf, members, squares)) in by_leaf.iter().enumerate() {
            between(leaf, leaf, members * members - squares);
            on_one_node += squares - members;
            for &(other, others, _) in &by_leaf[at + 1..] {
                between(leaf, other, 2 * members * others);
            }
        }
        let counted = pairs + on_one_node;
        let mean_hops = if counted == 0 { 0.0 } else { hops as f64 / counted as f64 };
        Self {
            nodes: placement.len() as u32,
            nvlink_domains,
            leaves,
            rail_groups,
            pods,
            fabrics,
            mean_hops,
            pairs_apart,
        }
    }
}
