//! A [`Scheduler`] under a virtual clock: jobs come, run as long as they really do, stop when they are told to, and end.
//!
//! How long a job really runs is its *work*: run time with the parts that it needs. With more parts it is done as much
//! sooner. A job that is told to stop uses its whole grace, and then still has to do what was left and what stopping cost.
//!
//! What is decided outside of the queue, such as how many replicas a service has, comes from an [`Outside`].

mod outcome;
mod outside;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::job::{Job, JobIndex, Refusal};
use crate::schedule::{Decision, Scheduler};

pub use outcome::{Course, Figures, Moment, Outcome, Spread};
pub use outside::{Nobody, Outside};

/// A job that comes.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrival {
    /// When, in milliseconds.
    pub at_ms: u64,
    /// The job.
    pub job: Job,
    /// How long it really runs with the parts that it needs, in milliseconds.
    pub run_ms: u64,
}

/// What becomes of a job.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// It was not taken.
    Refused(Refusal),
    /// It was taken.
    Taken(JobIndex),
}

/// Sees what happens in a simulation as it happens, and changes nothing of it.
pub trait Watch {
    /// The job at a place of the arrivals has come.
    fn came(&mut self, _at: usize, _fate: &Fate, _now_ms: u64) {}

    /// What a job holds has changed, perhaps to nothing.
    fn holds(&mut self, _scheduler: &Scheduler, _job: JobIndex, _now_ms: u64) {}

    /// Time passes in which nothing changes.
    fn passes(&mut self, _scheduler: &Scheduler, _from_ms: u64, _until_ms: u64) {}
}

/// Nobody watches.
impl Watch for () {}

/// Somebody watches, or nobody.
impl<W: Watch> Watch for Option<W> {
    fn came(&mut self, at: usize, fate: &Fate, now_ms: u64) {
        if let Some(watch) = self {
            watch.came(at, fate, now_ms);
        }
    }

    fn holds(&mut self, scheduler: &Scheduler, job: JobIndex, now_ms: u64) {
        if let Some(watch) = self {
            watch.holds(scheduler, job, now_ms);
        }
    }

