//! Time passes: jobs come, wait in a queue, start as gangs, end.
//!
//! The queue is in order of priority, then of submission. Under `Order::Fifo` nothing passes a job that waits. Under
//! `Order::Easy` the first that waits gets a reservation: the nodes and the time at which the jobs that run will have made
//! room for it, at the latest. Another may start before it if it will have ended by then, or takes none of those nodes. So
//! a reservation is never late. A job's limit is what counts; where the trace has none, its run time stands in.

use std::collections::{BTreeMap, BTreeSet};

use pool::stock::{Demand, Grant};
use pool::{NodeIndex, Stock};
use serde::Serialize;
use smallvec::SmallVec;

use super::never::why_never;
use crate::placement::{ClassIndex, Classes, Cluster};
use crate::policy::{Kind, Policy};
use crate::trace::Job;

/// How many jobs behind the first are looked at for a gap.
const BACKFILL_DEPTH: usize = 100;

/// The most points of a course; beyond it every other is left out.
const MOST_POINTS: usize = 2000;

/// Run times below this count as this in the bounded slowdown, in milliseconds.
const SLOWDOWN_BOUND_MS: u64 = 10_000;

/// In which order jobs start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Nothing passes a job that waits.
    Fifo,
    /// What delays no reservation fills gaps.
    Easy,
}

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
}

/// A point of the course.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Moment {
    /// Seconds since the trace began.
    pub at_s: f64,
    /// GPUs allocated, in per cent of all.
    pub gpu_used_percent: f64,
    /// Jobs that waited.
    pub waiting: usize,
    /// Jobs that ran.
    pub running: usize,
}

/// How a replay went.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replayed {
    /// Jobs that ran to their end.
    pub ended: usize,
    /// Jobs that can never run, the first of each reason by name, with how many share it.
    pub failed: BTreeMap<String, (String, usize)>,
    /// From submission to start.
    pub waiting_s: Spread,
    /// From submission to end.
    pub completion_s: Spread,
    /// Completion over run time, which counts as 10 s at least.
    pub bounded_slowdown: Spread,
    /// GPUs allocated over the whole time, in per cent.
    pub gpu_used_percent_mean: f64,
    /// GPUs allocated over the time in which some job waited, in per cent; nothing where none waited.
    pub gpu_used_percent_while_waiting: Option<f64>,
    /// From the first submission to the last end, in seconds.
    pub span_s: f64,
    /// The course.
    pub course: Vec<Moment>,
}

/// A job's name, or where it has none its place in the trace.
fn name_of(job: &Job, at: usize) -> String {
    if job.name.is_empty() { format!("number {}", at + 1) } else { job.name.to_string() }
}

type Grants = SmallVec<[Grant; 1]>;

struct Reservation {
    job: u32,
    at_ms: u64,
    nodes: BTreeSet<NodeIndex>,
}

struct Replay<'a> {
    jobs: &'a [Job],
    demands: &'a [Demand],
    class: Vec<ClassIndex>,
    classes: Classes,
    policy: Policy,
    cluster: Cluster,
    order: Order,
    /// By the time at which they end.
    running: BTreeSet<(u64, u32)>,
    grants: Vec<Grants>,
    started_ms: Vec<u64>,
    /// By falling priority, then in the order of the trace.
    queue: BTreeSet<(std::cmp::Reverse<i32>, u32)>,
    reservation: Option<Reservation>,
}

/// Replays jobs, in order of submission, with what a part of each wants. `progress` hears how many have come.
pub fn replay(
    stock: &Stock,
    jobs: &[Job],
    demands: &[Demand],
    kind: Kind,
    order: Order,
    seed: u64,
    progress: &mut dyn FnMut(usize),
) -> Replayed {
    let mut classes = Classes::default();
    let class = demands.iter().map(|demand| classes.class(demand)).collect();
    let mut replay = Replay {
        jobs,
        demands,
        class,
        classes,
        policy: Policy::new(kind, stock, demands, seed),
        cluster: Cluster::new(stock.clone(), kind.keeps_sizes()),
        order,
        running: BTreeSet::new(),
        grants: vec![Grants::new(); jobs.len()],
        started_ms: vec![0; jobs.len()],
        queue: BTreeSet::new(),
        reservation: None,
    };
    replay.run(stock, progress)
}

