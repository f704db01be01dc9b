//! Writes Graphviz DOT: switches in rows by their rank, hosts below, parallel links as one edge with their number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::levels::Levels;
use crate::{Fabric, NodeId, NodeKind};

/// The fabric for `dot -Tsvg`.
pub fn write(fabric: &Fabric) -> String {
    let levels = Levels::of(fabric);
    let mut text = String::from("graph fabric {\n  rankdir=BT;\n  node [fontname=\"sans-serif\"];\n");
    let mut rows: BTreeMap<Option<u8>, Vec<NodeId>> = BTreeMap::new();
    for node in fabric.nodes() {
        let (shape, fill) = match fabric.kind(node) {
            NodeKind::Switch => ("box", "lightsteelblue"),
            NodeKind::ChannelAdapter => ("ellipse", "white"),
            NodeKind::Router => ("diamond", "khaki"),
            NodeKind::AggregationNode => ("hexagon", "gainsboro"),
        };
        let _ = write!(text, "  n{} [shape={shape}, style=filled, fillcolor={fill}, label=\"", node.0);
        push_label(&mut text, fabric, node);
        text.push_str("\"];\n");
        if fabric.is_switch(node) {
            rows.entry(levels.rank(node)).or_default().push(node);
        }
    }
    for row in rows.values().filter(|row| row.len() > 1) {
        text.push_str("  { rank=same;");
        for node in row {
            let _ = write!(text, " n{};", node.0);
        }
        text.push_str(" }\n");
    }
    let mut bundles: BTreeMap<(NodeId, NodeId, String), u32> = BTreeMap::new();
    for (one, other) in fabric.links() {
        let (mut low, mut high) = (fabric.node_of(one), fabric.node_of(other));
        // An edge goes upwards, so that rows come out in the order of ranks.
        if levels.rank(low).unwrap_or(0) > levels.rank(high).unwrap_or(0) {
            std::mem::swap(&mut low, &mut high);
        }
        let rate = fabric.rate(one).map_or(String::new(), |rate| rate.to_string());
        *bundles.entry((low, high, rate)).or_default() += 1;
    }
    for ((low, high, rate), count) in bundles {
        let times = if count > 1 { format!("{count} x ") } else { String::new() };
        let _ = writeln!(text, "  n{} -- n{} [label=\"{times}{rate}\"];", low.0, high.0);
    }
    text.push_str("}\n");
    text
}

fn push_label(text: &mut String, fabric: &Fabric, node: NodeId) {
    if fabric.name(node).is_empty() {
        let _ = write!(text, "{}", fabric.guid(node));
    }
    for c in fabric.name(node).chars() {
        match c {
            '"' | '\\' => {
                text.push('\\');
                text.push(c);
            }
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
    }
}
