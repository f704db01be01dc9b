//! What an executor is told of a job, and what comes of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One try at running a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RunId {
    /// The job's number.
    pub job: u64,
    /// Which try it is, from 1.
    pub attempt: u32,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.job, self.attempt)
    }
}

/// A node of a job, with what it has there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The node's name.
    pub node: String,
    /// The GPUs there, by their numbers on the node.
    pub gpus: Vec<u32>,
    /// Parts of the job there.
    pub parts: u32,
}

/// How many processes a job has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tasks {
    /// One, which starts others itself.
    #[default]
    One,
    /// One on each node.
    PerNode,
    /// One for each part.
    PerPart,
}

/// A job that has its places.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The run.
    pub run: RunId,
    /// The job's name.
    pub name: String,
    /// The text of a script to run: its first line names its interpreter.
    pub script: Option<String>,
    /// Program and arguments; with a script, the script's arguments.
    pub command: Vec<String>,
    /// Where it runs; the run's own folder where nothing is said.
    pub directory: Option<PathBuf>,
    /// Its environment beside what tells it of its places.
    pub environment: BTreeMap<String, String>,
    /// The file that its output goes to; one in the run's own folder where nothing is said.
    pub output: Option<PathBuf>,
    /// Its nodes, in the order of ranks.
    pub places: Vec<Place>,
    /// How many processes.
    pub tasks: Tasks,
    /// How long it may run, in milliseconds.
    pub limit_ms: Option<u64>,
    /// Data memory that each of its processes may have, MiB.
    pub memory_mib: Option<u64>,
    /// How long it has between being asked to end and being ended, in milliseconds.
    pub grace_ms: u64,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub enum Outcome {
    /// All its processes ended by themselves.
    Exited {
        /// The first exit code that is not 0, in the order of ranks; 0 where all are.
        code: i32,
    },
    /// One was ended by a signal that nobody here sent.
    Killed {
        /// The signal.
        signal: i32,
    },
    /// It ran longer than it may.
    TimedOut,
    /// It was asked to end.
    Cancelled,
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// Nobody knows: what watched over it is gone. Nothing of it runs any more.
    Lost,
}

impl Outcome {
    /// Whether the job did its work.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0 })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code: 0 } => f.write_str("it did its work"),
            Self::Exited { code } => write!(f, "it ended with exit code {code}"),
            Self::Killed { signal } => write!(f, "signal {signal} ended it"),
            Self::TimedOut => f.write_str("it ran into its time limit"),
            Self::Cancelled => f.write_str("it was ended on request"),
            Self::NotStarted { why } => write!(f, "it could not be started: {why}"),
            Self::Lost => f.write_str("what watched over it is gone, and nobody knows how it ended"),
        }
    }
}
