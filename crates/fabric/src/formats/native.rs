//! Heddle's own format: TOML that holds all of a [`Fabric`] and that a person can write by hand.
//!
//! ```toml
//! heddle-fabric = 1
//!
//! nodes = [
//!   { kind = "switch", name = "leaf-1", guid = "0x2c9000000000001", ports = 40, lid = 3 },
//!   { kind = "host", name = "node-1 mlx5_0", guid = "0x2c9000000000101", ports = 1, lid = 17 },
//! ]
//!
//! links = [
//!   "leaf-1[1] node-1 mlx5_0[1] 4xNDR",
//! ]
//! ```
//!
//! | key of a node | what | left out |
//! | --- | --- | --- |
//! | `kind` | `switch`, `host`, `router` or `aggregation-node` | must be there |
//! | `name` | its description | empty |
//! | `id` | what links call it by | its name; needed where that is empty, not unique or has `[` or `]` in it |
//! | `guid`, `system` | its own GUID and its enclosure's | counted from 1; its own |
//! | `ports` | external ports | must be there |
//! | `vendor`, `device` | numbers of maker and model | 0 |
//! | `lid`, `lids` | base LID of a switch, or of a node's only port; of every port | none |
//! | `lmc` | LID mask control of all its ports | 0 |
//! | `port-guids` | GUID of every port | the node's |
//! | `enhanced-port-zero` | whether a switch's port 0 is a full end port | `false` |
//!
//! A link is two ends and, where it is known, the rate: `name[port] name[port] 4xNDR`.

use std::borrow::Cow;
use std::fmt::Write as _;

use ib::{Guid, Lid, LinkRate};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use toml::Spanned;

use super::assemble::{MAX_NODES, MAX_PORT_SLOTS, MAX_PORTS};
use super::{Format, FormatError, Loaded};
use crate::{Fabric, NodeId, NodeKind};

/// What the first line that is no comment begins with.
pub const MARK: &str = "heddle-fabric";
const VERSION: i64 = 1;
const KEYS: &str = "the file has the keys heddle-fabric, nodes and links; a node has kind, name, id, guid, system, \
                    ports, vendor, device, lid or lids, lmc, port-guids and enhanced-port-zero";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    #[serde(rename = "heddle-fabric")]
    version: Spanned<i64>,
    #[serde(borrow, default)]
    nodes: Vec<Spanned<Node<'a>>>,
    #[serde(borrow, default)]
    links: Vec<Spanned<Text<'a>>>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Switch,
    Host,
    Router,
    AggregationNode,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Node<'a> {
    kind: Kind,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    guid: Option<Guid>,
    system: Option<Guid>,
    ports: u32,
    #[serde(default)]
    vendor: u32,
    #[serde(default)]
    device: u16,
    lid: Option<Lid>,
    lids: Option<Vec<Lid>>,
    #[serde(default)]
    lmc: u8,
    port_guids: Option<Vec<Guid>>,
    #[serde(default)]
    enhanced_port_zero: bool,
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: usize, what: String, mend: &str) -> FormatError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        let column = 1 + before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        FormatError::at(self.file, line as u32, column as u32, what, mend)
    }
}

/// Reads Heddle's own format.
pub fn read(name: &str, text: &str) -> Result<Loaded, FormatError> {
    let reader = Reader { file: name, text };
    let file: File<'_> = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let what = error.message().lines().next().unwrap_or("not valid TOML").to_owned();
        reader.error(at, what, KEYS)
    })?;
    if *file.version.get_ref() != VERSION {
        let what = format!("version {} of the format", file.version.get_ref());
        return Err(reader.error(file.version.span().start, what, "this Heddle reads version 1"));
    }
    if file.nodes.is_empty() {
        let mend = "a fabric has at least one node: add nodes = [ … ]";
        return Err(FormatError::whole(name, "the file describes no node".to_owned(), mend));
    }
    let mut fabric = Fabric::with_capacity(file.nodes.len(), file.links.len() * 2);
    let mut by_id: FxHashMap<&str, Option<NodeId>> = FxHashMap::default();
    for (index, entry) in file.nodes.iter().enumerate() {
        let node = add_node(&reader, &mut fabric, entry, index)?;
        let entry_ref = entry.get_ref();
        let id = entry_ref.id.as_deref().unwrap_or(&entry_ref.name);
        let twice = by_id.insert(id, Some(node)).is_some();
        if twice && entry_ref.id.is_some() {
            let what = format!("a second node with the id \"{id}\"");
            return Err(reader.error(entry.span().start, what, "give every node its own id"));
        }
        if twice {
            by_id.insert(id, None);
        }
    }
    for link in &file.links {
        add_link(&reader, &mut fabric, &by_id, link)?;
    }
    Ok(Loaded { fabric, format: Format::Native, notes: Vec::new() })
}

