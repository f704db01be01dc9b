//! Jobs on the cluster: the pool and the queue over the live fabric, what is kept of them, and who runs them.
//!
//! ```text
//!   API ──ask──► host ──decide──► scheduler          one thread: the only one that changes anything
//!                  │  ├─record──► store, journal
//!                  │  └─start───► executor ──► processes
//!                  ▼
//!                board ──► API, metrics               readers never wait for the thread
//! ```
//!
//! `host` is the thread; `asked` what others want of it, `follow` what the scheduler decides, `ends` what became of runs,
//! `restore` the jobs of a controller before this one. `stockroom` makes the pool from the fabric or a file and tells which
//! nodes the fabric has lost. `spec` is a job as it is submitted, `record` as it is kept, `board` what readers see, `why` the
//! scheduler's reasons.
//!
//! Order of writing: a job's next run is in the store before anything of it starts, and the executor starts what is known by
//! one number once. So a controller that is killed at any moment loses no job and runs none twice.

mod asked;
mod board;
mod ends;
mod follow;
mod grant;
mod host;
mod record;
mod restore;
mod spec;
mod stockroom;
mod why;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tokio::sync::oneshot;

use crate::site::Site;
use crate::store::Store;

pub use board::{Board, Figures, NodeState, Picture};
pub use record::{NodeOfJob, Record, State};
pub use spec::{After, Near, Spec, Talk};
pub use stockroom::Source;
pub use why::{Fit, Why};

/// What hosting jobs takes.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the pool comes from.
    pub source: Source,
    /// What the site decides about its queue.
    pub queue: scheduler::schedule::Config,
    /// Where runs have their folders.
    pub folder: PathBuf,
    /// Program and arguments that supervise a run.
    pub supervisor: Vec<String>,
    /// Whether jobs go on when the controller ends, because the next one will know of them.
    pub outlives: bool,
}

/// Why the host does not do what it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no pool yet.
    NotReady(String),
    /// The job cannot be taken: what is wrong, and what would mend it.
    Job {
        /// What is wrong.
        what: String,
        /// What would mend it.
        mend: String,
    },
    /// There is no such job.
    NoSuchJob(u64),
    /// It is over.
    Over(u64, State),
    /// It could not be recorded: it is not sure to last, and is tried again with what is recorded next.
    Store(String),
}

/// An answer that somebody waits for.
pub type Answer<T> = oneshot::Sender<Result<T, Refused>>;

/// What the host is asked.
pub enum Ask {
    /// To take jobs alike.
    Submit {
        /// The job.
        spec: Box<Spec>,
        /// The new jobs.
        answer: Answer<Vec<Arc<Record>>>,
    },
    /// To end a job.
    Cancel {
        /// Its number.
        number: u64,
        /// The job.
        answer: Answer<Arc<Record>>,
    },
    /// Why a job is where it is.
    Why {
        /// Its number.
        number: u64,
        /// The reasons.
        answer: Answer<Box<Why>>,
    },
    /// To end.
    End,
}

/// The way to the host, for any number of askers.
#[derive(Clone)]
pub struct Work {
    asks: Sender<Ask>,
    /// What readers see.
    pub board: Arc<Board>,
    /// Where runs have their folders.
    pub folder: Arc<std::path::Path>,
}

impl Work {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// What the host says, or that it has ended.
    pub async fn ask<T>(&self, ask: impl FnOnce(Answer<T>) -> Ask) -> Result<T, Refused> {
        let (answer, answered) = oneshot::channel();
        let ended = || Refused::NotReady("the controller is ending".to_owned());
        self.asks.send(ask(answer)).map_err(|_| ended())?;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// The host's thread; it ends when [`Hosted::end`] is called.
pub struct Hosted {
    asks: Sender<Ask>,
    thread: thread::JoinHandle<()>,
}

impl Hosted {
    /// Ends in order. Jobs go on where the configuration says so, else they are ended.
    pub fn end(self) {
        // A host that broke off has nothing left to end.
        let _ = self.asks.send(Ask::End);
        let _ = self.thread.join();
    }
}

/// A host that is about to be: the way to it is there before it runs, as others need it to start.
pub struct Prepared {
    config: Config,
    asked: Receiver<Ask>,
    work: Work,
}

/// Prepares a host.
pub fn prepare(config: Config) -> Prepared {
    let (asks, asked) = channel();
    let board = Arc::new(Board::default());
    let work = Work { asks, board, folder: config.folder.as_path().into() };
    Prepared { config, asked, work }
}

impl Prepared {
    /// The way to it.
    pub fn work(&self) -> Work {
        self.work.clone()
    }

    /// Starts it.
    ///
    /// # Errors
    /// Where no thread, folder or store can be had.
    pub fn start(self, site: Site, store: Arc<dyn Store>) -> Result<Hosted, StartError> {
        let Self { config, asked, work } = self;
        let executor = executor::Embedded::new(executor::Config {
            base: config.folder.clone(),
            supervisor: config.supervisor.clone(),
        })?;
        let asks = work.asks.clone();
        let host = host::Host::new(config, site, store, work.board, Box::new(executor))?;
        let thread = thread::Builder::new().name("jobs".to_owned()).spawn(move || host.run(&asked))?;
        Ok(Hosted { asks, thread })
    }
}

/// Why jobs cannot be hosted.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The executor.
    #[error(transparent)]
    Executor(#[from] executor::ExecutorError),
    /// What is kept.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// The thread.
    #[error("cannot start the thread of jobs: {0}")]
    Thread(#[from] std::io::Error),
}
