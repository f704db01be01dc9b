//! InformInfo: the wish to hear of traps, and InformInfoRecord: who has said so.

use super::components::components;
use super::record;
use crate::attribute::attribute;
use crate::{AttributeId, Gid, Lid};

attribute! {
    /// The wish to hear of traps, or no longer.
    InformInfo, AttributeId::INFORM_INFO, "InformInfo", 36 bytes at 56 {
        /// The GID whose traps are meant; all zero: see the range of LIDs.
        gid: Gid = [0, 64][64, 64] "gid" gid;
        /// The first LID whose traps are meant; 0xffff: all.
        lid_range_begin: Lid = [128, 16] "lid_range_begin" uint;
        /// The last LID whose traps are meant; 0: only the first.
        lid_range_end: Lid = [144, 16] "lid_range_end" uint;
        /// 1: the standard's own traps; 0: a vendor's.
        is_generic: u8 = [176, 8] "is_generic" short_hex;
        /// 1: send them; 0: send them no longer.
        subscribe: u8 = [184, 8] "subscribe" short_hex;
        /// How urgent: see [`crate::Notice::kind`]; 0xffff: any.
        trap_type: u16 = [192, 16] "trap_type" short_hex;
        /// Which trap, or the vendor's device number; 0xffff: all.
        trap_number: u16 = [208, 16] "trap_num" uint;
        /// The queue pair to send to.
        qpn: u32 = [224, 24] "qpn" hidden;
        /// How long the subscriber needs to answer: 4.096 us times two to this.
        response_time_value: u8 = [251, 5] "resp_time_val" short_hex;
        /// Whose traps: the node's type, or the vendor; 0xffffff: all.
        producer: u32 = [264, 24] "node_type" hex;
    }
}

record! {
    /// A wish to hear of traps, with who has it.
    InformInfoRecord, AttributeId::INFORM_INFO_RECORD, "InformInfoRecord", 60 bytes {
        /// Upper half of the subscriber's GID.
        subscriber_prefix: u64 = [0, 64];
        /// Lower half of the subscriber's GID.
        subscriber_guid: u64 = [64, 64];
        /// Which of the subscriber's wishes.
        number: u16 = [128, 16];
    } {
        /// The wish.
        info: InformInfo = at 24;
    }
}

components! {
    InformInfoRecord {
        SUBSCRIBER_GID = [0, 128];
        NUMBER = [128, 16];
        RESERVED = [144, 48];
        GID = [192, 128];
        LID_RANGE_BEGIN = [320, 16];
        LID_RANGE_END = [336, 16];
        RESERVED2 = [352, 16];
        IS_GENERIC = [368, 8];
        SUBSCRIBE = [376, 8];
        TRAP_TYPE = [384, 16];
        TRAP_NUMBER = [400, 16];
        QPN = [416, 24];
        RESERVED3 = [440, 3];
        RESPONSE_TIME_VALUE = [443, 5];
        RESERVED4 = [448, 8];
        PRODUCER = [456, 24];
    }
}
