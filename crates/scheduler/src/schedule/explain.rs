//! Why a job waits, or what it holds: with numbers, in one screen.

use std::fmt;

use pool::NodeIndex;
use pool::tenants::Resource;
use serde::Serialize;

use super::elsewhere::Elsewhere;
use super::fit::Fit;
use super::promises::UNKNOWN_MS;
use super::{Phase, Scheduler, place};
use crate::job::JobIndex;
use crate::network::{Ask, Contention, Spread, choose};

/// What a job waits for.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// For other jobs to be over.
    Jobs(Vec<JobIndex>),
    /// Its tenant may not hold so much now.
    Quota {
        /// What there is too little of: GPUs and CPU in thousandths, memory in MiB.
        resource: Resource,
        /// How much it wants.
        wanted: u64,
        /// How much the tenant may take.
        available: u64,
    },
    /// The time of the week gives its kind of work no more until it would end.
    Turn {
        /// Thousandths of a GPU that it wants.
        wanted: u64,
        /// Thousandths of a GPU that it may take.
        available: u64,
    },
    /// There is too little room.
    Room {
        /// Parts that it wants.
        parts: u32,
        /// Parts that there is room for on single nodes now.
        room: u64,
        /// Idle thousandths of GPUs of the models that it wants, on nodes that take work.
        idle_gpu_milli: u64,
        /// Of those, on nodes that have no room for one of its parts.
        unusable_gpu_milli: u64,
        /// A node that has all that a part wants, but not where it wants it.
        elsewhere: Option<Elsewhere>,
    },
    /// There is room, but not where it requires it.
    Place(String),
    /// There is room, but it is promised to jobs before it.
    Promised,
}

/// Why a job is where it is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The job.
    pub job: JobIndex,
    /// Its name.
    pub name: String,
    /// `held`, `waiting`, `running`, `stopping`, `done` or `failed`.
    pub phase: &'static str,
    /// How long it has waited since it was submitted, in milliseconds; while it waits.
    pub waited_ms: Option<u64>,
    /// How many are looked at before it; while it waits.
    pub before: Option<usize>,
    /// What it waits for.
    pub wait: Option<Wait>,
    /// When it starts at the latest, in milliseconds, if that is promised and known.
    pub promised_ms: Option<u64>,
    /// How much too late it would end if it started as promised and used all its time, in milliseconds; where it has a
    /// deadline.
    pub late_ms: Option<u64>,
    /// Nodes that are kept for it.
    pub reserved_nodes: Vec<NodeIndex>,
    /// How often it was stopped for others.
    pub stops: u32,
    /// Nodes that it runs on, with the parts on each.
    pub nodes: Vec<(NodeIndex, u32)>,
    /// How it lies in the network; where that is known and it is on several nodes.
    pub fit: Option<Fit>,
}

impl Scheduler {
    /// Why a job waits, or where it is; nothing where there is no such job.
    pub fn explain(&self, job: JobIndex, now_ms: u64) -> Option<Explanation> {
        let entry = self.entries.get(job.index())?;
        let waits = matches!(entry.phase, Phase::Held | Phase::Waiting);
        let promise = self.promises.of(job);
        let nodes = |grants: &[pool::stock::Grant]| {
            let mut nodes: Vec<(NodeIndex, u32)> = Vec::new();
            for grant in grants {
                match nodes.iter_mut().find(|(node, _)| *node == grant.node) {
                    Some((_, parts)) => *parts += 1,
                    None => nodes.push((grant.node, 1)),
                }
            }
            nodes
        };
        Some(Explanation {
            job,
            name: entry.job.name.to_string(),
            phase: match entry.phase {
                Phase::Held => "held",
                Phase::Waiting => "waiting",
                Phase::Running => "running",
                Phase::Stopping { .. } => "stopping",
                Phase::Over { succeeded: true } => "done",
                Phase::Over { succeeded: false } => "failed",
            },
            waited_ms: waits.then(|| now_ms.saturating_sub(entry.submitted_ms)),
            before: (entry.phase == Phase::Waiting).then(|| self.count_before(job, now_ms)),
            wait: waits.then(|| self.wait(job, now_ms)),
            promised_ms: promise.map(|promise| promise.at_ms).filter(|&at_ms| at_ms != UNKNOWN_MS),
            late_ms: promise
                .zip(entry.job.deadline_ms)
                .map(|(promise, deadline_ms)| promise.until_ms.saturating_sub(deadline_ms)),
            reserved_nodes: promise.map_or(Vec::new(), |promise| {
                nodes(&promise.grants).into_iter().map(|(node, _)| node).collect()
            }),
            stops: entry.stops,
            nodes: nodes(&entry.grants),
            fit: self.fit(job).cloned(),
        })
    }

    fn count_before(&self, job: JobIndex, now_ms: u64) -> usize {
        let mut walk = super::waiting::Walk::new(&self.waiting, &self.tenants, &self.shares, now_ms);
        let due_ms = |job: JobIndex| self.due_ms(&self.entries[job.index()]);
        std::iter::from_fn(|| walk.next(&self.waiting, due_ms)).take_while(|&other| other != job).count()
    }

