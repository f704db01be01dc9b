//! The queue and what runs: jobs come, wait, start as gangs, are stopped for others, end.
//!
//! [`Scheduler`] is a state machine without a clock. Calls tell it what has happened and when; [`Scheduler::decide`] answers
//! with what is to be done. It counts what it decided as done, so the next decision builds upon it.
//!
//! `waiting` is the order, `shares` whose turn it is, `look` one look at the queue, `promises` what is promised to those that
//! wait, `preempt` who is stopped for whom, `elastic` who grows and shrinks, `turns` what the time of the week changes,
//! `faults` what becomes of jobs whose nodes fail, `fit` where a gang lies best, `groups` arrays and
//! services, `resume` jobs that ran before the queue was made, `defragment` which moves pay for themselves, `idle` why GPUs
//! are idle while jobs wait, `explain` why a job waits or
//! is where it is, `elsewhere` which node has what it wants, but not where on it.

mod config;
mod defragment;
mod elastic;
mod elsewhere;
mod explain;
mod faults;
mod fit;
mod groups;
mod idle;
mod look;
mod place;
mod preempt;
mod promises;
mod resume;
mod shapes;
mod shares;
mod turns;
mod waiting;

use std::collections::BTreeSet;

use pool::stock::{Demand, Grant};
use pool::tenants::{ChargeError, Tenants};
use pool::{NodeIndex, Stock};

use crate::job::{Job, JobIndex, Refusal, Work};
use crate::network::{Locality, Topology};
use crate::placement::{ClassIndex, Classes, Cluster};
use crate::policy::Policy;

pub use config::{Backfill, Config};
pub use defragment::{MOVE_AFTER, Migrated, Migration, Move, Sum};
pub use elsewhere::{Elsewhere, OfDomain};
pub use explain::{Explanation, Wait};
pub use fit::{Fit, Weights};
pub use groups::GroupIndex;
pub use idle::Idle;
pub use place::Grants;
pub use promises::UNKNOWN_MS;
pub use resume::ResumeError;

use groups::Group;
use promises::{LATE_MS, Promise, Promises, Running};
use shapes::{ShapeIndex, Shapes};
use shares::Shares;
use turns::Turns;
use waiting::{Place, Rank, Waiting};

/// Where a job is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Others have to come before it.
    Held,
    /// It waits for room.
    Waiting,
    /// It runs.
    Running,
    /// It was told to stop, for another, and has until then, in milliseconds.
    Stopping {
        /// When its grace is over.
        until_ms: u64,
    },
    /// It is over.
    Over {
        /// Whether it did its work.
        succeeded: bool,
    },
}

/// What is to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Decision {
    /// A job starts, a part on each grant.
    Start {
        /// The job.
        job: JobIndex,
        /// Its places.
        grants: Grants,
    },
    /// A job is to write its state and stop; it waits again after that.
    Stop {
        /// The job.
        job: JobIndex,
        /// For whom; nothing where the time of the week turns.
        by: Option<JobIndex>,
        /// When its grace is over, in milliseconds.
        until_ms: u64,
    },
    /// A job gets more parts.
    Grow {
        /// The job.
        job: JobIndex,
        /// Places that come to those it has.
        grants: Grants,
    },
    /// Parts of a job were on a node that failed; they go on elsewhere, and the job from its last checkpoint.
    Move {
        /// The job.
        job: JobIndex,
        /// Places that it has lost.
        lost: Grants,
        /// Places that it has instead.
        grants: Grants,
    },
    /// A job has lost its place and waits again; what it had is gone.
    Requeue {
        /// The job.
        job: JobIndex,
    },
    /// A job gives parts back; it does so at once.
    Shrink {
        /// The job.
        job: JobIndex,
        /// For whom; nothing where the time of the week turns.
        by: Option<JobIndex>,
        /// Places that it has no longer.
        grants: Grants,
    },
}

impl Decision {
    /// The job that it is about.
    pub fn job(&self) -> JobIndex {
        match self {
            Self::Start { job, .. }
            | Self::Stop { job, .. }
            | Self::Grow { job, .. }
            | Self::Move { job, .. }
            | Self::Requeue { job }
            | Self::Shrink { job, .. } => *job,
        }
    }
}

/// A call that does not fit what the job is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// No job has that number.
    #[error("there is no job number {0}")]
    NoSuchJob(u32),
    /// No group has that number.
    #[error("there is no group number {0}")]
    NoSuchGroup(u32),
    /// It does something else.
    #[error("job number {0} is not in a state for that: it is {1:?}")]
    Phase(u32, Phase),
}

