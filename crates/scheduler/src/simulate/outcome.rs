//! What a simulation shows: how long jobs waited, how full the cluster was, who got how much.

use std::collections::BTreeMap;

use pool::TenantIndex;
use pool::stock::WHOLE_GPU;
use serde::Serialize;

use super::{Arrival, Fate};
use crate::placement::Mix;
use crate::schedule::{Migrated, Scheduler};

/// Run times below this count as this in the bounded slowdown, in milliseconds.
const SLOWDOWN_BOUND_MS: u64 = 10_000;

/// The most points of a course; beyond it every other is left out.
const MOST_POINTS: usize = 2000;

/// Figures of a distribution.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// Half are no greater.
    pub median: f64,
    /// 95 per cent are no greater.
    pub p95: f64,
    /// 99 per cent are no greater.
    pub p99: f64,
}

impl Spread {
    /// Of some values, in any order.
    pub fn of(mut values: Vec<f64>) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        values.sort_unstable_by(f64::total_cmp);
        let at =
            |part: f64| values[((values.len() as f64 * part).ceil() as usize).clamp(1, values.len()) - 1];
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Self { mean, median: at(0.5), p95: at(0.95), p99: at(0.99) }
    }

    /// The means of several, figure by figure; nothing of none.
    pub fn mean_of(spreads: &[Self]) -> Option<Self> {
        let mean = |value: fn(&Self) -> f64| spreads.iter().map(value).sum::<f64>() / spreads.len() as f64;
        let [mean, median, p95, p99] =
            [mean(|s| s.mean), mean(|s| s.median), mean(|s| s.p95), mean(|s| s.p99)];
        (!spreads.is_empty()).then_some(Self { mean, median, p95, p99 })
    }
}

/// A point of the course.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Moment {
    /// Seconds since the first job came.
    pub at_s: f64,
    /// GPUs allocated, in per cent of all; of one that is shared, the shares that were asked for.
    pub gpu_used_percent: f64,
    /// GPUs of which anything is allocated, in per cent of all.
    pub gpu_occupied_percent: f64,
    /// GPUs that are idle, but of no use to a part drawn from the jobs of the run, in per cent of all.
    pub gpu_fragmented_percent: f64,
    /// Jobs that waited.
    pub waiting: usize,
    /// Jobs that ran.
    pub running: usize,
}

/// Moments, thinned out as they become many.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Course {
    /// In order of time.
    pub points: Vec<Moment>,
    skipped: usize,
    every: usize,
}

impl Course {
    /// Adds a moment, made only where it is kept.
    fn add(&mut self, moment: impl FnOnce() -> Moment) {
        self.skipped += 1;
        if self.skipped <= self.every {
            return;
        }
        self.skipped = 0;
        self.points.push(moment());
        if self.points.len() > MOST_POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every = 2 * self.every + 1;
        }
    }
}

/// What a job saw.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    fate: Option<Fate>,
    waited_ms: u64,
    completion_ms: u64,
    ended: bool,
}

/// How a simulation went.
#[derive(Clone, Debug)]
pub struct Outcome {
    arrivals: Vec<ArrivalOf>,
    seen: Vec<Seen>,
    mix: Mix,
    begun_ms: u64,
    /// Whether jobs share GPUs: else those that are occupied are used.
    has_shares: bool,
    /// GPU allocation times time, in per cent times milliseconds.
    used: f64,
    /// The same of GPUs of which anything is allocated.
    occupied: f64,
    used_waiting: f64,
    waiting_ms: u64,
    /// Jobs that ran to their end.
    pub ended: usize,
    /// How often a job was stopped, for another or to move out of its way.
    pub stops: u64,
    /// Migrations that were carried out.
    pub migrated: Migrated,
    /// What stopping cost: GPUs of those that stopped times the run time that each lost, in seconds of a GPU.
    pub stop_cost_gpu_s: f64,
    /// From the first arrival to the last end, in seconds.
    pub span_s: f64,
    /// The course.
    pub course: Course,
}

/// What figures need of an arrival.
#[derive(Clone, Copy, PartialEq, Debug)]
struct ArrivalOf {
    at_ms: u64,
    run_ms: u64,
    gpu_milli: u64,
    tenant: Option<TenantIndex>,
}

/// How one group of jobs fared.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// How many came to their end.
    pub ended: usize,
    /// From submission to the first start, in seconds.
    pub waiting_s: Spread,
    /// From submission to end, in seconds.
    pub completion_s: Spread,
    /// Completion over run time, which counts as 10 s at least.
    pub bounded_slowdown: Spread,
}

