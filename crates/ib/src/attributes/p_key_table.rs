//! P_KeyTable: 32 of the partition keys of a port; the attribute modifier names block and, on a switch, port.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bits;
use crate::{Attribute, AttributeId};

/// A partition's number (15 bits) and whether the port is a full member of it (the top bit).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionKey(pub u16);

impl PartitionKey {
    /// The default partition, full membership.
    pub const DEFAULT_FULL: Self = Self(0xffff);
    /// The default partition, limited membership.
    pub const DEFAULT_LIMITED: Self = Self(0x7fff);

    /// Whether the port may talk to limited members too.
    pub const fn is_full(self) -> bool {
        self.0 & 0x8000 != 0
    }
}

impl fmt::Debug for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// 32 of the partition keys of a port; key 0 stands for an empty place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PKeyTable(pub [PartitionKey; 32]);

impl Attribute for PKeyTable {
    const ID: AttributeId = AttributeId::P_KEY_TABLE;
    const NAME: &'static str = "P_KeyTable";
    const LENGTH: usize = 64;

    fn parse(data: &[u8]) -> Self {
        Self(std::array::from_fn(|i| PartitionKey(bits::get(data, i * 16, 16) as u16)))
    }

    fn emit(&self, data: &mut [u8]) {
        for (i, key) in self.0.iter().enumerate() {
            bits::set(data, i * 16, 16, u64::from(key.0));
        }
    }
}
