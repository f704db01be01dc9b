//! PortInfo: everything of one port.

use crate::attribute::attribute;
use crate::link::{LinkRate, LinkSpeed, LinkWidth};
use crate::{AttributeId, Lid, Mtu, PhysicalState, PortState};

attribute! {
    /// Everything of one port. On a switch the attribute modifier names the port; port 0 holds the LID.
    PortInfo, AttributeId::PORT_INFO, "PortInfo", 64 bytes {
        /// The key that a Set must carry.
        m_key: u64 = [0, 64] "Mkey" hidden;
        /// The subnet's prefix.
        gid_prefix: u64 = [64, 64] "GidPrefix" hex;
        /// The base LID. 17 bits under wide addressing.
        lid: Lid = [274, 1][128, 16] "Lid" uint;
        /// The master subnet manager's LID. 17 bits under wide addressing.
        sm_lid: Lid = [275, 1][144, 16] "SMLid" uint;
        /// What the port can do: see [`capability`].
        capability_mask: u32 = [160, 32] "CapMask" capability_mask;
        /// The vendor's diagnostic code.
        diag_code: u16 = [192, 16] "DiagCode" hex;
        /// How long an M_Key protects, in seconds; 0: for ever.
        m_key_lease_period: u16 = [208, 16] "MkeyLeasePeriod" uint;
        /// The port that the question came in by.
        local_port: u8 = [224, 8] "LocalPort" uint;
        /// The widths that may be used, a bit a width.
        link_width_enabled: u8 = [232, 8] "LinkWidthEnabled" width_enabled;
        /// The widths that the port can run, a bit a width.
        link_width_supported: u8 = [240, 8] "LinkWidthSupported" width_supported;
        /// The width in use.
        link_width_active: u8 = [248, 8] "LinkWidthActive" width_active;
        /// SDR 1, DDR 2, QDR 4: what the port can run.
        link_speed_supported: u8 = [256, 4] "LinkSpeedSupported" speed_set;
        /// The logical state.
        port_state: PortState = [260, 4] "LinkState" port_state;
        /// The physical state.
        physical_state: PhysicalState = [264, 4] "PhysLinkState" physical_state;
        /// The physical state to go to when the link goes down.
        link_down_default_state: PhysicalState = [268, 4] "LinkDownDefState" link_down_state;
        /// What an M_Key protects.
        m_key_protect_bits: u8 = [272, 2] "ProtectBits" uint;
        /// The port answers to two to this LIDs.
        lmc: u8 = [277, 3] "LMC" uint;
        /// The speed in use, where it is QDR or slower.
        link_speed_active: u8 = [280, 4] "LinkSpeedActive" speed_active;
        /// Which of SDR, DDR and QDR may be used.
        link_speed_enabled: u8 = [284, 4] "LinkSpeedEnabled" speed_set;
        /// The largest payload towards the neighbour.
        neighbor_mtu: Mtu = [288, 4] "NeighborMTU" mtu;
        /// The service level to reach the subnet manager with.
        sm_sl: u8 = [292, 4] "SMSL" uint;
        /// How many virtual lanes the port has: a code, 1 to 5 for 1, 2, 4, 8, 15.
        vl_cap: u8 = [296, 4] "VLCap" virtual_lanes;
        /// What the node asks the manager to do at start.
        init_type: u8 = [300, 4] "InitType" hex;
        /// How much high-priority lanes may send before low ones get a turn.
        vl_high_limit: u8 = [304, 8] "VLHighLimit" uint;
        /// Entries of the high-priority arbitration table.
        vl_arbitration_high_cap: u8 = [312, 8] "VLArbHighCap" uint;
        /// Entries of the low-priority arbitration table.
        vl_arbitration_low_cap: u8 = [320, 8] "VLArbLowCap" uint;
        /// What the manager did at start.
        init_type_reply: u8 = [328, 4] "InitReply" hex;
        /// The largest payload that the port can take.
        mtu_cap: Mtu = [332, 4] "MtuCap" mtu;
        /// After how many dropped packets a lane stalls.
        vl_stall_count: u8 = [336, 3] "VLStallCount" uint;
        /// How long the head of a queue may wait: 4.096 us times two to this.
        head_of_queue_life: u8 = [339, 5] "HoqLife" uint;
        /// How many virtual lanes are in use: a code as in `vl_cap`.
        operational_vls: u8 = [344, 4] "OperVLs" operational_lanes;
        /// Whether partitions are enforced inwards.
        partition_enforcement_inbound: bool = [348, 1] "PartEnforceInb" uint;
        /// Whether partitions are enforced outwards.
        partition_enforcement_outbound: bool = [349, 1] "PartEnforceOutb" uint;
        /// Whether raw packets are dropped inwards.
        filter_raw_inbound: bool = [350, 1] "FilterRawInb" uint;
        /// Whether raw packets are dropped outwards.
        filter_raw_outbound: bool = [351, 1] "FilterRawOutb" uint;
        /// Requests with a wrong M_Key.
        m_key_violations: u16 = [352, 16] "MkeyViolations" uint;
        /// Packets with a wrong P_Key.
        p_key_violations: u16 = [368, 16] "PkeyViolations" uint;
        /// Packets with a wrong Q_Key.
        q_key_violations: u16 = [384, 16] "QkeyViolations" uint;
        /// How many GUIDs the port can hold.
        guid_cap: u8 = [400, 8] "GuidCap" uint;
        /// Asks the node to register again with the administrator.
        client_reregister: bool = [408, 1] "ClientReregister" uint;
        /// Whether traps of multicast partition faults are held back.
        multicast_p_key_trap_suppression: u8 = [409, 2] "McastPkeyTrapSuppressionEnabled" uint;
        /// How long a packet may cross the subnet: 4.096 us times two to this.
        subnet_timeout: u8 = [411, 5] "SubnetTimeout" uint;
        /// How long the port needs to answer: 4.096 us times two to this.
        response_time_value: u8 = [419, 5] "RespTimeVal" uint;
        /// After how many local physical errors a trap is due.
        local_physical_errors: u8 = [424, 4] "LocalPhysErr" uint;
        /// After how many overruns a trap is due.
        overrun_errors: u8 = [428, 4] "OverrunErr" uint;
        /// The most credit that the port can make use of.
        max_credit_hint: u16 = [432, 16] "MaxCreditHint" uint;
        /// The time that the link takes there and back.
        link_round_trip_latency: u32 = [456, 24] "RoundTrip" uint;
        /// More of what the port can do.
        capability_mask2: u16 = [480, 16] "CapabilityMask2" capability_mask2;
        /// FDR 1, EDR 2, HDR 4, NDR 8: the speed in use where it is one of these.
        link_speed_ext_active: u8 = [496, 4] "LinkSpeedExtActive" speed_extended_active;
        /// Which of FDR to NDR the port can run.
        link_speed_ext_supported: u8 = [500, 4] "LinkSpeedExtSupported" speed_extended_supported;
        /// Which of FDR to NDR may be used.
        link_speed_ext_enabled: u8 = [507, 5] "LinkSpeedExtEnabled" speed_extended_enabled;
        /// XDR 1: the speed in use where it is beyond NDR.
        link_speed_ext_active2: u8 = [449, 2] "LinkSpeedExtActive2" speed_extended2;
        /// Which speeds beyond NDR the port can run.
        link_speed_ext_supported2: u8 = [451, 2] "LinkSpeedExtSupported2" speed_extended2;
        /// Which speeds beyond NDR may be used.
        link_speed_ext_enabled2: u8 = [453, 3] "LinkSpeedExtEnabled2" speed_extended2;
    }
}

