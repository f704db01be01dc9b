//! SLtoVLMappingTableRecord: which lane each service level takes through a node.

use super::components::components;
use super::record;
use crate::{AttributeId, Lid, SlToVlMapping};

record! {
    /// Which lane each service level takes through a node.
    SlToVlRecord, AttributeId::SL_TO_VL_RECORD, "SLtoVLMappingTableRecord", 16 bytes {
        /// The end port's LID.
        lid: Lid = [0, 16];
        /// The port in of a switch.
        in_port: u8 = [16, 8];
        /// The port out of a switch.
        out_port: u8 = [24, 8];
    } {
        /// The lanes.
        table: SlToVlMapping = at 8;
    }
}

components! {
    SlToVlRecord {
        LID = [0, 16];
        IN_PORT = [16, 8];
        OUT_PORT = [24, 8];
    }
}
