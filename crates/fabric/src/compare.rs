//! What is different between two fabrics, each difference named: before and after a change, plan and reality, what
//! was written and what was read back.
//!
//! Nodes are matched by GUID (several nodes with one GUID: in their order), so neither order nor names matter.

use std::fmt;

use ib::Guid;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::{Fabric, NodeId, PortId};

/// Which properties count, beside nodes and cables, which always do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Properties {
    /// Names of nodes.
    pub names: bool,
    /// Numbers of maker and model, the enclosure's GUID.
    pub devices: bool,
    /// Numbers of ports, cabled or not, and the enhanced port 0.
    pub ports: bool,
    /// LIDs and LID mask controls.
    pub lids: bool,
    /// Rates of links.
    pub rates: bool,
    /// GUIDs of ports.
    pub port_guids: bool,
}

impl Properties {
    /// All of them.
    pub const ALL: Self =
        Self { names: true, devices: true, ports: true, lids: true, rates: true, port_guids: true };
    /// None: nodes and cables alone.
    pub const NONE: Self =
        Self { names: false, devices: false, ports: false, lids: false, rates: false, port_guids: false };
}

/// What kind of difference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceKind {
    /// A node of the first fabric is not in the second.
    NodeGone,
    /// A node of the second fabric is not in the first.
    NodeNew,
    /// A property of a node or of one of its ports differs.
    NodeChanged,
    /// A cable of the first fabric is not in the second.
    LinkGone,
    /// A cable of the second fabric is not in the first.
    LinkNew,
    /// A cable runs at another rate.
    RateChanged,
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// What kind.
    pub kind: DifferenceKind,
    /// The node, or both ends of the cable.
    pub ends: Vec<String>,
    /// What was and what is; empty where the kind says it all.
    pub change: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.ends.join(" - ");
        match self.kind {
            DifferenceKind::NodeGone => write!(f, "node gone: {ends}"),
            DifferenceKind::NodeNew => write!(f, "node new: {ends}"),
            DifferenceKind::NodeChanged => write!(f, "node changed: {ends}: {}", self.change),
            DifferenceKind::LinkGone => write!(f, "link gone: {ends}"),
            DifferenceKind::LinkNew => write!(f, "link new: {ends}"),
            DifferenceKind::RateChanged => write!(f, "link changed: {ends}: {}", self.change),
        }
    }
}

/// The differences from `before` to `after`, nodes before links, each in the order of the fabric that has it.
pub fn compare(before: &Fabric, after: &Fabric, properties: Properties) -> Vec<Difference> {
    let matched = matching(before, after);
    let mut found = Vec::new();
    let mut is_matched = vec![false; after.node_count()];
    for node in before.nodes() {
        match matched[node.index()] {
            None => found.push(Difference {
                kind: DifferenceKind::NodeGone,
                ends: vec![label(before, node)],
                change: String::new(),
            }),
            Some(other) => {
                is_matched[other.index()] = true;
                compare_node(before, after, node, other, properties, &mut found);
            }
        }
    }
    for node in after.nodes().filter(|node| !is_matched[node.index()]) {
        let ends = vec![label(after, node)];
        found.push(Difference { kind: DifferenceKind::NodeNew, ends, change: String::new() });
    }
    let mut backwards = vec![None; after.node_count()];
    for node in before.nodes() {
        if let Some(other) = matched[node.index()] {
            backwards[other.index()] = Some(node);
        }
    }
    for (one, other) in before.links() {
        match twin(before, after, &matched, one).zip(twin(before, after, &matched, other)) {
            Some((one_after, other_after)) if after.peer(one_after) == Some(other_after) => {
                let (was, is) = (before.rate(one), after.rate(one_after));
                if properties.rates && was != is {
                    let text = |rate: Option<ib::LinkRate>| {
                        rate.map_or("unknown".to_owned(), |rate| rate.to_string())
                    };
                    found.push(Difference {
                        kind: DifferenceKind::RateChanged,
                        ends: vec![before.port_label(one), before.port_label(other)],
                        change: format!("{} -> {}", text(was), text(is)),
                    });
                }
            }
            _ => found.push(link(before, one, other, DifferenceKind::LinkGone)),
        }
    }
    for (one, other) in after.links() {
        let there = twin(after, before, &backwards, one).zip(twin(after, before, &backwards, other));
        if there.is_none_or(|(one, other)| before.peer(one) != Some(other)) {
            found.push(link(after, one, other, DifferenceKind::LinkNew));
        }
    }
    found
}

fn link(fabric: &Fabric, one: PortId, other: PortId, kind: DifferenceKind) -> Difference {
    let ends = vec![fabric.port_label(one), fabric.port_label(other)];
    Difference { kind, ends, change: String::new() }
}

fn label(fabric: &Fabric, node: NodeId) -> String {
    format!("{} ({})", fabric.name(node), fabric.guid(node))
}

