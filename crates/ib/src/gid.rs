//! Global identifiers as packets carry them: a subnet's prefix and a GUID, or a multicast group.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Guid;
use crate::bits::Field;

/// A 128-bit address: of a port (prefix and GUID) or of a multicast group. Written as an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gid(pub u128);

/// Text that is no GID.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is no GID: write it as an IPv6 address, as in fe80::2c9:300:a1:b2c3")]
pub struct ParseGidError(pub String);

impl Gid {
    /// The prefix of a subnet that no router joins to another.
    pub const DEFAULT_PREFIX: u64 = 0xfe80_0000_0000_0000;

    /// The GID of a port.
    #[inline]
    pub const fn new(prefix: u64, guid: Guid) -> Self {
        Self((prefix as u128) << 64 | guid.0 as u128)
    }

    /// The upper half.
    #[inline]
    pub const fn prefix(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The lower half: of a port's GID its GUID.
    #[inline]
    pub const fn guid(self) -> Guid {
        Guid(self.0 as u64)
    }

    /// Whether it names a multicast group.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0 >> 120 == 0xff
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from_bits(self.0).fmt(f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Gid {
    type Err = ParseGidError;

    fn from_str(text: &str) -> Result<Self, ParseGidError> {
        text.parse()
            .map(|address: Ipv6Addr| Self(address.to_bits()))
            .map_err(|_| ParseGidError(text.to_owned()))
    }
}

impl Serialize for Gid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Field for Gid {
    type Bits = u128;
    #[inline(always)]
    fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
    #[inline(always)]
    fn to_bits(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_as_ipv6() {
        let gid = Gid::new(Gid::DEFAULT_PREFIX, Guid(0x0002_c903_00a1_b2c3));
        assert_eq!(gid.to_string(), "fe80::2:c903:a1:b2c3");
        assert_eq!(gid.to_string().parse(), Ok(gid));
        assert_eq!((gid.prefix(), gid.guid()), (Gid::DEFAULT_PREFIX, Guid(0x0002_c903_00a1_b2c3)));
        assert!(!gid.is_multicast());
        assert!("ff12:401b:ffff::ffff:ffff".parse::<Gid>().unwrap().is_multicast());
        assert!("leaf1".parse::<Gid>().unwrap_err().to_string().contains("IPv6"));
    }
}
