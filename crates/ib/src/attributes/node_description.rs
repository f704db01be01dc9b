//! NodeDescription: the name that people gave a node.

use std::fmt;

use crate::{Attribute, AttributeId};

/// The name that people gave a node: 64 bytes of text, ended by the first zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NodeDescription(pub [u8; 64]);

impl NodeDescription {
    /// The description of this text, cut after 64 bytes.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; 64];
        let length = text.len().min(64);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self(bytes)
    }

    /// The text; bytes that are no UTF-8 and control characters become question marks.
    pub fn text(&self) -> String {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(64);
        String::from_utf8_lossy(&self.0[..length])
            .chars()
            .map(|c| if c.is_control() || c == char::REPLACEMENT_CHARACTER { '?' } else { c })
            .collect()
    }
}

impl fmt::Debug for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

impl Default for NodeDescription {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Attribute for NodeDescription {
    const ID: AttributeId = AttributeId::NODE_DESCRIPTION;
    const NAME: &'static str = "NodeDescription";
    const LENGTH: usize = 64;

    fn parse(data: &[u8]) -> Self {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(&data[..64]);
        Self(bytes)
    }

    fn emit(&self, data: &mut [u8]) {
        data[..64].copy_from_slice(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_cleaned() {
        assert_eq!(NodeDescription::new("leaf1").text(), "leaf1");
        assert_eq!(NodeDescription::new(&"x".repeat(80)).text().len(), 64);
        assert_eq!(NodeDescription::new("a\tb\u{1b}c").text(), "a?b?c");
        let mut broken = NodeDescription::new("ab");
        broken.0[1] = 0xff;
        assert_eq!(broken.text(), "a?");
    }
}
