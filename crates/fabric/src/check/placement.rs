//! Things in places where they are not expected.

use super::{Context, FindingKind, Severity};
use crate::NodeKind;

/// Hosts above the leaves, and cables from a switch to itself.
pub(super) fn placement(context: &mut Context<'_>) {
    let fabric = context.fabric;
    for (one, other) in fabric.links() {
        let nodes = [one, other].map(|port| fabric.node_of(port));
        if nodes[0] == nodes[1] {
            let message = format!(
                "{} and {} are the two ends of one cable, from a node to itself",
                context.port(one),
                context.port(other)
            );
            let mend = "take the cable out if it is no longer there for a test";
            let ends = vec![context.port(one), context.port(other)];
            context.found(FindingKind::SelfLoop, Severity::Info, ends, message, mend);
            continue;
        }
        let host = nodes.iter().position(|&node| fabric.kind(node) == NodeKind::ChannelAdapter);
        let Some(host) = host else { continue };
        let (host, switch) = if host == 0 { (one, other) } else { (other, one) };
        let Some(rank @ 2..) = context.levels.rank(fabric.node_of(switch)) else { continue };
        let message = format!(
            "{} is cabled to {}, which is a spine (level {rank})",
            context.port(host),
            context.port(switch)
        );
        let mend =
            "move it to a leaf if jobs run on it: traffic through a spine's host ports bends the routes";
        let ends = vec![context.port(host), context.port(switch)];
        context.found(FindingKind::HostOnSpine, Severity::Info, ends, message, mend);
    }
}