fn add_node(
    reader: &Reader<'_>,
    fabric: &mut Fabric,
    entry: &Spanned<Node<'_>>,
    index: usize,
) -> Result<NodeId, FormatError> {
    let at = entry.span().start;
    let entry = entry.get_ref();
    if entry.ports > MAX_PORTS {
        let what = format!("\"{}\" has {} ports", entry.name, entry.ports);
        return Err(reader.error(at, what, "a node has up to 254 external ports"));
    }
    if index >= MAX_NODES || fabric.port_slot_count() > MAX_PORT_SLOTS {
        let what = format!("more than {MAX_NODES} nodes or {MAX_PORT_SLOTS} ports");
        return Err(reader.error(at, what, "split the file by subnet"));
    }
    let kind = match entry.kind {
        Kind::Switch => NodeKind::Switch,
        Kind::Host => NodeKind::ChannelAdapter,
        Kind::Router => NodeKind::Router,
        Kind::AggregationNode => NodeKind::AggregationNode,
    };
    let guid = entry.guid.unwrap_or(Guid(index as u64 + 1));
    let node = fabric.add_node(kind, guid, entry.ports as u8, &entry.name);
    fabric.set_system_guid(node, entry.system.unwrap_or(guid));
    fabric.set_device(node, entry.vendor, entry.device);
    fabric.set_enhanced_port_zero(node, entry.enhanced_port_zero);
    if entry.lmc > 7 {
        return Err(reader.error(at, format!("lmc = {}", entry.lmc), "a LID mask has 0 to 7 bits"));
    }
    let addressed: Vec<_> = if kind == NodeKind::Switch {
        fabric.port(node, 0).into_iter().collect()
    } else {
        fabric.ports(node).collect()
    };
    let per_port = |count: usize, key: &str| {
        let mend = "give one for each port, from port 1 on (a switch has one LID)";
        Err(reader.error(at, format!("{key} has {count} entries"), mend))
    };
    let lids = match (&entry.lid, &entry.lids) {
        (None, None) => &[][..],
        (Some(lid), None) => std::slice::from_ref(lid),
        (None, Some(lids)) if lids.len() == addressed.len() => lids,
        (None, Some(lids)) => return per_port(lids.len(), "lids"),
        (Some(_), Some(_)) => {
            return Err(reader.error(at, "both lid and lids".to_owned(), "give one of the two"));
        }
    };
    if let Some(lid) = lids.iter().find(|&&lid| lid > Lid::WIDE_UNICAST_MAX) {
        let mend = "unicast LIDs go up to 49151, wide ones to 122879";
        return Err(reader.error(at, format!("LID {lid}"), mend));
    }
    for (&port, &lid) in addressed.iter().zip(lids) {
        fabric.set_lid(port, lid, entry.lmc);
    }
    if let Some(guids) = &entry.port_guids {
        let expected = if kind == NodeKind::Switch { 1 } else { usize::from(fabric.port_count(node)) };
        if guids.len() != expected {
            return per_port(guids.len(), "port-guids");
        }
        for (&port, &guid) in addressed.iter().zip(guids) {
            fabric.set_port_guid(port, guid);
        }
    }
    Ok(node)
}

/// One end: `name[port]`, and what follows.
fn end(text: &str) -> Option<(&str, u8, &str)> {
    let (name, rest) = text.split_once('[')?;
    let (port, rest) = rest.split_once(']')?;
    Some((name, port.parse().ok()?, rest.trim_start()))
}

fn add_link(
    reader: &Reader<'_>,
    fabric: &mut Fabric,
    by_id: &FxHashMap<&str, Option<NodeId>>,
    link: &Spanned<Text<'_>>,
) -> Result<(), FormatError> {
    let at = link.span().start;
    let text = link.get_ref().0.as_ref();
    let malformed = || {
        let mend = "write it as \"leaf-1[1] host-1[1] 4xNDR\"; the rate may be left out";
        reader.error(at, format!("\"{text}\" is no link"), mend)
    };
    let (one, one_port, rest) = end(text).ok_or_else(malformed)?;
    let (other, other_port, rest) = end(rest).ok_or_else(malformed)?;
    let rate: Option<LinkRate> = match rest {
        "" => None,
        rate => Some(rate.parse().map_err(|error: ib::link::ParseRateError| {
            reader.error(at, error.to_string(), "mend the rate or leave it out")
        })?),
    };
    let node = |id: &str| match by_id.get(id) {
        Some(&Some(node)) => Ok(node),
        Some(None) => {
            let what = format!("several nodes are named \"{id}\"");
            Err(reader.error(at, what, "give each an id of its own, and use that in links"))
        }
        None => {
            let what = format!("no node has the id or the name \"{id}\"");
            Err(reader.error(at, what, "mend the name, or add the node"))
        }
    };
    let ends = [(node(one)?, one_port), (node(other)?, other_port)];
    fabric.connect(ends[0], ends[1], rate).map_err(|error| {
        reader.error(at, error.to_string(), "a cable has two ends, and each port one cable: mend the link")
    })
}

