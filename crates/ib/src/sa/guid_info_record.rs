//! GUIDInfoRecord: eight of the GUIDs of a port.

use super::components::components;
use super::record;
use crate::{AttributeId, GuidInfo, Lid};

record! {
    /// Eight of the GUIDs of a port.
    GuidInfoRecord, AttributeId::GUID_INFO_RECORD, "GUIDInfoRecord", 72 bytes {
        /// The end port's LID.
        lid: Lid = [0, 16];
        /// Which block of eight GUIDs.
        block: u8 = [16, 8];
    } {
        /// The GUIDs.
        guids: GuidInfo = at 8;
    }
}

components! {
    GuidInfoRecord {
        LID = [0, 16];
        BLOCK = [16, 8];
        RESERVED = [24, 8];
        RESERVED2 = [32, 32];
        GUID_0 = [64, 64];
        GUID_1 = [128, 64];
        GUID_2 = [192, 64];
        GUID_3 = [256, 64];
        GUID_4 = [320, 64];
        GUID_5 = [384, 64];
        GUID_6 = [448, 64];
        GUID_7 = [512, 64];
    }
}
