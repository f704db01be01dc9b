//! Who waits, and in which order they are looked at.
//!
//! A job's rank is the time of its submission, earlier by its priority and later by its length. It does not change while
//! the job waits, so only so many jobs can ever come before it: this is what keeps it from starving. With fair shares each
//! tenant's jobs stand in a row of their own, and the tenant that has least comes first. Who has waited too long, or would miss
//! its deadline, is due and comes before all.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;

use pool::TenantIndex;
use pool::tenants::Tenants;

use super::shares::Shares;
use crate::job::JobIndex;

/// A job's place in its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    pub(super) time: i64,
    pub(super) job: JobIndex,
}

/// A job that waits, as far as the order is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) rank: Rank,
    /// Which row.
    pub(super) row: usize,
    /// When it comes before all others, in milliseconds.
    pub(super) due_ms: u64,
}

/// All that wait.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    rows: Vec<BTreeSet<Rank>>,
    by_due: BTreeSet<(u64, JobIndex)>,
    /// Whether rows are tenants'.
    fair: bool,
}

impl Waiting {
    pub(super) fn new(tenants: &Tenants, fair_share: bool) -> Self {
        let fair = fair_share && !tenants.is_empty();
        let rows = if fair { tenants.len() } else { 1 };
        Self { rows: vec![BTreeSet::new(); rows], by_due: BTreeSet::new(), fair }
    }

    pub(super) fn row(&self, tenant: Option<TenantIndex>) -> usize {
        tenant.filter(|_| self.fair).map_or(0, TenantIndex::index)
    }

    pub(super) fn len(&self) -> usize {
        self.by_due.len()
    }

    /// All of them, in no order that counts.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobIndex> {
        self.by_due.iter().map(|&(_, job)| job)
    }

    pub(super) fn insert(&mut self, place: Place) {
        self.rows[place.row].insert(place.rank);
        self.by_due.insert((place.due_ms, place.rank.job));
    }

    pub(super) fn remove(&mut self, place: Place) {
        self.rows[place.row].remove(&place.rank);
        self.by_due.remove(&(place.due_ms, place.rank.job));
    }

    /// The rows that somebody waits in, in order of who has least.
    fn order_of_rows(&self, tenants: &Tenants, shares: &Shares) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.rows.len()).filter(|&row| !self.rows[row].is_empty()).collect();
        if self.fair {
            rows.sort_by(|&a, &b| shares.order(tenants, TenantIndex(a as u32), TenantIndex(b as u32)));
        }
        rows
    }

    /// Whether one that waits comes before another.
    pub(super) fn precedes(
        &self,
        (tenants, shares): (&Tenants, &Shares),
        now_ms: u64,
        a: Place,
        b: Place,
    ) -> bool {
        let overdue = |place: Place| place.due_ms <= now_ms;
        match (overdue(a), overdue(b)) {
            (true, true) => (a.due_ms, a.rank.job) < (b.due_ms, b.rank.job),
            (true, false) => true,
            (false, true) => false,
            (false, false) if a.row == b.row => a.rank < b.rank,
            (false, false) => {
                shares.order(tenants, TenantIndex(a.row as u32), TenantIndex(b.row as u32)).is_lt()
            }
        }
    }
}

/// A walk through all that wait, in order, each once.
#[derive(Debug)]
pub(super) struct Walk {
    /// Who is due by now comes first.
    now_ms: u64,
    last_due: Option<(u64, JobIndex)>,
    due_done: bool,
    rows: Vec<usize>,
    at: usize,
    /// Of each row how far it has been read, and what was read but not walked yet.
    read: Vec<(Option<Rank>, VecDeque<Rank>)>,
}

/// So many of a row are read at once.
const CHUNK: usize = 128;

impl Walk {
    pub(super) fn new(waiting: &Waiting, tenants: &Tenants, shares: &Shares, now_ms: u64) -> Self {
        Self {
            now_ms,
            last_due: None,
            due_done: false,
            rows: waiting.order_of_rows(tenants, shares),
            at: 0,
            read: vec![(None, VecDeque::new()); waiting.rows.len()],
        }
    }

    /// Shares have changed: whose turn it is may have too.
    pub(super) fn turn(&mut self, waiting: &Waiting, tenants: &Tenants, shares: &Shares) {
        if waiting.fair {
            self.rows = waiting.order_of_rows(tenants, shares);
            self.at = 0;
        }
    }

    /// The next; `due_ms` tells of any job when it comes before all others.
    pub(super) fn next(&mut self, waiting: &Waiting, due_ms: impl Fn(JobIndex) -> u64) -> Option<JobIndex> {
        if !self.due_done {
            let from = self.last_due.map_or(Bound::Unbounded, Bound::Excluded);
            let next = waiting.by_due.range((from, Bound::Unbounded)).next();
            if let Some(&entry) = next.filter(|(due_ms, _)| *due_ms <= self.now_ms) {
                self.last_due = Some(entry);
                return Some(entry.1);
            }
            self.due_done = true;
        }
        while let Some(&row) = self.rows.get(self.at) {
            let (last, chunk) = &mut self.read[row];
            if chunk.is_empty() {
                let from = last.map_or(Bound::Unbounded, Bound::Excluded);
                chunk.extend(waiting.rows[row].range((from, Bound::Unbounded)).take(CHUNK));
                *last = chunk.back().copied().or(*last);
            }
            match chunk.pop_front() {
                Some(rank) if due_ms(rank.job) > self.now_ms => return Some(rank.job),
                Some(_) => {}
                None => self.at += 1,
            }
        }
        None
    }
}
