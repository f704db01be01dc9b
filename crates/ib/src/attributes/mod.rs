//! What MADs carry, one file an attribute.

mod class_port_info;
mod extended_port_info;
mod guid_info;
mod linear_forwarding_table;
mod multicast_forwarding_table;
mod node_description;
mod node_info;
mod notice;
mod p_key_table;
mod port_counters;
mod port_counters_extended;
mod port_info;
mod sl_to_vl;
mod sm_info;
mod switch_info;
mod trap;
mod vl_arbitration;

pub use class_port_info::ClassPortInfo;
pub use extended_port_info::ExtendedPortInfo;
pub use guid_info::GuidInfo;
pub use linear_forwarding_table::{BLOCK_LIDS, LinearForwardingTable, NO_ROUTE};
pub use multicast_forwarding_table::MulticastForwardingTable;
pub use node_description::NodeDescription;
pub use node_info::NodeInfo;
pub use notice::Notice;
pub use p_key_table::{PKeyTable, PartitionKey};
pub use port_counters::PortCounters;
pub use port_counters_extended::PortCountersExtended;
pub use port_info::{PortInfo, capability};
pub use sl_to_vl::SlToVlMapping;
pub use sm_info::{SmInfo, SmState};
pub use switch_info::SwitchInfo;
pub use trap::{PacketDetails, Trap};
pub use vl_arbitration::{ArbitrationEntry, VlArbitration};
