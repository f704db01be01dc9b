//! PortCountersExtended: what a port has counted, in 64 bits.

use crate::AttributeId;
use crate::attribute::attribute;

attribute! {
    /// What a port has counted, in 64 bits. The error counters are there where CapabilityMask2 of the class says so.
    PortCountersExtended, AttributeId::PORT_COUNTERS_EXTENDED, "PortCountersExtended", 184 bytes {
        /// The port asked for; 255 is all.
        port_select: u8 = [8, 8] "PortSelect" uint;
        /// Which counters a Set writes, a bit a counter.
        counter_select: u16 = [16, 16] "CounterSelect" hex;
        /// Data sent, in 4 bytes.
        transmit_data: u64 = [64, 64] "PortXmitData" uint;
        /// Data received, in 4 bytes.
        receive_data: u64 = [128, 64] "PortRcvData" uint;
        /// Packets sent.
        transmit_packets: u64 = [192, 64] "PortXmitPkts" uint;
        /// Packets received.
        receive_packets: u64 = [256, 64] "PortRcvPkts" uint;
        /// Packets sent to one.
        unicast_transmit_packets: u64 = [320, 64] "PortUnicastXmitPkts" uint;
        /// Packets received for one.
        unicast_receive_packets: u64 = [384, 64] "PortUnicastRcvPkts" uint;
        /// Packets sent to many.
        multicast_transmit_packets: u64 = [448, 64] "PortMulticastXmitPkts" uint;
        /// Packets received for many.
        multicast_receive_packets: u64 = [512, 64] "PortMulticastRcvPkts" uint;
        /// Which error counters a Set writes, a bit a counter.
        counter_select2: u32 = [32, 32] "CounterSelect2" hex;
        /// As in PortCounters.
        symbol_errors: u64 = [576, 64] "SymbolErrorCounter" uint;
        /// As in PortCounters.
        link_error_recoveries: u64 = [640, 64] "LinkErrorRecoveryCounter" uint;
        /// As in PortCounters.
        link_downed: u64 = [704, 64] "LinkDownedCounter" uint;
        /// As in PortCounters.
        receive_errors: u64 = [768, 64] "PortRcvErrors" uint;
        /// As in PortCounters.
        receive_remote_physical_errors: u64 = [832, 64] "PortRcvRemotePhysicalErrors" uint;
        /// As in PortCounters.
        receive_switch_relay_errors: u64 = [896, 64] "PortRcvSwitchRelayErrors" uint;
        /// As in PortCounters.
        transmit_discards: u64 = [960, 64] "PortXmitDiscards" uint;
        /// As in PortCounters.
        transmit_constraint_errors: u64 = [1024, 64] "PortXmitConstraintErrors" uint;
        /// As in PortCounters.
        receive_constraint_errors: u64 = [1088, 64] "PortRcvConstraintErrors" uint;
        /// As in PortCounters.
        local_link_integrity_errors: u64 = [1152, 64] "LocalLinkIntegrityErrors" uint;
        /// As in PortCounters.
        excessive_buffer_overruns: u64 = [1216, 64] "ExcessiveBufferOverrunErrors" uint;
        /// As in PortCounters.
        vl15_dropped: u64 = [1280, 64] "VL15Dropped" uint;
        /// As in PortCounters.
        transmit_wait: u64 = [1344, 64] "PortXmitWait" uint;
        /// As in PortCounters.
        qp1_dropped: u64 = [1408, 64] "QP1Dropped" uint;
    }
}
