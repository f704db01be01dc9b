//! What the links carry between two halves of the hosts.
//!
//! In a tree every byte between halves climbs through each level, so the level with the least capacity upwards
//! bounds it; the figure assumes halves made of whole pods and leaves. In any other shape the figure is the best
//! halving that a search finds: the true one may be smaller, so it is an upper bound. The search orders the switches
//! once outwards from one at the rim and once by the second eigenvector of the graph, halves each order, and exchanges
//! pairs while that lessens the cut. A hypercube's is known: one link of each switch.

use std::fmt;

use serde::Serialize;

use super::{Level, Shape, capacity};
use crate::levels::{Levels, switch_neighbors};
use crate::{Fabric, NodeId, NodeKind};

/// Rounds of moving switches between the halves.
const ROUNDS: usize = 8;
/// Steps towards the eigenvector; its order matters, not its value.
const STEPS: usize = 300;

/// What two halves of the hosts exchange, one way.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bisection {
    /// Gbit/s one way between the halves; `None` where no link's rate is known.
    pub gbps: Option<f64>,
    /// Of what half of the hosts could send: 1 is full bisection.
    pub share: f64,
    /// Whether a search found it, so that the true figure may be smaller.
    pub upper_bound: bool,
}

impl fmt::Display for Bisection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.upper_bound {
            f.write_str("at most ")?;
        }
        write!(f, "{:.0} % of what half of the hosts can send", self.share * 100.0)?;
        if let Some(gbps) = self.gbps {
            write!(f, ", {:.1} Tbit/s one way", gbps / 1000.0)?;
        }
        Ok(())
    }
}

/// The bisection of a fabric with two leaves or more and hosts on them.
pub(super) fn of(fabric: &Fabric, levels: &Levels, rows: &[Level], shape: Shape) -> Option<Bisection> {
    let hosts: f64 =
        fabric.hosts().flat_map(|host| fabric.neighbors(host)).map(|(port, _)| capacity(fabric, port)).sum();
    let known = fabric.links().any(|(one, _)| fabric.rate(one).is_some());
    let leaves = rows.iter().find(|row| row.level == 1)?.switches;
    if hosts <= 0.0 || leaves < 2 {
        return None;
    }
    let beside = rows.iter().any(|row| row.level > 0 && row.links_beside > 0);
    let tree = levels.highest() > 1 && !beside;
    let (crossing, upper_bound) = match shape {
        Shape::Hypercube { dimensions } => (between_switches(fabric) / f64::from(dimensions), false),
        _ if tree => (least_upwards(fabric, levels) / 2.0, false),
        _ => (search(fabric), true),
    };
    let crossing = crossing.min(hosts / 2.0);
    Some(Bisection { gbps: known.then_some(crossing), share: crossing / (hosts / 2.0), upper_bound })
}

/// The least capacity upwards of all levels but the top.
fn least_upwards(fabric: &Fabric, levels: &Levels) -> f64 {
    let mut upwards = vec![0.0; usize::from(levels.highest()) + 1];
    for (one, other) in fabric.links() {
        let ranks = [one, other].map(|port| levels.rank(fabric.node_of(port)));
        if let [Some(a), Some(b)] = ranks
            && a.abs_diff(b) == 1
        {
            upwards[usize::from(a.min(b))] += capacity(fabric, one);
        }
    }
    upwards[1..usize::from(levels.highest())].iter().copied().fold(f64::INFINITY, f64::min)
}

fn between_switches(fabric: &Fabric) -> f64 {
    let switch = |port| fabric.is_switch(fabric.node_of(port));
    let links = fabric.links().filter(|&(one, other)| switch(one) && switch(other));
    links.map(|(one, _)| capacity(fabric, one)).sum()
}

fn search(fabric: &Fabric) -> f64 {
    let mut weight = vec![0u32; fabric.node_count()];
    for switch in fabric.switches() {
        weight[switch.index()] = fabric
            .neighbors(switch)
            .filter(|&(_, peer)| fabric.kind(fabric.node_of(peer)) == NodeKind::ChannelAdapter)
            .count() as u32;
    }
    let cut = |order: Vec<NodeId>| halve(fabric, &order, &weight);
    cut(walk(fabric)).min(cut(by_eigenvector(fabric)))
}

