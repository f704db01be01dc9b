//! Chance from a seed.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Puts a list into an order that is drawn, each as likely (Fisher and Yates).
pub(crate) fn shuffle<T>(random: &mut Xoshiro256PlusPlus, list: &mut [T]) {
    for at in (1..list.len()).rev() {
        list.swap(at, below(random, at + 1).unwrap_or(0));
    }
}

/// A number below `count`, each as likely; nothing below 0.
pub(crate) fn below(random: &mut Xoshiro256PlusPlus, count: usize) -> Option<usize> {
    // The high half of a product of 128 bits: a bias of less than count in 2^64.
    let high = (u128::from(random.next_u64()) * count as u128) >> 64;
    (count > 0).then_some(high as usize)
}

/// Draws from distributions.
#[derive(Debug)]
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From 0, below 1.
    pub(crate) fn part(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Around 0 with a deviation of 1: the sum of twelve parts is near enough to a normal deviate.
    pub(crate) fn deviate(&mut self) -> f64 {
        (0..12).map(|_| self.part()).sum::<f64>() - 6.0
    }

    /// The time to the next of events that come at random, `mean` apart on average.
    pub(crate) fn gap(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.part()).ln()
    }

    /// One of a list of things, each with its weight.
    pub(crate) fn one_of<T: Copy>(&mut self, list: &[(T, u32)]) -> Option<T> {
        let sum: u32 = list.iter().map(|(_, weight)| weight).sum();
        let mut drawn = (self.part() * f64::from(sum)) as u32;
        for &(thing, weight) in list {
            if drawn < weight {
                return Some(thing);
            }
            drawn -= weight;
        }
        None
    }
}
