//! PortCounters: what a port has counted, in counters that stick at their largest value.

use crate::AttributeId;
use crate::attribute::attribute;

attribute! {
    /// What a port has counted, in counters that stick at their largest value.
    PortCounters, AttributeId::PORT_COUNTERS, "PortCounters", 44 bytes {
        /// The port asked for; 255 is all.
        port_select: u8 = [8, 8] "PortSelect" uint;
        /// Which counters a Set writes, a bit a counter.
        counter_select: u16 = [16, 16] "CounterSelect" hex;
        /// Symbols received in error.
        symbol_errors: u16 = [32, 16] "SymbolErrorCounter" uint;
        /// Times that the link recovered by itself.
        link_error_recoveries: u8 = [48, 8] "LinkErrorRecoveryCounter" uint;
        /// Times that the link went down.
        link_downed: u8 = [56, 8] "LinkDownedCounter" uint;
        /// Packets received in error.
        receive_errors: u16 = [64, 16] "PortRcvErrors" uint;
        /// Packets received that another switch had marked bad.
        receive_remote_physical_errors: u16 = [80, 16] "PortRcvRemotePhysicalErrors" uint;
        /// Packets received that could not be forwarded.
        receive_switch_relay_errors: u16 = [96, 16] "PortRcvSwitchRelayErrors" uint;
        /// Packets not sent, because the port was down or congested.
        transmit_discards: u16 = [112, 16] "PortXmitDiscards" uint;
        /// Packets not sent, by partition or raw filter.
        transmit_constraint_errors: u8 = [128, 8] "PortXmitConstraintErrors" uint;
        /// Packets not taken, by partition or raw filter.
        receive_constraint_errors: u8 = [136, 8] "PortRcvConstraintErrors" uint;
        /// More of which counters a Set writes.
        counter_select2: u8 = [144, 8] "CounterSelect2" hex;
        /// Times that local errors passed the threshold.
        local_link_integrity_errors: u8 = [152, 4] "LocalLinkIntegrityErrors" uint;
        /// Times that buffers overran in a row.
        excessive_buffer_overruns: u8 = [156, 4] "ExcessiveBufferOverrunErrors" uint;
        /// General management packets dropped.
        qp1_dropped: u16 = [160, 16] "QP1Dropped" uint;
        /// Subnet management packets dropped for want of a buffer.
        vl15_dropped: u16 = [176, 16] "VL15Dropped" uint;
        /// Data sent, in 4 bytes.
        transmit_data: u32 = [192, 32] "PortXmitData" uint;
        /// Data received, in 4 bytes.
        receive_data: u32 = [224, 32] "PortRcvData" uint;
        /// Packets sent.
        transmit_packets: u32 = [256, 32] "PortXmitPkts" uint;
        /// Packets received.
        receive_packets: u32 = [288, 32] "PortRcvPkts" uint;
        /// Ticks that the port had something to send and no credit.
        transmit_wait: u32 = [320, 32] "PortXmitWait" uint;
    }
}
