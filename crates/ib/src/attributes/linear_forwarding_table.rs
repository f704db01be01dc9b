//! LinearForwardingTable: by which port 64 LIDs leave a switch; the attribute modifier names the block.

use crate::{Attribute, AttributeId};

/// How many LIDs one block holds.
pub const BLOCK_LIDS: usize = 64;

/// The entry of a LID that a switch has no way to: packets to it are dropped.
pub const NO_ROUTE: u8 = 255;

/// The port that each of 64 LIDs leaves by; port 0 is the switch itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinearForwardingTable(pub [u8; BLOCK_LIDS]);

impl Default for LinearForwardingTable {
    /// No way to any LID.
    fn default() -> Self {
        Self([NO_ROUTE; BLOCK_LIDS])
    }
}

impl Attribute for LinearForwardingTable {
    const ID: AttributeId = AttributeId::LINEAR_FORWARDING_TABLE;
    const NAME: &'static str = "LinearForwardingTable";
    const LENGTH: usize = BLOCK_LIDS;

    #[inline]
    fn parse(data: &[u8]) -> Self {
        let mut ports = [0; BLOCK_LIDS];
        ports.copy_from_slice(&data[..BLOCK_LIDS]);
        Self(ports)
    }

    #[inline]
    fn emit(&self, data: &mut [u8]) {
        data[..BLOCK_LIDS].copy_from_slice(&self.0);
    }
}
