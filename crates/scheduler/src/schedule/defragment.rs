//! Moves that pay for themselves.
//!
//! Enough GPUs are idle for a job that waits, but not where it can use them. If jobs that can be stopped move out of the way,
//! to places that are free now, it starts at once instead of when it was promised to. That is worth its GPUs times the
//! waiting time that it is spared; each move costs the GPUs of the job that moves times what stopping costs it. A proposal
//! is made only where the sum is above zero, and nothing is done by it.

use std::fmt;

use pool::Stock;
use serde::Serialize;

use super::place::{self, Grants};
use super::preempt::{Trial, Victim, choose};
use super::promises::UNKNOWN_MS;
use super::{Phase, Scheduler};
use crate::job::JobIndex;

/// A job that would go elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// The job.
    pub job: JobIndex,
    /// What it holds.
    pub from: Grants,
    /// What it would hold.
    pub to: Grants,
}

/// What would let a job start at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Migration {
    /// The job that waits.
    pub job: JobIndex,
    /// Where it would start.
    pub grants: Grants,
    /// Who would move, and where to.
    pub moves: Vec<Move>,
    /// What it is worth and what it costs.
    pub sum: Sum,
}

/// What a migration is worth and what it costs, in seconds of a GPU.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Sum {
    /// GPUs of the job that waits times the waiting time that it is spared.
    pub gain_gpu_s: f64,
    /// GPUs of those that move times what stopping costs each.
    pub cost_gpu_s: f64,
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = |gpu_s: f64| gpu_s / 3600.0;
        write!(
            f,
            "{:.1} GPU hours of waiting less for {:.1} GPU hours of moving: {:.1} won",
            hours(self.gain_gpu_s),
            hours(self.cost_gpu_s),
            hours(self.gain_gpu_s - self.cost_gpu_s)
        )
    }
}

impl Scheduler {
    /// Moves for the first of those that wait and were promised a time, that pay for themselves; each proposal by itself.
    pub fn migrations(&self, now_ms: u64) -> Vec<Migration> {
        let promised = self.promises.all().iter().filter(|promise| !promise.pinned);
        promised.filter_map(|promise| self.migration(promise.job, promise.at_ms, now_ms)).collect()
    }

    fn migration(&self, job: JobIndex, promised_ms: u64, now_ms: u64) -> Option<Migration> {
        let wanted = &self.entries[job.index()].job;
        let amount = wanted.gpu_milli(wanted.parts);
        let quota = wanted.tenant.filter(|_| !self.tenants.is_empty());
        if quota.is_some_and(|tenant| self.tenants.lacks(tenant, wanted.amounts(wanted.parts)).is_some())
            || amount > self.cluster.stock().gpu_free_total_milli()
        {
            return None;
        }
        let stock = self.free_of_promises(job);
        let victims = self.movable(job);
        let mut trial = Trial::new(wanted, self.locality(), pool::tenants::Tenants::default(), stock);
        let (taken, grants) = choose(&mut trial, &victims)?;
        let mut stock = trial.stock;
        stock.allocate_all(&grants).ok()?;
        let mut order = taken;
        order.sort_by_key(|&at| std::cmp::Reverse((victims[at].grants.len(), at)));
        let mut moves = Vec::new();
        let (mut cost, mut grace_ms) = (0.0, 0);
        for at in order {
            let Victim { job, grants: from, .. } = &victims[at];
            let entry = &self.entries[job.index()];
            let to = self.place_in(&stock, *job)?;
            stock.allocate_all(&to).ok()?;
            let checkpoint = entry.job.checkpoint?;
            cost += gpu_s(entry.job.gpu_milli(entry.job.parts), checkpoint.cost_ms);
            grace_ms = grace_ms.max(checkpoint.grace_ms);
            moves.push(Move { job: *job, from: from.clone(), to });
        }
        // Where nobody knows when it would start otherwise, its own length stands in.
        let spared_ms = match promised_ms {
            UNKNOWN_MS => self.entries[job.index()].left_ms.unwrap_or(0),
            at_ms => at_ms.saturating_sub(now_ms),
        };
        let sum = Sum { gain_gpu_s: gpu_s(amount, spared_ms.saturating_sub(grace_ms)), cost_gpu_s: cost };
        (sum.gain_gpu_s > sum.cost_gpu_s).then_some(Migration { job, grants, moves, sum })
    }

    /// The stock less what others were promised, as far as it is free.
    fn free_of_promises(&self, job: JobIndex) -> Stock {
        let mut stock = self.cluster.stock().clone();
        for grant in self.promises.held_back(job, UNKNOWN_MS, |promise| promise.pinned) {
            // What is not free now is not lost to the others either.
            let _ = stock.allocate(&grant);
        }
        stock
    }

    /// Whoever runs as it needs, and can be stopped.
    fn movable(&self, job: JobIndex) -> Vec<Victim> {
        let mut victims: Vec<Victim> = self
            .yielding
            .iter()
            .filter(|&&other| other != job)
            .filter_map(|&other| {
                let entry = &self.entries[other.index()];
                let checkpoint = entry.job.checkpoint.filter(|_| entry.phase == Phase::Running)?;
                if entry.grants.len() != entry.job.parts as usize {
                    return None;
                }
                let cost = u128::from(entry.job.gpu_milli(entry.job.parts).max(1))
                    * u128::from(checkpoint.cost_ms.max(1));
                Some(Victim { job: other, grants: entry.grants.clone(), tenant: None, rank: (2, 0), cost })
            })
            .collect();
        victims.sort_by_key(|victim| (victim.cost, victim.job));
        victims
    }

    fn place_in(&self, stock: &Stock, job: JobIndex) -> Option<Grants> {
        let job = &self.entries[job.index()].job;
        place::gang(self.locality(), job, stock, &place::room(stock, job))
    }
}

fn gpu_s(milli: u64, length_ms: u64) -> f64 {
    milli as f64 / 1000.0 * length_ms as f64 / 1000.0
}
