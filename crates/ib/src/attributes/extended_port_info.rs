//! ExtendedPortInfo: a vendor's attribute (Mellanox, 0xff90) that tells FDR10 from QDR.

use crate::AttributeId;
use crate::attribute::attribute;

attribute! {
    /// A vendor's attribute (Mellanox, 0xff90) that tells FDR10 from QDR.
    ExtendedPortInfo, AttributeId::EXTENDED_PORT_INFO, "ExtendedPortInfo", 64 bytes {
        /// Which state changes are reported.
        state_change_enable: u8 = [24, 8] "StateChangeEnable" hex;
        /// Bit 0: the port can run FDR10.
        link_speed_supported: u8 = [56, 8] "LinkSpeedSupported" hex;
        /// Bit 0: FDR10 may be used.
        link_speed_enabled: u8 = [88, 8] "LinkSpeedEnabled" hex;
        /// Bit 0: FDR10 is in use.
        link_speed_active: u8 = [120, 8] "LinkSpeedActive" hex;
    }
}
