//! What the manager has done, as values to print.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::finding::Finding;
use crate::manager::Phase;

/// MADs of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct MadCount {
    /// Sent, repeats included.
    pub sent: u64,
    /// Sent again.
    pub retried: u64,
    /// Answered.
    pub answered: u64,
}

/// MADs sent, in all and by kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct MadCounts {
    /// Requests, repeats included.
    pub sent: u64,
    /// Requests sent again.
    pub retried: u64,
    /// Requests that read.
    pub get: u64,
    /// Requests that write.
    pub set: u64,
    /// Answers and other MADs that belonged to nothing, came twice or made no sense.
    pub ignored: u64,
    /// By method and attribute, as in `Get PortInfo`.
    pub kinds: BTreeMap<String, MadCount>,
}

/// How far the phase is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Progress {
    /// Which phase.
    pub phase: Phase,
    /// Requests answered in it.
    pub done: u64,
    /// Requests known to be needed in it.
    pub of: u64,
    /// Nodes found.
    pub nodes: usize,
}

/// The time of each phase by the manager's clock, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    /// Finding all devices.
    pub discover: f64,
    /// LIDs, tables and proof.
    pub route: f64,
    /// Writing, arming, activating.
    pub program: f64,
    /// From the beginning to the end.
    pub total: f64,
}

impl Seconds {
    pub(crate) fn of(duration: Duration) -> f64 {
        duration.as_secs_f64()
    }
}

/// What the verifier says of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Verified {
    /// Ordered pairs of end ports that were checked.
    pub pairs: u64,
    /// Pairs without a path.
    pub unreachable: u64,
    /// Forwarding loops.
    pub loops: u64,
    /// Credit loops.
    pub credit_loops: u64,
}

/// What the manager has done.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Where it stands: `up`, `refused`, `standby`, or the phase under way.
    pub state: Phase,
    /// Switches that it manages.
    pub switches: usize,
    /// Hosts' adapters that it manages.
    pub hosts: usize,
    /// Links between what it manages.
    pub links: usize,
    /// LIDs given out.
    pub lids: usize,
    /// The topology that was recognised, the engine chosen, and why.
    pub routing: Option<String>,
    /// Data lanes that the paths take.
    pub virtual_lanes: u8,
    /// MADs sent.
    pub mads: MadCounts,
    /// Blocks of forwarding tables written.
    pub lft_blocks_written: u64,
    /// The time of each phase.
    pub seconds: Seconds,
    /// The proof.
    pub verify: Verified,
    /// Why it refused, where it did.
    pub refused: Option<String>,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
}
