//! A job as it is kept: what was submitted, where it is in its life, what it holds.

use executor::{Outcome, RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::grant::KeptGrant;
use super::spec::Spec;

/// Where a job is in its life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Others have to be over before it.
    Held,
    /// It waits for room.
    Waiting,
    /// It has its place and is being started.
    Starting,
    /// It runs.
    Running,
    /// It was asked to stop.
    Stopping,
    /// It did its work.
    Done,
    /// It ended without having done its work.
    Failed,
    /// Somebody has ended it.
    Cancelled,
}

impl State {
    /// All of them, in the order of a job's life.
    pub const ALL: [Self; 8] = [
        Self::Held,
        Self::Waiting,
        Self::Starting,
        Self::Running,
        Self::Stopping,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether nothing will come of it any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Whether it holds something.
    pub fn holds(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping)
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A node of a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeOfJob {
    /// Its name.
    pub name: String,
    /// Parts of the job there.
    pub parts: u32,
    /// The GPUs, by their numbers on the node.
    pub gpus: Vec<u32>,
}

/// A job as it is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its number: from 1, never given twice.
    pub number: u64,
    /// What was submitted.
    pub spec: Spec,
    /// Its number in its array, if it is of one.
    pub array_index: Option<u32>,
    /// Where it is in its life.
    pub state: State,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// When its last run started.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// How many runs it has been given.
    pub attempt: u32,
    /// How often it was stopped for others or lost its place.
    pub stops: u32,
    /// What it holds.
    pub grants: Vec<KeptGrant>,
    /// Runs that were given up and may not have ended yet.
    pub leaving: Vec<u32>,
    /// Whether somebody wants it ended.
    pub unwanted: bool,
    /// How its last run ended.
    pub outcome: Option<Outcome>,
    /// Why it is in this state.
    pub cause: Option<String>,
}

impl Record {
    /// A job that has just come.
    pub fn new(number: u64, spec: Spec, array_index: Option<u32>, submitted: Timestamp) -> Self {
        Self {
            number,
            spec,
            array_index,
            state: State::Waiting,
            submitted,
            started: None,
            ended: None,
            attempt: 0,
            stops: 0,
            grants: Vec::new(),
            leaving: Vec::new(),
            unwanted: false,
            outcome: None,
            cause: None,
        }
    }

    /// Its last run.
    pub fn run(&self) -> RunId {
        RunId { job: self.number, attempt: self.attempt }
    }

    /// What people call it.
    pub fn label(&self) -> String {
        format!("job {} \"{}\"", self.number, self.spec.name)
    }

    /// Its nodes, in the order of ranks.
    pub fn nodes(&self) -> Vec<NodeOfJob> {
        let mut nodes: Vec<NodeOfJob> = Vec::new();
        for grant in &self.grants {
            let at = nodes.iter().position(|node| node.name == grant.node);
            let at = at.unwrap_or_else(|| {
                nodes.push(NodeOfJob { name: grant.node.clone(), parts: 0, gpus: Vec::new() });
                nodes.len() - 1
            });
            nodes[at].parts += 1;
            nodes[at].gpus.extend(grant.gpus());
        }
        nodes
    }

    /// GPUs that it wants in all.
    pub fn gpus(&self) -> f64 {
        f64::from(self.spec.parts) * f64::from(self.spec.gpus) * self.spec.gpu_share.unwrap_or(1.0)
    }
}
