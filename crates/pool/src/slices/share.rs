//! A part of one GPU as an exact number: sixteenths and thousandths in one unit.

use std::fmt;

use serde::Serialize;

/// How many parts a GPU has: the least number that sixteenths and thousandths both divide.
pub const PARTS: u16 = 2000;

/// A part of one GPU, in two-thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(transparent)]
pub struct Share(u16);

impl Share {
    /// A whole GPU.
    pub const WHOLE: Self = Self(PARTS);

    /// So many sixteenths, 1 to 16; `None` beyond.
    pub const fn sixteenths(count: u16) -> Option<Self> {
        if count >= 1 && count <= 16 { Some(Self(count * (PARTS / 16))) } else { None }
    }

    /// So many thousandths, 1 to 1000; `None` beyond.
    pub const fn thousandths(count: u16) -> Option<Self> {
        if count >= 1 && count <= 1000 { Some(Self(count * (PARTS / 1000))) } else { None }
    }

    /// In two-thousandths.
    pub const fn parts(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sixteenth = PARTS / 16;
        match self.0 {
            PARTS => f.write_str("1 GPU"),
            parts if parts % sixteenth == 0 => write!(f, "{}/16 GPU", parts / sixteenth),
            parts => write!(f, "{} GPU", f64::from(parts) / f64::from(PARTS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_units_are_exact() {
        assert_eq!(Share::sixteenths(2), Share::thousandths(125));
        assert_eq!(Share::sixteenths(16), Some(Share::WHOLE));
        assert_eq!(
            (Share::sixteenths(0), Share::sixteenths(17), Share::thousandths(1001)),
            (None, None, None)
        );
        let words = [Share::WHOLE, Share::sixteenths(3).unwrap(), Share::thousandths(333).unwrap()];
        assert_eq!(words.map(|share| share.to_string()), ["1 GPU", "3/16 GPU", "0.333 GPU"]);
    }
}
