//! Random permutations: the bandwidth that is left where paths meet.

use fabric::Fabric;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

use super::paths::PathView;
use crate::tables::Tables;

/// Permutations that figures people compare by are drawn from.
pub const PERMUTATIONS: u32 = 1000;

/// What random permutations of the hosts meet: each host's port sends to one, and receives from one.
///
/// The bandwidth of a flow is 1 over the largest number of flows on a link of its path, as a share of what its host can
/// send; one that does not arrive has none. The mean over all flows and permutations is the effective bandwidth: what
/// Hoefler, Schneider and Lumsdaine (2008) call effective bisection bandwidth, for pairs drawn at random from all hosts
/// instead of across a cut. Hosts that a permutation leaves to themselves do not count.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct PermutationLoad {
    /// How many were drawn.
    pub count: u32,
    /// Mean over all flows, 0 to 1.
    pub effective_bandwidth: f64,
    /// The mean over the flows of the worst permutation.
    pub worst: f64,
    /// The largest number of paths on a direction of a link in any permutation.
    pub max: u64,
    /// The largest number of paths on a direction of a link, on average over the permutations.
    pub max_mean: f64,
}

/// Draws `count` permutations from a seed and follows all their paths.
pub fn permutation_load(fabric: &Fabric, tables: &Tables, count: u32, seed: u64) -> PermutationLoad {
    let view = PathView::new(fabric, tables);
    let drawn: Vec<Drawn> = (0..count)
        .into_par_iter()
        .map_init(
            || Flows::new(&view),
            |flows, number| flows.follow(&shuffled(view.hosts.len(), number, seed)),
        )
        .collect();
    let mean = |sum: f64| if drawn.is_empty() { 0.0 } else { sum / drawn.len() as f64 };
    PermutationLoad {
        count,
        effective_bandwidth: mean(drawn.iter().map(|drawn| drawn.bandwidth).sum()),
        worst: drawn.iter().map(|drawn| drawn.bandwidth).fold(f64::INFINITY, f64::min).min(1.0),
        max: drawn.iter().map(|drawn| u64::from(drawn.max)).max().unwrap_or(0),
        max_mean: mean(drawn.iter().map(|drawn| f64::from(drawn.max)).sum()),
    }
}

/// The permutation with this number of those that a seed gives (Fisher and Yates).
pub(super) fn shuffled(hosts: usize, number: u32, seed: u64) -> Vec<u32> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(u64::from(number)));
    let mut to: Vec<u32> = (0..hosts as u32).collect();
    for last in (1..to.len()).rev() {
        let below = last as u64 + 1;
        // The high half of a product is below its factor, and even enough for numbers far below 2^32.
        let place = (u64::from(chance.next_u32()) * below) >> 32;
        to.swap(last, place as usize);
    }
    to
}

struct Drawn {
    /// Mean over the flows, 1 where there is none.
    bandwidth: f64,
    max: u32,
}

/// Scratch for following one permutation after another.
struct Flows<'a> {
    view: &'a PathView<'a>,
    loads: Vec<u32>,
    /// The slots of all flows, and where each flow's end.
    slots: Vec<u32>,
    ends: Vec<u32>,
}

impl<'a> Flows<'a> {
    fn new(view: &'a PathView<'a>) -> Self {
        Self { view, loads: vec![0; view.slots()], slots: Vec::new(), ends: Vec::new() }
    }

    fn follow(&mut self, to: &[u32]) -> Drawn {
        self.slots.clear();
        self.ends.clear();
        let mut flows = 0u32;
        for (from, &to) in to.iter().enumerate().filter(|&(from, &to)| from as u32 != to) {
            let (from, to) = (self.view.hosts[from].switch, self.view.hosts[to as usize]);
            flows += 1;
            if self.view.follow(from, to, &mut self.slots) {
                self.ends.push(self.slots.len() as u32);
            }
        }
        for &slot in &self.slots {
            self.loads[slot as usize] += 1;
        }
        let (mut start, mut sum, mut max) = (0, 0.0, 0);
        for &end in &self.ends {
            let path = &self.slots[start as usize..end as usize];
            let most = path.iter().map(|&slot| self.loads[slot as usize]).max().unwrap_or(0);
            sum += 1.0 / f64::from(most.max(1));
            max = max.max(most);
            start = end;
        }
        for &slot in &self.slots {
            self.loads[slot as usize] = 0;
        }
        Drawn { bandwidth: if flows == 0 { 1.0 } else { sum / f64::from(flows) }, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_permutations_and_follow_from_the_seed() {
        for hosts in [0, 1, 2, 1000] {
            let mut drawn = shuffled(hosts, 3, 7);
            assert_eq!(drawn, shuffled(hosts, 3, 7));
            drawn.sort_unstable();
            assert_eq!(drawn, (0..hosts as u32).collect::<Vec<_>>());
        }
        assert_ne!(shuffled(100, 3, 7), shuffled(100, 4, 7));
    }
}
