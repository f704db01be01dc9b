//! Why one job of a replay waited, and why it lies where it does: what the scheduler says of it as the replay goes by.

use std::collections::BTreeMap;

use pool::NodeIndex;
use serde::Serialize;

use crate::job::JobIndex;
use crate::network::Proposal;
use crate::schedule::{Explanation, Scheduler, Wait};
use crate::simulate::{Fate, Watch};

/// What the scheduler says of a job at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// When, in milliseconds.
    pub at_ms: u64,
    /// What it says.
    pub explanation: Explanation,
    /// Names of the jobs that it waits for, where it waits for jobs.
    pub ahead: Vec<String>,
}

/// A place that was weighed for a gang.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Weighed {
    /// Its nodes.
    #[serde(skip)]
    pub nodes: Vec<NodeIndex>,
    /// Leaf groups that it touches.
    pub leaves: u32,
    /// Switches on the way between two parts, in the mean.
    pub mean_hops: f64,
    /// How full the fullest of its links would be, in per cent.
    pub fullest_link_percent: f64,
    /// The weighted sum that is to be least.
    pub cost: f64,
    /// Whether the job got it.
    pub taken: bool,
}

/// Watches one job.
#[derive(Clone, Debug)]
pub struct WhyWatch {
    /// Its place among the arrivals.
    arrival: usize,
    /// The moment that is asked about, in milliseconds.
    asked_ms: Option<u64>,
    job: Option<JobIndex>,
    /// When it came, in milliseconds.
    pub came_ms: Option<u64>,
    /// Why it was not taken.
    pub refused: Option<String>,
    /// What was said of it first while it waited.
    pub first_wait: Option<Told>,
    /// What was said of it last before it started for the first time.
    pub last_wait: Option<Told>,
    /// How long it waited for what before it started for the first time, in milliseconds.
    pub waited_ms: BTreeMap<&'static str, u64>,
    /// What was said of it when it started first.
    pub started: Option<Told>,
    /// The places that were weighed then, for a gang where the network is known.
    pub weighed: Vec<Weighed>,
    /// When it held nothing any more for the last time, in milliseconds.
    pub ended_ms: Option<u64>,
    /// What is said of it at the moment that is asked about.
    pub asked: Option<Told>,
}

/// What a job waits for, in a word.
pub fn word(wait: &Wait) -> &'static str {
    match wait {
        Wait::Jobs(_) => "jobs",
        Wait::Quota { .. } => "quota",
        Wait::Turn { .. } => "turn",
        Wait::Room { .. } => "room",
        Wait::Place(_) => "place",
        Wait::Promised => "promised",
    }
}

impl WhyWatch {
    /// Watches the job at a place of the arrivals; `asked_ms` is a moment that is asked about.
    pub fn new(arrival: usize, asked_ms: Option<u64>) -> Self {
        Self {
            arrival,
            asked_ms,
            job: None,
            came_ms: None,
            refused: None,
            first_wait: None,
            last_wait: None,
            waited_ms: BTreeMap::new(),
            started: None,
            weighed: Vec::new(),
            ended_ms: None,
            asked: None,
        }
    }

    fn told(scheduler: &Scheduler, job: JobIndex, at_ms: u64) -> Option<Told> {
        let explanation = scheduler.explain(job, at_ms)?;
        let ahead = match &explanation.wait {
            Some(Wait::Jobs(jobs)) => jobs
                .iter()
                .filter_map(|&other| scheduler.job(other))
                .map(|other| other.name.to_string())
                .collect(),
            _ => Vec::new(),
        };
        Some(Told { at_ms, explanation, ahead })
    }
}

/// The places that were weighed for a gang that has just started, as its cluster is without it.
fn weighed(scheduler: &Scheduler, job: JobIndex, now_ms: u64) -> Vec<Weighed> {
    if scheduler.network().is_none() || scheduler.job(job).is_none_or(|job| job.parts < 2) {
        return Vec::new();
    }
    let mut held: Vec<NodeIndex> = scheduler.grants(job).iter().map(|grant| grant.node).collect();
    held.sort_unstable();
    held.dedup();
    let mut before = scheduler.clone();
    if before.cancel(job, now_ms).is_err() {
        return Vec::new();
    }
    let place = |(cost, proposal): (f64, Proposal)| {
        let nodes: Vec<NodeIndex> = proposal.candidate.nodes.iter().map(|&(node, _)| node).collect();
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        Weighed {
            taken: sorted == held,
            nodes,
            leaves: proposal.candidate.spread.leaves,
            mean_hops: proposal.candidate.spread.mean_hops,
            fullest_link_percent: proposal.contention.map_or(0.0, |contention| contention.worst * 100.0),
            cost,
        }
    };
    before.weighed(job).into_iter().map(place).collect()
}

impl Watch for WhyWatch {
    fn came(&mut self, at: usize, fate: &Fate, now_ms: u64) {
        if at != self.arrival {
            return;
        }
        self.came_ms = Some(now_ms);
        match fate {
            Fate::Taken(job) => self.job = Some(*job),
            Fate::Refused(refusal) => self.refused = Some(refusal.to_string()),
        }
    }

    fn holds(&mut self, scheduler: &Scheduler, job: JobIndex, now_ms: u64) {
        if Some(job) != self.job {
            return;
        }
        let holds_nothing = scheduler.grants(job).is_empty();
        self.ended_ms = holds_nothing.then_some(now_ms);
        if !holds_nothing && self.started.is_none() {
            self.started = Self::told(scheduler, job, now_ms);
            self.weighed = weighed(scheduler, job, now_ms);
        }
    }

    fn passes(&mut self, scheduler: &Scheduler, from_ms: u64, until_ms: u64) {
        let Some(job) = self.job else { return };
        if let Some(asked_ms) = self.asked_ms.filter(|asked_ms| (from_ms..until_ms).contains(asked_ms)) {
            self.asked = Self::told(scheduler, job, asked_ms);
        }
        if self.started.is_some() {
            return;
        }
        let Some(told) = Self::told(scheduler, job, from_ms) else { return };
        if let Some(wait) = &told.explanation.wait {
            *self.waited_ms.entry(word(wait)).or_default() += until_ms - from_ms;
        }
        if self.first_wait.is_none() {
            self.first_wait = Some(told.clone());
        }
        self.last_wait = Some(told);
    }
}
