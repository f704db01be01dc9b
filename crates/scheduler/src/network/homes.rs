//! Which leaves nodes share: nodes on the same ones, but for what a lost or a moved cable changes.
//!
//! Any two nodes of a leaf group share a leaf. One node that hangs on leaves of several groups (a gateway, one with a cable in the
//! wrong switch) is in a group of its own, and brings no others together.

use std::cmp::Reverse;

use fabric::NodeId;
use pool::NodeIndex;
use rustc_hash::FxHashMap;

use super::ports::NodePorts;

/// For each set of leaves so many others are looked at, at the most: a bound on work in fabrics cabled at random.
const MOST_LOOKED_AT: usize = 256;

/// The leaves that nodes share.
pub(super) struct Homes {
    /// For each node the group of those on its leaves, or on more leaves of which it has most; `None` without ports.
    pub(super) leaf: Vec<Option<u32>>,
    /// For each node the group of those that have most of their leaves in common.
    pub(super) rail: Vec<Option<u32>>,
    /// For each group of [`Homes::rail`] a leaf that stands for it.
    pub(super) leaf_of_rail: Vec<NodeId>,
    /// Leaves that belong to one group, next to each other: each pair hangs together by the nodes of the group.
    pub(super) together: Vec<(NodeId, NodeId)>,
}

/// Distinct sets of leaves, each with how many nodes it has.
struct Sets {
    leaves: Vec<Vec<NodeId>>,
    nodes: Vec<u32>,
}

impl Homes {
    /// Groups all nodes by the leaves that they hang on.
    pub(super) fn of(ports: &NodePorts) -> Self {
        let (own, mut sets) = distinct(ports);
        let leaf_of = sets.fold(|set, whole| {
            2 * set.len() > whole.len() && set.iter().all(|leaf| whole.binary_search(leaf).is_ok())
        });
        let rail_of = sets.fold(|set, other| {
            let shared = set.iter().filter(|leaf| other.binary_search(leaf).is_ok()).count();
            2 * shared > set.len().max(other.len())
        });
        let leaf: Vec<_> = own.iter().map(|set| set.map(|set| leaf_of[set as usize])).collect();
        let rail: Vec<_> = leaf.iter().map(|set| set.map(|set| rail_of[set as usize])).collect();

        // Each leaf belongs to the group with the most nodes on it.
        let mut on_leaf: FxHashMap<(NodeId, u32), u32> = FxHashMap::default();
        let mut pairs = Vec::new();
        for (node, group) in rail.iter().enumerate() {
            for rail in ports.rails(NodeIndex(node as u32)) {
                let Some(group) = *group else { continue };
                let count = on_leaf.entry((rail.leaf, group)).or_insert_with(|| {
                    pairs.push((rail.leaf, group));
                    0
                });
                *count += 1;
            }
        }
        pairs.sort_unstable_by_key(|&(leaf, group)| (leaf, Reverse(on_leaf[&(leaf, group)]), group));
        pairs.dedup_by_key(|&mut (leaf, _)| leaf);
        pairs.sort_unstable_by_key(|&(leaf, group)| (group, leaf));
        let mut leaf_of_rail: Vec<NodeId> = sets.leaves.iter().map(|leaves| leaves[0]).collect();
        let mut together = Vec::new();
        for own in pairs.chunk_by(|a, b| a.1 == b.1) {
            leaf_of_rail[own[0].1 as usize] = own[0].0;
            together.extend(own.windows(2).map(|pair| (pair[0].0, pair[1].0)));
        }
        Self { leaf, rail, leaf_of_rail, together }
    }
}

/// The set of leaves of each node.
fn distinct(ports: &NodePorts) -> (Vec<Option<u32>>, Sets) {
    let mut number: FxHashMap<Vec<NodeId>, u32> = FxHashMap::default();
    let mut sets = Sets { leaves: Vec::new(), nodes: Vec::new() };
    let mut set_of = |node: usize| {
        let mut leaves: Vec<NodeId> =
            ports.rails(NodeIndex(node as u32)).iter().map(|rail| rail.leaf).collect();
        leaves.sort_unstable();
        leaves.dedup();
        if leaves.is_empty() {
            return None;
        }
        let set = *number.entry(leaves).or_insert_with_key(|leaves| {
            sets.leaves.push(leaves.clone());
            sets.nodes.push(0);
            sets.nodes.len() as u32 - 1
        });
        sets.nodes[set as usize] += 1;
        Some(set)
    };
    let own = (0..ports.node_count()).map(&mut set_of).collect();
    (own, sets)
}

impl Sets {
    /// Puts each set that still has nodes into the first one that takes it, those with more leaves first, then those with
    /// more nodes. Gives where each set has gone; its nodes are counted there.
    fn fold(&mut self, takes: impl Fn(&[NodeId], &[NodeId]) -> bool) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.retain(|&set| self.nodes[set as usize] > 0);
        order.sort_by_key(|&set| Reverse((self.leaves[set as usize].len(), self.nodes[set as usize])));
        let mut into: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let mut with_leaf: FxHashMap<NodeId, Vec<u32>> = FxHashMap::default();
        for set in order {
            let leaves = &self.leaves[set as usize];
            let near = leaves.iter().filter_map(|leaf| with_leaf.get(leaf)).flatten().copied();
            let first = near
                .take(MOST_LOOKED_AT)
                .find(|&other| other != set && takes(leaves, &self.leaves[other as usize]));
            match first {
                Some(other) => {
                    into[set as usize] = other;
                    self.nodes[other as usize] += std::mem::take(&mut self.nodes[set as usize]);
                }
                None => leaves.iter().for_each(|&leaf| with_leaf.entry(leaf).or_default().push(set)),
            }
        }
        into
    }
}
