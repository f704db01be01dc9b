//! VLArbitrationTable: who sends next. The attribute modifier's top half is 1 or 2 for the halves of the low-priority
//! table, 3 or 4 for those of the high-priority one; the low half names a switch's port.

use crate::{Attribute, AttributeId};

/// One turn of the arbitration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArbitrationEntry {
    /// The virtual lane, 0 to 14.
    pub lane: u8,
    /// How much it may send in its turn, in units of 64 bytes; 0 skips it.
    pub weight: u8,
}

/// 32 turns of the arbitration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VlArbitration(pub [ArbitrationEntry; 32]);

impl Attribute for VlArbitration {
    const ID: AttributeId = AttributeId::VL_ARBITRATION;
    const NAME: &'static str = "VLArbitrationTable";
    const LENGTH: usize = 64;

    fn parse(data: &[u8]) -> Self {
        Self(std::array::from_fn(|i| ArbitrationEntry { lane: data[2 * i] & 0x0f, weight: data[2 * i + 1] }))
    }

    fn emit(&self, data: &mut [u8]) {
        for (i, entry) in self.0.iter().enumerate() {
            data[2 * i] = entry.lane & 0x0f;
            data[2 * i + 1] = entry.weight;
        }
    }
}
