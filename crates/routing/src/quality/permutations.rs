//! Random permutations: the bandwidth that is left where paths meet.

use std::ops::Range;

use fabric::Fabric;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

use super::paths::{Columns, PathView};
use crate::chance::shuffle;
use crate::tables::Tables;

/// Permutations that figures people compare by are drawn from.
pub const PERMUTATIONS: u32 = 1000;

/// Flows whose paths are kept at once: about 256 MiB in a tree of 3 levels.
const MOST_FLOWS: usize = 12_000_000;

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
    let at_once = (MOST_FLOWS / view.hosts.len().max(1)).clamp(1, 1 << 16) as u32;
    let mut drawn = Vec::with_capacity(count as usize);
    let mut start = 0;
    while start < count {
        let end = count.min(start.saturating_add(at_once));
        drawn.extend(together(&view, start..end, seed));
        start = end;
    }
    let mean = |sum: f64| if drawn.is_empty() { 0.0 } else { sum / drawn.len() as f64 };
    PermutationLoad {
        count,
        effective_bandwidth: mean(drawn.iter().map(|drawn| drawn.bandwidth).sum()),
        worst: drawn.iter().map(|drawn| drawn.bandwidth).fold(f64::INFINITY, f64::min).min(1.0),
        max: drawn.iter().map(|drawn| u64::from(drawn.max)).max().unwrap_or(0),
        max_mean: mean(drawn.iter().map(|drawn| f64::from(drawn.max)).sum()),
    }
}

/// Follows several permutations at once: the columns of the tables are gathered once for all of them.
fn together(view: &PathView, numbers: Range<u32>, seed: u64) -> Vec<Drawn> {
    let senders: Vec<Vec<u32>> =
        numbers.into_par_iter().map(|number| shuffled(view.hosts.len(), number, seed)).collect();
    let groups: Vec<Flows> = (0..view.groups())
        .into_par_iter()
        .map_init(|| Columns::new(view), |columns, group| Flows::to_group(view, columns, group, &senders))
        .collect();
    (0..senders.len())
        .into_par_iter()
        .map_init(|| vec![0; view.slots()], |loads, place| judge(&groups, place, loads))
        .collect()
}

/// The flows of some permutations to one group of hosts.
struct Flows {
    /// The slots on the paths of all flows that arrive.
    slots: Vec<u32>,
    /// Where in `slots` each of them ends.
    ends: Vec<u32>,
    /// For each permutation where in `ends` its flows end, and how many it has, those that do not arrive included.
    parts: Vec<(u32, u32)>,
}

impl Flows {
    fn to_group(view: &PathView, columns: &mut Columns, group: usize, senders: &[Vec<u32>]) -> Self {
        let hosts = columns.take(group);
        let mut all = Self { slots: Vec::new(), ends: Vec::new(), parts: Vec::with_capacity(senders.len()) };
        for senders in senders {
            let mut flows = 0;
            for (to, &from) in
                hosts.clone().zip(&senders[hosts.clone()]).filter(|&(to, &from)| to as u32 != from)
            {
                flows += 1;
                if let Some(path) = columns.follow(view.hosts[from as usize].switch, to) {
                    all.slots.extend(path.iter().map(|&(_, slot)| slot));
                    all.ends.push(all.slots.len() as u32);
                }
            }
            all.parts.push((all.ends.len() as u32, flows));
        }
        all
    }

    /// The paths of one permutation's flows.
    fn paths(&self, permutation: usize) -> impl Iterator<Item = &[u32]> {
        let first = permutation.checked_sub(1).map_or(0, |before| self.parts[before].0 as usize);
        let mut start = first.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.ends[first..self.parts[permutation].0 as usize].iter().map(move |&end| {
            let path = &self.slots[start..end as usize];
            start = end as usize;
            path
        })
    }
}

struct Drawn {
    /// Mean over the flows, 1 where there is none.
    bandwidth: f64,
    max: u32,
}

/// The bandwidth of one permutation's flows. `loads` is all 0 before and after.
fn judge(groups: &[Flows], permutation: usize, loads: &mut [u32]) -> Drawn {
    let paths = || groups.iter().flat_map(|group| group.paths(permutation));
    paths().flatten().for_each(|&slot| loads[slot as usize] += 1);
    let flows: u32 = groups.iter().map(|group| group.parts[permutation].1).sum();
    let (mut sum, mut max) = (0.0, 0);
    for path in paths() {
        let most = path.iter().map(|&slot| loads[slot as usize]).max().unwrap_or(0);
        sum += 1.0 / f64::from(most.max(1));
        max = max.max(most);
    }
    paths().flatten().for_each(|&slot| loads[slot as usize] = 0);
    Drawn { bandwidth: if flows == 0 { 1.0 } else { sum / f64::from(flows) }, max }
}

/// The permutation with this number of those that a seed gives : the sender to each host.
pub(super) fn shuffled(hosts: usize, number: u32, seed: u64) -> Vec<u32> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(u64::from(number)));
    let mut from: Vec<u32> = (0..hosts as u32).collect();
    shuffle(&mut chance, &mut from);
    from
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
