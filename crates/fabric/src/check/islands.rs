//! Parts of the fabric that no link joins.

use super::{Context, FindingKind, Severity};
use crate::NodeId;

/// One finding for each part but the largest.
pub(super) fn islands(context: &mut Context<'_>) {
    let fabric = context.fabric;
    let mut parts: Vec<(usize, Vec<NodeId>)> = Vec::new();
    let mut seen = vec![false; fabric.node_count()];
    for start in fabric.nodes() {
        if std::mem::replace(&mut seen[start.index()], true) {
            continue;
        }
        let mut part = vec![start];
        let mut at = 0;
        while at < part.len() {
            for (_, peer) in fabric.neighbors(part[at]) {
                let other = fabric.node_of(peer);
                if !std::mem::replace(&mut seen[other.index()], true) {
                    part.push(other);
                }
            }
            at += 1;
        }
        parts.push((part.len(), part));
    }
    // The largest is the fabric; of equals the first.
    let Some(main) = parts.iter().map(|(size, _)| *size).max() else { return };
    let largest = parts.iter().position(|(size, _)| *size == main).unwrap_or(0);
    for (size, part) in parts.iter().enumerate().filter(|&(index, _)| index != largest).map(|(_, part)| part)
    {
        let first = part[0];
        if *size == 1 && fabric.neighbors(first).next().is_none() {
            let message = format!("{} has no cable", context.node(first));
            context.found(
                FindingKind::NotCabled,
                Severity::Warning,
                vec![context.node(first)],
                message,
                "cable it, or take it out of the file",
            );
            continue;
        }
        let switches = part.iter().filter(|&&node| fabric.is_switch(node)).count();
        let message = format!(
            "{switches} switches and {} other nodes around {} are an island: no link joins them to the other {} \
             nodes",
            size - switches,
            context.node(first),
            fabric.node_count() - size
        );
        let main_first = parts[largest].1[0];
        context.found(
            FindingKind::Island,
            Severity::Critical,
            vec![context.node(first), context.node(main_first)],
            message,
            "cable the two parts together, or manage them as two subnets",
        );
    }
}
