//! LinearForwardingTableRecord: one block of a switch's table.

use super::components::components;
use super::record;
use crate::{AttributeId, Lid, LinearForwardingTable};

record! {
    /// One block of a switch's table.
    LinearForwardingTableRecord, AttributeId::LINEAR_FORWARDING_TABLE_RECORD, "LinearForwardingTableRecord", 72 bytes {
        /// The switch's LID.
        lid: Lid = [0, 16];
        /// Which block of 64 LIDs.
        block: u16 = [16, 16];
    } {
        /// The block.
        table: LinearForwardingTable = at 8;
    }
}

components! {
    LinearForwardingTableRecord {
        LID = [0, 16];
        BLOCK = [16, 16];
    }
}
