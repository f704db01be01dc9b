//! Moves that pay for themselves.
//!
//! Enough GPUs are idle for a job that waits, but not where it can use them. If jobs that can be stopped move out of the way,
//! to places that are free now, it starts at once instead of when it was promised to. That is worth its GPUs times the
//! waiting time that it is spared; each move costs the GPUs of the job that moves times what stopping costs it. A migration
//! is proposed only where the sum is above zero, and only where it breaks no promise to another; where the site wants it, it is
//! carried out: those that move are stopped, and every place is promised to whom it is for.
//!
//! Nobody is moved before it has run [`MOVE_AFTER`] times as long as moving costs it, so moving takes at most that part of
//! anybody's time. Each migration starts a job that waits and stops none that does not start again at once: there are no
//! more of them than jobs that start.

use std::fmt;

use pool::Stock;
use serde::Serialize;

use super::place::{self, Grants};
use super::preempt::{Trial, Victim, choose};
use super::promises::UNKNOWN_MS;
use super::{Decision, Phase, Scheduler};
use crate::job::{Job, JobIndex, Work};

/// A job has run so many times as long as moving costs it, since it last started, before it is moved.
pub const MOVE_AFTER: u64 = 4;

/// Moves are sought so often at the most, in milliseconds: what they win counts in hours.
const SEEK_EVERY_MS: u64 = 60_000;

/// Moves are sought for so many of those that wait, first come first, whenever they are sought: the work is bounded however
/// long the queue is.
const MOST_SOUGHT: usize = 16;

/// So often another set of jobs to move is tried for one that waits.
const MOST_TRIES: usize = 4;

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
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Sum {
    /// GPUs of the job that waits times the waiting time that it is spared.
    pub gain_gpu_s: f64,
    /// GPUs of those that move times what stopping costs each.
    pub cost_gpu_s: f64,
}

/// Migrations that were carried out.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Migrated {
    /// How many: each let a job start that waited.
    pub migrations: u64,
    /// Jobs that moved for them, counted each time.
    pub moves: u64,
    /// What they were worth and what they cost, by what was known then.
    #[serde(flatten)]
    pub sum: Sum,
}

