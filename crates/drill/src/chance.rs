//! Chance from a seed.

use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of chance.
#[derive(Clone, Debug)]
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Below `limit`; 0 where the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.0.next_u64()) * limit as u128) >> 64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below((high - low) as usize + 1) as u32
    }

    /// True in so many of a million cases.
    pub fn happens(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.below(1_000_000) < per_million as usize
    }

    /// Between two times, every order of magnitude as likely as any other.
    pub fn time(&mut self, low: Duration, high: Duration) -> Duration {
        let (low, high) = (low.as_nanos().max(1) as u64, high.as_nanos().max(1) as u64);
        let doublings = (high / low).max(1).ilog2() as usize;
        let base = low << self.below(doublings + 1);
        Duration::from_nanos((base + self.below(base as usize) as u64).min(high))
    }

    /// Which of some weights, each as likely as it is heavy.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut draw = self.below(weights.iter().sum::<u32>() as usize) as u32;
        for (at, &weight) in weights.iter().enumerate() {
            if draw < weight {
                return at;
            }
            draw -= weight;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_their_bounds_and_reach_them() {
        let mut chance = Chance::new(1);
        let (low, high) = (Duration::from_micros(10), Duration::from_millis(100));
        let mut times = Vec::new();
        for _ in 0..2000 {
            assert!(chance.below(7) < 7 && (3..=5).contains(&chance.between(3, 5)));
            times.push(chance.time(low, high));
            assert_eq!(chance.weighted(&[0, 3, 0]), 1);
            assert!(chance.happens(1_000_000) && !chance.happens(0));
        }
        assert!(times.iter().all(|time| (low..=high).contains(time)));
        assert!(times.iter().filter(|&&time| time < 20 * low).count() > 200);
        assert!(times.iter().any(|&time| time > high / 2));
        assert_eq!((chance.below(0), chance.time(low, low)), (0, low));
    }
}
