//! What the time of the week changes: inference and training take turns in what is each one's own.
//!
//! The calendar says what inference may have of the pool; training has the rest. A share is like a quota: what is idle of
//! it the other may borrow, with jobs that can be stopped, and gives back when it is wanted. A batch job that cannot be
//! stopped starts only if it fits into training's share until its end, so that it never stands in the way of a turn.
//! In the lead time before a turn the one that will lose takes no more than it will have, and gives back what it has more:
//! the room is free when the demand comes. Where somebody foresees how much services will want, no more is freed than that.

use pool::calendar::Calendar;

use super::place::Grants;
use super::promises::UNKNOWN_MS;
use super::{Decision, Phase, Scheduler};
use crate::job::{JobIndex, Work};

/// Turns that are looked at for a job whose end nobody knows: two weeks of two a day.
const MOST_TURNS: usize = 28;

/// The calendar on the scheduler's clock.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    calendar: Calendar,
    /// Unix seconds at the scheduler's time 0.
    epoch_s: i64,
    total_milli: u64,
    /// What batch jobs and services hold, thousandths of a GPU; by [`at`].
    held: [u64; 2],
    /// What batch jobs hold that cannot be stopped.
    fixed_milli: u64,
    /// The turn that was drained for, and what was training's own then.
    drained: Option<(i64, u64)>,
    /// What services are foreseen to hold, thousandths of a GPU.
    foreseen_milli: Option<u64>,
}

fn at(work: Work) -> usize {
    match work {
        Work::Batch => 0,
        Work::Service => 1,
    }
}

impl Turns {
    fn seconds(&self, at_ms: u64) -> i64 {
        self.epoch_s.saturating_add(i64::try_from(at_ms / 1000).unwrap_or(i64::MAX))
    }

    fn milliseconds(&self, at_s: i64) -> u64 {
        u64::try_from(at_s.saturating_sub(self.epoch_s)).unwrap_or(0).saturating_mul(1000)
    }

    fn of_percent(&self, work: Work, inference_percent: u8) -> u64 {
        let service = self.total_milli * u64::from(inference_percent.min(100)) / 100;
        match work {
            Work::Batch => self.total_milli - service,
            Work::Service => service,
        }
    }

    /// What is a kind of work's own now; in the lead time before a turn, no more than after it. Training loses no more by the
    /// turn than services are foreseen to want.
    pub(super) fn share(&self, work: Work, now_ms: u64) -> u64 {
        let now = self.seconds(now_ms);
        let share = self.of_percent(work, self.calendar.at(now).0);
        let Some(turn) = self.calendar.next_turn(now).filter(|turn| turn.drain_from <= now) else {
            return share;
        };
        let after = self.of_percent(work, turn.after_percent);
        match (work, self.foreseen_milli) {
            (Work::Batch, Some(foreseen)) => share.min(after.max(self.total_milli.saturating_sub(foreseen))),
            _ => share.min(after),
        }
    }

    /// What is batch jobs' and services' own now.
    pub(super) fn shares(&self, now_ms: u64) -> [u64; 2] {
        [Work::Batch, Work::Service].map(|work| self.share(work, now_ms))
    }

    /// The least that is a kind of work's own at any time until one.
    fn least_share(&self, work: Work, now_ms: u64, until_ms: u64) -> u64 {
        let mut least = self.share(work, now_ms);
        let mut now = self.seconds(now_ms);
        for _ in 0..MOST_TURNS {
            let Some(turn) = self.calendar.next_turn(now) else { break };
            if until_ms != UNKNOWN_MS && self.milliseconds(turn.at) >= until_ms {
                break;
            }
            least = least.min(self.of_percent(work, turn.after_percent));
            now = turn.at;
        }
        least
    }

    /// Whether a kind of work holds more than its own.
    pub(super) fn borrows(&self, work: Work, now_ms: u64) -> bool {
        self.held[at(work)] > self.share(work, now_ms)
    }

    /// Whether so much more would still be within its own.
    pub(super) fn within_share(&self, work: Work, amount: u64, now_ms: u64) -> bool {
        self.held[at(work)].saturating_add(amount) <= self.share(work, now_ms)
    }

    /// What a job may have, if the time of the week is in the way of more; `fixed` is what cannot be stopped.
    pub(super) fn bars(
        &self,
        (work, fixed): (Work, bool),
        amount: u64,
        now_ms: u64,
        until_ms: u64,
    ) -> Option<u64> {
        if work != Work::Batch {
            return None;
        }
        if fixed {
            let least = self.least_share(Work::Batch, now_ms, until_ms);
            return (self.fixed_milli.saturating_add(amount) > least)
                .then(|| least.saturating_sub(self.fixed_milli));
        }
        // While a turn is near, what training will lose is not lent to it again.
        let now = self.seconds(now_ms);
        let near = self.calendar.next_turn(now).is_some_and(|turn| turn.drain_from <= now);
        (near && !self.within_share(Work::Batch, amount, now_ms))
            .then(|| self.share(Work::Batch, now_ms).saturating_sub(self.held[0]))
    }

