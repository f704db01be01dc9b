//! Heddle's own wide addressing: 17-bit LIDs, for emulated fabrics only.
//!
//! 17 bits give 131,072 addresses: LIDs 1 to 0x1dfff are unicast, 0x1e000 and above multicast. So one subnet holds
//! 114,688 end points (2.33 times the standard's range) and, because a switch takes a LID too, up to 8,191 switches.
//! No vendor has published a wire format, so this one is Heddle's own: bit 16 of each LID-sized field travels in a bit
//! that the standard reserves, and is 0 on every standard device.
//!
//! | field | low 16 bits at | bit 16 at |
//! | --- | --- | --- |
//! | PortInfo.LID | 128 | 274 |
//! | PortInfo.MasterSMLID | 144 | 275 |
//! | SwitchInfo.LinearFDBCap | 0 | 133 |
//! | SwitchInfo.LinearFDBTop | 48 | 134 |
//! | Notice.DataDetails of trap 128, of traps 129 to 131, 144 and 145 | 0, 16 | 431 |
//!
//! LinearForwardingTable blocks need nothing: their number is the 32-bit attribute modifier. Wide subnets are
//! managed by directed routes alone, whose header carries no LID.

use serde::{Deserialize, Serialize};

use crate::Lid;

/// How many bits a LID has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addressing {
    /// 16 bits, as every device has them.
    #[default]
    Standard,
    /// 17 bits, emulated only.
    Wide,
}

impl Addressing {
    /// The largest unicast LID.
    pub const fn unicast_max(self) -> Lid {
        match self {
            Self::Standard => Lid::UNICAST_MAX,
            Self::Wide => Lid::WIDE_UNICAST_MAX,
        }
    }
}
