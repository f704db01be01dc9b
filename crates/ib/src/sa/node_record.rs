//! NodeRecord: a node by one of its end ports.

use super::components::components;
use super::record;
use crate::attribute::Fields;
use crate::{AttributeId, Lid, NodeDescription, NodeInfo, print};

record! {
    /// A node by one of its end ports.
    NodeRecord, AttributeId::NODE_RECORD, "NodeRecord", 108 bytes {
        /// The end port's LID.
        lid: Lid = [0, 16];
    } {
        /// What the node is.
        info: NodeInfo = at 4;
        /// What people call it.
        description: NodeDescription = at 44;
    }
}

components! {
    NodeRecord {
        LID = [0, 16];
        RESERVED = [16, 16];
        BASE_VERSION = [32, 8];
        CLASS_VERSION = [40, 8];
        NODE_TYPE = [48, 8];
        PORT_COUNT = [56, 8];
        SYSTEM_IMAGE_GUID = [64, 64];
        NODE_GUID = [128, 64];
        PORT_GUID = [192, 64];
        PARTITION_CAP = [256, 16];
        DEVICE_ID = [272, 16];
        REVISION = [288, 32];
        LOCAL_PORT = [320, 8];
        VENDOR_ID = [328, 24];
        NODE_DESCRIPTION = [352, 512];
    }
}

impl Fields for NodeRecord {
    /// As `saquery NR` prints it.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let info = &self.info;
        let short = |number: u64| print::short_hex(number, 0);
        vec![
            ("lid", self.lid.to_string()),
            ("base_version", short(info.base_version.into())),
            ("class_version", short(info.class_version.into())),
            ("node_type", print::node_type(info.node_type.0.into(), 8)),
            ("num_ports", info.port_count.to_string()),
            ("sys_guid", info.system_image_guid.to_string()),
            ("node_guid", info.node_guid.to_string()),
            ("port_guid", info.port_guid.to_string()),
            ("partition_cap", short(info.partition_cap.into())),
            ("device_id", short(info.device_id.into())),
            ("revision", short(info.revision.into())),
            ("port_num", info.local_port.to_string()),
            ("vendor_id", short(info.vendor_id.into())),
            ("NodeDescription", self.description.text()),
        ]
    }
}