    /// Counts what a job holds, or no longer, and how much of it cannot be stopped.
    pub(super) fn count(&mut self, work: Work, amount: u64, fixed: u64, taken: bool) {
        let change = |held: &mut u64, amount: u64| {
            *held = if taken { *held + amount } else { held.saturating_sub(amount) };
        };
        change(&mut self.held[at(work)], amount);
        if work == Work::Batch {
            change(&mut self.fixed_milli, fixed);
        }
    }

    /// When the next turn, or the lead time before it, begins.
    pub(super) fn wake_ms(&self, now_ms: u64) -> Option<u64> {
        let now = self.seconds(now_ms);
        let turn = self.calendar.next_turn(now)?;
        let at_s = if turn.drain_from > now { turn.drain_from } else { turn.at };
        Some(self.milliseconds(at_s))
    }
}

impl Scheduler {
    /// Has inference and training take turns by a calendar; `epoch_s` are Unix seconds at the time 0 of all other calls.
    /// Only before the first job.
    #[must_use]
    pub fn with_calendar(mut self, calendar: Calendar, epoch_s: i64) -> Self {
        let total_milli = self.cluster.stock().gpu_count() as u64 * 1000;
        self.turns = Some(Turns {
            calendar,
            epoch_s,
            total_milli,
            held: [0; 2],
            fixed_milli: 0,
            drained: None,
            foreseen_milli: None,
        });
        self
    }

    /// Says what services will want in all soon, in thousandths of a GPU: the lead time before a turn frees no more for them
    /// than that. Without it their whole share is freed. Nothing changes where there is no calendar.
    pub fn foresee_services(&mut self, milli: u64) {
        if let Some(turns) = &mut self.turns {
            turns.foreseen_milli = Some(milli);
        }
    }

    /// In the lead time before each turn whoever will lose by it gives back what is beyond, what hurts least first: once, and
    /// again where more is foreseen to be wanted than before.
    pub(super) fn drain(&mut self, now_ms: u64, decisions: &mut Vec<Decision>) {
        let Some(turns) = &mut self.turns else { return };
        let now = turns.seconds(now_ms);
        let Some(turn) = turns.calendar.next_turn(now).filter(|turn| turn.drain_from <= now) else { return };
        let left = turns.share(Work::Batch, now_ms);
        if turns.drained.is_some_and(|(at, share)| at == turn.at && share <= left) {
            return;
        }
        turns.drained = Some((turn.at, left));
        let turns = turns.clone();
        for work in [Work::Batch, Work::Service] {
            let share = turns.share(work, now_ms);
            // What was told to stop is as good as gone.
            let leaving = self
                .running
                .iter()
                .map(|(_, job)| &self.entries[job.index()])
                .filter(|entry| entry.job.work == work && matches!(entry.phase, Phase::Stopping { .. }));
            let leaving: u64 = leaving.map(|entry| entry.job.gpu_milli(entry.grants.len() as u32)).sum();
            let mut held = turns.held[at(work)].saturating_sub(leaving);
            let mut yielding: Vec<(i32, u64, JobIndex)> = self
                .yielding
                .iter()
                .map(|&job| (job, &self.entries[job.index()]))
                .filter(|(_, entry)| entry.job.work == work && entry.phase == Phase::Running)
                .map(|(job, entry)| {
                    let cost = entry.job.checkpoint.map_or(0, |checkpoint| checkpoint.cost_ms);
                    (entry.job.priority, cost.saturating_mul(entry.grants.len() as u64), job)
                })
                .collect();
            yielding.sort_unstable();
            for &(.., job) in &yielding {
                let entry = &self.entries[job.index()];
                let needed = (entry.job.parts as usize).min(entry.grants.len());
                let extra: Grants = entry.grants[needed..].into();
                if held > share && !extra.is_empty() {
                    held = held.saturating_sub(entry.job.gpu_milli(extra.len() as u32));
                    self.shrink(job, &extra);
                    decisions.push(Decision::Shrink { job, by: None, grants: extra });
                }
            }
            for (.., job) in yielding {
                let entry = &self.entries[job.index()];
                if held > share && entry.job.checkpoint.is_some() && self.config.preempt {
                    held = held.saturating_sub(entry.job.gpu_milli(entry.grants.len() as u32));
                    self.stop(job, None, now_ms, decisions);
                }
            }
        }
    }
}
