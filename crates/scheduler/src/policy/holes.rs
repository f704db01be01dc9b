//! What the room that is left on a GPU is worth: how much of a whole GPU the shares that come could make of it.
//!
//! The shares are packed into GPUs as rolls are cut: of all ways to cut a GPU into shares, those are taken that need the
//! fewest GPUs for the mix. The prices of that linear program (Gilmore and Gomory, 1961) say which part of a GPU a share
//! takes in the best packing: one of 0.81 takes all of it where nothing goes beside it. A hole is worth the dearest shares
//! that go into it together.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem};
use pool::stock::{Demand, WHOLE_GPU};

const WHOLE: usize = WHOLE_GPU as usize;

/// So many sizes of shares are priced, the most frequent; it bounds the work.
const MOST_SIZES: usize = 40;

/// So many ways to cut a GPU are looked at; it bounds the work.
const MOST_CUTS: usize = 400;

/// How far above one GPU the price of a cut may lie.
const SLACK: f64 = 1e-7;

/// A size of share and how often it comes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Share {
    milli: usize,
    count: f64,
}

/// The worth of the room left on a GPU.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Holes {
    /// By thousandths left, from 0 to 1000: what it is worth, in thousandths of a GPU.
    worth: Vec<f64>,
}

impl Holes {
    /// By the shares of a workload.
    pub(super) fn new(workload: &[&Demand]) -> Self {
        let shares = shares(workload);
        let mut worth = priced(&shares);
        worth[WHOLE] = 1.0;
        worth.iter_mut().for_each(|worth| *worth *= f64::from(WHOLE_GPU));
        Self { worth }
    }

    /// What so many free thousandths of one GPU are worth, in thousandths of a GPU.
    pub(super) fn worth(&self, free_milli: u16) -> f64 {
        self.worth.get(usize::from(free_milli)).copied().unwrap_or(0.0)
    }

    /// What a demand takes of the best packing, in thousandths of a GPU.
    pub(super) fn worth_of(&self, demand: &Demand) -> f64 {
        f64::from(demand.gpus) * self.worth(demand.gpu_milli)
    }
}

/// The most frequent shares, the smallest first.
fn shares(workload: &[&Demand]) -> Vec<Share> {
    let mut counts = BTreeMap::<usize, u32>::new();
    for demand in workload.iter().filter(|demand| demand.gpus == 1 && demand.gpu_milli < WHOLE_GPU) {
        *counts.entry(usize::from(demand.gpu_milli.max(1))).or_default() += 1;
    }
    let mut frequent: Vec<_> = counts.into_iter().collect();
    frequent.sort_by_key(|&(milli, count)| (std::cmp::Reverse(count), milli));
    frequent.truncate(MOST_SIZES);
    frequent.sort_unstable();
    let all = workload.len().max(1) as f64;
    frequent.into_iter().map(|(milli, count)| Share { milli, count: f64::from(count) / all }).collect()
}

/// The worth of each hole in GPUs, by the prices of the best packing. The program is solved from its dual side: a price for
/// each share such that no way to cut a GPU fetches more than a GPU; ways that do are added until there is none.
fn priced(shares: &[Share]) -> Vec<f64> {
    let alone = |share: &Share| (WHOLE / share.milli) as f64;
    let mut cuts: Vec<Vec<f64>> = (0..shares.len())
        .map(|own| (0..shares.len()).map(|of| if of == own { alone(&shares[own]) } else { 0.0 }).collect())
        .collect();
    // What a share takes by its size alone never fetches more than a GPU: it stands where the solver gives up.
    let by_size = || shares.iter().map(|share| share.milli as f64 / WHOLE as f64).collect::<Vec<_>>();
    while cuts.len() < MOST_CUTS {
        let Some(prices) = solve(shares, &cuts) else { break };
        let (worth, cut) = dearest(shares, &prices);
        if worth[WHOLE] <= 1.0 + SLACK {
            return worth;
        }
        cuts.push(cut);
    }
    dearest(shares, &by_size()).0
}

