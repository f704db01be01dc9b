//! VLArbitrationTableRecord: a quarter of a port's arbitration tables.

use super::components::components;
use super::record;
use crate::{AttributeId, Lid, VlArbitration};

record! {
    /// A quarter of a port's arbitration tables.
    VlArbitrationRecord, AttributeId::VL_ARBITRATION_RECORD, "VLArbitrationTableRecord", 72 bytes {
        /// The end port's LID.
        lid: Lid = [0, 16];
        /// The port out of a switch.
        port: u8 = [16, 8];
        /// 1 and 2 the halves of the low-priority table, 3 and 4 of the high-priority one.
        block: u8 = [24, 8];
    } {
        /// The turns.
        table: VlArbitration = at 8;
    }
}

components! {
    VlArbitrationRecord {
        LID = [0, 16];
        PORT = [16, 8];
        BLOCK = [24, 8];
    }
}
