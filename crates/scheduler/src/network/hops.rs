//! How many switches lie between groups of nodes: a matrix over leaf groups, found by searches that go out from 64 groups at
//! once.

use fabric::{Fabric, NodeId};

/// The distance where there is no way.
pub const APART: u8 = u8::MAX;

/// Groups whose searches share one pass: a bit each.
const AT_ONCE: usize = 64;

/// The most groups that have a row of their own: 64 MB for all pairs. Beyond it neighbours in the order share rows.
const MOST_ROWS: usize = 8192;

/// The least number of switches on a way from each leaf group to each other. A byte a pair: 8 MB for the 2,867 leaves of
/// 114,688 hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hops {
    groups: usize,
    /// Groups with consecutive numbers that share a row, measured from the first of them; 1 up to [`MOST_ROWS`].
    share: usize,
    rows: usize,
    matrix: Vec<u8>,
    /// The least between groups of different rows: what counts between two groups that share one.
    near: u8,
}

/// Which switches each switch is cabled to, each once.
struct Neighbors {
    first: Vec<u32>,
    peers: Vec<u32>,
}

impl Neighbors {
    fn of(fabric: &Fabric) -> Self {
        let (mut first, mut peers) = (vec![0], Vec::new());
        let mut own: Vec<u32> = Vec::new();
        for node in fabric.nodes() {
            own.clear();
            if fabric.is_switch(node) {
                let beyond = fabric.neighbors(node).map(|(_, peer)| fabric.node_of(peer));
                own.extend(beyond.filter(|&peer| fabric.is_switch(peer)).map(|peer| peer.0));
                own.sort_unstable();
                own.dedup();
            }
            peers.extend_from_slice(&own);
            first.push(peers.len() as u32);
        }
        Self { first, peers }
    }

    fn of_switch(&self, switch: usize) -> &[u32] {
        &self.peers[self.first[switch] as usize..self.first[switch + 1] as usize]
    }
}

impl Hops {
    /// Measures the ways between `groups` groups, each of which hangs on the switches that `leaves` gives.
    pub fn new<L: Iterator<Item = NodeId>>(
        fabric: &Fabric,
        groups: usize,
        leaves: impl Fn(usize) -> L,
    ) -> Self {
        Self::bounded(fabric, groups, leaves, MOST_ROWS)
    }

    fn bounded<L: Iterator<Item = NodeId>>(
        fabric: &Fabric,
        groups: usize,
        leaves: impl Fn(usize) -> L,
        most_rows: usize,
    ) -> Self {
        let share = groups.div_ceil(most_rows).max(1);
        let rows = groups.div_ceil(share);
        let neighbors = Neighbors::of(fabric);
        let switches: Vec<usize> = fabric.switches().map(NodeId::index).collect();
        let on: Vec<Vec<usize>> = (0..rows)
            .map(|row| {
                let mut on: Vec<usize> = leaves(row * share).map(NodeId::index).collect();
                on.sort_unstable();
                on.dedup();
                on
            })
            .collect();
        // Which rows hang on a switch, so that a search that comes there knows whom it found.
        let mut here = vec![Vec::new(); fabric.node_count()];
        for (row, on) in on.iter().enumerate() {
            on.iter().for_each(|&switch| here[switch].push(row as u32));
        }
        let mut matrix = vec![APART; rows * rows];
        for start in (0..rows).step_by(AT_ONCE) {
            let mut seen = vec![0u64; fabric.node_count()];
            let mut front = vec![0u64; fabric.node_count()];
            for (bit, on) in on[start..].iter().take(AT_ONCE).enumerate() {
                on.iter().for_each(|&switch| front[switch] |= 1 << bit);
            }
            for crossed in 1..APART {
                let mut found = false;
                for &switch in &switches {
                    front[switch] &= !seen[switch];
                    seen[switch] |= front[switch];
                    found |= front[switch] != 0;
                    for &other in here[switch].iter().filter(|_| front[switch] != 0) {
                        let mut new = front[switch];
                        while new != 0 {
                            let from = start + new.trailing_zeros() as usize;
                            let place = &mut matrix[from * rows + other as usize];
                            *place = crossed.min(*place);
                            new &= new - 1;
                        }
                    }
                }
                if !found {
                    break;
                }
                let mut next = vec![0u64; fabric.node_count()];
                for &switch in &switches {
                    let from = |&peer: &u32| front[peer as usize];
                    next[switch] = neighbors.of_switch(switch).iter().map(from).fold(0, |all, one| all | one);
                }
                front = next;
            }
        }
        let apart = (0..rows * rows).filter(|at| at / rows != at % rows).map(|at| matrix[at]);
        let near = apart.min().unwrap_or(APART);
        Self { groups, share, rows, matrix, near }
    }

    /// Switches on the way between different nodes of two groups; [`APART`] where there is no way, or where a group is none of
    /// those that were measured.
    #[inline]
    pub fn between(&self, a: u32, b: u32) -> u8 {
        let (a, b) = (a as usize, b as usize);
        if a >= self.groups || b >= self.groups {
            return APART;
        }
        let (from, to) = (a / self.share, b / self.share);
        if from == to && a != b { self.near } else { self.matrix[from * self.rows + to] }
    }
}
