//! SwitchInfoRecord: the tables of a switch by its LID.

use super::components::components;
use super::record;
use crate::{AttributeId, Lid, SwitchInfo};

record! {
    /// The size and the state of a switch's tables by the switch's LID.
    SwitchInfoRecord, AttributeId::SWITCH_INFO_RECORD, "SwitchInfoRecord", 24 bytes {
        /// The switch's LID.
        lid: Lid = [0, 16];
    } {
        /// The size and the state of its tables.
        info: SwitchInfo = at 4;
    }
}

components! {
    SwitchInfoRecord {
        LID = [0, 16];
        RESERVED = [16, 16];
        LINEAR_FDB_CAP = [32, 16];
        RANDOM_FDB_CAP = [48, 16];
        MULTICAST_FDB_CAP = [64, 16];
        LINEAR_FDB_TOP = [80, 16];
        DEFAULT_PORT = [96, 8];
        DEFAULT_MULTICAST_PRIMARY_PORT = [104, 8];
        DEFAULT_MULTICAST_NOT_PRIMARY_PORT = [112, 8];
        LIFE_TIME_VALUE = [120, 5];
        STATE_CHANGE = [125, 1];
        OPTIMIZED_SL_TO_VL_MAPPING = [126, 2];
        LIDS_PER_PORT = [128, 16];
        PARTITION_ENFORCEMENT_CAP = [144, 16];
        INBOUND_ENFORCEMENT_CAP = [160, 1];
        OUTBOUND_ENFORCEMENT_CAP = [161, 1];
        FILTER_RAW_INBOUND_CAP = [162, 1];
        FILTER_RAW_OUTBOUND_CAP = [163, 1];
        ENHANCED_PORT_0 = [164, 1];
        RESERVED2 = [165, 3];
        RESERVED3 = [168, 8];
        MULTICAST_FDB_TOP = [176, 16];
    }
}
