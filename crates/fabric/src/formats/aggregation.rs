//! Which channel adapters are a switch's own engine for in-network reduction.
//!
//! A Quantum switch shows its SHARP engine as an adapter that is cabled to the switch's last port (41 of 41, 65 of
//! 65, …). It has PCI device 53000 or 53001 of vendor 0x2c9, the switch's system GUID and, as it comes, a description that says so.

use crate::{Fabric, NodeId, NodeKind};

const VENDOR_MELLANOX: u32 = 0x2c9;
const DEVICES: [u16; 2] = [0xcf08, 0xcf09];

/// Whether device numbers or description alone tell an aggregation node.
pub fn is_named_so(vendor_id: u32, device_id: u16, name: &str) -> bool {
    (matches!(vendor_id, 0 | VENDOR_MELLANOX) && DEVICES.contains(&device_id))
        || name.ends_with("Aggregation Node")
}

/// Whether an adapter sits inside the enclosure of the switch that it is cabled to: its one port goes to the last of
/// an odd number of ports, and both have one system GUID.
fn is_inside_its_switch(fabric: &Fabric, node: NodeId) -> bool {
    let mut neighbors = fabric.neighbors(node);
    let (Some((_, peer)), None) = (neighbors.next(), neighbors.next()) else { return false };
    let switch = fabric.node_of(peer);
    let last = fabric.port_count(switch);
    fabric.is_switch(switch)
        && fabric.port_count(node) == 1
        && last % 2 == 1
        && fabric.port_number(peer) == last
        && fabric.system_guid(switch) == fabric.system_guid(node)
        && fabric.system_guid(switch).0 != 0
}

/// Gives every aggregation node its kind.
pub fn mark(fabric: &mut Fabric) {
    for node in fabric.nodes() {
        if fabric.kind(node) == NodeKind::ChannelAdapter
            && (is_named_so(fabric.vendor_id(node), fabric.device_id(node), fabric.name(node))
                || is_inside_its_switch(fabric, node))
        {
            fabric.set_kind(node, NodeKind::AggregationNode);
        }
    }
}
