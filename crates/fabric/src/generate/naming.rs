//! GUIDs and names of generated nodes: locally administered, unique, the same on every run.

use ib::{Guid, LinkRate};

use crate::{Fabric, NodeId, NodeKind};

/// `02` marks locally administered identifiers, `4845` is "HE".
const SWITCH_GUIDS: u64 = 0x0248_4500_0100_0000;
const ADAPTER_GUIDS: u64 = 0x0248_4500_0200_0000;
/// GUIDs from one node to the next: as on real devices, a node's few next numbers are its ports' (ibsim gives port N of
/// an adapter the node's GUID plus N), so none may be another node's.
const GUID_STEP: u64 = 0x10;

/// A fabric in the making, with the next GUIDs to give out.
pub(super) struct Naming {
    pub fabric: Fabric,
    switches: u64,
    adapters: u64,
}

impl Naming {
    pub fn new(nodes: u64, ports: u64) -> Self {
        Self { fabric: Fabric::with_capacity(nodes as usize, ports as usize), switches: 0, adapters: 0 }
    }

    pub fn switch(&mut self, ports: u8, name: &str) -> NodeId {
        let guid = Guid(SWITCH_GUIDS + self.switches * GUID_STEP);
        self.switches += 1;
        self.fabric.add_node(NodeKind::Switch, guid, ports, name)
    }

    /// An adapter with one port, cabled to a switch's port.
    pub fn host(&mut self, name: &str, at: (NodeId, u8), rate: LinkRate) -> NodeId {
        let guid = Guid(ADAPTER_GUIDS + self.adapters * GUID_STEP);
        self.adapters += 1;
        let host = self.fabric.add_node(NodeKind::ChannelAdapter, guid, 1, name);
        self.cable((host, 1), at, rate);
        host
    }

    /// Cables two ports that the generator knows to be free.
    pub fn cable(&mut self, a: (NodeId, u8), b: (NodeId, u8), rate: LinkRate) {
        self.fabric.connect(a, b, Some(rate)).expect("a generator gives out each port once");
    }
}