impl std::iter::Sum for Migrated {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            migrations: sum.migrations + one.migrations,
            moves: sum.moves + one.moves,
            sum: Sum {
                gain_gpu_s: sum.sum.gain_gpu_s + one.sum.gain_gpu_s,
                cost_gpu_s: sum.sum.cost_gpu_s + one.sum.cost_gpu_s,
            },
        })
    }
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
        promised.filter_map(|promise| self.migration(promise.job, now_ms)).collect()
    }

    /// What was moved so far, and the sums of it.
    pub fn migrated(&self) -> Migrated {
        self.migrated
    }

    /// Moves others out of the way of jobs that have no room, where that pays for itself.
    pub(super) fn migrate(&mut self, jobs: &[JobIndex], now_ms: u64, decisions: &mut Vec<Decision>) {
        let soon = self.sought_ms.is_some_and(|sought_ms| now_ms < sought_ms.saturating_add(SEEK_EVERY_MS));
        if !self.config.migrate || jobs.is_empty() || self.yielding.is_empty() || soon {
            return;
        }
        self.sought_ms = Some(now_ms);
        let waiting: Vec<JobIndex> = jobs
            .iter()
            .copied()
            .filter(|&job| self.phase(job) == Some(Phase::Waiting))
            .take(MOST_SOUGHT)
            .collect();
        for job in waiting {
            if self.phase(job) == Some(Phase::Waiting)
                && let Some(migration) = self.migration(job, now_ms)
            {
                self.carry_out(migration, now_ms, decisions);
            }
        }
    }

    fn carry_out(&mut self, migration: Migration, now_ms: u64, decisions: &mut Vec<Decision>) {
        let Migration { job, grants, moves, sum } = migration;
        self.migrated.migrations += 1;
        self.migrated.moves += moves.len() as u64;
        self.migrated.sum.gain_gpu_s += sum.gain_gpu_s;
        self.migrated.sum.cost_gpu_s += sum.cost_gpu_s;
        let mut at_ms = now_ms;
        for other in &moves {
            at_ms = at_ms.max(self.stop(other.job, Some(job), now_ms, decisions));
        }
        let left_ms = self.entries[job.index()].left_ms.unwrap_or(UNKNOWN_MS);
        let mut promises = std::mem::take(&mut self.promises);
        let running = self.running_now(now_ms);
        promises.pin(job, at_ms, at_ms.saturating_add(left_ms), grants, &running);
        for Move { job, to, .. } in moves {
            let until_ms = self.moved_until_ms(job, at_ms);
            promises.pin(job, at_ms, until_ms, to, &running);
        }
        self.promises = promises;
    }

    /// Until when a job that moves at a time may run.
    fn moved_until_ms(&self, job: JobIndex, at_ms: u64) -> u64 {
        let entry = &self.entries[job.index()];
        let ran_ms = at_ms.saturating_sub(entry.started_ms);
        let cost_ms = entry.job.checkpoint.map_or(0, |checkpoint| checkpoint.cost_ms);
        let left = entry.left_ms.map(|left| left.saturating_sub(ran_ms).saturating_add(cost_ms));
        left.map_or(UNKNOWN_MS, |left_ms| at_ms.saturating_add(left_ms))
    }

    fn migration(&self, job: JobIndex, now_ms: u64) -> Option<Migration> {
        let entry = &self.entries[job.index()];
        let wanted = &entry.job;
        let amount = wanted.gpu_milli(wanted.parts);
        let quota = wanted.tenant.filter(|_| !self.tenants.is_empty());
        let promised = self.promises.of(job);
        let until_ms = entry.left_ms.map_or(UNKNOWN_MS, |left| now_ms.saturating_add(left));
        if promised.is_some_and(|promise| promise.pinned)
            || quota.is_some_and(|tenant| self.tenants.lacks(tenant, wanted.amounts(wanted.parts)).is_some())
            || amount > self.cluster.stock().gpu_free_total_milli()
            || self.barred(job, amount, now_ms, until_ms)
        {
            return None;
        }
        let stock = self.free_of_promises(job, until_ms);
        let mut victims = self.movable(job, now_ms);
        let mut found = None;
        for _ in 0..MOST_TRIES {
            match self.arrange(wanted, stock.clone(), &victims) {
                Ok(arranged) => {
                    found = Some(arranged);
                    break;
                }
                // Whoever finds no other place stays.
                Err(stays) => _ = victims.remove(stays?),
            }
        }
        let (grants, moves) = found?;
        let spared_ms =
            match promised.map_or_else(|| self.would_start_ms(job, now_ms), |promise| promise.at_ms) {
                // Where nobody knows when it would start otherwise, its own length stands in.
                UNKNOWN_MS => entry.left_ms.unwrap_or(0),
                at_ms => at_ms.saturating_sub(now_ms),
            };
        let (mut cost, mut grace_ms) = (0.0, 0);
        for other in &moves {
            let moved = &self.entries[other.job.index()].job;
            let checkpoint = moved.checkpoint?;
            cost += gpu_s(moved.gpu_milli(moved.parts), checkpoint.cost_ms);
            grace_ms = grace_ms.max(checkpoint.grace_ms);
        }
        let sum = Sum { gain_gpu_s: gpu_s(amount, spared_ms.saturating_sub(grace_ms)), cost_gpu_s: cost };
        if sum.gain_gpu_s <= sum.cost_gpu_s {
            return None;
        }
        let at_ms = now_ms.saturating_add(grace_ms);
        let leaves: Vec<_> =
            moves.iter().map(|other| (&other.from[..], self.entries[other.job.index()].ends_ms)).collect();
        let mut comes = vec![(&grants[..], until_ms.saturating_add(grace_ms))];
        comes.extend(moves.iter().map(|other| (&other.to[..], self.moved_until_ms(other.job, at_ms))));
        self.promises.allow_all(job, &leaves, &comes).then_some(Migration { job, grants, moves, sum })
    }

    /// Where a job would start and who would move where to; else who of the victims finds no other place, if that is what is
    /// in the way.
    fn arrange(
        &self,
        wanted: &Job,
        stock: Stock,
        victims: &[Victim],
    ) -> Result<(Grants, Vec<Move>), Option<usize>> {
        let mut trial = Trial::new(wanted, self.locality(), pool::tenants::Tenants::default(), stock);
        let (taken, grants) = choose(&mut trial, victims).ok_or(None)?;
        let mut stock = trial.stock;
        stock.allocate_all(&grants).map_err(|_| None)?;
        let mut order = taken;
        order.sort_by_key(|&at| std::cmp::Reverse((victims[at].grants.len(), at)));
        let mut moves = Vec::new();
        for at in order {
            let Victim { job, grants: from, .. } = &victims[at];
            let to = self.place_in(&stock, *job).ok_or(Some(at))?;
            stock.allocate_all(&to).map_err(|_| Some(at))?;
            moves.push(Move { job: *job, from: from.clone(), to });
        }
        Ok((grants, moves))
    }

    /// When a job that was promised nothing would start at the latest.
    fn would_start_ms(&self, job: JobIndex, now_ms: u64) -> u64 {
        let mut promises = self.promises.clone();
        self.promise_in(&mut promises, job, &self.running_now(now_ms)).unwrap_or(now_ms)
    }

    /// Whether the time of the week keeps a job from starting.
    fn barred(&self, job: JobIndex, amount: u64, now_ms: u64, until_ms: u64) -> bool {
        let job = &self.entries[job.index()].job;
        let kind = (job.work, job.checkpoint.is_none());
        self.turns.as_ref().is_some_and(|turns| turns.bars(kind, amount, now_ms, until_ms).is_some())
    }

    /// The stock less what others were promised in a job's time, as far as it is free.
    fn free_of_promises(&self, job: JobIndex, until_ms: u64) -> Stock {
        let mut stock = self.cluster.stock().clone();
        for grant in self.promises.held_back(job, until_ms, |_| true) {
            place::keep_back(&mut stock, &grant);
        }
        stock
    }

    /// Whoever runs as it needs, has run long enough, and can be stopped.
    fn movable(&self, job: JobIndex, now_ms: u64) -> Vec<Victim> {
        // A job that is already running adds nothing to what its kind of work holds.
        let bars = |work| {
            let turns = self.turns.as_ref();
            turns.is_some_and(|turns| turns.bars((work, false), 0, now_ms, UNKNOWN_MS).is_some())
        };
        let (batch, service) = (bars(Work::Batch), bars(Work::Service));
        let mut victims: Vec<Victim> = self
            .yielding
            .iter()
            .filter(|&&other| other != job)
            .filter_map(|&other| {
                let entry = &self.entries[other.index()];
                let checkpoint = entry.job.checkpoint.filter(|_| entry.phase == Phase::Running)?;
                let least_ms =
                    checkpoint.cost_ms.saturating_add(checkpoint.grace_ms).saturating_mul(MOVE_AFTER);
                let ran_ms = now_ms.saturating_sub(entry.started_ms);
                if entry.grants.len() != entry.job.parts as usize
                    || ran_ms < least_ms.max(self.config.least_run_ms)
                    || if entry.job.work == Work::Batch { batch } else { service }
                {
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
