//! The parts of a fabric that is not connected.

use fabric::{Fabric, NodeId};

/// Which part each node belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Islands {
    /// The part of each node, by [`NodeId`]. Parts are numbered from 0 in the order of their smallest node.
    pub of_node: Vec<u32>,
    /// How many nodes each part has.
    pub sizes: Vec<u32>,
}

impl Islands {
    /// How many parts there are: 1 in a connected fabric, 0 in one without nodes.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Whether a path of cables joins the two nodes.
    pub fn together(&self, a: NodeId, b: NodeId) -> bool {
        self.of_node[a.index()] == self.of_node[b.index()]
    }
}

/// Finds the parts. Adapters with several ports do not forward: they join no parts, and count to that of their first
/// cabled port.
pub fn islands(fabric: &Fabric) -> Islands {
    const UNSEEN: u32 = u32::MAX;
    let mut of_node = vec![UNSEEN; fabric.node_count()];
    let mut part_count = 0;
    let mut waiting = Vec::new();
    for start in fabric.switches() {
        if of_node[start.index()] != UNSEEN {
            continue;
        }
        of_node[start.index()] = part_count;
        waiting.push(start);
        while let Some(node) = waiting.pop() {
            for (_, peer) in fabric.neighbors(node) {
                let next = fabric.node_of(peer);
                if fabric.is_switch(next) && of_node[next.index()] == UNSEEN {
                    of_node[next.index()] = part_count;
                    waiting.push(next);
                }
            }
        }
        part_count += 1;
    }
    for node in fabric.nodes().filter(|&node| !fabric.is_switch(node)) {
        if of_node[node.index()] != UNSEEN {
            continue;
        }
        let peer = fabric.neighbors(node).next().map(|(_, peer)| fabric.node_of(peer));
        let joined = peer.map(|peer| of_node[peer.index()]).filter(|&part| part != UNSEEN);
        of_node[node.index()] = joined.unwrap_or_else(|| {
            part_count += 1;
            part_count - 1
        });
        if let (None, Some(peer)) = (joined, peer) {
            // Two adapters back to back.
            of_node[peer.index()] = of_node[node.index()];
        }
    }
    renumber(of_node, part_count as usize)
}

fn renumber(mut of_node: Vec<u32>, parts: usize) -> Islands {
    let mut number = vec![u32::MAX; parts];
    let mut sizes = Vec::new();
    for part in &mut of_node {
        let new = &mut number[*part as usize];
        if *new == u32::MAX {
            *new = sizes.len() as u32;
            sizes.push(0);
        }
        sizes[*new as usize] += 1;
        *part = *new;
    }
    Islands { of_node, sizes }
}

#[cfg(test)]
mod tests {
    use fabric::NodeKind;
    use ib::Guid;

    use super::*;

    #[test]
    fn parts_are_numbered_by_their_first_node() {
        let mut fabric = Fabric::new();
        let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(1), 1, "host");
        let a = fabric.add_node(NodeKind::Switch, Guid(2), 4, "a");
        let b = fabric.add_node(NodeKind::Switch, Guid(3), 4, "b");
        let c = fabric.add_node(NodeKind::Switch, Guid(4), 4, "c");
        fabric.add_node(NodeKind::ChannelAdapter, Guid(5), 1, "idle");
        fabric.connect((host, 1), (c, 1), None).unwrap();
        fabric.connect((a, 1), (c, 2), None).unwrap();
        let islands = islands(&fabric);
        assert_eq!(islands.of_node, [0, 0, 1, 0, 2]);
        assert_eq!(islands.sizes, [3, 1, 1]);
        assert!(islands.together(host, a) && !islands.together(a, b));
    }
}
