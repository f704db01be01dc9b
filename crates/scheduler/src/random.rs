//! Chance from a seed.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A number below `count`, each as likely; nothing below 0.
pub(crate) fn below(random: &mut Xoshiro256PlusPlus, count: usize) -> Option<usize> {
    // The high half of a product of 128 bits: a bias of less than count in 2^64.
    let high = (u128::from(random.next_u64()) * count as u128) >> 64;
    (count > 0).then_some(high as usize)
}
