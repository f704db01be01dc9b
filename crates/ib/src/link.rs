//! What a link runs at: width, speed, packet size.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How many lanes a link runs on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LinkWidth {
    /// One lane.
    X1 = 1,
    /// Two lanes.
    X2 = 2,
    /// Four lanes.
    X4 = 4,
    /// Eight lanes.
    X8 = 8,
    /// Twelve lanes.
    X12 = 12,
}

impl LinkWidth {
    /// Every width, narrow to wide.
    pub const ALL: [Self; 5] = [Self::X1, Self::X2, Self::X4, Self::X8, Self::X12];

    /// How many lanes.
    pub const fn lanes(self) -> u8 {
        self as u8
    }

    /// The width that a LinkWidthActive code means.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::X1),
            2 => Some(Self::X4),
            4 => Some(Self::X8),
            8 => Some(Self::X12),
            16 => Some(Self::X2),
            _ => None,
        }
    }

    /// The LinkWidthActive code, also its bit in the sets of widths.
    pub const fn code(self) -> u8 {
        match self {
            Self::X1 => 1,
            Self::X4 => 2,
            Self::X8 => 4,
            Self::X12 => 8,
            Self::X2 => 16,
        }
    }
}

impl fmt::Display for LinkWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.lanes())
    }
}

/// The generation that a lane runs at, slow to fast.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LinkSpeed {
    /// Single data rate, 2.5 Gbit/s signalled.
    Sdr,
    /// Double data rate.
    Ddr,
    /// Quad data rate.
    Qdr,
    /// A vendor's 10.3 Gbit/s rate between QDR and FDR.
    Fdr10,
    /// Fourteen data rate.
    Fdr,
    /// Enhanced data rate.
    Edr,
    /// High data rate.
    Hdr,
    /// Next data rate.
    Ndr,
    /// Extreme data rate.
    Xdr,
}

impl LinkSpeed {
    /// Every speed, slow to fast.
    pub const ALL: [Self; 9] =
        [Self::Sdr, Self::Ddr, Self::Qdr, Self::Fdr10, Self::Fdr, Self::Edr, Self::Hdr, Self::Ndr, Self::Xdr];

    /// What one lane carries after encoding, Gbit/s (4 lanes: SDR 8 … FDR 54.5, EDR 100 … XDR 800).
    pub const fn gbps_per_lane(self) -> f64 {
        match self {
            Self::Sdr => 2.0,
            Self::Ddr => 4.0,
            Self::Qdr => 8.0,
            Self::Fdr10 => 10.0,
            Self::Fdr => 13.625,
            Self::Edr => 25.0,
            Self::Hdr => 50.0,
            Self::Ndr => 100.0,
            Self::Xdr => 200.0,
        }
    }

    /// The field's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
            Self::Xdr => "XDR",
        }
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for LinkSpeed {
    type Err = ParseRateError;

    fn from_str(text: &str) -> Result<Self, ParseRateError> {
        Self::ALL
            .into_iter()
            .find(|speed| speed.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| ParseRateError(text.to_owned()))
    }
}

/// Width and speed of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkRate {
    /// How many lanes.
    pub width: LinkWidth,
    /// What each lane runs at.
    pub speed: LinkSpeed,
}

/// Text that is no link rate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" is no link rate: write a width of 1x, 2x, 4x, 8x or 12x and a speed from SDR to XDR, as in 4xNDR"
)]
pub struct ParseRateError(pub String);

impl LinkRate {
    /// A rate of four lanes, as nearly every link is.
    pub const fn x4(speed: LinkSpeed) -> Self {
        Self { width: LinkWidth::X4, speed }
    }

    /// What the link carries one way, Gbit/s.
    pub fn gbps(self) -> f64 {
        f64::from(self.width.lanes()) * self.speed.gbps_per_lane()
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.width, self.speed)
    }
}

impl FromStr for LinkRate {
    type Err = ParseRateError;

    fn from_str(text: &str) -> Result<Self, ParseRateError> {
        let wrong = || ParseRateError(text.to_owned());
        let (lanes, speed) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
        let lanes: u8 = lanes.trim().parse().map_err(|_| wrong())?;
        let width = LinkWidth::ALL.into_iter().find(|w| w.lanes() == lanes).ok_or_else(wrong)?;
        let speed = speed.trim().parse().map_err(|_| wrong())?;
        Ok(Self { width, speed })
    }
}

impl Serialize for LinkRate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LinkRate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// How many data lanes a VLCap or OperationalVLs code means: 1, 2, 4, 8, 15 for 1 to 5, one for any other.
pub const fn virtual_lanes(code: u8) -> u8 {
    match code {
        2 => 2,
        3 => 4,
        4 => 8,
        5 => 15,
        _ => 1,
    }
}

/// Codes of packet payload sizes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mtu(pub u8);

impl Mtu {
    /// 256 bytes.
    pub const M256: Self = Self(1);
    /// 512 bytes.
    pub const M512: Self = Self(2);
    /// 1,024 bytes.
    pub const M1024: Self = Self(3);
    /// 2,048 bytes.
    pub const M2048: Self = Self(4);
    /// 4,096 bytes.
    pub const M4096: Self = Self(5);

    /// The size in bytes; `None` for a reserved code.
    pub const fn bytes(self) -> Option<u32> {
        match self.0 {
            1..=5 => Some(128 << self.0),
            _ => None,
        }
    }
}

impl crate::bits::Field for Mtu {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_print_and_read_back() {
        for width in LinkWidth::ALL {
            assert_eq!(LinkWidth::from_code(width.code()), Some(width));
            for speed in LinkSpeed::ALL {
                let rate = LinkRate { width, speed };
                assert_eq!(rate.to_string().parse(), Ok(rate));
            }
        }
        assert_eq!("12xXDR".parse::<LinkRate>().unwrap().gbps(), 2400.0);
        assert!(
            "4x ???".parse::<LinkRate>().unwrap_err().to_string().starts_with("\"4x ???\" is no link rate")
        );
        assert!("3xSDR".parse::<LinkRate>().is_err());
    }

    #[test]
    fn payload_is_as_published() {
        let four = |speed| LinkRate::x4(speed).gbps();
        assert_eq!(LinkSpeed::ALL.map(four), [8.0, 16.0, 32.0, 40.0, 54.5, 100.0, 200.0, 400.0, 800.0]);
        assert_eq!(Mtu::M4096.bytes(), Some(4096));
        assert_eq!(Mtu(6).bytes(), None);
    }
}
