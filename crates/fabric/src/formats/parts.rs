//! What readers tell [`super::assemble::Assembly`]: nodes, ports, ends of cables, piece by piece.

use std::borrow::Cow;

use ib::{Guid, LinkRate};

use crate::NodeKind;

/// What a file calls a node by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key<'a> {
    /// The letter of its kind and its GUID.
    Guid(u8, u64),
    /// Any text, within a module of the file (empty: none).
    Text(&'a str, &'a str),
}

/// What a node's own record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    pub kind: NodeKind,
    pub guid: Guid,
    /// The enclosure's GUID; `None`: not said, so the node's own.
    pub system_guid: Option<Guid>,
    pub vendor_id: u32,
    pub device_id: u16,
    /// External ports.
    pub ports: u8,
    pub name: Cow<'a, str>,
    /// Whether a switch's port 0 is an enhanced one.
    pub enhanced_port_zero: bool,
}

/// What a line that names a neighbour says about it.
#[derive(Clone, Debug)]
pub struct Mention<'a> {
    pub kind: NodeKind,
    pub guid: Guid,
    pub name: Cow<'a, str>,
}

/// A node while the file is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(pub(super) u32);

/// What is said about one port.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    pub node: Handle,
    /// 0: a switch's management port.
    pub port: u8,
    pub guid: Option<Guid>,
    pub lid: Option<u32>,
    pub lmc: u8,
    pub line: u32,
    /// Whether the neighbour's line says it; the port's own counts for more.
    pub hearsay: bool,
}

/// One end of a cable, as one line tells it.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub node: Handle,
    pub port: u32,
    pub peer: Handle,
    pub peer_port: u32,
    pub rate: Option<LinkRate>,
    pub line: u32,
    pub column: u32,
}