/// The prices at which the mix fetches most while none of the cuts fetches more than a GPU.
fn solve(shares: &[Share], cuts: &[Vec<f64>]) -> Option<Vec<f64>> {
    let mut program = Problem::new(OptimizationDirection::Maximize);
    // Among prices that are as good, the larger share has the larger one.
    let gain = |share: &Share| share.count + 1e-6 * share.milli as f64 / WHOLE as f64;
    let prices: Vec<_> = shares.iter().map(|share| program.add_var(gain(share), (0.0, 1.0))).collect();
    for cut in cuts {
        let terms: Vec<_> = prices
            .iter()
            .zip(cut)
            .filter(|(_, count)| **count > 0.0)
            .map(|(price, count)| (*price, *count))
            .collect();
        program.add_constraint(&terms, ComparisonOp::Le, 1.0);
    }
    let solution = program.solve().ok()?;
    Some(prices.into_iter().map(|price| solution[price]).collect())
}

/// The most that each hole fetches at these prices, and how often each share stands in the cut of a whole GPU that does.
fn dearest(shares: &[Share], prices: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut worth = vec![0.0_f64; WHOLE + 1];
    let mut last = vec![None; WHOLE + 1];
    for hole in 1..=WHOLE {
        worth[hole] = worth[hole - 1];
        for (at, (share, price)) in shares.iter().zip(prices).enumerate() {
            if share.milli <= hole && worth[hole - share.milli] + price > worth[hole] + 1e-12 {
                worth[hole] = worth[hole - share.milli] + price;
                last[hole] = Some(at);
            }
        }
    }
    let mut cut = vec![0.0; shares.len()];
    let mut hole = WHOLE;
    while hole > 0 {
        match last[hole] {
            Some(at) => {
                cut[at] += 1.0;
                hole -= shares[at].milli;
            }
            None => hole -= 1,
        }
    }
    (worth, cut)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holes_of(shares: &[u16]) -> Holes {
        let demand =
            |gpu_milli| Demand { cpu_milli: 1, memory_mib: 1, gpus: 1, gpu_milli, ..Demand::default() };
        let demands: Vec<_> = shares.iter().map(|&milli| demand(milli)).collect();
        Holes::new(&demands.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_share_that_nothing_goes_beside_takes_a_gpu() {
        let holes = holes_of(&[810, 470, 470]);
        let worths = [0, 190, 469, 470, 530, 810, 1000].map(|hole| holes.worth(hole).round());
        assert_eq!(worths, [0.0, 0.0, 0.0, 500.0, 500.0, 1000.0, 1000.0]);
    }

    #[test]
    fn shares_that_fill_each_other_share_a_gpu() {
        let holes = holes_of(&[700, 300]);
        assert!((holes.worth(700) + holes.worth(300) - 1000.0).abs() < 1e-3);
        // Three small ones make a GPU where there are more of them than of the large.
        assert!((holes_of(&[700, 300, 300, 300, 300]).worth(300) - 1000.0 / 3.0).abs() < 1e-3);
    }

    #[test]
    fn without_shares_only_whole_gpus_are_worth_something() {
        let holes = holes_of(&[]);
        assert_eq!((holes.worth(999), holes.worth(1000)), (0.0, 1000.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]
        #[test]
        fn a_hole_is_worth_no_less_than_its_parts_and_no_more_than_a_gpu(
            shares in prop::collection::vec(1_u16..1000, 1..60), left in 0_u16..=1000, right in 0_u16..=1000,
        ) {
            let holes = holes_of(&shares);
            let both = left + right;
            if both <= 1000 {
                prop_assert!(holes.worth(left) + holes.worth(right) <= holes.worth(both) + 1e-2);
            }
            prop_assert!((0.0..=1000.01).contains(&holes.worth(left)));
        }
    }
}