#[derive(Clone, Debug)]
struct Entry {
    job: Job,
    class: ClassIndex,
    shape: ShapeIndex,
    phase: Phase,
    submitted_ms: u64,
    started_ms: u64,
    /// Run time that it may still need, in milliseconds; nothing where nobody knows.
    left_ms: Option<u64>,
    /// When it ends at the latest while it runs.
    ends_ms: u64,
    grants: Grants,
    /// How many others it still waits for.
    held_by: u32,
    followers: Vec<JobIndex>,
    stops: u32,
    fit: Option<Box<Fit>>,
    group: Option<GroupIndex>,
}

impl Entry {
    /// Thousandths of a GPU that so many places of the job are, and how many of those cannot be had back before its end.
    fn held_by(&self, places: usize, extra: bool) -> (u64, u64) {
        let needed =
            if extra || self.job.checkpoint.is_some() { 0 } else { places.min(self.job.parts as usize) };
        (self.job.gpu_milli(places as u32), self.job.gpu_milli(needed as u32))
    }
}

/// The queue and what runs.
#[derive(Clone, Debug)]
pub struct Scheduler {
    config: Config,
    cluster: Cluster,
    classes: Classes,
    policy: Policy,
    tenants: Tenants,
    shares: Shares,
    turns: Option<Turns>,
    /// What was each kind of work's own at the last look.
    turn: Option<[u64; 2]>,
    entries: Vec<Entry>,
    groups: Vec<Group>,
    waiting: Waiting,
    /// By when they end at the latest.
    running: BTreeSet<(u64, JobIndex)>,
    promises: Promises,
    /// Who came since the last look.
    fresh: Vec<JobIndex>,
    /// Whether room or quota came free since the last look.
    freed: bool,
    shapes: Shapes,
    network: Option<Topology>,
    /// Idle nodes that are kept for parts of nodes that fail.
    spares: BTreeSet<NodeIndex>,
    /// Whether what promises count on has changed otherwise than by starts and early ends.
    stale: bool,
    /// Ends earlier than promised ones counted on, since promises were made.
    early_ends: u32,
    /// Running jobs that take more parts than they need where there are any.
    elastic: BTreeSet<JobIndex>,
    /// Running jobs that can be stopped for others, or have parts to give back.
    yielding: BTreeSet<JobIndex>,
    migrated: Migrated,
    /// When moves were sought last.
    sought_ms: Option<u64>,
}

