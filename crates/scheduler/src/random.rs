//! Chance from a seed.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

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
