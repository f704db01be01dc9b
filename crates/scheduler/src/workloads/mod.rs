//! Workloads of whole sites from documented distributions and a seed: a pool with its tenants, and the jobs that come.
//!
//! None knows of any policy. All figures are round numbers of ours, except where a source is named.

pub mod daynight;
pub mod sharing;
pub mod teams;

use pool::stock::WHOLE_GPU;

use crate::job::{Checkpoint, Work};
use crate::trace::{Job, Terms, Trace};

/// Time that a job has to write its state when it is stopped, and the work that it loses, in seconds.
const GRACE_S: u64 = 120;
const COST_S: u64 = 600;

/// A site: a pool in Heddle's own TOML, and its jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// The pool with its tenants, as `heddle pool show` reads it.
    pub pool: String,
    /// The jobs.
    pub trace: Trace,
}

/// A batch job of nobody's that wants `parts` times `gpus` whole GPUs, with 8 cores and 128 GiB beside each; times in seconds.
/// An elastic one of more than one part can use twice its parts.
fn job(
    at_s: u64,
    (run_s, limit_s): (f64, f64),
    (parts, gpus): (u32, u16),
    stoppable: bool,
    elastic: bool,
) -> Job {
    Job {
        name: "".into(),
        submit_ms: at_s * 1000,
        run_ms: Some(run_s as u64 * 1000),
        limit_ms: Some(limit_s as u64 * 1000),
        parts,
        cpu_milli: u32::from(gpus) * 8000,
        memory_mib: u32::from(gpus) * 131_072,
        gpus,
        gpu_milli: WHOLE_GPU,
        models: 0,
        user: 0,
        priority: 0,
        terms: Terms {
            more_parts: if elastic && parts > 1 { parts } else { 0 },
            work: Work::Batch,
            checkpoint: stoppable.then_some(Checkpoint { grace_ms: GRACE_S * 1000, cost_ms: COST_S * 1000 }),
            ..Terms::default()
        },
    }
}