/// Bits of [`PortInfo::capability_mask`].
pub mod capability {
    /// A subnet manager runs behind the port.
    pub const IS_SM: u32 = 1 << 1;
    /// The node sends notices.
    pub const HAS_NOTICE: u32 = 1 << 2;
    /// The node sends traps.
    pub const HAS_TRAP: u32 = 1 << 3;
    /// The node maps service levels to virtual lanes.
    pub const HAS_SL_MAPPING: u32 = 1 << 6;
    /// A manager behind the port is not to be counted.
    pub const SM_DISABLED: u32 = 1 << 10;
    /// The port has the fields of FDR and beyond.
    pub const HAS_EXTENDED_SPEEDS: u32 = 1 << 14;
    /// The port has `capability_mask2`.
    pub const HAS_CAPABILITY_MASK2: u32 = 1 << 15;
    /// The node takes vendor classes.
    pub const HAS_VENDOR_CLASS: u32 = 1 << 20;
    /// The node sends trap 144 when this mask changes.
    pub const HAS_CAPABILITY_MASK_NOTICE: u32 = 1 << 22;
    /// The node registers again when asked by [`super::PortInfo::client_reregister`].
    pub const HAS_CLIENT_REREGISTRATION: u32 = 1 << 25;
}

impl PortInfo {
    /// Width and speed in use; `None` where the port is down or a code is reserved. FDR10 hides behind QDR: see
    /// [`crate::ExtendedPortInfo`].
    ///
    /// The fields for FDR and beyond count wherever they are not 0, as they are on a device that does not have them:
    /// the capability mask that announces them is there only in port 0 of a switch.
    pub fn link_rate(&self) -> Option<LinkRate> {
        let width = LinkWidth::from_code(self.link_width_active)?;
        let speed = match (self.link_speed_ext_active2, self.link_speed_ext_active, self.link_speed_active) {
            (1, _, _) => LinkSpeed::Xdr,
            (_, 8, _) => LinkSpeed::Ndr,
            (_, 4, _) => LinkSpeed::Hdr,
            (_, 2, _) => LinkSpeed::Edr,
            (_, 1, _) => LinkSpeed::Fdr,
            (_, _, 1) => LinkSpeed::Sdr,
            (_, _, 2) => LinkSpeed::Ddr,
            (_, _, 4) => LinkSpeed::Qdr,
            _ => return None,
        };
        Some(LinkRate { width, speed })
    }