/// For each node of `before`, the node of `after` with the same GUID.
fn matching(before: &Fabric, after: &Fabric) -> Vec<Option<NodeId>> {
    let mut times: FxHashMap<Guid, u32> = FxHashMap::default();
    let mut by_guid: FxHashMap<(Guid, u32), NodeId> = FxHashMap::default();
    for node in after.nodes() {
        let nth = times.entry(after.guid(node)).or_default();
        by_guid.insert((after.guid(node), *nth), node);
        *nth += 1;
    }
    times.clear();
    before
        .nodes()
        .map(|node| {
            let nth = times.entry(before.guid(node)).or_default();
            let key = (before.guid(node), *nth);
            *nth += 1;
            by_guid.get(&key).copied()
        })
        .collect()
}

/// The same port in the other fabric.
fn twin(from: &Fabric, to: &Fabric, matched: &[Option<NodeId>], port: PortId) -> Option<PortId> {
    to.port(matched[from.node_of(port).index()]?, from.port_number(port))
}

fn compare_node(
    before: &Fabric,
    after: &Fabric,
    node: NodeId,
    other: NodeId,
    properties: Properties,
    found: &mut Vec<Difference>,
) {
    let mut changed = |differs: bool, change: &dyn Fn() -> String| {
        if differs {
            let ends = vec![label(before, node)];
            found.push(Difference { kind: DifferenceKind::NodeChanged, ends, change: change() });
        }
    };
    let (was, is) = (before.kind(node), after.kind(other));
    changed(was != is, &|| format!("kind {was:?} -> {is:?}"));
    if properties.names {
        let (was, is) = (before.name(node), after.name(other));
        changed(was != is, &|| format!("name {was:?} -> {is:?}"));
    }
    if properties.ports {
        let (was, is) = (before.port_count(node), after.port_count(other));
        changed(was != is, &|| format!("ports {was} -> {is}"));
        let (was, is) = (before.has_enhanced_port_zero(node), after.has_enhanced_port_zero(other));
        changed(was != is, &|| format!("enhanced port 0 {was} -> {is}"));
    }
    if properties.devices {
        let was = (before.vendor_id(node), before.device_id(node));
        let is = (after.vendor_id(other), after.device_id(other));
        changed(was != is, &|| format!("vendor, device {was:#x?} -> {is:#x?}"));
        let (was, is) = (before.system_guid(node), after.system_guid(other));
        changed(was != is, &|| format!("system GUID {was} -> {is}"));
    }
    let own = if before.is_switch(node) { before.port(node, 0) } else { None };
    let ends = own.into_iter().chain(before.ports(node).filter(|_| own.is_none()));
    for port in ends {
        let Some(twin) = after.port(other, before.port_number(port)) else { continue };
        let number = before.port_number(port);
        if properties.lids {
            let (was, is) = ((before.lid(port), before.lmc(port)), (after.lid(twin), after.lmc(twin)));
            changed(was != is, &|| {
                format!("port {number}: LID {} LMC {} -> {} {}", was.0, was.1, is.0, is.1)
            });
        }
        if properties.port_guids {
            let (was, is) = (before.port_guid(port), after.port_guid(twin));
            changed(was != is, &|| format!("port {number}: GUID {was} -> {is}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use ib::{LinkRate, LinkSpeed};

    use super::*;
    use crate::NodeKind;

    fn pair(rate: LinkSpeed) -> Fabric {
        let mut fabric = Fabric::new();
        let leaf = fabric.add_node(NodeKind::Switch, Guid(1), 4, "leaf");
        let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(2), 1, "host");
        fabric.connect((leaf, 1), (host, 1), Some(LinkRate::x4(rate))).unwrap();
        fabric
    }

    #[test]
    fn a_fabric_is_no_different_from_itself() {
        let fabric = pair(LinkSpeed::Ndr);
        assert_eq!(compare(&fabric, &fabric, Properties::ALL), []);
    }

    #[test]
    fn each_difference_is_named_with_its_ends() {
        let before = pair(LinkSpeed::Ndr);
        let mut after = pair(LinkSpeed::Hdr);
        let text = |after: &Fabric| -> Vec<String> {
            compare(&before, after, Properties::ALL).iter().map(ToString::to_string).collect()
        };
        assert_eq!(text(&after), ["link changed: leaf[1] - host[1]: 4xNDR -> 4xHDR"]);
        let port = after.ports(NodeId(0)).next().unwrap();
        after.disconnect(port);
        after.connect((NodeId(0), 2), (NodeId(1), 1), None).unwrap();
        after.add_node(NodeKind::Router, Guid(3), 1, "door");
        assert_eq!(
            text(&after),
            [
                "node new: door (0x0000000000000003)",
                "link gone: leaf[1] - host[1]",
                "link new: leaf[2] - host[1]"
            ]
        );
        let back = compare(&after, &before, Properties::NONE);
        assert_eq!(back[0].kind, DifferenceKind::NodeGone);
    }
}
