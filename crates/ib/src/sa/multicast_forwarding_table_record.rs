//! MulticastForwardingTableRecord: one block of a switch's multicast table.

use super::components::components;
use super::record;
use crate::{AttributeId, Lid, MulticastForwardingTable};

record! {
    /// One block of a switch's multicast table.
    MulticastForwardingTableRecord, AttributeId::MULTICAST_FORWARDING_TABLE_RECORD,
        "MulticastForwardingTableRecord", 72 bytes {
        /// The switch's LID.
        lid: Lid = [0, 16];
        /// Which 16 ports.
        position: u8 = [16, 4];
        /// Which block of 32 multicast LIDs.
        block: u16 = [23, 9];
    } {
        /// The block.
        table: MulticastForwardingTable = at 8;
    }
}

components! {
    MulticastForwardingTableRecord {
        LID = [0, 16];
        POSITION = [16, 4];
        RESERVED = [20, 3];
        BLOCK = [23, 9];
        RESERVED2 = [32, 32];
    }
}
