//! Switches with other uplinks than their siblings.
//!
//! Siblings are switches of one rank, model and number of ports whose uplinks meet on the same switches above (one
//! pod). What most of them have is what is meant; where there is no such majority, the cabling has no pattern to break.

use std::collections::BTreeMap;

use super::{Context, FindingKind, Severity};
use crate::NodeId;
use crate::levels::switch_neighbors;

/// Unequal uplinks at every rank.
pub(super) fn uplinks(context: &mut Context<'_>) {
    if context.levels.is_flat() {
        return;
    }
    for rank in 1..context.levels.highest() {
        for siblings in siblings(context, rank) {
            if siblings.len() > 2 {
                compare(context, &siblings, rank);
            }
        }
    }
}

fn above(context: &Context<'_>, node: NodeId, rank: u8) -> impl Iterator<Item = NodeId> {
    let levels = &context.levels;
    switch_neighbors(context.fabric, node).filter(move |&other| levels.rank(other) == Some(rank + 1))
}

fn siblings(context: &Context<'_>, rank: u8) -> Vec<Vec<NodeId>> {
    let fabric = context.fabric;
    let lower: Vec<NodeId> =
        fabric.switches().filter(|&node| context.levels.rank(node) == Some(rank)).collect();
    let mut pod = vec![u32::MAX; fabric.node_count()];
    for &start in &lower {
        if pod[start.index()] != u32::MAX {
            continue;
        }
        pod[start.index()] = start.0;
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            for other in switch_neighbors(fabric, node) {
                let Some(other_rank) = context.levels.rank(other) else { continue };
                let near = (rank..=rank + 1).contains(&other_rank);
                let between = context.levels.rank(node) != Some(other_rank);
                if near && between && pod[other.index()] == u32::MAX {
                    pod[other.index()] = start.0;
                    open.push(other);
                }
            }
        }
    }
    let mut groups: BTreeMap<(u32, u16, u8), Vec<NodeId>> = BTreeMap::new();
    for node in lower {
        let key = (pod[node.index()], fabric.device_id(node), fabric.port_count(node));
        groups.entry(key).or_default().push(node);
    }
    groups.into_values().collect()
}

/// The value that most have, the larger of equals, and how many have it.
fn usual(values: impl Iterator<Item = u32>) -> (u32, usize) {
    let mut times: BTreeMap<u32, usize> = BTreeMap::new();
    for value in values {
        *times.entry(value).or_default() += 1;
    }
    times.into_iter().max_by_key(|&(value, times)| (times, value)).unwrap_or((0, 0))
}

fn compare(context: &mut Context<'_>, siblings: &[NodeId], rank: u8) {
    let counts: Vec<BTreeMap<NodeId, u32>> = siblings
        .iter()
        .map(|&node| {
            let mut counts = BTreeMap::new();
            for other in above(context, node, rank) {
                *counts.entry(other).or_default() += 1;
            }
            counts
        })
        .collect();
    let total = |counts: &BTreeMap<NodeId, u32>| counts.values().sum::<u32>();
    let (wanted_total, times) = usual(counts.iter().map(total));
    if times * 2 < siblings.len() || times == siblings.len() {
        return;
    }
    let mut wanted_to: BTreeMap<NodeId, u32> = BTreeMap::new();
    for upper in counts.iter().flat_map(|counts| counts.keys().copied()) {
        wanted_to
            .entry(upper)
            .or_insert_with(|| usual(counts.iter().map(|counts| counts.get(&upper).copied().unwrap_or(0))).0);
    }
    for (&node, counts) in siblings.iter().zip(&counts) {
        let has = total(counts);
        if has == wanted_total {
            continue;
        }
        let mut ends = vec![context.node(node)];
        let mut odd = Vec::new();
        for (&upper, &wanted) in &wanted_to {
            let has_to = counts.get(&upper).copied().unwrap_or(0);
            let fewer = has < wanted_total;
            if (fewer && has_to < wanted) || (!fewer && has_to > wanted) {
                odd.push(format!("{has_to} of {wanted} to {}", context.node(upper)));
                ends.push(context.node(upper));
            }
        }
        let list = if odd.is_empty() { String::new() } else { format!(": {}", odd.join(", ")) };
        let message = format!(
            "{} has {has} uplinks, {times} of its {} siblings have {wanted_total}{list}",
            context.node(node),
            siblings.len() - 1
        );
        let mend = if has < wanted_total {
            "cable the missing links, or look whether their ports are down"
        } else {
            "routes load uplinks alike: cable all siblings the same"
        };
        context.found(FindingKind::UnequalUplinks, Severity::Warning, ends, message, mend);
    }
}
