//! MCMemberRecord: a multicast group, or a port's part in it.

use super::components::components;
use crate::attribute::attribute;
use crate::{AttributeId, Gid, Lid, Mtu};

attribute! {
    /// A multicast group, or a port's part in it.
    MulticastMemberRecord, AttributeId::MC_MEMBER_RECORD, "MCMemberRecord", 52 bytes at 56 {
        /// The group.
        group_gid: Gid = [0, 64][64, 64] "MGID" gid;
        /// The member; all zero in an answer that tells of the group alone.
        port_gid: Gid = [128, 64][192, 64] "PortGid" gid;
        /// Queue key of the group.
        q_key: u32 = [256, 32] "qkey" small_hex;
        /// LID of the group.
        group_lid: Lid = [288, 16] "mlid" small_hex;
        /// How the MTU is meant.
        mtu_selector: u8 = [304, 2] "mtu_selector" small_hex;
        /// The largest payload.
        mtu: Mtu = [306, 6] "mtu" small_hex;
        /// Traffic class of the global route.
        traffic_class: u8 = [312, 8] "TClass" small_hex;
        /// Partition key.
        p_key: u16 = [320, 16] "pkey" small_hex;
        /// How the rate is meant.
        rate_selector: u8 = [336, 2] "rate_selector" small_hex;
        /// The slowest link's rate, as a code.
        rate: u8 = [338, 6] "rate" small_hex;
        /// How the lifetime is meant.
        packet_life_selector: u8 = [344, 2] "pkt_life_selector" small_hex;
        /// How long a packet may be under way: 4.096 us times two to this.
        packet_life: u8 = [346, 6] "pkt_life" small_hex;
        /// Service level.
        sl: u8 = [352, 4] "SL" small_hex;
        /// Flow label of the global route.
        flow_label: u32 = [356, 20] "FlowLabel" small_hex;
        /// Hop limit of the global route.
        hop_limit: u8 = [376, 8] "HopLimit" small_hex;
        /// How far the group reaches: 2 the subnet.
        scope: u8 = [384, 4] "Scope" small_hex;
        /// Bit 0: full member; bit 1: hears only; bit 2: sends only, does not keep the group alive.
        join_state: u8 = [388, 4] "JoinState" small_hex;
        /// Whether another joined for the member.
        proxy_join: bool = [392, 1] "ProxyJoin" small_hex;
    }
}

components! {
    MulticastMemberRecord {
        GROUP_GID = [0, 128];
        PORT_GID = [128, 128];
        Q_KEY = [256, 32];
        GROUP_LID = [288, 16];
        MTU_SELECTOR = [304, 2];
        MTU = [306, 6];
        TRAFFIC_CLASS = [312, 8];
        P_KEY = [320, 16];
        RATE_SELECTOR = [336, 2];
        RATE = [338, 6];
        PACKET_LIFE_SELECTOR = [344, 2];
        PACKET_LIFE = [346, 6];
        SL = [352, 4];
        FLOW_LABEL = [356, 20];
        HOP_LIMIT = [376, 8];
        SCOPE = [384, 4];
        JOIN_STATE = [388, 4];
        PROXY_JOIN = [392, 1];
    }
}