impl Scheduler {
    /// An empty queue over a stock. `mix` are demands such as will come, by which placements are judged. Without tenants
    /// nobody has a quota.
    pub fn new<'a>(
        config: Config,
        stock: Stock,
        tenants: Tenants,
        mix: impl IntoIterator<Item = &'a Demand>,
    ) -> Self {
        Self {
            policy: Policy::new(config.policy, &stock, mix, config.seed),
            shares: Shares::new(&stock, &tenants),
            waiting: Waiting::new(&tenants, config.fair_share),
            cluster: Cluster::new(stock, config.policy.keeps_sizes()),
            classes: Classes::default(),
            tenants,
            turns: None,
            turn: None,
            entries: Vec::new(),
            groups: Vec::new(),
            running: BTreeSet::new(),
            promises: Promises::default(),
            fresh: Vec::new(),
            freed: false,
            shapes: Shapes::default(),
            network: None,
            spares: BTreeSet::new(),
            stale: false,
            early_ends: 0,
            elastic: BTreeSet::new(),
            yielding: BTreeSet::new(),
            migrated: Migrated::default(),
            sought_ms: None,
            config,
        }
    }

    /// Lets the gangs of jobs to come be placed by the fabric: who is near whom, and what links bear.
    #[must_use]
    pub fn with_network(mut self, network: Topology) -> Self {
        self.network = Some(network);
        self.keep_spares();
        self
    }

    /// The network as placement sees it.
    pub fn network(&self) -> Option<&Topology> {
        self.network.as_ref()
    }

    /// The network, to tell it of other tables or of links to keep away from.
    pub fn network_mut(&mut self) -> Option<&mut Topology> {
        self.network.as_mut()
    }

    fn locality(&self) -> Option<&Locality> {
        self.network.as_ref().map(Topology::locality)
    }

    /// Takes a job into the queue.
    ///
    /// # Errors
    /// Where it could never start, and what is in the way. Then nothing was changed.
    pub fn submit(&mut self, job: Job, now_ms: u64) -> Result<JobIndex, Refusal> {
        let (class, shape) = self.check(&job, now_ms)?;
        let index = JobIndex(self.entries.len() as u32);
        let mut held_by = 0;
        for after in &job.after {
            match self.entries.get(after.job.index()).map(|entry| entry.phase) {
                None => return Err(Refusal::After(after.job.0)),
                Some(Phase::Over { succeeded: false }) if after.succeeded => {
                    return Err(Refusal::AfterFailed(after.job.0));
                }
                Some(Phase::Over { .. }) => {}
                Some(_) => held_by += 1,
            }
        }
        for after in &job.after {
            let other = &mut self.entries[after.job.index()];
            if !matches!(other.phase, Phase::Over { .. }) {
                other.followers.push(index);
            }
        }
        self.entries.push(Entry {
            class,
            shape,
            phase: if held_by > 0 { Phase::Held } else { Phase::Waiting },
            submitted_ms: now_ms,
            started_ms: 0,
            left_ms: job.limit_ms,
            ends_ms: 0,
            grants: Grants::new(),
            held_by,
            followers: Vec::new(),
            stops: 0,
            fit: None,
            group: None,
            job,
        });
        if held_by == 0 {
            self.queue(index);
        }
        Ok(index)
    }

    fn check(&mut self, job: &Job, now_ms: u64) -> Result<(ClassIndex, ShapeIndex), Refusal> {
        if job.parts == 0 || job.most_parts < job.parts {
            return Err(Refusal::Parts { parts: job.parts, most: job.most_parts });
        }
        let length_ms = job.limit_ms.unwrap_or(0);
        if let Some(deadline_ms) = job.deadline_ms.filter(|&at_ms| at_ms < now_ms.saturating_add(length_ms)) {
            let left_ms = deadline_ms.saturating_sub(now_ms);
            return Err(Refusal::Deadline { left_s: left_ms / 1000, length_s: length_ms / 1000 });
        }
        let demand = &job.demand;
        if demand.mig.is_some() && !demand.is_possible() {
            return Err(Refusal::Instances(demand.gpus));
        }
        if !demand.is_possible() {
            return Err(Refusal::Share { gpus: demand.gpus, gpu_milli: demand.gpu_milli });
        }
        if !self.tenants.is_empty() {
            let tenant = job.tenant.filter(|tenant| tenant.index() < self.tenants.len());
            let tenant = tenant.ok_or(Refusal::Tenant)?;
            let amounts = job.amounts(job.parts);
            if let Some((resource, most, because)) = self.tenants.never(tenant, amounts) {
                let (tenant, wanted) = (self.tenants.name(tenant).to_owned(), amounts.of(resource));
                return Err(Refusal::Quota { tenant, resource, wanted, most, because });
            }
        }
        let class = self.classes.class(demand);
        let shape =
            self.shapes.of(job, class, self.cluster.stock(), self.network.as_ref().map(Topology::locality));
        Ok((class, shape.map_err(Refusal::Never)?))
    }

    fn entry(&self, job: JobIndex) -> Result<&Entry, CallError> {
        self.entries.get(job.index()).ok_or(CallError::NoSuchJob(job.0))
    }

    /// A job as it was submitted.
    pub fn job(&self, job: JobIndex) -> Option<&Job> {
        self.entries.get(job.index()).map(|entry| &entry.job)
    }

    /// Where a job is in its life.
    pub fn phase(&self, job: JobIndex) -> Option<Phase> {
        self.entries.get(job.index()).map(|entry| entry.phase)
    }

    /// What a job holds.
    pub fn grants(&self, job: JobIndex) -> &[Grant] {
        self.entries.get(job.index()).map_or(&[], |entry| &entry.grants)
    }

    /// When a job that waits starts at the latest, if that was promised: in milliseconds, or [`UNKNOWN_MS`].
    pub fn promised_ms(&self, job: JobIndex) -> Option<u64> {
        self.promises.of(job).map(|promise| promise.at_ms)
    }

    /// Nodes that are kept for a job that was promised a time.
    pub fn reserved(&self, job: JobIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        let grants = self.promises.of(job).map_or(&[][..], |promise| &promise.grants);
        grants.iter().map(|grant| grant.node)
    }

    /// When to decide at the latest though nothing happens: a promised time comes, or the time of the week turns; in
    /// milliseconds. Nothing where nobody waits or runs.
    pub fn wake_ms(&self, now_ms: u64) -> Option<u64> {
        let times = self.promises.all().iter().map(|promise| promise.at_ms);
        let promised = times.min().filter(|&at_ms| at_ms != UNKNOWN_MS);
        let busy = self.waiting.len() > 0 || !self.running.is_empty();
        let turn = self.turns.as_ref().filter(|_| busy).and_then(|turns| turns.wake_ms(now_ms));
        [promised, turn].into_iter().flatten().min()
    }

    /// How often a job was stopped for others.
    pub fn stops(&self, job: JobIndex) -> u32 {
        self.entries.get(job.index()).map_or(0, |entry| entry.stops)
    }

    /// How many jobs were ever submitted, whatever became of them.
    pub fn submitted(&self) -> usize {
        self.entries.len()
    }

    /// How many jobs wait for room.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many jobs hold something.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// The stock as it is now.
    pub fn stock(&self) -> &Stock {
        self.cluster.stock()
    }

    /// The stock with its nodes grouped by what they have left.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The tenants with what they hold.
    pub fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// A job that runs, or was told to stop, is over.
    ///
    /// # Errors
    /// Where it holds nothing.
    pub fn ended(&mut self, job: JobIndex, succeeded: bool, now_ms: u64) -> Result<(), CallError> {
        match self.entry(job)?.phase {
            Phase::Running | Phase::Stopping { .. } => {
                self.vacate(job, now_ms);
                self.over(job, succeeded);
                Ok(())
            }
            phase => Err(CallError::Phase(job.0, phase)),
        }
    }

    /// A job that was told to stop has stopped; it waits again, in its old place.
    ///
    /// # Errors
    /// Where it was not told to stop.
    pub fn stopped(&mut self, job: JobIndex, now_ms: u64) -> Result<(), CallError> {
        let phase = self.entry(job)?.phase;
        if !matches!(phase, Phase::Stopping { .. }) {
            return Err(CallError::Phase(job.0, phase));
        }
        let ran = now_ms.saturating_sub(self.entries[job.index()].started_ms);
        self.vacate(job, now_ms);
        let entry = &mut self.entries[job.index()];
        let cost = entry.job.checkpoint.map_or(0, |checkpoint| checkpoint.cost_ms);
        entry.left_ms = entry.left_ms.map(|left| left.saturating_sub(ran).saturating_add(cost).max(1));
        entry.phase = Phase::Waiting;
        entry.stops += 1;
        self.queue(job);
        Ok(())
    }

    /// Takes a job out, whatever it does; what it holds is given back.
    ///
    /// # Errors
    /// Where it is over.
    pub fn cancel(&mut self, job: JobIndex, now_ms: u64) -> Result<(), CallError> {
        match self.entry(job)?.phase {
            Phase::Running | Phase::Stopping { .. } => self.vacate(job, now_ms),
            Phase::Waiting => {
                self.unqueue(job);
                self.promises.drop_of(job);
                self.stale = true;
                self.freed = true;
            }
            Phase::Held => {}
            phase @ Phase::Over { .. } => return Err(CallError::Phase(job.0, phase)),
        }
        self.over(job, false);
        Ok(())
    }

    fn over(&mut self, job: JobIndex, succeeded: bool) {
        if self.promises.of(job).is_some() {
            // It was to move, and is done before.
            self.promises.drop_of(job);
            self.stale = true;
        }
        let mut over = vec![(job, succeeded)];
        while let Some((job, succeeded)) = over.pop() {
            self.entries[job.index()].phase = Phase::Over { succeeded };
            self.next_of_group(job);
            for follower in std::mem::take(&mut self.entries[job.index()].followers) {
                let entry = &mut self.entries[follower.index()];
                if entry.phase != Phase::Held {
                    continue;
                }
                let strict = entry.job.after.iter().any(|after| after.job == job && after.succeeded);
                if strict && !succeeded {
                    // What it waits for will not come.
                    over.push((follower, false));
                    continue;
                }
                entry.held_by -= entry.job.after.iter().filter(|after| after.job == job).count() as u32;
                if entry.held_by == 0 {
                    entry.phase = Phase::Waiting;
                    self.queue(follower);
                }
            }
        }
    }

    fn place_in_queue(&self, job: JobIndex) -> Place {
        let entry = &self.entries[job.index()];
        let signed = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
        let worth = i64::from(entry.job.priority).saturating_mul(signed(self.config.priority_ms));
        let length =
            entry.job.limit_ms.unwrap_or(0).saturating_mul(u64::from(self.config.length_permille)) / 1000;
        let time = signed(entry.submitted_ms).saturating_add(signed(length)).saturating_sub(worth);
        Place {
            rank: Rank { time, job },
            row: self.waiting.row(entry.job.tenant),
            due_ms: self.due_ms(entry),
        }
    }

    /// When a job comes before all others: it has waited too long, or would miss its deadline. Where the calendar gives
    /// services a share of the pool, they come first at once: batch work that has waited too long has no claim on that share.
    fn due_ms(&self, entry: &Entry) -> u64 {
        if entry.job.work == Work::Service && self.turns.is_some() {
            return 0;
        }
        let overdue_ms = entry.submitted_ms.saturating_add(self.config.overdue_ms);
        let Some(deadline_ms) = entry.job.deadline_ms else { return overdue_ms };
        let needed_ms = entry.left_ms.unwrap_or(0).saturating_add(self.config.deadline_lead_ms);
        overdue_ms.min(deadline_ms.saturating_sub(needed_ms))
    }

    fn queue(&mut self, job: JobIndex) {
        self.waiting.insert(self.place_in_queue(job));
        self.fresh.push(job);
    }

    fn unqueue(&mut self, job: JobIndex) {
        self.waiting.remove(self.place_in_queue(job));
    }

    fn charge(&mut self, job: JobIndex, parts: u32) -> Result<(), ChargeError> {
        let job = &self.entries[job.index()].job;
        match job.tenant.filter(|_| !self.tenants.is_empty()) {
            Some(tenant) => self.tenants.charge(tenant, job.amounts(parts)),
            None => Ok(()),
        }
    }

    /// Counts places of a job as taken by the tenant, which was charged, and by its kind of work; `extra` is what it has
    /// beyond its need.
    fn count(&mut self, job: JobIndex, grants: &[Grant], extra: bool) {
        let entry = &self.entries[job.index()];
        if let Some(tenant) = entry.job.tenant.filter(|_| !self.tenants.is_empty()) {
            self.shares.count(&self.tenants, tenant, grants, true);
        }
        if let Some(turns) = &mut self.turns {
            let (amount, fixed) = entry.held_by(grants.len(), extra);
            turns.count(entry.job.work, amount, fixed, true);
        }
    }

    /// Counts places of a job as given back to the tenant and its kind of work.
    fn discharge(&mut self, job: JobIndex, grants: &[Grant], extra: bool) {
        let entry = &self.entries[job.index()];
        if let Some(turns) = &mut self.turns {
            let (amount, fixed) = entry.held_by(grants.len(), extra);
            turns.count(entry.job.work, amount, fixed, false);
        }
        if let Some(tenant) = entry.job.tenant.filter(|_| !self.tenants.is_empty()) {
            // What was charged can be given back.
            let _ = self.tenants.release(tenant, entry.job.amounts(grants.len() as u32));
            self.shares.count(&self.tenants, tenant, grants, false);
        }
    }

    /// Gives back all that a job holds.
    fn vacate(&mut self, job: JobIndex, now_ms: u64) {
        self.leave_network(job);
        let entry = &mut self.entries[job.index()];
        let grants = std::mem::take(&mut entry.grants);
        self.running.remove(&(entry.ends_ms, job));
        let ends_ms = entry.ends_ms;
        self.elastic.remove(&job);
        self.yielding.remove(&job);
        self.release(&grants);
        self.discharge(job, &grants, false);
        self.freed = true;
        if ends_ms > now_ms {
            self.early_ends += 1;
            self.promises.left(&grants, ends_ms);
        } else {
            self.stale = true;
        }
    }

    /// Keeps the promises that are to be kept, and looks at them anew: those that no longer can be are void.
    fn keep_promises(&mut self, now_ms: u64, keep: impl Fn(&Promise) -> bool) {
        if !self.promises.all().is_empty() {
            let mut promises = std::mem::take(&mut self.promises);
            promises.retain(&self.running_now(now_ms), keep);
            self.promises = promises;
        }
    }

    /// What runs, for promises.
    fn running_now(&self, now_ms: u64) -> Running<'_> {
        let ends = self.running.iter().map(|&(ends_ms, job)| {
            // Who is late may end any moment, but has not.
            let ends_ms = if ends_ms <= now_ms { now_ms + LATE_MS } else { ends_ms };
            (ends_ms, &self.entries[job.index()].grants[..])
        });
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by_key(|&(ends_ms, _)| ends_ms);
        Running { now_ms, stock: self.cluster.stock(), ends }
    }
}
