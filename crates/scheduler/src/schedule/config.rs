//! What a site decides about its queue.

use super::fit::Weights;
use crate::policy::Kind;

/// What may pass a job that has to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backfill {
    /// Nothing.
    None,
    /// Whatever does not delay the first that waits.
    Easy,
    /// Whatever does not delay the first so many that wait.
    Conservative(u32),
}

impl Backfill {
    /// How many that wait are promised a time.
    pub(super) fn promises(self) -> usize {
        match self {
            Self::None | Self::Easy => 1,
            Self::Conservative(most) => most.max(1) as usize,
        }
    }
}

/// What a site decides about its queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Which node a part takes.
    pub policy: Kind,
    /// What chance is drawn from, where the policy draws any.
    pub seed: u64,
    /// Whether who has least of its share comes first (dominant resource fairness over the tree of tenants).
    pub fair_share: bool,
    /// What one level of priority is worth in waiting time, in milliseconds: a job that has waited so much longer is level
    /// with one of the next priority.
    pub priority_ms: u64,
    /// How much later a job counts as submitted for each millisecond that it may run, in thousandths: above 0, short jobs
    /// come first, and long ones still come.
    pub length_permille: u32,
    /// A job that has waited so long comes before all others, in milliseconds.
    pub overdue_ms: u64,
    /// A job with a deadline comes before all others from so long before the last moment at which it could start, in
    /// milliseconds.
    pub deadline_lead_ms: u64,
    /// What counts how much in the choice of a gang's place.
    pub weights: Weights,
    /// What may pass a job that has to wait.
    pub backfill: Backfill,
    /// After so many searches for a place that found none, a look at the queue ends.
    pub searches: usize,
    /// Whether jobs are stopped for others.
    pub preempt: bool,
    /// Whether jobs that can be stopped are moved out of the way of others where that pays for itself; nothing is moved where
    /// nobody is stopped.
    pub migrate: bool,
    /// Idle nodes that each pod keeps for the parts of nodes that fail.
    pub spares_a_pod: usize,
    /// A job is not stopped before it has run so long, in milliseconds.
    pub least_run_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        const HOUR_MS: u64 = 3_600_000;
        Self {
            policy: Kind::Heddle,
            seed: 1,
            fair_share: true,
            priority_ms: 24 * HOUR_MS,
            length_permille: 0,
            overdue_ms: 7 * 24 * HOUR_MS,
            deadline_lead_ms: 2 * HOUR_MS,
            weights: Weights::default(),
            backfill: Backfill::Easy,
            searches: 100,
            preempt: true,
            migrate: true,
            spares_a_pod: 0,
            least_run_ms: 5 * 60_000,
        }
    }
}
