//! SwitchInfo: the size and the state of a switch's tables.

use crate::attribute::attribute;
use crate::{AttributeId, Lid};

attribute! {
    /// The size and the state of a switch's tables.
    SwitchInfo, AttributeId::SWITCH_INFO, "SwitchInfo", 20 bytes {
        /// How many LIDs the linear table holds. 17 bits under wide addressing.
        linear_fdb_cap: u32 = [133, 1][0, 16] "LinearFdbCap" uint;
        /// How many entries the random table holds; 0 on every switch of today.
        random_fdb_cap: u16 = [16, 16] "RandomFdbCap" uint;
        /// How many multicast LIDs the multicast table holds.
        multicast_fdb_cap: u16 = [32, 16] "McastFdbCap" uint;
        /// The largest LID that the linear table is used for. 17 bits under wide addressing.
        linear_fdb_top: Lid = [134, 1][48, 16] "LinearFdbTop" uint;
        /// Where packets go whose LID the random table does not hold.
        default_port: u8 = [64, 8] "DefPort" uint;
        /// Where multicast packets go from any port but the next.
        default_multicast_primary_port: u8 = [72, 8] "DefMcastPrimPort" uint;
        /// Where multicast packets from the primary port go.
        default_multicast_not_primary_port: u8 = [80, 8] "DefMcastNotPrimPort" uint;
        /// How long a packet may wait in the switch: 4.096 us times two to this.
        life_time_value: u8 = [88, 5] "LifeTime" uint;
        /// Set by the switch when a port changes state; writing a 1 clears it.
        state_change: bool = [93, 1] "StateChange" uint;
        /// Which short forms of SLtoVLMappingTable writes the switch takes.
        optimized_sl_to_vl_mapping: u8 = [94, 2] "OptSLtoVLMapping" uint;
        /// LIDs a port for the random table.
        lids_per_port: u16 = [96, 16] "LidsPerPort" uint;
        /// How many partition keys a port can enforce.
        partition_enforcement_cap: u16 = [112, 16] "PartEnforceCap" uint;
        /// Whether partitions can be enforced inwards.
        inbound_enforcement_cap: bool = [128, 1] "InboundPartEnf" uint;
        /// Whether partitions can be enforced outwards.
        outbound_enforcement_cap: bool = [129, 1] "OutboundPartEnf" uint;
        /// Whether raw packets can be filtered inwards.
        filter_raw_inbound_cap: bool = [130, 1] "FilterRawInbound" uint;
        /// Whether raw packets can be filtered outwards.
        filter_raw_outbound_cap: bool = [131, 1] "FilterRawOutbound" uint;
        /// Whether port 0 is more than a management port.
        enhanced_port_0: bool = [132, 1] "EnhancedPort0" uint;
        /// The largest multicast LID that the multicast table is used for.
        multicast_fdb_top: u16 = [144, 16] "MulticastFDBTop" hex;
    }
}