impl Outcome {
    pub(super) fn new(scheduler: &Scheduler, arrivals: &[Arrival]) -> Self {
        let demands = arrivals.iter().map(|arrival| &arrival.job.demand);
        Self {
            arrivals: arrivals
                .iter()
                .map(|arrival| ArrivalOf {
                    at_ms: arrival.at_ms,
                    run_ms: arrival.run_ms,
                    gpu_milli: arrival.job.gpu_milli(arrival.job.parts),
                    tenant: arrival.job.tenant,
                })
                .collect(),
            seen: vec![Seen { fate: None, waited_ms: 0, completion_ms: 0, ended: false }; arrivals.len()],
            mix: Mix::new(demands, scheduler.stock().models().len()),
            begun_ms: arrivals.first().map_or(0, |arrival| arrival.at_ms),
            has_shares: arrivals.iter().any(|arrival| {
                let demand = &arrival.job.demand;
                demand.gpus > 0 && demand.gpu_milli < WHOLE_GPU
            }),
            used: 0.0,
            occupied: 0.0,
            used_waiting: 0.0,
            waiting_ms: 0,
            ended: 0,
            stops: 0,
            migrated: Migrated::default(),
            stop_cost_gpu_s: 0.0,
            span_s: 0.0,
            course: Course::default(),
        }
    }

    pub(super) fn fate(&mut self, at: usize, fate: Fate) {
        self.seen[at].fate = Some(fate);
    }

    pub(super) fn ended(&mut self, at: usize, started_ms: u64, now_ms: u64) {
        let submitted_ms = self.arrivals[at].at_ms;
        let seen = &mut self.seen[at];
        seen.ended = true;
        seen.waited_ms = started_ms - submitted_ms;
        seen.completion_ms = now_ms - submitted_ms;
        self.ended += 1;
    }

    pub(super) fn stopped(&mut self, at: usize, cost_ms: u64) {
        self.stop_cost_gpu_s += self.arrivals[at].gpu_milli as f64 / 1000.0 * cost_ms as f64 / 1000.0;
    }

    /// Time passes in which nothing changes.
    pub(super) fn pass(&mut self, scheduler: &Scheduler, from_ms: u64, until_ms: u64) {
        let passed = until_ms.saturating_sub(from_ms.max(self.begun_ms));
        let used = used_percent(scheduler);
        let share = used * passed as f64;
        self.used += share;
        self.occupied += passed as f64 * self.occupied_percent(scheduler, used);
        if scheduler.waiting() > 0 {
            self.used_waiting += share;
            self.waiting_ms += passed;
        }
    }

    pub(super) fn moment(&mut self, scheduler: &Scheduler, now_ms: u64) {
        let (mix, begun_ms, used) = (&self.mix, self.begun_ms, used_percent(scheduler));
        let occupied = self.occupied_percent(scheduler, used);
        self.course.add(|| {
            let groups = scheduler.cluster().groups();
            let wasted: f64 =
                groups.iter().map(|group| mix.fragmentation(&group.state) * group.nodes().len() as f64).sum();
            let all = scheduler.stock().gpu_count().max(1) as f64 * 1000.0;
            Moment {
                at_s: now_ms.saturating_sub(begun_ms) as f64 / 1000.0,
                gpu_used_percent: used,
                gpu_occupied_percent: occupied,
                gpu_fragmented_percent: wasted * 100.0 / all,
                waiting: scheduler.waiting(),
                running: scheduler.running(),
            }
        });
    }

    pub(super) fn finish(&mut self, scheduler: &Scheduler, now_ms: u64) {
        self.migrated = scheduler.migrated();
        self.span_s = now_ms.saturating_sub(self.begun_ms) as f64 / 1000.0;
    }

    /// How often a job was stopped for another to have its place: moves are no such stops.
    pub fn preemptions(&self) -> u64 {
        self.stops.saturating_sub(self.migrated.moves)
    }

    /// GPUs of which anything is allocated now, in per cent; `used` is what is allocated of them.
    fn occupied_percent(&self, scheduler: &Scheduler, used: f64) -> f64 {
        if !self.has_shares {
            return used;
        }
        let taken = |gpus: &[u16]| gpus.iter().filter(|&&free| free < WHOLE_GPU).count();
        let groups = scheduler.cluster().groups().iter();
        let occupied: usize = groups.map(|group| taken(&group.state.gpus) * group.nodes().len()).sum();
        occupied as f64 * 100.0 / scheduler.stock().gpu_count().max(1) as f64
    }

