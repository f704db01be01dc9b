//! Times promised to jobs that wait, and what others may not take so that promises are kept.
//!
//! A promise is a time, the very GPUs, and how long the job may hold them. It also keeps the stock as it will be at that
//! time, when those that run have ended as late as they may: its *shadow*. Room shrinks only where a promise begins, so
//! whoever starts now is harmless if what it takes can be taken from the shadow of every promise that begins before it ends.
//!
//! Where nobody knows how long those that run will take, the time is unknown, but the GPUs are not: nothing else comes there.

use pool::Stock;
use pool::stock::Grant;

use super::place::{self, Grants};
use crate::job::{Job, JobIndex};

/// A time that nobody knows; later than all others.
pub const UNKNOWN_MS: u64 = u64::MAX;

/// Who is late counts as ending so much after now, in milliseconds.
pub(super) const LATE_MS: u64 = 60_000;

/// What a job that waits is promised.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) job: JobIndex,
    /// When it starts at the latest.
    pub(super) at_ms: u64,
    /// When it ends at the latest.
    pub(super) until_ms: u64,
    pub(super) grants: Grants,
    /// Others were stopped to keep it: it holds against everybody.
    pub(super) pinned: bool,
    shadow: Stock,
}

impl Promise {
    /// Whether it begins while one runs that may run until then.
    fn begins_before(&self, until_ms: u64) -> bool {
        self.at_ms < until_ms || self.at_ms == UNKNOWN_MS
    }
}

/// Capacity that comes or goes at some time.
struct Change<'a> {
    at_ms: u64,
    taken: bool,
    grants: &'a [Grant],
    /// Which promise it is of; nothing where it is a job that runs.
    promise: Option<usize>,
}

/// All promises, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    list: Vec<Promise>,
}

impl Promises {
    pub(super) fn all(&self) -> &[Promise] {
        &self.list
    }

    pub(super) fn of(&self, job: JobIndex) -> Option<&Promise> {
        self.list.iter().find(|promise| promise.job == job)
    }

    /// Whether what a job would take until some time keeps the promises to others that bind it.
    pub(super) fn allow(
        &mut self,
        job: JobIndex,
        grants: &[Grant],
        until_ms: u64,
        binds: impl Fn(&Promise) -> bool,
    ) -> bool {
        self.list
            .iter_mut()
            .filter(|promise| promise.job != job && promise.begins_before(until_ms) && binds(promise))
            .all(|promise| {
                let fits = promise.shadow.allocate_all(grants).is_ok();
                if fits {
                    for grant in grants {
                        // What was taken a moment ago can be given back.
                        let _ = promise.shadow.release(grant);
                    }
                }
                fits
            })
    }

    /// Whether the promises to others are kept if some of those that run leave their places now, instead of at a time, and
    /// others come to theirs, until a time.
    pub(super) fn allow_all(
        &self,
        job: JobIndex,
        leave: &[(&[Grant], u64)],
        come: &[(&[Grant], u64)],
    ) -> bool {
        self.list.iter().filter(|promise| promise.job != job).all(|promise| {
            let mut shadow = promise.shadow.clone();
            for (grants, _) in leave.iter().filter(|(_, ends_ms)| promise.at_ms < *ends_ms) {
                for grant in *grants {
                    // The shadow holds what runs beyond the beginning of its promise.
                    let _ = shadow.release(grant);
                }
            }
            let mut beside = come.iter().filter(|(_, until_ms)| promise.begins_before(*until_ms));
            beside.all(|(grants, _)| shadow.allocate_all(grants).is_ok())
        })
    }

    /// What is promised to others in the time of a job that runs until then, by promises that bind it.
    pub(super) fn held_back(
        &self,
        job: JobIndex,
        until_ms: u64,
        binds: impl Fn(&Promise) -> bool,
    ) -> Vec<Grant> {
        self.list
            .iter()
            .filter(|promise| promise.job != job && promise.begins_before(until_ms) && binds(promise))
            .flat_map(|promise| promise.grants.iter().copied())
            .collect()
    }

    /// A job without a promise has taken its place: promises that it breaks are void.
    pub(super) fn started(&mut self, grants: &[Grant], until_ms: u64) {
        self.list.retain_mut(|promise| {
            !promise.begins_before(until_ms) || promise.shadow.allocate_all(grants).is_ok()
        });
    }

    /// One that runs gives grants back before the time that was counted on.
    pub(super) fn left(&mut self, grants: &[Grant], ends_ms: u64) {
        for promise in self.list.iter_mut().filter(|promise| promise.at_ms < ends_ms) {
            for grant in grants {
                // The shadow holds what runs beyond the beginning of its promise.
                let _ = promise.shadow.release(grant);
            }
        }
    }

    /// Takes a promise back; the others are to be looked at anew before they are relied on.
    pub(super) fn drop_of(&mut self, job: JobIndex) {
        self.list.retain(|promise| promise.job != job);
    }

    /// Keeps only the promises that are to be kept, as they stand.
    pub(super) fn retain(&mut self, running: &Running<'_>, keep: impl Fn(&Promise) -> bool) {
        self.list.retain(keep);
        self.cast_shadows(running);
    }

