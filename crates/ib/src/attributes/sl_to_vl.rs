//! SLtoVLMappingTable: which virtual lane each service level takes. On a switch the attribute modifier names the port
//! in (bits 8 to 15) and the port out (bits 0 to 7).

use crate::bits;
use crate::{Attribute, AttributeId};

/// The virtual lane (0 to 15, 15 drops) of each of the 16 service levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlToVlMapping(pub [u8; 16]);

impl SlToVlMapping {
    /// Service levels dealt over the first `lanes` lanes in turn, as devices have it after a reset.
    pub fn round_robin(lanes: u8) -> Self {
        Self(std::array::from_fn(|level| level as u8 % lanes.max(1)))
    }
}

impl Attribute for SlToVlMapping {
    const ID: AttributeId = AttributeId::SL_TO_VL_MAPPING;
    const NAME: &'static str = "SLtoVLMappingTable";
    const LENGTH: usize = 8;

    fn parse(data: &[u8]) -> Self {
        Self(std::array::from_fn(|i| bits::get(data, i * 4, 4) as u8))
    }

    fn emit(&self, data: &mut [u8]) {
        for (i, &lane) in self.0.iter().enumerate() {
            bits::set(data, i * 4, 4, u64::from(lane));
        }
    }
}
