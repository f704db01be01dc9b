//! What the manager asks of devices. A request is a few bytes; its MAD is built from the manager's state each time it
//! is sent, so that nothing but the request itself waits.

use fabric::{NodeId, PortId};
use ib::{AttributeId, Method};

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// What sits at the end of the manager's own port.
    Local,
    /// What sits beyond a port.
    Probe(PortId),
    /// A node's name.
    Description(NodeId),
    /// A switch's tables.
    GetSwitch(NodeId),
    /// One port.
    GetPort(PortId),
    /// One port, asked for through itself: an adapter's, or the manager's own.
    GetEndPort(PortId),
    /// A block of a forwarding table.
    GetTable(NodeId, u32),
    /// An end port's partitions.
    GetPartitions(PortId),
    /// Who manages behind a port.
    GetManager(PortId),
    /// An adapter port's mapping of service levels.
    GetMapping(PortId),
    /// An adapter port's arbitration table: 1 low, 3 high.
    GetArbitration(PortId, u8),
    /// A switch's mapping of service levels from a port in to the port out.
    GetTurn(PortId, u8),
    /// A switch's tables.
    SetSwitch(NodeId),
    /// A block of a forwarding table.
    SetTable(NodeId, u32),
    /// An end port's partitions.
    SetPartitions(PortId),
    /// An adapter port's mapping of service levels.
    SetMapping(PortId),
    /// An adapter port's arbitration table: 1 low, 3 high.
    SetArbitration(PortId, u8),
    /// A switch's mapping of service levels from a port in to the port out.
    SetTurn(PortId, u8),
    /// The same from all ports in to one port out.
    SetTurnsTo(PortId),
    /// The same for all pairs of ports.
    SetTurns(NodeId),
    /// A port's addresses, sizes, and the first step of its state.
    SetPort(PortId),
    /// A port into service.
    Activate(PortId),
    /// One port of a switch that told of a change.
    Examine(PortId),
    /// What sits beyond a port that has come up.
    Identify(PortId),
    /// One port, through itself, before it goes into service again.
    Refresh(PortId),
    /// Looks whether a switch has seen a change.
    Sweep(NodeId),
    /// All blocks that differ, one after another: stays in the queue until none is left.
    ProgramTables(NodeId),
    /// All blocks of a table, one after another: stays in the queue until none is left.
    ReadTables(NodeId),
    /// All mappings of service levels that differ, likewise.
    ProgramLanes(NodeId),
    /// All mappings of service levels, likewise.
    ReadLanes(NodeId),
}

/// What a request is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// Whatever the manager sits at.
    Own,
    /// Whatever sits beyond a port.
    Beyond(PortId),
    /// One port.
    Port(PortId),
    /// One node.
    Node(NodeId),
}

impl Request {
    pub fn subject(self) -> Subject {
        match self {
            Self::Local => Subject::Own,
            Self::Probe(port) | Self::Identify(port) => Subject::Beyond(port),
            Self::GetPort(port)
            | Self::Examine(port)
            | Self::Refresh(port)
            | Self::GetEndPort(port)
            | Self::GetPartitions(port)
            | Self::GetManager(port)
            | Self::GetMapping(port)
            | Self::GetArbitration(port, _)
            | Self::GetTurn(port, _)
            | Self::SetTurn(port, _)
            | Self::SetTurnsTo(port)
            | Self::SetPartitions(port)
            | Self::SetMapping(port)
            | Self::SetArbitration(port, _)
            | Self::SetPort(port)
            | Self::Activate(port) => Subject::Port(port),
            Self::Description(node)
            | Self::GetSwitch(node)
            | Self::GetTable(node, _)
            | Self::SetSwitch(node)
            | Self::SetTable(node, _)
            | Self::Sweep(node)
            | Self::SetTurns(node)
            | Self::ProgramLanes(node)
            | Self::ReadLanes(node)
            | Self::ProgramTables(node)
            | Self::ReadTables(node) => Subject::Node(node),
        }
    }

    pub fn method(self) -> Method {
        match self {
            Self::SetSwitch(_)
            | Self::SetTable(..)
            | Self::SetPartitions(_)
            | Self::SetMapping(_)
            | Self::SetArbitration(..)
            | Self::SetTurn(..)
            | Self::SetTurnsTo(_)
            | Self::SetTurns(_)
            | Self::SetPort(_)
            | Self::Activate(_) => Method::SET,
            _ => Method::GET,
        }
    }

    pub fn attribute(self) -> AttributeId {
        match self {
            Self::Local | Self::Probe(_) | Self::Identify(_) => AttributeId::NODE_INFO,
            Self::Description(_) => AttributeId::NODE_DESCRIPTION,
            Self::GetSwitch(_) | Self::SetSwitch(_) | Self::Sweep(_) => AttributeId::SWITCH_INFO,
            Self::GetPort(_)
            | Self::Examine(_)
            | Self::Refresh(_)
            | Self::GetEndPort(_)
            | Self::SetPort(_)
            | Self::Activate(_) => AttributeId::PORT_INFO,
            Self::GetTable(..) | Self::SetTable(..) | Self::ProgramTables(_) | Self::ReadTables(_) => {
                AttributeId::LINEAR_FORWARDING_TABLE
            }
            Self::GetPartitions(_) | Self::SetPartitions(_) => AttributeId::P_KEY_TABLE,
            Self::GetManager(_) => AttributeId::SM_INFO,
            Self::GetMapping(_)
            | Self::SetMapping(_)
            | Self::GetTurn(..)
            | Self::SetTurn(..)
            | Self::SetTurnsTo(_)
            | Self::SetTurns(_)
            | Self::ProgramLanes(_)
            | Self::ReadLanes(_) => AttributeId::SL_TO_VL_MAPPING,
            Self::GetArbitration(..) | Self::SetArbitration(..) => AttributeId::VL_ARBITRATION,
        }
    }
}
