//! What a path over a link costs the destination that would take it.
//!
//! A price grows faster than the load, so that a long way round a crowd is better than the crowd; in the first rounds
//! slower, to find a good order of things.

/// How loads are priced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Price {
    /// The load, as a share of the least that its level could carry, to this power.
    Power(i32),
    /// Twice as much with every switch's worth of paths beyond that least.
    Beyond,
}

/// Rounds after which prices begin anew.
const CYCLE: u64 = 12;

impl Price {
    /// The price in a round of the search. After a while it begins anew: what is nearly in order comes apart once more,
    /// and often finds a better one.
    pub fn of_round(round: u64) -> Self {
        match round % CYCLE {
            0..2 => Self::Power(1),
            2..5 => Self::Power(4),
            _ if round.is_multiple_of(2) => Self::Power(8),
            _ => Self::Beyond,
        }
    }

    /// Of a link that would carry `load`, where no less than `least` is possible and a switch's hosts add
    /// `bundle`.
    #[inline]
    pub fn of(self, load: f64, least: f64, bundle: f64) -> f64 {
        match self {
            Self::Power(power) => (load / least).powi(power),
            Self::Beyond => doubling((load - least) / bundle),
        }
    }
}

/// 2 to the power of `x`, between whole powers along a straight line.
#[inline]
fn doubling(x: f64) -> f64 {
    let x = x.clamp(-500.0, 500.0);
    let whole = x.floor();
    f64::from_bits(((1023 + whole as i64) as u64) << 52) * (1.0 + (x - whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_is_right_at_whole_powers_and_rises_between() {
        for power in -20..20 {
            assert_eq!(doubling(f64::from(power)), f64::from(power).exp2());
            assert_eq!(doubling(f64::from(power) + 0.5), 1.5 * f64::from(power).exp2());
        }
        assert!(doubling(1e9).is_finite() && doubling(-1e9) > 0.0);
    }
}
