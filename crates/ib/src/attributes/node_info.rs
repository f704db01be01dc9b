//! NodeInfo: what a node is, and which of its ports the question came in by.

use crate::attribute::attribute;
use crate::{AttributeId, Guid, NodeType};

attribute! {
    /// What a node is, and which of its ports the question came in by.
    NodeInfo, AttributeId::NODE_INFO, "NodeInfo", 40 bytes {
        /// 1.
        base_version: u8 = [0, 8] "BaseVers" uint;
        /// 1.
        class_version: u8 = [8, 8] "ClassVers" uint;
        /// Switch, channel adapter or router.
        node_type: NodeType = [16, 8] "NodeType" node_type;
        /// How many external ports.
        port_count: u8 = [24, 8] "NumPorts" uint;
        /// The enclosure's GUID.
        system_image_guid: Guid = [32, 64] "SystemGuid" hex;
        /// The node's GUID.
        node_guid: Guid = [96, 64] "Guid" hex;
        /// The GUID of the port that the question came in by.
        port_guid: Guid = [160, 64] "PortGuid" hex;
        /// How many partition keys a port holds.
        partition_cap: u16 = [224, 16] "PartCap" uint;
        /// The vendor's number for the device.
        device_id: u16 = [240, 16] "DevId" hex;
        /// The device's revision.
        revision: u32 = [256, 32] "Revision" hex;
        /// The port that the question came in by.
        local_port: u8 = [288, 8] "LocalPort" uint;
        /// IEEE number of the vendor.
        vendor_id: u32 = [296, 24] "VendorId" hex;
    }
}
