//! Local identifiers: the addresses that switches forward by.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bits::Field;

/// The address of an end port within one subnet.
///
/// 16 bits on every device; 17 under Heddle's own wide addressing ([`crate::wide`]), which is emulated only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lid(pub u32);

impl Lid {
    /// No LID yet.
    pub const NONE: Self = Self(0);
    /// The first unicast LID.
    pub const UNICAST_MIN: Self = Self(1);
    /// The last unicast LID of standard addressing: 49,151 of them.
    pub const UNICAST_MAX: Self = Self(0xbfff);
    /// The first multicast LID of standard addressing.
    pub const MULTICAST_MIN: Self = Self(0xc000);
    /// The permissive LID: marks directed routes.
    pub const PERMISSIVE: Self = Self(0xffff);
    /// The last unicast LID of wide addressing: 122,879 of them, for 114,688 end points and up to 8,191 switches.
    pub const WIDE_UNICAST_MAX: Self = Self(0x1_dfff);

    /// Whether a standard device takes it as the address of one port.
    #[inline]
    pub const fn is_unicast(self) -> bool {
        self.0 >= Self::UNICAST_MIN.0 && self.0 <= Self::UNICAST_MAX.0
    }
}

impl fmt::Display for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Field for Lid {
    type Bits = u64;
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u32)
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }
}