    /// Promises a job the earliest time at which there is room for it, beside all promises there are; nothing where there
    /// never is. `seats` finds places for the gang in a stock with so much room on each node.
    pub(super) fn promise(
        &mut self,
        (job, wanted, length_ms): (JobIndex, &Job, u64),
        running: &Running<'_>,
        seats: &mut dyn FnMut(&Stock, &[u32]) -> Option<Grants>,
    ) -> Option<u64> {
        let changes = self.changes(running);
        let mut stock = running.stock.clone();
        let mut room = place::room(&stock, wanted);
        let mut total: u64 = room.iter().map(|&room| u64::from(room)).sum();
        let mut next = 0;
        let mut at_ms = running.now_ms;
        let (at_ms, until_ms, grants) = loop {
            while let Some(change) = changes.get(next).filter(|change| change.at_ms <= at_ms) {
                change.apply(&mut stock);
                for grant in change.grants {
                    let now = place::room_on(&stock, grant.node, wanted);
                    let before = std::mem::replace(&mut room[grant.node.index()], now);
                    total = total + u64::from(now) - u64::from(before);
                }
                next += 1;
            }
            if total >= u64::from(wanted.parts)
                && let Some(grants) = seats(&stock, &room)
            {
                let until_ms = at_ms.saturating_add(length_ms);
                if self.holds(&stock, &grants, until_ms, &changes[next..]) {
                    break (at_ms, until_ms, grants);
                }
            }
            at_ms = changes.get(next)?.at_ms;
        };
        self.list.push(Promise { job, at_ms, until_ms, grants, pinned: false, shadow: Stock::new() });
        self.cast_shadows(running);
        Some(at_ms)
    }

    /// Promises a job the GPUs that others are being stopped for.
    pub(super) fn pin(
        &mut self,
        job: JobIndex,
        at_ms: u64,
        until_ms: u64,
        grants: Grants,
        running: &Running<'_>,
    ) {
        self.list.retain(|promise| promise.job != job);
        self.list.push(Promise { job, at_ms, until_ms, grants, pinned: true, shadow: Stock::new() });
        self.cast_shadows(running);
    }

    /// Whether a gang can hold its places until it ends, beside the promises that begin meanwhile.
    fn holds(&self, stock: &Stock, grants: &[Grant], until_ms: u64, changes: &[Change<'_>]) -> bool {
        let begins =
            |change: &Change<'_>| change.taken && (change.at_ms < until_ms || change.at_ms == UNKNOWN_MS);
        let Some(last) = changes.iter().rposition(begins) else { return true };
        let mut stock = stock.clone();
        stock.allocate_all(grants).is_ok()
            && changes[..=last].iter().all(|change| change.apply(&mut stock) || !change.taken)
    }

    /// What comes and goes, in order of time; at the same time what ends comes first.
    fn changes<'a>(&'a self, running: &'a Running<'a>) -> Vec<Change<'a>> {
        let mut changes: Vec<Change<'a>> = running
            .ends
            .iter()
            .map(|&(at_ms, grants)| Change { at_ms, taken: false, grants, promise: None })
            .collect();
        for (at, promise) in self.list.iter().enumerate() {
            let grants = &promise.grants[..];
            let change = |at_ms, taken| Change { at_ms, taken, grants, promise: Some(at) };
            changes.push(change(promise.at_ms, true));
            // What begins at an unknown time ends at none that counts.
            if promise.until_ms > promise.at_ms && promise.until_ms < UNKNOWN_MS {
                changes.push(change(promise.until_ms, false));
            }
        }
        changes.sort_by_key(|change| (change.at_ms, change.taken));
        changes
    }

    /// Computes every shadow anew. A promise that can no longer be kept is void.
    fn cast_shadows(&mut self, running: &Running<'_>) {
        if self.list.is_empty() {
            return;
        }
        let mut now = None;
        for promise in
            self.list.iter_mut().filter(|promise| promise.pinned && promise.at_ms <= running.now_ms)
        {
            let length_ms = promise.until_ms.saturating_sub(promise.at_ms);
            if now.get_or_insert_with(|| running.stock.clone()).allocate_all(&promise.grants).is_ok() {
                continue;
            }
            // Those that were stopped for it are late.
            promise.at_ms = running.now_ms + LATE_MS;
            promise.until_ms = promise.at_ms.saturating_add(length_ms);
        }
        let mut shadows: Vec<Option<Stock>> = vec![None; self.list.len()];
        let changes = self.changes(running);
        let last = changes.iter().rposition(|change| change.taken).map_or(0, |at| at + 1);
        let mut stock = running.stock.clone();
        for change in &changes[..last] {
            let applied = change.apply(&mut stock);
            if let Some(promise) = change.promise.filter(|_| change.taken && applied) {
                shadows[promise] = Some(stock.clone());
            }
        }
        drop(changes);
        let mut shadows = shadows.into_iter();
        self.list.retain_mut(|promise| match shadows.next().flatten() {
            Some(shadow) => {
                promise.shadow = shadow;
                true
            }
            None => false,
        });
    }
}

impl Change<'_> {
    /// Takes or gives back; whether that could be done.
    fn apply(&self, stock: &mut Stock) -> bool {
        if self.taken {
            return stock.allocate_all(self.grants).is_ok();
        }
        self.grants.iter().all(|grant| stock.release(grant).is_ok())
    }
}

/// What runs: the stock as it is now, and who gives back what, when at the latest.
#[derive(Debug)]
pub(super) struct Running<'a> {
    pub(super) now_ms: u64,
    pub(super) stock: &'a Stock,
    /// In order of time.
    pub(super) ends: Vec<(u64, &'a [Grant])>,
}
