//! SMInfo: who manages, how strongly, and in which state.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attribute::attribute;
use crate::bits::Field;
use crate::{AttributeId, Guid};

/// The state of a subnet manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SmState(pub u8);

impl SmState {
    /// Does not take part.
    pub const NOT_ACTIVE: Self = Self(0);
    /// Looks around.
    pub const DISCOVERING: Self = Self(1);
    /// Leaves the subnet to another and watches it.
    pub const STANDBY: Self = Self(2);
    /// Manages the subnet.
    pub const MASTER: Self = Self(3);
}

impl fmt::Display for SmState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NOT_ACTIVE => f.pad("not active"),
            Self::DISCOVERING => f.pad("discovering"),
            Self::STANDBY => f.pad("standby"),
            Self::MASTER => f.pad("master"),
            Self(code) => write!(f, "state {code}"),
        }
    }
}

impl Field for SmState {
    type Bits = u64;
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u8)
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }
}

attribute! {
    /// Who manages, how strongly, and in which state.
    SmInfo, AttributeId::SM_INFO, "SMInfo", 24 bytes {
        /// The GUID of the manager's port.
        guid: Guid = [0, 64] "SmInfoGuid" hex;
        /// The key of its administration; 0 towards all but other managers.
        sm_key: u64 = [64, 64] "SmInfoKey" hex;
        /// Grows while the manager lives.
        activity_count: u32 = [128, 32] "SmActivity" uint;
        /// 0 to 15; the higher one masters, at a tie the smaller GUID.
        priority: u8 = [160, 4] "SmPriority" uint;
        /// What the manager is doing.
        state: SmState = [164, 4] "SmState" uint;
    }
}
