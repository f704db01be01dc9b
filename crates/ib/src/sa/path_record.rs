//! PathRecord: how to reach one end port from another.

use super::components::components;
use crate::attribute::attribute;
use crate::{AttributeId, Gid, Lid, Mtu};

attribute! {
    /// How to reach one end port from another: addresses, and what the way can carry.
    ///
    /// A selector tells how a question means the value behind it ([`super::Selector`]); in an answer it is "exactly".
    PathRecord, AttributeId::PATH_RECORD, "PathRecord", 64 bytes at 56 {
        /// The service that the path is for.
        service_id: u64 = [0, 64] "service_id" hex;
        /// The GID of the far end.
        dest_gid: Gid = [64, 64][128, 64] "dgid" gid;
        /// The GID of the near end.
        source_gid: Gid = [192, 64][256, 64] "sgid" gid;
        /// The LID of the far end.
        dlid: Lid = [320, 16] "dlid" uint;
        /// The LID of the near end.
        slid: Lid = [336, 16] "slid" uint;
        /// Whether raw packets are meant.
        raw_traffic: bool = [352, 1] "raw_traffic" short_hex;
        /// Flow label of the global route.
        flow_label: u32 = [356, 20] "flow_label" short_hex;
        /// Hop limit of the global route.
        hop_limit: u8 = [376, 8] "hop_limit" short_hex;
        /// Traffic class of the global route.
        traffic_class: u8 = [384, 8] "tclass" short_hex;
        /// Whether the way back takes the same values.
        reversible: bool = [392, 1] "reversible" short_hex;
        /// How many paths a question asks for at the most.
        path_count: u8 = [393, 7] "num_path" short_hex;
        /// Partition key.
        p_key: u16 = [400, 16] "pkey" short_hex;
        /// Class of quality of service.
        qos_class: u16 = [416, 12] "qos_class" short_hex;
        /// Service level.
        sl: u8 = [428, 4] "sl" short_hex;
        /// How the MTU is meant.
        mtu_selector: u8 = [432, 2] "mtu_selector" short_hex;
        /// The largest payload.
        mtu: Mtu = [434, 6] "mtu" short_hex;
        /// How the rate is meant.
        rate_selector: u8 = [440, 2] "rate_selector" short_hex;
        /// The slowest link's rate, as a code: see [`super::rate`].
        rate: u8 = [442, 6] "rate" short_hex;
        /// How the lifetime is meant.
        packet_life_selector: u8 = [448, 2] "pkt_life_selector" short_hex;
        /// How long a packet may be under way: 4.096 us times two to this.
        packet_life: u8 = [450, 6] "pkt_life" short_hex;
        /// Among several paths the one with the lowest number is the best.
        preference: u8 = [456, 8] "preference" short_hex;
    }
}

components! {
    PathRecord {
        SERVICE_ID_MSB = [0, 8];
        SERVICE_ID_LSB = [8, 56];
        DEST_GID = [64, 128];
        SOURCE_GID = [192, 128];
        DLID = [320, 16];
        SLID = [336, 16];
        RAW_TRAFFIC = [352, 1];
        RESERVED = [353, 3];
        FLOW_LABEL = [356, 20];
        HOP_LIMIT = [376, 8];
        TRAFFIC_CLASS = [384, 8];
        REVERSIBLE = [392, 1];
        PATH_COUNT = [393, 7];
        P_KEY = [400, 16];
        QOS_CLASS = [416, 12];
        SL = [428, 4];
        MTU_SELECTOR = [432, 2];
        MTU = [434, 6];
        RATE_SELECTOR = [440, 2];
        RATE = [442, 6];
        PACKET_LIFE_SELECTOR = [448, 2];
        PACKET_LIFE = [450, 6];
    }
}
