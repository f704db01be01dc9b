//! How high each switch stands: the order that up-down paths climb.

use std::cmp::Reverse;

use fabric::Fabric;
use fabric::levels::Levels;

use crate::paths::{distinct_peers, parts};
use crate::switches::Switches;

/// The ranks that [`Levels`] gives, from 0; 0 too for switches that no host reaches.
pub fn of(fabric: &Fabric, switches: &Switches) -> Vec<u32> {
    let levels = Levels::of(fabric);
    (0..switches.len())
        .map(|switch| levels.rank(switches.node(switch)).map_or(0, |rank| u32::from(rank).saturating_sub(1)))
        .collect()
}

/// Hops to the nearest switch with at least `least_hosts` hosts. In a part of the fabric without such a switch, to the
/// one with the most hosts there.
pub fn levels(switches: &Switches, least_hosts: u32) -> Vec<u32> {
    let part = parts(switches);
    let part_count = part.iter().max().map_or(0, |&last| last as usize + 1);
    let mut most = vec![0; part_count];
    for (switch, &part) in part.iter().enumerate() {
        most[part as usize] = most[part as usize].max(switches.hosts(switch));
    }
    let starts = (0..switches.len())
        .filter(|&switch| switches.hosts(switch) >= least_hosts.min(most[part[switch] as usize]))
        .map(|switch| switch as u32);
    distances(switches, starts.collect())
}

/// Hops of every switch to the nearest of `starts`; 0 for those that none of them reaches.
pub fn distances(switches: &Switches, starts: Vec<u32>) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let mut distance = vec![UNSEEN; switches.len()];
    for &start in &starts {
        distance[start as usize] = 0;
    }
    let mut met = starts;
    let mut place = 0;
    while let Some(&switch) = met.get(place) {
        place += 1;
        for link in switches.links(switch as usize) {
            if distance[link.peer as usize] == UNSEEN {
                distance[link.peer as usize] = distance[switch as usize] + 1;
                met.push(link.peer);
            }
        }
    }
    for distance in &mut distance {
        *distance = if *distance == UNSEEN { 0 } else { *distance };
    }
    distance
}

/// Ranks that fall with the distance from the nearest of `roots`: all paths climb towards them.
pub fn below(switches: &Switches, roots: &[usize]) -> Vec<u32> {
    let mut roots: Vec<u32> = roots.iter().map(|&root| root as u32).collect();
    let given = roots.len();
    let distance = distances(switches, roots.clone());
    let farthest = distance.iter().copied().max().unwrap_or(0);
    let part = parts(switches);
    let mut rank: Vec<u32> = distance.iter().map(|distance| farthest - distance).collect();
    // Other parts have their own first switch as root.
    let mut seen = vec![false; switches.len() + 1];
    roots.iter().for_each(|&root| seen[part[root as usize] as usize] = true);
    for (switch, &part) in part.iter().enumerate() {
        if !std::mem::replace(&mut seen[part as usize], true) {
            roots.push(switch as u32);
        }
    }
    if roots.len() > given {
        let distance = distances(switches, roots);
        let farthest = distance.iter().copied().max().unwrap_or(0);
        rank = distance.iter().map(|distance| farthest - distance).collect();
    }
    rank
}

/// Hangs the tree up by one of its leaves as well: what stands above `leaf` is turned over, so that `leaf` comes to
/// the very top. Lengths of paths stay, and any two switches above `leaf`, such as two spines with hosts, reach each
/// other through it without breaking the order.
pub fn hang(switches: &Switches, rank: &[u32], leaf: usize) -> Vec<u32> {
    let top = rank.iter().copied().max().unwrap_or(0);
    let mut turned = rank.to_vec();
    let mut seen = vec![false; rank.len()];
    let mut waiting = vec![leaf];
    seen[leaf] = true;
    while let Some(switch) = waiting.pop() {
        turned[switch] = 2 * top - rank[switch];
        for peer in distinct_peers(switches, switch) {
            if rank[peer] > rank[switch] && !std::mem::replace(&mut seen[peer], true) {
                waiting.push(peer);
            }
        }
    }
    turned
}

/// Whether every cable joins two neighbouring ranks and there is more than one.
pub fn is_layered(switches: &Switches, rank: &[u32]) -> bool {
    let neighbouring = (0..rank.len())
        .all(|switch| distinct_peers(switches, switch).all(|peer| rank[peer].abs_diff(rank[switch]) == 1));
    neighbouring && rank.iter().any(|&rank| rank > 0)
}