impl Replay<'_> {
    fn run(&mut self, stock: &Stock, progress: &mut dyn FnMut(usize)) -> Replayed {
        let mut replayed = Replayed::default();
        let mut never = BTreeMap::<(ClassIndex, u32), Option<String>>::new();
        let (mut next, mut now) = (0, 0_u64);
        let (mut used, mut used_waiting, mut waiting_ms) = (0.0, 0.0, 0_u64);
        let (mut waits, mut completions, mut slowdowns) = (Vec::new(), Vec::new(), Vec::new());
        let mut course = Course::default();
        loop {
            let coming = self.jobs.get(next).map(|job| job.submit_ms);
            let ending = self.running.first().map(|&(end, _)| end);
            let Some(then) = [coming, ending].into_iter().flatten().min() else { break };
            let passed = then - now;
            let share = self.used_percent();
            used += share * passed as f64;
            if !self.queue.is_empty() {
                used_waiting += share * passed as f64;
                waiting_ms += passed;
            }
            now = then;
            while let Some(&(end, job)) = self.running.first()
                && end <= now
            {
                self.running.pop_first();
                let grants = std::mem::take(&mut self.grants[job as usize]);
                self.take_back(&grants);
                let (submit, start) = (self.jobs[job as usize].submit_ms, self.started_ms[job as usize]);
                waits.push((start - submit) as f64 / 1000.0);
                completions.push((end - submit) as f64 / 1000.0);
                let run = (end - start).max(SLOWDOWN_BOUND_MS);
                slowdowns.push(((end - submit) as f64 / run as f64).max(1.0));
            }
            while let Some(job) = self.jobs.get(next).filter(|job| job.submit_ms <= now) {
                let reason = never
                    .entry((self.class[next], job.parts))
                    .or_insert_with(|| why_never(stock, &self.demands[next], job.parts));
                match reason {
                    None => drop(self.queue.insert((std::cmp::Reverse(job.priority), next as u32))),
                    Some(reason) => {
                        replayed.failed.entry(reason.clone()).or_insert_with(|| (name_of(job, next), 0)).1 +=
                            1;
                    }
                }
                next += 1;
                if next % 1024 == 0 {
                    progress(next);
                }
            }
            self.start_what_can(now);
            course.add(Moment {
                at_s: now as f64 / 1000.0,
                gpu_used_percent: self.used_percent(),
                waiting: self.queue.len(),
                running: self.running.len(),
            });
        }
        for (_, job) in std::mem::take(&mut self.queue) {
            let name = || (name_of(&self.jobs[job as usize], job as usize), 0);
            replayed.failed.entry("it found no room to the end".to_owned()).or_insert_with(name).1 += 1;
        }
        replayed.ended = waits.len();
        replayed.waiting_s = Spread::of(waits);
        replayed.completion_s = Spread::of(completions);
        replayed.bounded_slowdown = Spread::of(slowdowns);
        replayed.gpu_used_percent_mean = if now > 0 { used / now as f64 } else { 0.0 };
        replayed.gpu_used_percent_while_waiting = (waiting_ms > 0).then(|| used_waiting / waiting_ms as f64);
        replayed.span_s = now as f64 / 1000.0;
        replayed.course = course.points;
        replayed
    }

    fn used_percent(&self) -> f64 {
        let stock = self.cluster.stock();
        let taken = stock.gpu_taken_total_milli();
        let all = taken + stock.gpu_free_total_milli();
        if all == 0 { 0.0 } else { taken as f64 * 100.0 / all as f64 }
    }

    /// How long a job may run, as far as the queue knows.
    fn limit_ms(&self, job: u32) -> u64 {
        let job = &self.jobs[job as usize];
        // A job that runs into its limit is over then, as its run time in the trace tells too.
        job.limit_ms.unwrap_or(0).max(job.run_ms.unwrap_or(0))
    }

    fn start_what_can(&mut self, now: u64) {
        while let Some(&first) = self.queue.first() {
            let Some(grants) = self.place(first.1) else { break };
            self.start(first, grants, now);
        }
        if self.order == Order::Fifo || self.queue.len() < 2 {
            return;
        }
        let Some(&(_, first)) = self.queue.first() else { return };
        if self.reservation.as_ref().is_none_or(|reservation| reservation.job != first) {
            self.reservation = Some(self.reserve(first, now));
        }
        // A class that has no room now has none for the rest of this look.
        let mut full: SmallVec<[(ClassIndex, u32); 16]> = SmallVec::new();
        let behind: Vec<_> = self.queue.iter().skip(1).take(BACKFILL_DEPTH).copied().collect();
        for entry in behind {
            let job = entry.1;
            let key = (self.class[job as usize], self.jobs[job as usize].parts);
            if full.contains(&key) {
                continue;
            }
            let Some(grants) = self.place(job) else {
                full.push(key);
                continue;
            };
            let limit = self.limit_ms(job);
            let harmless = self.reservation.as_ref().is_none_or(|reservation| {
                now + limit <= reservation.at_ms
                    || !grants.iter().any(|grant| reservation.nodes.contains(&grant.node))
            });
            if harmless {
                self.start(entry, grants, now);
            } else {
                self.take_back(&grants);
            }
        }
    }

    /// Takes room for all parts of a job, or for none.
    fn place(&mut self, job: u32) -> Option<Grants> {
        let mut grants = Grants::new();
        for _ in 0..self.jobs[job as usize].parts {
            let grant = self.policy.choose(&self.cluster, &self.classes, self.class[job as usize]);
            match grant.filter(|grant| self.cluster.allocate(grant).is_ok()) {
                Some(grant) => grants.push(grant),
                None => {
                    self.take_back(&grants);
                    return None;
                }
            }
        }
        Some(grants)
    }

    fn take_back(&mut self, grants: &Grants) {
        for grant in grants.iter().rev() {
            // What was taken can be given back.
            let _ = self.cluster.release(grant);
        }
    }

    fn start(&mut self, entry: (std::cmp::Reverse<i32>, u32), grants: Grants, now: u64) {
        let job = entry.1 as usize;
        self.queue.remove(&entry);
        self.started_ms[job] = now;
        self.grants[job] = grants;
        self.running.insert((now + self.jobs[job].run_ms.unwrap_or(0), entry.1));
    }

    /// When and where the jobs that run will have made room for a job, if each takes as long as it may.
    fn reserve(&self, job: u32, now: u64) -> Reservation {
        let mut stock = self.cluster.stock().clone();
        let mut ends: Vec<(u64, u32)> = self
            .running
            .iter()
            .map(|&(_, running)| (self.started_ms[running as usize] + self.limit_ms(running), running))
            .collect();
        ends.sort_unstable();
        let (demand, parts) = (&self.demands[job as usize], self.jobs[job as usize].parts);
        let copies = |stock: &Stock, node| crate::placement::State::of(stock, node, 0).copies(demand);
        let mut room: BTreeMap<NodeIndex, u32> = stock
            .nodes()
            .filter(|&node| stock.fits(node, demand))
            .map(|node| (node, copies(&stock, node)))
            .collect();
        let mut total: u64 = room.values().map(|&copies| u64::from(copies)).sum();
        let mut at_ms = now;
        for (end, running) in ends {
            if total >= u64::from(parts) {
                break;
            }
            at_ms = end.max(now);
            for grant in &self.grants[running as usize] {
                let _ = stock.release(grant);
                let now_room = copies(&stock, grant.node);
                let before = room.insert(grant.node, now_room).unwrap_or(0);
                total += u64::from(now_room.saturating_sub(before));
            }
        }
        let nodes = room.into_iter().filter(|&(_, copies)| copies > 0).map(|(node, _)| node).collect();
        Reservation { job, at_ms, nodes }
    }
}

#[derive(Default)]
struct Course {
    points: Vec<Moment>,
    skipped: usize,
    every: usize,
}

impl Course {
    fn add(&mut self, moment: Moment) {
        self.skipped += 1;
        if self.skipped <= self.every {
            return;
        }
        self.skipped = 0;
        self.points.push(moment);
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
