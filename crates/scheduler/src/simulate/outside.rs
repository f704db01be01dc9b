//! Who decides things that are not the queue's to decide: how many replicas a service has, what is ended by hand.

use crate::schedule::{Decision, Scheduler};

/// Somebody outside of the queue. Jobs that it submits have no end of their own: it ends them.
pub trait Outside {
    /// When it wants to act next, in milliseconds; nothing where it never will. After it has acted, that is later.
    fn next_ms(&self) -> Option<u64>;

    /// When all is over though jobs still run, in milliseconds.
    fn over_ms(&self) -> Option<u64>;

    /// Its time has come.
    fn act(&mut self, scheduler: &mut Scheduler, now_ms: u64);

    /// Hears what the scheduler decides.
    fn decided(&mut self, decision: &Decision, now_ms: u64);

    /// Time passes in which nothing changes.
    fn pass(&mut self, scheduler: &Scheduler, from_ms: u64, until_ms: u64);
}

/// Decides nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nobody {
    /// When all is over though jobs still run, in milliseconds.
    pub over_ms: Option<u64>,
}

impl Outside for Nobody {
    fn next_ms(&self) -> Option<u64> {
        None
    }

    fn over_ms(&self) -> Option<u64> {
        self.over_ms
    }

    fn act(&mut self, _: &mut Scheduler, _: u64) {}

    fn decided(&mut self, _: &Decision, _: u64) {}

    fn pass(&mut self, _: &Scheduler, _: u64, _: u64) {}
}
