//! P_KeyTableRecord: one block of a port's partition keys.

use super::components::components;
use super::record;
use crate::{AttributeId, Lid, PKeyTable};

record! {
    /// One block of a port's partition keys.
    PKeyTableRecord, AttributeId::P_KEY_TABLE_RECORD, "P_KeyTableRecord", 72 bytes {
        /// The end port's LID.
        lid: Lid = [0, 16];
        /// Which block of 32 keys.
        block: u16 = [16, 16];
        /// The port of a switch.
        port: u8 = [32, 8];
    } {
        /// The block.
        table: PKeyTable = at 8;
    }
}

components! {
    PKeyTableRecord {
        LID = [0, 16];
        BLOCK = [16, 16];
        PORT = [32, 8];
    }
}
