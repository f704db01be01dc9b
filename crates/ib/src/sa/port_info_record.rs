//! PortInfoRecord: a port by its LID, on a switch also by its number.

use super::components::components;
use super::record;
use crate::attribute::Fields;
use crate::{AttributeId, Lid, PortInfo};

record! {
    /// A port by its LID, on a switch by the LID of port 0 and its number.
    PortInfoRecord, AttributeId::PORT_INFO_RECORD, "PortInfoRecord", 68 bytes {
        /// The end port's LID.
        lid: Lid = [0, 16];
        /// The port.
        port: u8 = [16, 8];
        /// Bit 7 in a question: compare the capability mask bit by bit.
        options: u8 = [24, 8];
    } {
        /// Everything of the port.
        info: PortInfo = at 4;
    }
}

components! {
    PortInfoRecord {
        LID = [0, 16];
        PORT = [16, 8];
        OPTIONS = [24, 8];
        M_KEY = [32, 64];
        GID_PREFIX = [96, 64];
        BASE_LID = [160, 16];
        SM_LID = [176, 16];
        CAPABILITY_MASK = [192, 32];
        DIAG_CODE = [224, 16];
        M_KEY_LEASE_PERIOD = [240, 16];
        LOCAL_PORT = [256, 8];
        LINK_WIDTH_ENABLED = [264, 8];
        LINK_WIDTH_SUPPORTED = [272, 8];
        LINK_WIDTH_ACTIVE = [280, 8];
        LINK_SPEED_SUPPORTED = [288, 4];
        PORT_STATE = [292, 4];
        PHYSICAL_STATE = [296, 4];
        LINK_DOWN_DEFAULT_STATE = [300, 4];
        M_KEY_PROTECT_BITS = [304, 2];
        RESERVED2 = [306, 3];
        LMC = [309, 3];
        LINK_SPEED_ACTIVE = [312, 4];
        LINK_SPEED_ENABLED = [316, 4];
        NEIGHBOR_MTU = [320, 4];
        SM_SL = [324, 4];
        VL_CAP = [328, 4];
        INIT_TYPE = [332, 4];
        VL_HIGH_LIMIT = [336, 8];
        VL_ARBITRATION_HIGH_CAP = [344, 8];
        VL_ARBITRATION_LOW_CAP = [352, 8];
        INIT_TYPE_REPLY = [360, 4];
        MTU_CAP = [364, 4];
        VL_STALL_COUNT = [368, 3];
        HEAD_OF_QUEUE_LIFE = [371, 5];
        OPERATIONAL_VLS = [376, 4];
        PARTITION_ENFORCEMENT_INBOUND = [380, 1];
        PARTITION_ENFORCEMENT_OUTBOUND = [381, 1];
        FILTER_RAW_INBOUND = [382, 1];
        FILTER_RAW_OUTBOUND = [383, 1];
        M_KEY_VIOLATIONS = [384, 16];
        P_KEY_VIOLATIONS = [400, 16];
        Q_KEY_VIOLATIONS = [416, 16];
        GUID_CAP = [432, 8];
        CLIENT_REREGISTER = [440, 1];
        RESERVED3 = [441, 2];
        SUBNET_TIMEOUT = [443, 5];
        RESERVED4 = [448, 3];
        RESPONSE_TIME_VALUE = [451, 5];
        LOCAL_PHYSICAL_ERRORS = [456, 4];
        OVERRUN_ERRORS = [460, 4];
        MAX_CREDIT_HINT = [464, 16];
        RESERVED5 = [480, 8];
        LINK_ROUND_TRIP_LATENCY = [488, 24];
        CAPABILITY_MASK2 = [512, 16];
        LINK_SPEED_EXT_ACTIVE = [528, 4];
        LINK_SPEED_EXT_SUPPORTED = [532, 4];
        RESERVED7 = [536, 3];
        LINK_SPEED_EXT_ENABLED = [539, 5];
    }
}

impl Fields for PortInfoRecord {
    /// As `saquery PIR` prints it.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("EndPortLid", self.lid.to_string()),
            ("PortNum", self.port.to_string()),
            ("Options", format!("{:#x}", self.options)),
        ];
        fields.extend(self.info.fields());
        fields
    }
}