/// Whether links may call a node by its name.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['#', ' '])
        && !name.ends_with(' ')
        && !name.contains(['[', ']', '"', '\\'])
        && !name.chars().any(char::is_control)
}

fn push_quoted(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(text, "\\u{:04X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Writes Heddle's own format.
pub fn write(fabric: &Fabric) -> String {
    let mut times: FxHashMap<&str, u32> = FxHashMap::default();
    for node in fabric.nodes() {
        *times.entry(fabric.name(node)).or_default() += 1;
    }
    let by_name: Vec<bool> = fabric
        .nodes()
        .map(|node| is_plain(fabric.name(node)) && times.get(fabric.name(node)) == Some(&1))
        .collect();
    let mut text = String::with_capacity(fabric.node_count() * 120 + fabric.link_count() * 48);
    let _ = write!(
        text,
        "# A fabric: {} nodes, {} links. Written by Heddle.\n{MARK} = {VERSION}\n\nnodes = [\n",
        fabric.node_count(),
        fabric.link_count()
    );
    for node in fabric.nodes() {
        write_node(&mut text, fabric, node, by_name[node.index()]);
    }
    text.push_str("]\n\nlinks = [\n");
    let push_end = |text: &mut String, port| {
        let node = fabric.node_of(port);
        if by_name[node.index()] {
            text.push_str(fabric.name(node));
        } else {
            let _ = write!(text, "#{}", node.0);
        }
        let _ = write!(text, "[{}]", fabric.port_number(port));
    };
    for (one, other) in fabric.links() {
        text.push_str("  \"");
        push_end(&mut text, one);
        text.push(' ');
        push_end(&mut text, other);
        if let Some(rate) = fabric.rate(one) {
            let _ = write!(text, " {rate}");
        }
        text.push_str("\",\n");
    }
    text.push_str("]\n");
    text
}

fn write_node(text: &mut String, fabric: &Fabric, node: NodeId, by_name: bool) {
    let kind = match fabric.kind(node) {
        NodeKind::Switch => "switch",
        NodeKind::ChannelAdapter => "host",
        NodeKind::Router => "router",
        NodeKind::AggregationNode => "aggregation-node",
    };
    let _ = write!(text, "  {{ kind = \"{kind}\"");
    if !by_name {
        let _ = write!(text, ", id = \"#{}\"", node.0);
    }
    if !fabric.name(node).is_empty() {
        text.push_str(", name = ");
        push_quoted(text, fabric.name(node));
    }
    let guid = fabric.guid(node);
    let _ = write!(text, ", guid = \"{:#x}\", ports = {}", guid.0, fabric.port_count(node));
    if fabric.system_guid(node) != guid {
        let _ = write!(text, ", system = \"{:#x}\"", fabric.system_guid(node).0);
    }
    if fabric.vendor_id(node) != 0 {
        let _ = write!(text, ", vendor = {:#x}", fabric.vendor_id(node));
    }
    if fabric.device_id(node) != 0 {
        let _ = write!(text, ", device = {:#x}", fabric.device_id(node));
    }
    let addressed: Vec<_> = if fabric.is_switch(node) {
        fabric.port(node, 0).into_iter().collect()
    } else {
        fabric.ports(node).collect()
    };
    let lids: Vec<Lid> = addressed.iter().map(|&port| fabric.lid(port)).collect();
    match lids[..] {
        [lid] if lid != Lid::NONE => {
            let _ = write!(text, ", lid = {lid}");
        }
        [] | [_] => {}
        _ if lids.iter().all(|&lid| lid == Lid::NONE) => {}
        _ => {
            let _ = write!(text, ", lids = [{}]", joined(&lids));
        }
    }
    if let Some(lmc) = addressed.iter().map(|&port| fabric.lmc(port)).max().filter(|&lmc| lmc > 0) {
        let _ = write!(text, ", lmc = {lmc}");
    }
    if addressed.iter().any(|&port| fabric.port_guid(port) != guid) {
        let guids: Vec<String> =
            addressed.iter().map(|&port| format!("\"{:#x}\"", fabric.port_guid(port).0)).collect();
        let _ = write!(text, ", port-guids = [{}]", joined(&guids));
    }
    if fabric.has_enhanced_port_zero(node) {
        text.push_str(", enhanced-port-zero = true");
    }
    text.push_str(" },\n");
}

fn joined(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