    /// GPUs allocated over the whole time, in per cent; of one that is shared, the shares that were asked for.
    pub fn gpu_used_percent_mean(&self) -> f64 {
        if self.span_s > 0.0 { self.used / (self.span_s * 1000.0) } else { 0.0 }
    }

    /// GPUs of which anything was allocated over the whole time, in per cent.
    pub fn gpu_occupied_percent_mean(&self) -> f64 {
        if self.span_s > 0.0 { self.occupied / (self.span_s * 1000.0) } else { 0.0 }
    }

    /// GPUs allocated over the time in which some job waited, in per cent; nothing where none waited.
    pub fn gpu_used_percent_while_waiting(&self) -> Option<f64> {
        (self.waiting_ms > 0).then(|| self.used_waiting / self.waiting_ms as f64)
    }

    /// What became of the job at a place of the arrivals.
    pub fn fate_of(&self, at: usize) -> Option<&Fate> {
        self.seen.get(at)?.fate.as_ref()
    }

    /// How long the job at a place of the arrivals waited for its first start, in milliseconds, if it came to its end.
    pub fn waited_ms(&self, at: usize) -> Option<u64> {
        self.seen.get(at).filter(|seen| seen.ended).map(|seen| seen.waited_ms)
    }

    /// Jobs that were not taken or never came to their end, by reason: the first of each, by its place, and how many.
    pub fn failed(&self) -> BTreeMap<String, (usize, usize)> {
        let mut failed = BTreeMap::new();
        for (at, seen) in self.seen.iter().enumerate() {
            let why = match &seen.fate {
                Some(Fate::Refused(refusal)) => refusal.to_string(),
                Some(Fate::Taken(_)) if !seen.ended => "it found no room to the end".to_owned(),
                _ => continue,
            };
            failed.entry(why).or_insert((at, 0)).1 += 1;
        }
        failed
    }

    /// How the jobs fared that a rule picks by their place among the arrivals.
    pub fn figures(&self, pick: impl Fn(usize) -> bool) -> Figures {
        let picked = || {
            let all = self.seen.iter().zip(&self.arrivals).enumerate();
            all.filter(|(at, (seen, _))| seen.ended && pick(*at)).map(|(_, pair)| pair)
        };
        let slowdown = |(seen, arrival): (&Seen, &ArrivalOf)| {
            (seen.completion_ms as f64 / arrival.run_ms.max(SLOWDOWN_BOUND_MS) as f64).max(1.0)
        };
        Figures {
            ended: picked().count(),
            waiting_s: Spread::of(picked().map(|(seen, _)| seen.waited_ms as f64 / 1000.0).collect()),
            completion_s: Spread::of(picked().map(|(seen, _)| seen.completion_ms as f64 / 1000.0).collect()),
            bounded_slowdown: Spread::of(picked().map(slowdown).collect()),
        }
    }

    /// The figures of each tenant's jobs.
    pub fn by_tenant(&self) -> BTreeMap<TenantIndex, Figures> {
        let tenants: std::collections::BTreeSet<_> =
            self.arrivals.iter().filter_map(|arrival| arrival.tenant).collect();
        tenants
            .into_iter()
            .map(|tenant| (tenant, self.figures(|at| self.arrivals[at].tenant == Some(tenant))))
            .collect()
    }

    /// Jain's index of the mean bounded slowdowns of groups of jobs, from 1 over their number, where one suffers alone, to
    /// 1, where all fare alike (Jain, Chiu and Hawe, 1984). Nothing where no group had a job that ended.
    pub fn fairness(&self, group: impl Fn(usize) -> usize) -> Option<f64> {
        let mut sums: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for (at, (seen, arrival)) in
            self.seen.iter().zip(&self.arrivals).enumerate().filter(|(_, (s, _))| s.ended)
        {
            let run_ms = arrival.run_ms.max(SLOWDOWN_BOUND_MS) as f64;
            let sum = sums.entry(group(at)).or_default();
            sum.0 += (seen.completion_ms as f64 / run_ms).max(1.0);
            sum.1 += 1;
        }
        let means: Vec<f64> = sums.values().map(|(sum, count)| sum / *count as f64).collect();
        let (sum, squares) =
            means.iter().fold((0.0, 0.0), |(sum, squares), mean| (sum + mean, squares + mean * mean));
        (!means.is_empty()).then(|| sum * sum / (means.len() as f64 * squares))
    }
}

fn used_percent(scheduler: &Scheduler) -> f64 {
    let stock = scheduler.stock();
    let taken = stock.gpu_taken_total_milli();
    let all = taken + stock.gpu_free_total_milli();
    if all == 0 { 0.0 } else { taken as f64 * 100.0 / all as f64 }
}
