//! ClassPortInfo: what an agent of a class can do, where it sends one on to, where its traps go.

use crate::attribute::attribute;
use crate::{AttributeId, Lid};

attribute! {
    /// What an agent of a class can do, where it sends one on to, where its traps go. The two GIDs are split into
    /// their halves.
    ClassPortInfo, AttributeId::CLASS_PORT_INFO, "ClassPortInfo", 72 bytes {
        /// 1.
        base_version: u8 = [0, 8] "BaseVersion" uint;
        /// The class's version.
        class_version: u8 = [8, 8] "ClassVersion" uint;
        /// What the agent can do.
        capability_mask: u16 = [16, 16] "CapabilityMask" hex;
        /// More of what the agent can do.
        capability_mask2: u32 = [32, 27] "CapabilityMask2" hex;
        /// How long an answer takes at the most: 4.096 us times two to this.
        response_time_value: u8 = [59, 5] "RespTimeVal" uint;
        /// Prefix of the GID to ask instead.
        redirect_gid_prefix: u64 = [64, 64] "RedirectGIDPrefix" hex;
        /// GUID of the GID to ask instead.
        redirect_gid_guid: u64 = [128, 64] "RedirectGIDGuid" hex;
        /// Traffic class to ask with.
        redirect_traffic_class: u8 = [192, 8] "RedirectTC" hex;
        /// Service level to ask with.
        redirect_sl: u8 = [200, 4] "RedirectSL" uint;
        /// Flow label to ask with.
        redirect_flow_label: u32 = [204, 20] "RedirectFL" hex;
        /// LID to ask instead.
        redirect_lid: Lid = [224, 16] "RedirectLID" uint;
        /// Partition key to ask with.
        redirect_p_key: u16 = [240, 16] "RedirectPKey" hex;
        /// Queue pair to ask.
        redirect_qp: u32 = [264, 24] "RedirectQP" hex;
        /// Queue key to ask with.
        redirect_q_key: u32 = [288, 32] "RedirectQKey" hex;
        /// Prefix of the GID that traps go to.
        trap_gid_prefix: u64 = [320, 64] "TrapGIDPrefix" hex;
        /// GUID of the GID that traps go to.
        trap_gid_guid: u64 = [384, 64] "TrapGIDGuid" hex;
        /// Traffic class of traps.
        trap_traffic_class: u8 = [448, 8] "TrapTC" hex;
        /// Service level of traps.
        trap_sl: u8 = [456, 4] "TrapSL" uint;
        /// Flow label of traps.
        trap_flow_label: u32 = [460, 20] "TrapFL" hex;
        /// LID that traps go to.
        trap_lid: Lid = [480, 16] "TrapLID" uint;
        /// Partition key of traps.
        trap_p_key: u16 = [496, 16] "TrapPKey" hex;
        /// Hop limit of traps.
        trap_hop_limit: u8 = [512, 8] "TrapHL" uint;
        /// Queue pair that traps go to.
        trap_qp: u32 = [520, 24] "TrapQP" hex;
        /// Queue key of traps.
        trap_q_key: u32 = [544, 32] "TrapQKey" hex;
    }
}
