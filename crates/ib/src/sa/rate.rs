//! Codes of rates in path and multicast records. Their order is that of their invention, not of their speed.

use crate::{LinkRate, LinkSpeed};

/// Signalled Gbit/s and code, slow to fast. Up to code 22 as `ib_types.h` of OpenSM has them; 23 (800) and
/// 24 (1,200) as libibmad, 25 (1,600) as Linux.
const RATES: [(f64, u8); 24] = [
    (2.5, 2),
    (5.0, 5),
    (10.0, 3),
    (14.0, 11),
    (20.0, 6),
    (25.0, 15),
    (28.0, 19),
    (30.0, 4),
    (40.0, 7),
    (50.0, 20),
    (56.0, 12),
    (60.0, 8),
    (80.0, 9),
    (100.0, 16),
    (112.0, 13),
    (120.0, 10),
    (168.0, 14),
    (200.0, 17),
    (300.0, 18),
    (400.0, 21),
    (600.0, 22),
    (800.0, 23),
    (1200.0, 24),
    (1600.0, 25),
];

/// What one lane signals in these codes, Gbit/s.
fn lane(speed: LinkSpeed) -> f64 {
    match speed {
        LinkSpeed::Sdr => 2.5,
        LinkSpeed::Ddr => 5.0,
        LinkSpeed::Qdr | LinkSpeed::Fdr10 => 10.0,
        LinkSpeed::Fdr => 14.0,
        LinkSpeed::Edr | LinkSpeed::Hdr | LinkSpeed::Ndr | LinkSpeed::Xdr => speed.gbps_per_lane(),
    }
}

/// The code of a link's rate; where none is as fast (12 lanes of XDR), the fastest below it.
pub fn code(rate: LinkRate) -> u8 {
    let gbps = lane(rate.speed) * f64::from(rate.width.lanes());
    RATES.iter().rev().find(|(at_most, _)| *at_most <= gbps).map_or(RATES[0].1, |&(_, code)| code)
}

/// What a code means, Gbit/s: to compare rates by speed. `None` for a reserved code.
pub fn gbps(code: u8) -> Option<f64> {
    RATES.iter().find(|(_, known)| *known == code).map(|&(gbps, _)| gbps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkWidth;

    #[test]
    fn every_link_has_a_code_of_its_speed() {
        for speed in LinkSpeed::ALL {
            for width in LinkWidth::ALL {
                let wanted = lane(speed) * f64::from(width.lanes());
                let got = gbps(code(LinkRate { width, speed })).unwrap();
                let beyond_all_codes = speed == LinkSpeed::Xdr && width == LinkWidth::X12;
                assert_eq!(got, if beyond_all_codes { 1600.0 } else { wanted }, "{width}{speed}");
            }
        }
        assert_eq!(
            ["4xSDR", "4xFDR", "4xEDR", "4xNDR", "4xXDR"].map(|r| code(r.parse().unwrap())),
            [3, 12, 16, 21, 23]
        );
        assert!(RATES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(gbps(63), None);
    }
}
