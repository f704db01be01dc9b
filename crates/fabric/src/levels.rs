//! The rank of each switch from the hosts up: leaves have rank 1, switches next to them 2, and so on.
//!
//! Real fabrics are not tidy: a spine carries a manager's adapter, a leaf waits empty for its rack. So a switch is a
//! leaf by what most switches with hosts have, not by one host:
//!
//! - with more than a quarter of the median number of hosts, it is a leaf;
//! - with fewer, it is a leaf unless it joins two leaves or more, or has more links to switches than any leaf;
//! - without hosts, it is a leaf where its neighbours are all those of one leaf and it has no more links than one.
//!
//! In a fabric whose leaves are cabled to each other (a torus, a hypercube) every switch with a host is a leaf.

use crate::{Fabric, NodeId, NodeKind};

const UNRANKED: u8 = u8::MAX;

/// The rank of every switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Levels {
    rank: Vec<u8>,
    highest: u8,
    flat: bool,
}

/// What the rules look at, one entry a node.
struct Census {
    hosts: Vec<u32>,
    links_to_switches: Vec<u32>,
    strong: Vec<bool>,
    most_uplinks: u32,
    flat: bool,
}

impl Census {
    fn of(fabric: &Fabric) -> Self {
        let mut hosts = vec![0; fabric.node_count()];
        let mut links_to_switches = vec![0; fabric.node_count()];
        for switch in fabric.switches() {
            for (_, peer) in fabric.neighbors(switch) {
                match fabric.kind(fabric.node_of(peer)) {
                    NodeKind::ChannelAdapter => hosts[switch.index()] += 1,
                    NodeKind::Switch if fabric.node_of(peer) != switch => {
                        links_to_switches[switch.index()] += 1;
                    }
                    _ => {}
                }
            }
        }
        let mut counts: Vec<u32> = hosts.iter().copied().filter(|&count| count > 0).collect();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let threshold = median / 4 + 1;
        let strong: Vec<bool> = hosts.iter().map(|&count| count >= threshold).collect();
        let leaves = || fabric.switches().filter(|node| strong[node.index()]);
        let beside = leaves()
            .filter(|&leaf| {
                switch_neighbors(fabric, leaf).any(|other| other != leaf && strong[other.index()])
            })
            .count();
        let most_uplinks = leaves().map(|leaf| links_to_switches[leaf.index()]).max().unwrap_or(0);
        let flat = beside * 2 > leaves().count();
        Self { hosts, links_to_switches, strong, most_uplinks, flat }
    }

    fn is_leaf(&self, fabric: &Fabric, switch: NodeId) -> bool {
        if self.strong[switch.index()] {
            return true;
        }
        if self.links_to_switches[switch.index()] > self.most_uplinks {
            return false;
        }
        let has_hosts = self.hosts[switch.index()] > 0;
        if self.flat {
            return has_hosts;
        }
        let mut beside = switch_neighbors(fabric, switch).filter(|leaf| self.strong[leaf.index()]);
        let first = beside.next();
        if has_hosts {
            return !beside.any(|leaf| Some(leaf) != first);
        }
        first.is_none() && self.has_neighbors_of_a_leaf(fabric, switch)
    }

    fn has_neighbors_of_a_leaf(&self, fabric: &Fabric, switch: NodeId) -> bool {
        let Some(above) = switch_neighbors(fabric, switch).next() else { return false };
        switch_neighbors(fabric, above).filter(|leaf| self.strong[leaf.index()]).take(4).any(|leaf| {
            switch_neighbors(fabric, switch)
                .all(|wanted| switch_neighbors(fabric, leaf).any(|has| has == wanted))
        })
    }
}

/// The switches that a switch is cabled to, once for each cable.
pub fn switch_neighbors(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> + Clone + '_ {
    fabric.neighbors(node).map(|(_, peer)| fabric.node_of(peer)).filter(|&other| fabric.is_switch(other))
}

impl Levels {
    /// Ranks every switch of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let census = Census::of(fabric);
        let mut rank = vec![UNRANKED; fabric.node_count()];
        let mut front: Vec<NodeId> =
            fabric.switches().filter(|&switch| census.is_leaf(fabric, switch)).collect();
        let mut at = 1;
        for leaf in &front {
            rank[leaf.index()] = at;
        }
        let mut highest = u8::from(!front.is_empty());
        while !front.is_empty() && at < UNRANKED - 1 {
            at += 1;
            let mut next = Vec::new();
            for &switch in &front {
                for other in switch_neighbors(fabric, switch) {
                    if rank[other.index()] == UNRANKED {
                        rank[other.index()] = at;
                        next.push(other);
                    }
                }
            }
            if !next.is_empty() {
                highest = at;
            }
            front = next;
        }
        Self { rank, highest, flat: census.flat }
    }

    /// A switch's rank from 1; `None` for any other node, and for a switch that no host reaches.
    pub fn rank(&self, node: NodeId) -> Option<u8> {
        let rank = self.rank[node.index()];
        (rank != UNRANKED).then_some(rank)
    }

    /// The highest rank; 0 in a fabric without hosts or without switches.
    pub fn highest(&self) -> u8 {
        self.highest
    }

    /// Whether most leaves are cabled to other leaves: no tree.
    pub fn is_flat(&self) -> bool {
        self.flat
    }
}

#[cfg(test)]
mod tests {
    use ib::Guid;

    use super::*;

    /// Three leaves of four hosts, one with none, two spines; `on_spine` hosts on the first spine.
    fn tree(on_spine: u8) -> (Fabric, Vec<NodeId>, Vec<NodeId>) {
        let mut fabric = Fabric::new();
        let mut guid = 0;
        let mut add = |fabric: &mut Fabric, kind, ports| {
            guid += 1;
            fabric.add_node(kind, Guid(guid), ports, &format!("n{guid}"))
        };
        let leaves: Vec<_> = (0..4).map(|_| add(&mut fabric, NodeKind::Switch, 8)).collect();
        let spines: Vec<_> = (0..2).map(|_| add(&mut fabric, NodeKind::Switch, 8)).collect();
        for (i, &leaf) in leaves.iter().enumerate() {
            for (j, &spine) in spines.iter().enumerate() {
                fabric.connect((leaf, j as u8 + 1), (spine, i as u8 + 1), None).unwrap();
            }
            for port in 5..9 {
                if i < 3 {
                    let host = add(&mut fabric, NodeKind::ChannelAdapter, 1);
                    fabric.connect((leaf, port), (host, 1), None).unwrap();
                }
            }
        }
        for port in 0..on_spine {
            let host = add(&mut fabric, NodeKind::ChannelAdapter, 1);
            fabric.connect((spines[0], 5 + port), (host, 1), None).unwrap();
        }
        (fabric, leaves, spines)
    }

    #[test]
    fn an_empty_leaf_is_a_leaf_and_a_spine_with_a_host_a_spine() {
        let (fabric, leaves, spines) = tree(1);
        let levels = Levels::of(&fabric);
        assert!(leaves.iter().all(|&leaf| levels.rank(leaf) == Some(1)));
        assert!(spines.iter().all(|&spine| levels.rank(spine) == Some(2)));
        assert_eq!((levels.highest(), levels.is_flat()), (2, false));
        assert_eq!(levels.rank(fabric.hosts().next().unwrap()), None);
    }

    #[test]
    fn without_hosts_there_is_no_rank() {
        let mut fabric = Fabric::new();
        let switch = fabric.add_node(NodeKind::Switch, Guid(1), 2, "");
        let levels = Levels::of(&fabric);
        assert_eq!((levels.rank(switch), levels.highest()), (None, 0));
    }
}
