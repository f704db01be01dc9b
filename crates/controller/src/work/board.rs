//! What readers see of jobs and the pool. They are never in the way of the host: each look is short.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pool::tenants::Tenants;
use pool::{NodeIndex, Pool, Stock};
use serde::Serialize;
use utoipa::ToSchema;

use super::record::{Record, State};

/// Whether a node takes work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// It takes work.
    #[default]
    Open,
    /// It takes no new work: an operator or the pool's file says so.
    Closed,
    /// It takes no new work: some of its links to the fabric are lost.
    Degraded,
    /// All its links to the fabric are lost.
    Failed,
}

/// The pool at a moment.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// What there is.
    pub pool: Arc<Pool>,
    /// What is free of it.
    pub stock: Stock,
    /// Tenants with what they hold.
    pub tenants: Tenants,
    /// Each node's state.
    pub states: Vec<NodeState>,
    /// Nodes that are kept for jobs that were promised a time, and for parts of nodes that fail.
    pub reserved: Vec<NodeIndex>,
    /// The jobs on each node that has any.
    pub jobs: BTreeMap<NodeIndex, Vec<u64>>,
}

/// What readers see.
#[derive(Debug, Default)]
pub struct Board {
    jobs: RwLock<BTreeMap<u64, Arc<Record>>>,
    picture: RwLock<Option<Arc<Picture>>>,
    /// Jobs by state, in the order of [`State::ALL`].
    counts: [AtomicU64; State::ALL.len()],
    /// Milliseconds that jobs have waited before they started, and how many started.
    waited_ms: AtomicU64,
    starts: AtomicU64,
}

impl Board {
    /// A job.
    pub fn job(&self, number: u64) -> Option<Arc<Record>> {
        self.jobs.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    /// At most `most` jobs below `before` (all where it is nothing), the newest first.
    pub fn jobs(
        &self,
        before: Option<u64>,
        most: usize,
        wanted: impl Fn(&Record) -> bool,
    ) -> Vec<Arc<Record>> {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        let below = jobs.range(..before.unwrap_or(u64::MAX)).rev();
        below.map(|(_, job)| job).filter(|job| wanted(job)).take(most).cloned().collect()
    }

    /// The pool; nothing before it is known.
    pub fn picture(&self) -> Option<Arc<Picture>> {
        self.picture.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many jobs there are in a state.
    pub fn count(&self, state: State) -> u64 {
        self.counts[state as usize].load(Ordering::Relaxed)
    }

    /// How many runs have started, and how long they have waited in all, in seconds.
    pub fn starts(&self) -> (u64, f64) {
        let waited_ms = self.waited_ms.load(Ordering::Relaxed);
        (self.starts.load(Ordering::Relaxed), waited_ms as f64 * 1e-3)
    }

    /// Shows jobs as they are now.
    pub(super) fn show(&self, records: impl IntoIterator<Item = Arc<Record>>) {
        let mut jobs = self.jobs.write().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            self.counts[record.state as usize].fetch_add(1, Ordering::Relaxed);
            if let Some(old) = jobs.insert(record.number, record) {
                self.counts[old.state as usize].fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Shows a job no longer.
    pub(super) fn forget(&self, number: u64) {
        if let Some(old) = self.jobs.write().unwrap_or_else(PoisonError::into_inner).remove(&number) {
            self.counts[old.state as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Shows another picture of the pool.
    pub(super) fn set_picture(&self, picture: Picture) {
        *self.picture.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(picture));
    }

    /// Counts a start after so long a wait.
    pub(super) fn started(&self, waited_ms: u64) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.waited_ms.fetch_add(waited_ms, Ordering::Relaxed);
    }
}

/// The pool in figures.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figures {
    /// How many GPUs there are.
    pub gpus: usize,
    /// GPUs given out, shares by their part.
    pub allocated_gpus: f64,
    /// GPUs free on nodes that take work.
    pub free_gpus: f64,
    /// Of those, on nodes that have others in use.
    pub fragmented_gpus: f64,
    /// Nodes that take work and have all their GPUs free.
    pub idle_nodes: usize,
}

impl Picture {
    /// Thousandths of GPUs that a node has free.
    pub fn free_milli(&self, node: NodeIndex) -> u64 {
        self.stock.gpus_free_milli(node).iter().map(|&free| u64::from(free)).sum()
    }

    /// The pool in figures, all of it or the nodes with GPUs of a model.
    pub fn figures_of(&self, wanted: impl Fn(NodeIndex) -> bool) -> Figures {
        let mut figures = Figures::default();
        for node in self.stock.nodes().filter(|&node| wanted(node)) {
            let gpus = self.stock.gpus_free_milli(node).len();
            let (all, free) = (gpus as u64 * 1_000, self.free_milli(node));
            figures.gpus += gpus;
            figures.allocated_gpus += (all - free) as f64 * 1e-3;
            if self.stock.is_open(node) && gpus > 0 {
                figures.free_gpus += free as f64 * 1e-3;
                if free == all {
                    figures.idle_nodes += 1;
                } else {
                    figures.fragmented_gpus += free as f64 * 1e-3;
                }
            }
        }
        figures
    }

    /// The pool in figures.
    pub fn figures(&self) -> Figures {
        self.figures_of(|_| true)
    }
}