    fn passes(&mut self, scheduler: &Scheduler, from_ms: u64, until_ms: u64) {
        if let Some(watch) = self {
            watch.passes(scheduler, from_ms, until_ms);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Ended,
    Stopped,
}

#[derive(Clone, Debug)]
struct Progress {
    /// Work that is left, in milliseconds with the parts that it needs, as of `since_ms`.
    left_ms: u64,
    since_ms: u64,
    /// Counts up whenever an end that was foreseen no longer holds.
    generation: u32,
    needed: u32,
    parts: u32,
    /// Its place among the arrivals; nothing where it came from outside, and so ends by no time of its own.
    arrival: Option<u32>,
    started_ms: Option<u64>,
    stop_cost_ms: u64,
}

impl Progress {
    /// Of a job from outside.
    fn endless(now_ms: u64) -> Self {
        Self {
            left_ms: u64::MAX,
            since_ms: now_ms,
            generation: 0,
            needed: 1,
            parts: 0,
            arrival: None,
            started_ms: None,
            stop_cost_ms: 0,
        }
    }

    /// Counts the work done until now.
    fn advance(&mut self, now_ms: u64) {
        let passed = now_ms - self.since_ms;
        let done = u128::from(passed) * u128::from(self.parts) / u128::from(self.needed.max(1));
        self.left_ms = self.left_ms.saturating_sub(u64::try_from(done).unwrap_or(u64::MAX));
        self.since_ms = now_ms;
    }

    /// When it ends if nothing changes.
    fn end_ms(&self) -> u64 {
        let length =
            (u128::from(self.left_ms) * u128::from(self.needed)).div_ceil(u128::from(self.parts.max(1)));
        self.since_ms.saturating_add(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

/// Runs jobs, in order of arrival, to the end of the last. `progress` hears how many have come.
///
/// Arrivals refer to others by their place among the arrivals: `after` of job 7 may name job 3.
pub fn simulate(
    scheduler: Scheduler,
    arrivals: &[Arrival],
    progress: &mut dyn FnMut(usize),
) -> (Outcome, Scheduler) {
    watched(scheduler, arrivals, progress, &mut ())
}

/// The same while somebody watches.
pub fn watched<W: Watch>(
    scheduler: Scheduler,
    arrivals: &[Arrival],
    progress: &mut dyn FnMut(usize),
    watch: &mut W,
) -> (Outcome, Scheduler) {
    run(scheduler, arrivals, &mut Nobody::default(), progress, watch)
}

/// The same with somebody who decides from outside, until the time at which it is over where that one says so.
pub fn simulate_beside(
    scheduler: Scheduler,
    arrivals: &[Arrival],
    outside: &mut dyn Outside,
    progress: &mut dyn FnMut(usize),
) -> (Outcome, Scheduler) {
    run(scheduler, arrivals, outside, progress, &mut ())
}

fn run<W: Watch>(
    mut scheduler: Scheduler,
    arrivals: &[Arrival],
    outside: &mut dyn Outside,
    progress: &mut dyn FnMut(usize),
    watch: &mut W,
) -> (Outcome, Scheduler) {
    let mut run = Run {
        events: BinaryHeap::new(),
        jobs: Vec::new(),
        index: vec![None; arrivals.len()],
        outcome: Outcome::new(&scheduler, arrivals),
    };
    let (mut next, mut now_ms) = (0, 0);
    loop {
        run.drop_stale();
        let coming = arrivals.get(next).map(|arrival| arrival.at_ms.max(now_ms));
        let happening = run.events.peek().map(|Reverse((at_ms, ..))| *at_ms);
        let wake = scheduler.wake_ms(now_ms).map(|at_ms| at_ms.max(now_ms + 1));
        let acting = outside.next_ms().map(|at_ms| at_ms.max(now_ms));
        let Some(then_ms) = [coming, happening, wake, acting].into_iter().flatten().min() else { break };
        let over_ms = outside.over_ms();
        let then_ms = over_ms.map_or(then_ms, |over_ms| then_ms.min(over_ms));
        run.outcome.pass(&scheduler, now_ms, then_ms);
        watch.passes(&scheduler, now_ms, then_ms);
        outside.pass(&scheduler, now_ms, then_ms);
        now_ms = then_ms;
        if over_ms.is_some_and(|over_ms| over_ms <= now_ms) {
            break;
        }
        while let Some(&Reverse((at_ms, event, job, generation))) = run.events.peek()
            && at_ms <= now_ms
        {
            run.events.pop();
            if run.jobs[job.index()].generation == generation {
                run.happen(&mut scheduler, event, job, now_ms);
                watch.holds(&scheduler, job, now_ms);
            }
        }
        while let Some(arrival) = arrivals.get(next).filter(|arrival| arrival.at_ms <= now_ms) {
            run.arrive(&mut scheduler, arrival, next, now_ms);
            if let Some(fate) = run.outcome.fate_of(next) {
                watch.came(next, fate, now_ms);
            }
            next += 1;
            if next % 1024 == 0 {
                progress(next);
            }
        }
        if outside.next_ms().is_some_and(|at_ms| at_ms <= now_ms) {
            outside.act(&mut scheduler, now_ms);
        }
        run.jobs.resize_with(scheduler.submitted(), || Progress::endless(now_ms));
        for decision in scheduler.decide(now_ms) {
            let job = decision.job();
            outside.decided(&decision, now_ms);
            run.follow(decision, now_ms);
            watch.holds(&scheduler, job, now_ms);
        }
        run.outcome.moment(&scheduler, now_ms);
    }
    run.outcome.finish(&scheduler, now_ms);
    (run.outcome, scheduler)
}

struct Run {
    events: BinaryHeap<Reverse<(u64, Event, JobIndex, u32)>>,
    /// By the scheduler's numbers.
    jobs: Vec<Progress>,
    /// By arrival, the scheduler's number.
    index: Vec<Option<JobIndex>>,
    outcome: Outcome,
}

impl Run {
    /// Ends that no longer hold are no events: time does not stop for them.
    fn drop_stale(&mut self) {
        while let Some(Reverse((.., job, generation))) = self.events.peek()
            && self.jobs[job.index()].generation != *generation
        {
            self.events.pop();
        }
    }

    fn arrive(&mut self, scheduler: &mut Scheduler, arrival: &Arrival, at: usize, now_ms: u64) {
        let mut job = arrival.job.clone();
        for after in &mut job.after {
            let Some(other) = self.index.get(after.job.index()).copied().flatten() else {
                self.outcome.fate(at, Fate::Refused(Refusal::AfterRefused));
                return;
            };
            after.job = other;
        }
        let (needed, checkpoint) = (job.parts, job.checkpoint);
        match scheduler.submit(job, now_ms) {
            Ok(index) => {
                self.index[at] = Some(index);
                self.jobs.resize_with(index.index(), || Progress::endless(now_ms));
                self.jobs.push(Progress {
                    left_ms: arrival.run_ms,
                    since_ms: now_ms,
                    generation: 0,
                    needed,
                    parts: 0,
                    arrival: Some(at as u32),
                    started_ms: None,
                    stop_cost_ms: checkpoint.map_or(0, |checkpoint| checkpoint.cost_ms),
                });
                self.outcome.fate(at, Fate::Taken(index));
            }
            Err(refusal) => self.outcome.fate(at, Fate::Refused(refusal)),
        }
    }

    fn happen(&mut self, scheduler: &mut Scheduler, event: Event, job: JobIndex, now_ms: u64) {
        let state = &mut self.jobs[job.index()];
        state.advance(now_ms);
        state.parts = 0;
        // The scheduler told the job to run or to stop, so it takes the answer.
        match event {
            Event::Ended => {
                let _ = scheduler.ended(job, true, now_ms);
                let started_ms = state.started_ms.unwrap_or(now_ms);
                if let Some(at) = state.arrival {
                    self.outcome.ended(at as usize, started_ms, now_ms);
                }
            }
            Event::Stopped => {
                if let Some(at) = state.arrival {
                    self.outcome.stopped(at as usize, state.stop_cost_ms);
                }
                state.left_ms = state.left_ms.saturating_add(state.stop_cost_ms).max(1);
                let _ = scheduler.stopped(job, now_ms);
            }
        }
    }

    fn foresee(&mut self, job: JobIndex) {
        let state = &mut self.jobs[job.index()];
        state.generation += 1;
        if state.arrival.is_some() {
            self.events.push(Reverse((state.end_ms(), Event::Ended, job, state.generation)));
        }
    }

    fn follow(&mut self, decision: Decision, now_ms: u64) {
        match decision {
            Decision::Start { job, grants } => {
                let state = &mut self.jobs[job.index()];
                state.since_ms = now_ms;
                state.parts = grants.len() as u32;
                if state.started_ms.is_none() {
                    state.started_ms = Some(now_ms);
                }
                self.foresee(job);
            }
            Decision::Grow { job, grants } => {
                let state = &mut self.jobs[job.index()];
                state.advance(now_ms);
                state.parts += grants.len() as u32;
                self.foresee(job);
            }
            // Nothing fails here: nodes that do are told to the scheduler by its caller, who follows what it says.
            Decision::Move { .. } | Decision::Requeue { .. } => {}
            Decision::Shrink { job, grants, .. } => {
                let state = &mut self.jobs[job.index()];
                state.advance(now_ms);
                state.parts -= grants.len() as u32;
                self.foresee(job);
            }
            Decision::Stop { job, until_ms, .. } => {
                self.outcome.stops += 1;
                let state = &mut self.jobs[job.index()];
                // One that is done within its grace is done.
                if state.end_ms() > until_ms {
                    state.generation += 1;
                    self.events.push(Reverse((until_ms, Event::Stopped, job, state.generation)));
                }
            }
        }
    }
}