    /// Sets the fields for width and speed in use. FDR10 sets QDR.
    pub fn set_link_rate(&mut self, rate: LinkRate) {
        self.link_width_active = rate.width.code();
        let (basic, extended, extended2) = match rate.speed {
            LinkSpeed::Sdr => (1, 0, 0),
            LinkSpeed::Ddr => (2, 0, 0),
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => (4, 0, 0),
            LinkSpeed::Fdr => (4, 1, 0),
            LinkSpeed::Edr => (4, 2, 0),
            LinkSpeed::Hdr => (4, 4, 0),
            LinkSpeed::Ndr => (4, 8, 0),
            LinkSpeed::Xdr => (4, 0, 1),
        };
        self.link_speed_active = basic;
        self.link_speed_ext_active = extended;
        self.link_speed_ext_active2 = extended2;
        if extended | extended2 != 0 {
            self.capability_mask |= capability::HAS_EXTENDED_SPEEDS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_but_fdr10_goes_in_and_comes_out() {
        for width in LinkWidth::ALL {
            for speed in LinkSpeed::ALL.into_iter().filter(|&speed| speed != LinkSpeed::Fdr10) {
                let mut info = PortInfo::default();
                info.set_link_rate(LinkRate { width, speed });
                assert_eq!(info.link_rate(), Some(LinkRate { width, speed }));
            }
        }
        assert_eq!(PortInfo::default().link_rate(), None);
    }

    #[test]
    fn ports_of_a_switch_announce_no_capabilities() {
        let mut info = PortInfo::default();
        info.set_link_rate(LinkRate::x4(LinkSpeed::Ndr));
        info.capability_mask = 0;
        assert_eq!(info.link_rate(), Some(LinkRate::x4(LinkSpeed::Ndr)));
    }
}
