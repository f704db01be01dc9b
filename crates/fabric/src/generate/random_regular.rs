//! Random regular graphs of switches (as in "Jellyfish: networking data centers randomly", NSDI 2012): every switch has
//! the same number of neighbours, none twice, and all are joined.

use ib::{LinkRate, LinkSpeed};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::naming::Naming;
use super::{GenerateError, bounded_nodes, bounded_ports};
use crate::{Fabric, NodeId};

/// A random regular graph.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RandomRegularSpec {
    /// How many switches.
    pub switches: u32,
    /// Neighbours of each switch.
    pub degree: u32,
    /// Hosts of each switch.
    pub hosts: u32,
    /// What the chance is drawn from.
    pub seed: u64,
    /// What every link runs at.
    pub rate: LinkRate,
}

impl Default for RandomRegularSpec {
    fn default() -> Self {
        Self { switches: 64, degree: 8, hosts: 4, seed: 1, rate: LinkRate::x4(LinkSpeed::Ndr) }
    }
}

impl RandomRegularSpec {
    /// Builds it.
    pub fn build(&self) -> Result<Fabric, GenerateError> {
        let &Self { switches, degree, hosts, rate, .. } = self;
        let odd = u64::from(switches) * u64::from(degree) % 2 == 1;
        if switches == 0 || degree >= switches || odd || (degree < 2 && switches > 2) {
            return Err(GenerateError::new(
                format!("{switches} switches cannot have {degree} neighbours each and hang together"),
                "give a --degree of 2 or more, below the number of switches, and one of the two even",
            ));
        }
        bounded_nodes(u64::from(switches) * (1 + u64::from(hosts)))?;
        let ports = bounded_ports("a switch", u64::from(degree) + u64::from(hosts))?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let edges =
            (0..100).find_map(|_| connected_edges(switches, degree, &mut random)).ok_or_else(|| {
                GenerateError::new("no such graph was found in 100 draws", "give another --seed")
            })?;

        let mut naming = Naming::new(u64::from(switches) * (1 + u64::from(hosts)), 0);
        let rows: Vec<NodeId> = (1..=switches).map(|i| naming.switch(ports, &format!("sw-{i:05}"))).collect();
        let mut used = vec![hosts as u8; rows.len()];
        let mut next = |switch: u32| {
            used[switch as usize] += 1;
            (rows[switch as usize], used[switch as usize])
        };
        for (a, b) in edges {
            let (from, to) = (next(a), next(b));
            naming.cable(from, to, rate);
        }
        let mut host = 0;
        for &switch in &rows {
            for port in 1..=hosts {
                host += 1;
                naming.host(&format!("host{host:05} mlx5_0"), (switch, port as u8), rate);
            }
        }
        Ok(naming.fabric)
    }
}

/// A number below `bound`, without a bias that matters at 32 bits of bound.
fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// One draw: the ends of all links are shuffled and paired, then pairs that are loops or stand twice change partners
/// with pairs drawn at random. `None` where that does not settle, or the graph falls apart.
fn connected_edges(switches: u32, degree: u32, random: &mut Xoshiro256PlusPlus) -> Option<Vec<(u32, u32)>> {
    let mut ends: Vec<u32> = (0..switches).flat_map(|s| std::iter::repeat_n(s, degree as usize)).collect();
    for i in (1..ends.len()).rev() {
        ends.swap(i, below(random, i + 1));
    }
    let mut edges: Vec<(u32, u32)> = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let key = |(a, b): (u32, u32)| (a.min(b), a.max(b));
    let mut present = std::collections::BTreeMap::new();
    for &edge in &edges {
        *present.entry(key(edge)).or_insert(0u32) += 1;
    }
    let is_bad = |edge: (u32, u32), present: &std::collections::BTreeMap<(u32, u32), u32>| {
        edge.0 == edge.1 || present.get(&key(edge)).is_some_and(|&count| count > 1)
    };
    for _ in 0..=edges.len() * 200 {
        let Some(bad) = edges.iter().position(|&edge| is_bad(edge, &present)) else {
            return is_connected(switches, &edges).then_some(edges);
        };
        let other = below(random, edges.len());
        let ((a, b), (c, d)) = (edges[bad], edges[other]);
        let swapped = [(a, d), (c, b)];
        if bad == other || swapped.iter().any(|&e| e.0 == e.1 || present.contains_key(&key(e))) {
            continue;
        }
        for edge in [(a, b), (c, d)] {
            if let Some(count) = present.get_mut(&key(edge)) {
                *count -= 1;
                if *count == 0 {
                    present.remove(&key(edge));
                }
            }
        }
        for edge in swapped {
            *present.entry(key(edge)).or_insert(0) += 1;
        }
        (edges[bad], edges[other]) = (swapped[0], swapped[1]);
    }
    None
}

fn is_connected(switches: u32, edges: &[(u32, u32)]) -> bool {
    let mut neighbours = vec![Vec::new(); switches as usize];
    for &(a, b) in edges {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    let mut seen = vec![false; switches as usize];
    let mut left = vec![0];
    seen[0] = true;
    let mut count = 0;
    while let Some(switch) = left.pop() {
        count += 1;
        for &next in &neighbours[switch as usize] {
            if !std::mem::replace(&mut seen[next as usize], true) {
                left.push(next);
            }
        }
    }
    count == switches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_its_degree_and_none_twice() {
        for seed in 0..5 {
            let spec = RandomRegularSpec { seed, ..RandomRegularSpec::default() };
            let fabric = spec.build().unwrap();
            fabric.check_invariants();
            for switch in fabric.switches() {
                let mut peers: Vec<NodeId> =
                    fabric.neighbors(switch).map(|(_, peer)| fabric.node_of(peer)).collect();
                assert_eq!(peers.len(), 12);
                peers.sort();
                peers.dedup();
                assert_eq!(peers.len(), 12, "a neighbour twice");
            }
        }
    }

    #[test]
    fn a_seed_gives_one_graph() {
        let links = |seed| {
            let fabric = RandomRegularSpec { seed, ..RandomRegularSpec::default() }.build().unwrap();
            fabric.links().collect::<Vec<_>>()
        };
        assert_eq!(links(7), links(7));
        assert_ne!(links(7), links(8));
        assert!(RandomRegularSpec { degree: 64, ..Default::default() }.build().is_err());
        assert!(RandomRegularSpec { switches: 5, degree: 3, ..Default::default() }.build().is_err());
    }
}
