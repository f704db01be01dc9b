//! Writes what `ibnetdiscover` prints: switches, then adapters, then routers, each with its cabled ports.
//!
//! Line for line what the tool prints for the same fabric, but for the order of nodes (the tool's is that of its
//! hash tables) and the comment lines at the top (the tool tells the time). The layout is that of
//! infiniband-diags' `ibnetdiscover.c`.

use std::fmt::Write as _;

use ib::Lid;

use super::{Format, FormatError};
use crate::{Fabric, NodeId, NodeKind, PortId};

/// The fabric as `ibnetdiscover` prints it.
///
/// # Errors
/// Where a name holds a line end or LIDs need more than 16 bits.
pub fn write(fabric: &Fabric) -> Result<String, FormatError> {
    let mut text = String::with_capacity(fabric.node_count() * 160 + fabric.link_count() * 190);
    text.push_str("#\n# Topology file: written by Heddle\n#\n");
    if let Some(port) = fabric.hosts().flat_map(|node| fabric.neighbors(node)).next().map(|(port, _)| port) {
        let guid = fabric.guid(fabric.node_of(port)).0;
        let _ = writeln!(text, "# Initiated from node {guid:016x} port {:016x}", fabric.port_guid(port).0);
    }
    for wanted in [NodeKind::Switch, NodeKind::ChannelAdapter, NodeKind::Router] {
        for node in fabric.nodes().filter(|&node| printed_kind(fabric, node) == wanted) {
            super::ibsim::check_writable(fabric, node, Format::Ibnetdiscover)?;
            write_node(&mut text, fabric, node);
        }
    }
    Ok(text)
}

/// The tool shows an aggregation node as the adapter that it gives itself out for.
fn printed_kind(fabric: &Fabric, node: NodeId) -> NodeKind {
    match fabric.kind(node) {
        NodeKind::AggregationNode => NodeKind::ChannelAdapter,
        kind => kind,
    }
}

/// `"S-0002c90300a1b2c3"`, without the quotes.
pub(super) fn push_id(text: &mut String, fabric: &Fabric, node: NodeId) {
    let letter = match printed_kind(fabric, node) {
        NodeKind::Switch => 'S',
        NodeKind::Router => 'R',
        _ => 'H',
    };
    let _ = write!(text, "{letter}-{:016x}", fabric.guid(node).0);
}

/// The numbers that stand before a node's header.
pub(super) fn write_numbers(text: &mut String, fabric: &Fabric, node: NodeId) {
    let _ = write!(text, "\nvendid={:#x}\ndevid={:#x}\n", fabric.vendor_id(node), fabric.device_id(node));
    if fabric.system_guid(node).0 != 0 {
        let _ = writeln!(text, "sysimgguid={:#x}", fabric.system_guid(node).0);
    }
    let guid = fabric.guid(node).0;
    let _ = match printed_kind(fabric, node) {
        NodeKind::Switch => {
            let own = fabric.port(node, 0).map_or(guid, |port| fabric.port_guid(port).0);
            writeln!(text, "switchguid={guid:#x}({own:x})")
        }
        NodeKind::Router => writeln!(text, "rtguid={guid:#x}"),
        _ => writeln!(text, "caguid={guid:#x}"),
    };
}

/// `Switch`, `Ca` or `Rt`.
pub(super) fn header_word(fabric: &Fabric, node: NodeId) -> &'static str {
    match printed_kind(fabric, node) {
        NodeKind::Switch => "Switch",
        NodeKind::Router => "Rt",
        _ => "Ca",
    }
}

/// ` enhanced port 0 lid 13 lmc 0`.
pub(super) fn write_port_zero(text: &mut String, fabric: &Fabric, node: NodeId) {
    let word = if fabric.has_enhanced_port_zero(node) { "enhanced" } else { "base" };
    let (lid, lmc) = fabric.port(node, 0).map_or((Lid::NONE, 0), |port| (fabric.lid(port), fabric.lmc(port)));
    let _ = write!(text, " {word} port 0 lid {lid} lmc {lmc}");
}

fn write_node(text: &mut String, fabric: &Fabric, node: NodeId) {
    write_numbers(text, fabric, node);
    let switch = fabric.is_switch(node);
    let _ = write!(text, "{}\t{} \"", header_word(fabric, node), fabric.port_count(node));
    push_id(text, fabric, node);
    let _ = write!(text, "\"\t\t# \"{}\"", fabric.name(node));
    if switch {
        write_port_zero(text, fabric, node);
    }
    text.push('\n');
    for (port, peer) in fabric.neighbors(node) {
        write_port(text, fabric, switch, port, peer);
    }
}

fn write_port(text: &mut String, fabric: &Fabric, switch: bool, port: PortId, peer: PortId) {
    let _ = write!(text, "[{}]", fabric.port_number(port));
    if !switch {
        let _ = write!(text, "({:x}) ", fabric.port_guid(port).0);
    }
    text.push_str("\t\"");
    let other = fabric.node_of(peer);
    push_id(text, fabric, other);
    let _ = write!(text, "\"[{}]", fabric.port_number(peer));
    if !fabric.is_switch(other) {
        // The tool sets one blank more before the parenthesis on an adapter's line.
        let blank = if switch { "" } else { " " };
        let _ = write!(text, "{blank}({:x}) ", fabric.port_guid(peer).0);
    }
    text.push_str("\t\t# ");
    if !switch {
        let _ = write!(text, "lid {} lmc {} ", fabric.lid(port), fabric.lmc(port));
    }
    let own = if fabric.is_switch(other) { fabric.port(other, 0).unwrap_or(peer) } else { peer };
    let _ = write!(text, "\"{}\" lid {} ", fabric.name(other), fabric.lid(own));
    let _ = match fabric.rate(port) {
        Some(rate) => writeln!(text, "{rate}"),
        None => writeln!(text, "4x???"),
    };
}