    fn wait(&self, job: JobIndex, now_ms: u64) -> Wait {
        let entry = &self.entries[job.index()];
        if entry.phase == Phase::Held {
            let ahead = entry.job.after.iter().map(|after| after.job);
            let over = |job: &JobIndex| !matches!(self.entries[job.index()].phase, Phase::Over { .. });
            return Wait::Jobs(ahead.filter(over).collect());
        }
        let wanted = entry.job.gpu_milli(entry.job.parts);
        if let Some(tenant) = entry.job.tenant.filter(|_| !self.tenants.is_empty()) {
            let amounts = entry.job.amounts(entry.job.parts);
            if let Some((resource, available)) = self.tenants.lacks(tenant, amounts) {
                return Wait::Quota { resource, wanted: amounts.of(resource), available };
            }
        }
        let until_ms = entry.left_ms.map_or(UNKNOWN_MS, |left| now_ms.saturating_add(left));
        let kind = (entry.job.work, entry.job.checkpoint.is_none());
        let bars = self.turns.as_ref().and_then(|turns| turns.bars(kind, wanted, now_ms, until_ms));
        if let Some(available) = bars {
            return Wait::Turn { wanted, available };
        }
        let stock = self.cluster.stock();
        let (mut room, mut idle, mut unusable) = (0, 0, 0);
        for node in stock.nodes().filter(|&node| stock.is_open(node)) {
            let parts = place::room_on(stock, node, &entry.job);
            room += u64::from(parts);
            if stock.model(node).is_some_and(|model| entry.job.demand.models.contains(model)) {
                let free: u64 = stock.gpus_free_milli(node).iter().map(|&free| u64::from(free)).sum();
                idle += free;
                unusable += if parts == 0 { free } else { 0 };
            }
        }
        if room >= u64::from(entry.job.parts) {
            let capacity = place::room(stock, &entry.job);
            let ask = Ask { capacity: &capacity, members: entry.job.parts, wants: &entry.job.wants, most: 1 };
            let refusal = self.locality().and_then(|locality| choose(locality, &ask).err());
            return refusal.map_or(Wait::Promised, |refusal| Wait::Place(refusal.to_string()));
        }
        Wait::Room {
            parts: entry.job.parts,
            room,
            idle_gpu_milli: idle,
            unusable_gpu_milli: unusable,
            elsewhere: Elsewhere::find(stock, &entry.job.demand),
        }
    }
}

fn gpus(milli: u64) -> f64 {
    milli as f64 / 1000.0
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jobs(jobs) => {
                write!(f, "it waits for {} other jobs, first number", jobs.len())?;
                jobs.first().map_or(Ok(()), |job| write!(f, " {}", job.0))
            }
            Self::Quota { resource, wanted, available } => write!(
                f,
                "its tenant may take {} more now, and it wants {}",
                resource.show(*available),
                resource.show(*wanted)
            ),
            Self::Turn { wanted, available } => write!(
                f,
                "by the calendar its kind of work may take {} GPUs more until it would end, and it wants {}",
                gpus(*available),
                gpus(*wanted)
            ),
            Self::Room { parts, room, idle_gpu_milli, unusable_gpu_milli, elsewhere } => {
                write!(
                    f,
                    "there is room for {room} of its {parts} parts: {} GPUs of its kind are idle, {} of them on nodes \
                     that have no room for a part",
                    gpus(*idle_gpu_milli),
                    gpus(*unusable_gpu_milli)
                )?;
                elsewhere.as_ref().map_or(Ok(()), |elsewhere| write!(f, "; {elsewhere}"))
            }
            Self::Place(refusal) => f.write_str(refusal),
            Self::Promised => f.write_str("there is room, but it is promised to jobs before it"),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} is {}", self.name, self.phase)?;
        if let Some(wait) = &self.wait {
            writeln!(f, "  {wait}")?;
        }
        if let (Some(before), Some(waited_ms)) = (self.before, self.waited_ms) {
            writeln!(f, "  {before} jobs are looked at before it; it has waited {} s", waited_ms / 1000)?;
        }
        if let Some(promised_ms) = self.promised_ms {
            let nodes = self.reserved_nodes.len();
            writeln!(
                f,
                "  it starts {} s after the beginning at the latest, on {nodes} nodes",
                promised_ms / 1000
            )?;
        }
        match self.late_ms {
            Some(0) => writeln!(f, "  it will meet its deadline")?,
            Some(late_ms) => writeln!(f, "  it may miss its deadline by {} s", late_ms / 1000)?,
            None => {}
        }
        if !self.nodes.is_empty() {
            let parts: u32 = self.nodes.iter().map(|(_, parts)| parts).sum();
            writeln!(f, "  {parts} parts on {} nodes", self.nodes.len())?;
        }
        if let Some(fit) = &self.fit {
            let Spread { leaves, pods, mean_hops, .. } = fit.spread;
            writeln!(f, "  {leaves} leaves in {pods} pods, {mean_hops:.2} hops between parts in the mean")?;
            if let Some(Contention { worst, mean, avoided_links, .. }) = fit.contention {
                writeln!(
                    f,
                    "  its fullest link was {:.0} per cent full when it started, {:.0} in the mean; {avoided_links} are to be avoided",
                    worst * 100.0,
                    mean * 100.0
                )?;
            }
            writeln!(
                f,
                "  cost of the place {:.2}: hops, fullest link and links to be avoided, weighted",
                fit.cost
            )?;
        }
        if self.stops > 0 {
            writeln!(f, "  it was stopped for others {} times", self.stops)?;
        }
        Ok(())
    }
}
