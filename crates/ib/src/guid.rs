//! Global identifiers of nodes, ports and systems.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bits::Field;

/// A 64-bit identifier that a maker gave to a node, a port or an enclosure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Guid(pub u64);

/// Text that is no GUID.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is no GUID: write up to 16 hexadecimal digits, with or without 0x")]
pub struct ParseGuidError(pub String);

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl FromStr for Guid {
    type Err = ParseGuidError;

    fn from_str(text: &str) -> Result<Self, ParseGuidError> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        if digits.is_empty() || digits.starts_with('+') {
            return Err(ParseGuidError(text.to_owned()));
        }
        u64::from_str_radix(digits, 16).map(Self).map_err(|_| ParseGuidError(text.to_owned()))
    }
}

impl Serialize for Guid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Guid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Field for Guid {
    type Bits = u64;
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_way_of_writing_a_guid() {
        for text in ["0x0002c90300a1b2c3", "0002c90300a1b2c3", "0x2c90300a1b2c3", "2C90300A1B2C3"] {
            assert_eq!(text.parse(), Ok(Guid(0x0002_c903_00a1_b2c3)), "{text}");
        }
        for text in ["", "0x", "+1", "12345678901234567", "xyz"] {
            assert!(text.parse::<Guid>().is_err(), "{text}");
        }
        assert_eq!(Guid(0x2c9).to_string(), "0x00000000000002c9");
    }
}
