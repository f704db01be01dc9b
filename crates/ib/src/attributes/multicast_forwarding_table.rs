//! MulticastForwardingTable: by which of 16 ports each of 32 multicast LIDs leaves a switch. The attribute modifier
//! names the block (bits 0 to 8) and which 16 ports (bits 28 to 31).

use crate::bits;
use crate::{Attribute, AttributeId};

/// A set of 16 ports for each of 32 multicast LIDs, bit 0 the lowest port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MulticastForwardingTable(pub [u16; 32]);

impl Attribute for MulticastForwardingTable {
    const ID: AttributeId = AttributeId::MULTICAST_FORWARDING_TABLE;
    const NAME: &'static str = "MulticastForwardingTable";
    const LENGTH: usize = 64;

    fn parse(data: &[u8]) -> Self {
        Self(std::array::from_fn(|i| bits::get(data, i * 16, 16) as u16))
    }

    fn emit(&self, data: &mut [u8]) {
        for (i, &ports) in self.0.iter().enumerate() {
            bits::set(data, i * 16, 16, u64::from(ports));
        }
    }
}
