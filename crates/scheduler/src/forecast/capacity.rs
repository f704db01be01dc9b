//! How much to free before demand comes, and what freeing too much costs.
//!
//! What is freed and not asked for stands idle; what is asked for and not free waits. Both are expectations over what may
//! come, in units of the series times one step.

use serde::Serialize;

/// How much to free, and what that costs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Headroom {
    /// What should be there in all.
    pub capacity: f64,
    /// What has to be freed for that.
    pub to_free: f64,
    /// How much of what is there will stand idle, on average.
    pub idle: f64,
    /// How much will be asked for beyond what is there, on average.
    pub short: f64,
}

/// The percentile (0 to 1) to free for, where a unit that is missing costs `short` and one too much costs `idle`. `None` where
/// a cost is negative or both are nothing.
pub fn level_for_costs(short: f64, idle: f64) -> Option<f64> {
    (short >= 0.0 && idle >= 0.0 && short + idle > 0.0).then(|| short / (short + idle))
}

/// What `capacity` means where `free` is free already and one of `may_come` comes.
pub(super) fn headroom(capacity: f64, free: f64, may_come: impl Iterator<Item = f64>) -> Headroom {
    let there = capacity.max(free);
    let (mut idle, mut short, mut count) = (0.0, 0.0, 0.0);
    for demand in may_come {
        idle += (there - demand).max(0.0);
        short += (demand - there).max(0.0);
        count += 1.0;
    }
    let mean = |sum: f64| if count > 0.0 { sum / count } else { 0.0 };
    Headroom { capacity, to_free: (capacity - free).max(0.0), idle: mean(idle), short: mean(short) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_of_the_costs_costs_least() {
        assert_eq!(level_for_costs(9.0, 1.0), Some(0.9));
        assert_eq!((level_for_costs(0.0, 0.0), level_for_costs(-1.0, 2.0)), (None, None));
        let cost = |capacity: f64| {
            let room = headroom(capacity, 0.0, (0..100).map(f64::from));
            9.0 * room.short + room.idle
        };
        let best = (0..100).map(f64::from).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap();
        assert!((89.0..=91.0).contains(&best), "{best}");
    }
}
