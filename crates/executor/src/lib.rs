//! Doors to what runs jobs.
//!
//! [`Executor`] is what the controller asks of whatever runs jobs: start a job that has its places, say what has ended, stop
//! one, find one again after a restart. [`Embedded`] runs jobs as processes of this machine, on behalf of nodes that are
//! emulated or are this machine; [`supervisor`] stands over each of them and outlives the controller.
//!
//! Invariant: what is known by one [`RunId`] runs at most once, however often it is started and whoever dies in between.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this crate is a door")]

mod embedded;
mod files;
mod limits;
mod order;
mod process;
pub mod supervisor;

pub use embedded::{Config, Embedded, output_of};
pub use order::{Order, Outcome, Place, RunId, Tasks};

use std::path::PathBuf;
use std::time::Duration;

/// What an executor knows of a run that it may have started before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// It was never started.
    Nothing,
    /// It runs; [`Executor::poll`] will tell of its end.
    Running,
    /// It is over.
    Over(Outcome),
}

/// Why an executor cannot do what it is asked.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// A file of a run cannot be written or read.
    #[error("cannot {doing} {}: {why}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// No process can be had.
    #[error("cannot start {program}: {why}")]
    Start {
        /// What was to be started.
        program: String,
        /// Why.
        why: String,
    },
}

/// Runs jobs.
pub trait Executor: Send {
    /// Starts a job at its places. To start a run a second time changes nothing: it runs once.
    ///
    /// # Errors
    /// Where it cannot be started, and nothing of it runs.
    fn start(&mut self, order: &Order) -> Result<(), ExecutorError>;

    /// What has ended since the last call, each once.
    fn poll(&mut self) -> Vec<(RunId, Outcome)>;

    /// Asks a run to end, and ends it where it has not after the grace. Its end is told by [`Self::poll`].
    ///
    /// # Errors
    /// Where it cannot be asked.
    fn cancel(&mut self, run: RunId, grace: Duration) -> Result<(), ExecutorError>;

    /// Looks for a run that somebody may have started before this executor was there, and takes it over.
    ///
    /// # Errors
    /// Where what is known of it cannot be read.
    fn adopt(&mut self, run: RunId) -> Result<Found, ExecutorError>;

    /// Where a run's output lies, if it can be read here.
    fn output(&self, run: RunId) -> Option<PathBuf>;

    /// Forgets a run that is over: its files may go.
    fn forget(&mut self, run: RunId);
}