/// Cuts an order into halves of as many hosts, betters the cut, and says what crosses it.
fn halve(fabric: &Fabric, order: &[NodeId], weight: &[u32]) -> f64 {
    let all: u32 = weight.iter().sum();
    // The prefix whose hosts come nearest to half of all; neither half is empty.
    let mut taken = 0;
    let mut best = (u32::MAX, 0);
    for (index, switch) in order.iter().enumerate().take(order.len().saturating_sub(1)) {
        taken += weight[switch.index()];
        best = best.min((all.abs_diff(2 * taken), index + 1));
    }
    let mut side = vec![false; fabric.node_count()];
    for switch in &order[..best.1] {
        side[switch.index()] = true;
    }
    for _ in 0..ROUNDS {
        if !exchange(fabric, order, weight, &mut side) {
            break;
        }
    }
    fabric
        .links()
        .filter(|&(one, other)| {
            let ends = [one, other].map(|port| fabric.node_of(port));
            ends.iter().all(|&node| fabric.is_switch(node)) && side[ends[0].index()] != side[ends[1].index()]
        })
        .map(|(one, _)| capacity(fabric, one))
        .sum()
}

/// All switches in the order of the eigenvector of the graph's second smallest eigenvalue, found by repeated
/// multiplication from a fixed start; plain sums in a fixed order, so that every machine gets the same.
fn by_eigenvector(fabric: &Fabric) -> Vec<NodeId> {
    let mut order: Vec<NodeId> = fabric.switches().collect();
    let degree = |node| switch_neighbors(fabric, node).count();
    let most = order.iter().map(|&node| degree(node)).max().unwrap_or(0) as f64;
    let mut value = vec![0.0f64; fabric.node_count()];
    for (index, &node) in order.iter().enumerate() {
        value[node.index()] = ((index as u32).wrapping_mul(0x9e37_79b9) >> 8) as f64;
    }
    for _ in 0..STEPS {
        let mean = order.iter().map(|node| value[node.index()]).sum::<f64>() / order.len().max(1) as f64;
        let largest = order.iter().map(|node| (value[node.index()] - mean).abs()).fold(1e-300, f64::max);
        for node in &order {
            value[node.index()] = (value[node.index()] - mean) / largest;
        }
        let mut next = value.clone();
        for &node in &order {
            let around: f64 = switch_neighbors(fabric, node).map(|other| value[other.index()]).sum();
            next[node.index()] = (2.0 * most - degree(node) as f64) * value[node.index()] + around;
        }
        value = next;
    }
    order.sort_by(|a, b| value[a.index()].total_cmp(&value[b.index()]).then(a.cmp(b)));
    order
}

/// All switches, outwards from one that lies at the rim.
fn walk(fabric: &Fabric) -> Vec<NodeId> {
    let from = |start: Option<NodeId>| {
        let mut seen = vec![false; fabric.node_count()];
        let mut order: Vec<NodeId> = Vec::new();
        for root in start.into_iter().chain(fabric.switches()) {
            if std::mem::replace(&mut seen[root.index()], true) {
                continue;
            }
            let mut at = order.len();
            order.push(root);
            while at < order.len() {
                for other in switch_neighbors(fabric, order[at]) {
                    if !std::mem::replace(&mut seen[other.index()], true) {
                        order.push(other);
                    }
                }
                at += 1;
            }
        }
        order
    };
    let first = from(None);
    from(first.last().copied())
}

/// Exchanges pairs of switches with as many hosts, the most gaining first; says whether the cut became smaller.
fn exchange(fabric: &Fabric, order: &[NodeId], weight: &[u32], side: &mut [bool]) -> bool {
    let gain = |node: NodeId, side: &[bool]| -> f64 {
        fabric
            .neighbors(node)
            .filter(|&(_, peer)| fabric.is_switch(fabric.node_of(peer)) && fabric.node_of(peer) != node)
            .map(|(port, peer)| {
                let across = side[fabric.node_of(peer).index()] != side[node.index()];
                if across { capacity(fabric, port) } else { -capacity(fabric, port) }
            })
            .sum()
    };
    let mut sides: [Vec<(f64, NodeId)>; 2] = [Vec::new(), Vec::new()];
    for &node in order {
        sides[usize::from(side[node.index()])].push((gain(node, side), node));
    }
    for half in &mut sides {
        half.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    let mut better = false;
    for (&(_, one), &(_, other)) in sides[0].iter().zip(&sides[1]) {
        if weight[one.index()] != weight[other.index()] {
            continue;
        }
        let between: f64 = fabric
            .neighbors(one)
            .filter(|&(_, peer)| fabric.node_of(peer) == other)
            .map(|(port, _)| capacity(fabric, port))
            .sum();
        if gain(one, side) + gain(other, side) - 2.0 * between > 1e-9 {
            side.swap(one.index(), other.index());
            better = true;
        }
    }
    better
}
