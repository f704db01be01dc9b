//! GUIDInfo: eight of the GUIDs of a port; the attribute modifier names the block.

use crate::bits;
use crate::{Attribute, AttributeId, Guid};

/// Eight of the GUIDs of a port; the attribute modifier names the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GuidInfo(pub [Guid; 8]);

impl Attribute for GuidInfo {
    const ID: AttributeId = AttributeId::GUID_INFO;
    const NAME: &'static str = "GUIDInfo";
    const LENGTH: usize = 64;

    fn parse(data: &[u8]) -> Self {
        Self(std::array::from_fn(|i| Guid(bits::get(data, i * 64, 64))))
    }

    fn emit(&self, data: &mut [u8]) {
        for (i, guid) in self.0.iter().enumerate() {
            bits::set(data, i * 64, 64, guid.0);
        }
    }
}
