//! Chance from a seed.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Puts a list of less than 2^32 into an order that is drawn, each as likely (Fisher and Yates).
pub(crate) fn shuffle<T>(chance: &mut Xoshiro256PlusPlus, list: &mut [T]) {
    for last in (1..list.len()).rev() {
        let below = last as u64 + 1;
        // The high half of a product is below its factor, and even enough for numbers far below 2^32.
        let place = (u64::from(chance.next_u32()) * below) >> 32;
        list.swap(last, place as usize);
    }
}
