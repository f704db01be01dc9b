//! How many paths random permutations of the hosts bring together on a link.
//!
//! Each permutation puts `λ` paths on a link in the mean. How many more it may be depends on whose they are: a link that
//! carries all paths to one destination and none to others always has one, where shares of many destinations add up by
//! chance. The variance is `λ` less the squares of the shares of each destination's and of each source's paths that come by,
//! and the probability of many paths is at most `exp(tλ + (e^t - 1 - t) variance)` (Bennett, 1962), up to a factor that is
//! the same for all links: its *chance*.
//!
//! Logarithms and powers are worked out here, so that tables are the same on every machine.

use std::f64::consts::LN_2;

/// By how much such a bound is too high, about.
const SLACK: f64 = 8.0;
/// More paths on a link than this many times the mean are not looked for.
const MOST_TIMES: f64 = 20.0;

/// How much the mean and the squares of the shares count, in powers of 2.
#[derive(Clone, Copy)]
pub struct Chance {
    mean: f64,
    certain: f64,
}

impl Chance {
    /// The chance of as many paths as only about one link of all reaches: `links` tells of each its mean, and how much of
    /// that is certain.
    pub fn of_many(links: impl Iterator<Item = (f64, f64)> + Clone, mean: f64) -> Self {
        let mean = mean.max(0.01);
        let mut many = mean.floor() + 1.0;
        loop {
            let (times, power) = (many / mean, ln(many / mean));
            let chance = Self { mean: (times - 1.0) / LN_2, certain: (times - 1.0 - power) / LN_2 };
            let sum: f64 = links.clone().map(|(mean, certain)| chance.of(mean, certain)).sum();
            if sum < SLACK * power_of_two(many * power / LN_2) || times > MOST_TIMES {
                return chance;
            }
            many += 1.0;
        }
    }

    /// Of a link with so many paths in the mean, so much of which is certain: the squares of shares.
    #[inline]
    pub fn of(self, mean: f64, certain: f64) -> f64 {
        power_of_two(self.mean * mean - self.certain * certain.min(mean))
    }
}

/// The natural logarithm of 1 or more.
fn ln(x: f64) -> f64 {
    let (mut x, mut sum) = (x.max(1.0), 0.0);
    while x > 2.0 {
        (x, sum) = (x / 2.0, sum + LN_2);
    }
    // Twice the inverse hyperbolic tangent of this, which is at most 1/3.
    let y = (x - 1.0) / (x + 1.0);
    let (mut term, mut number) = (2.0 * y, 1.0);
    while number < 40.0 {
        sum += term / number;
        (term, number) = (term * y * y, number + 2.0);
    }
    sum
}

/// 2 to the power of `x`, within a third of a per cent, and convex.
#[inline]
pub fn power_of_two(x: f64) -> f64 {
    let x = x.clamp(-500.0, 500.0);
    let whole = x.floor();
    let rest = x - whole;
    f64::from_bits(((1023 + whole as i64) as u64) << 52) * (1.0 + rest * (0.6565 + 0.3435 * rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_powers_are_near() {
        for x in [1.0, 1.5, 2.0, 3.7, 5.0, 100.0, 12345.0] {
            assert!((ln(x) - f64::ln(x)).abs() < 1e-12, "{x}");
        }
        for x in -40..40 {
            let x = f64::from(x) * 0.3;
            assert!((power_of_two(x) / x.exp2() - 1.0).abs() < 0.004, "{x}");
        }
    }

    #[test]
    fn what_is_certain_and_what_is_less_meet_less() {
        // One path in the mean on each of 400 links: five or six on the fullest.
        let chance = Chance::of_many((0..400).map(|_| (1.0, 0.0)), 1.0);
        let many = chance.mean * LN_2 + 1.0;
        assert!((4.9..6.1).contains(&many), "{many}");
        assert!(chance.of(1.0, 1.0) < chance.of(1.0, 0.5) && chance.of(1.0, 0.5) < chance.of(1.1, 0.5));
        // Ten others on it make no difference.
        let links = (0..400).map(|link| (1.0, f64::from(link % 2)));
        assert!(Chance::of_many(links, 1.0).mean <= chance.mean);
    }
}
