//! Workloads of whole sites from documented distributions and a seed: a pool with its tenants, and the jobs that come.
//!
//! None knows of any policy. All figures are round numbers of ours, except where a source is named.

pub mod daynight;
pub mod sharing;
pub mod teams;

use crate::trace::Trace;

/// A site: a pool in Heddle's own TOML, and its jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// The pool with its tenants, as `heddle pool show` reads it.
    pub pool: String,
    /// The jobs.
    pub trace: Trace,
}