/// Whether the cabling is a tree whose switches of a rank are alike: as many cables up, as many to each switch above,
/// as many down. Hosts may be missing.
pub fn is_regular(switches: &Switches, rank: &[u32]) -> bool {
    let mut like: Vec<Option<[usize; 3]>> = Vec::new();
    is_layered(switches, rank)
        && (0..rank.len()).all(|switch| {
            let own = rank[switch] as usize;
            let above = |peer: u32| rank[peer as usize] > rank[switch];
            let links = switches.links(switch);
            let up = links.iter().filter(|link| above(link.peer)).count();
            let mut peers: Vec<u32> =
                links.iter().map(|link| link.peer).filter(|&peer| above(peer)).collect();
            peers.sort_unstable();
            let parents = peers.chunk_by(|a, b| a == b).count();
            let even = peers.chunk_by(|a, b| a == b).all(|links| links.len() * parents == up);
            if like.len() <= own {
                like.resize(own + 1, None);
            }
            let shape = [up, parents, links.len() - up];
            even && *like[own].get_or_insert(shape) == shape
        })
}

/// The switches that have destinations, ordered so that those which meet low in the tree stand together.
pub fn tree_order(switches: &Switches, rank: &[u32]) -> Vec<u32> {
    /// Levels that the order looks at: more than any tree has.
    const MOST: u32 = 8;
    let top = rank.iter().copied().max().unwrap_or(0);
    let mut order: Vec<u32> = (0..switches.len() as u32).collect();
    // Stable sorts by the groups below each level, from the lowest level to the highest: the last one rules.
    for level in 0..top.min(MOST) {
        let group = groups_up_to(switches, rank, level);
        order.sort_by_key(|&switch| group[switch as usize]);
    }
    order
}

/// The smallest switch of each group that hangs together by switches of rank `level` and lower.
pub(crate) fn groups_up_to(switches: &Switches, rank: &[u32], level: u32) -> Vec<u32> {
    let mut group = vec![u32::MAX; rank.len()];
    let mut waiting = Vec::new();
    for start in 0..rank.len() {
        if group[start] != u32::MAX {
            continue;
        }
        group[start] = start as u32;
        if rank[start] > level {
            continue;
        }
        waiting.push(start);
        while let Some(switch) = waiting.pop() {
            for peer in distinct_peers(switches, switch) {
                if rank[peer] <= level && group[peer] == u32::MAX {
                    group[peer] = start as u32;
                    waiting.push(peer);
                }
            }
        }
    }
    group
}

/// For each rank the product of how many switches those of every lower rank climb to: dividing a destination's number
/// by it gives the digit that the rank decides by.
pub fn strides(switches: &Switches, rank: &[u32]) -> Vec<u32> {
    let top = rank.iter().copied().max().unwrap_or(0) as usize;
    let mut counts = vec![vec![0u32; 256]; top + 1];
    for switch in 0..rank.len() {
        let parents = distinct_peers(switches, switch).filter(|&peer| rank[peer] > rank[switch]).count();
        counts[rank[switch] as usize][parents.min(255)] += 1;
    }
    let mut strides = vec![1u32];
    for counts in &counts {
        let usual = (1..256).max_by_key(|&parents| (counts[parents], Reverse(parents))).unwrap_or(1);
        let usual = if counts[usual] == 0 { 1 } else { usual as u32 };
        let last = strides[strides.len() - 1];
        strides.push(last.saturating_mul(usual));
    }
    strides
}

/// The place of each switch in a row of all.
pub(crate) fn heights(ascending: &[u32]) -> Vec<u32> {
    let mut heights = vec![0; ascending.len()];
    for (height, &switch) in ascending.iter().enumerate() {
        heights[switch as usize] = height as u32;
    }
    heights
}

/// The switches by their distance from a root, the root last and so the highest.
pub(crate) fn from_root(switches: &Switches, root: usize) -> Vec<u32> {
    let mut seen = vec![false; switches.len()];
    let mut met = Vec::with_capacity(switches.len());
    // Parts without the root have roots of their own.
    for start in std::iter::once(root).chain(0..switches.len()) {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut place = met.len();
        met.push(start as u32);
        while let Some(&switch) = met.get(place) {
            place += 1;
            for link in switches.links(switch as usize) {
                if !std::mem::replace(&mut seen[link.peer as usize], true) {
                    met.push(link.peer);
                }
            }
        }
    }
    met.reverse();
    met
}
