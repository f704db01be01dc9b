//! One look at the queue: who can start now, who is promised a time, who has to make room.
//!
//! After room came free the whole queue is walked. After mere arrivals only those that came are looked at: for the others
//! nothing has changed. A job is bound by the promises to those before it, so one that comes behind never delays it. With
//! conservative backfill it is bound by all promises: what was promised holds, whoever comes.

use pool::stock::Grant;
use rustc_hash::FxHashSet;

use super::place::{self, Grants};
use super::promises::{Promise, Promises, Running, UNKNOWN_MS};
use super::shapes::ShapeIndex;
use super::waiting::Walk;
use super::{Backfill, Decision, Phase, Scheduler};
use crate::job::JobIndex;

/// Promises are computed anew once so many jobs have ended before their time.
const EARLY_ENDS: u32 = 64;

/// In one look places are made for so many jobs at the most by stopping others.
const PLANS: u32 = 8;

/// In one look moves are sought for so many jobs at the most.
const MIGRATIONS: usize = 4;

/// How a try to start a job went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tried {
    Started,
    /// Its tenant may not hold so much now, or its kind of work.
    Quota,
    /// There is no room, or only such as is promised to others.
    Room,
}

/// What is known in one look.
#[derive(Debug, Default)]
pub(super) struct Look {
    decisions: Vec<Decision>,
    /// What has no room for the rest of the look.
    full: FxHashSet<ShapeIndex>,
    searches: usize,
    plans: u32,
    /// The first of those that found no room, each of another shape.
    blocked: Vec<JobIndex>,
}

impl Scheduler {
    /// What is to be done now. Time never goes back from one call to the next.
    pub fn decide(&mut self, now_ms: u64) -> Vec<Decision> {
        let mut look = Look::default();
        if std::mem::take(&mut self.stale) {
            self.keep_promises(now_ms, |_| true);
        }
        self.drain(now_ms, &mut look.decisions);
        let turn = self.turns.as_ref().map(|turns| turns.shares(now_ms));
        let turned = std::mem::replace(&mut self.turn, turn) != turn;
        let fresh = std::mem::take(&mut self.fresh);
        let come = self.promises.all().iter().any(|promise| promise.at_ms <= now_ms);
        if self.freed || come || turned || fresh.len() > 1 || self.comes_first(&fresh, now_ms) {
            self.freed = false;
            self.renew_promises(now_ms);
            self.look_at_all(&mut look, now_ms);
        } else {
            for job in fresh {
                if self.phase(job) == Some(Phase::Waiting) {
                    self.look_at(job, &mut look, now_ms, |_| true);
                }
            }
        }
        let blocked = std::mem::take(&mut look.blocked);
        self.migrate(&blocked, now_ms, &mut look.decisions);
        if self.promises.all().iter().any(|promise| promise.at_ms <= now_ms) {
            // A quota is in the way, or those that were stopped are late: the latter gets another time.
            self.keep_promises(now_ms, |promise| promise.pinned || promise.at_ms > now_ms);
        }
        if self.promises.all().is_empty() {
            self.grow(now_ms, &mut look.decisions);
        }
        look.decisions
    }

    /// Whether one of those that came is before one that was promised something, or must not pass who waits.
    fn comes_first(&self, fresh: &[JobIndex], now_ms: u64) -> bool {
        if self.config.backfill == Backfill::None {
            return !fresh.is_empty();
        }
        if self.all_bind() {
            return false;
        }
        let promised = self.promises.all().iter().filter(|promise| !promise.pinned);
        let places: Vec<_> = promised.map(|promise| self.place_in_queue(promise.job)).collect();
        fresh.iter().filter(|job| self.phase(**job) == Some(Phase::Waiting)).any(|&job| {
            let place = self.place_in_queue(job);
            let before = |other| self.waiting.precedes((&self.tenants, &self.shares), now_ms, place, other);
            places.iter().any(|&other| before(other))
        })
    }

    fn look_at_all(&mut self, look: &mut Look, now_ms: u64) {
        // Whom others were stopped for does not wait for those before it.
        let pinned = self.promises.all().iter().filter(|promise| promise.pinned);
        for job in pinned.map(|promise| promise.job).collect::<Vec<_>>() {
            // Who moves may not have stopped yet.
            if self.phase(job) == Some(Phase::Waiting) {
                self.try_to_start(job, look, now_ms, |_| true);
            }
        }
        let mut walk = Walk::new(&self.waiting, &self.tenants, &self.shares, now_ms);
        // Those that wait, in order, as far as promises are made.
        let mut blocked: Vec<JobIndex> = Vec::new();
        let mut complete = true;
        while let Some(job) = walk.next(&self.waiting, |job| self.due_ms(&self.entries[job.index()])) {
            let all = self.all_bind();
            let tried = self.look_at(job, look, now_ms, |promise| all || blocked.contains(&promise.job));
            if tried != Tried::Started && self.promises.of(job).is_some() {
                blocked.push(job);
            }
            match tried {
                Tried::Started => walk.turn(&self.waiting, &self.tenants, &self.shares),
                Tried::Room if self.config.backfill == Backfill::None => {
                    complete = false;
                    break;
                }
                Tried::Room | Tried::Quota => {}
            }
            if look.searches > self.config.searches {
                complete = false;
                break;
            }
        }
        // Promises to those that others have come before.
        if complete || blocked.len() >= self.config.backfill.promises() {
            let lapsed = |promise: &Promise| !promise.pinned && !blocked.contains(&promise.job);
            if !self.all_bind() && self.promises.all().iter().any(lapsed) {
                self.keep_promises(now_ms, |promise| !lapsed(promise));
            }
        }
    }

    /// Whether promises bind those before them too.
    fn all_bind(&self) -> bool {
        matches!(self.config.backfill, Backfill::Conservative(_))
    }

    /// Starts a job, makes room for it, or promises it a time. `before` tells which promises are to jobs before it.
    fn look_at(
        &mut self,
        job: JobIndex,
        look: &mut Look,
        now_ms: u64,
        before: impl Fn(&Promise) -> bool + Copy,
    ) -> Tried {
        let mut tried = self.try_to_start(job, look, now_ms, before);
        let pinned = self.promises.of(job).is_some_and(|promise| promise.pinned);
        if tried != Tried::Started && !pinned && look.plans < PLANS {
            look.plans += 1;
            if self.make_room(job, now_ms, before, &mut look.decisions) {
                // Parts given back are free at once; what has to stop takes its time.
                tried = self.try_to_start(job, look, now_ms, before);
            }
        }
        let promised = self.promises.all().iter().filter(|promise| promise.job != job && before(promise));
        if tried == Tried::Room && promised.count() < self.config.backfill.promises() {
            self.promise(job, now_ms, before);
            if self.promised_ms(job).is_some_and(|at_ms| at_ms <= now_ms) {
                // The policy's choice was in the way of a promise; another place is not.
                tried = self.try_to_start(job, look, now_ms, before);
            }
        }
        if tried == Tried::Room && look.blocked.len() < MIGRATIONS && self.config.migrate {
            let shape = |job: JobIndex| self.entries[job.index()].shape;
            if look.blocked.iter().all(|&other| shape(other) != shape(job)) {
                look.blocked.push(job);
            }
        }
        tried
    }

    fn try_to_start(
        &mut self,
        job: JobIndex,
        look: &mut Look,
        now_ms: u64,
        before: impl Fn(&Promise) -> bool + Copy,
    ) -> Tried {
        let entry = &self.entries[job.index()];
        let parts = entry.job.parts;
        let shape = entry.shape;
        let amount = entry.job.gpu_milli(parts);
        let tenant = entry.job.tenant.filter(|_| !self.tenants.is_empty());
        if tenant.is_some_and(|tenant| self.tenants.lacks(tenant, entry.job.amounts(parts)).is_some()) {
            return Tried::Quota;
        }
        let until_ms = entry.left_ms.map_or(UNKNOWN_MS, |left| now_ms.saturating_add(left));
        let (work, fixed) = (entry.job.work, entry.job.checkpoint.is_none());
        let turns = self.turns.as_ref();
        if turns.is_some_and(|turns| turns.bars((work, fixed), amount, now_ms, until_ms).is_some()) {
            return Tried::Quota;
        }
        // What it was promised is its own, from now on too if nobody else was promised it until then.
        let own = self.promises.of(job).map(|promise| {
            let mine = promise.pinned || promise.at_ms <= now_ms;
            (promise.grants.clone(), if mine { 0 } else { promise.at_ms })
        });
        if let Some((grants, at_ms)) = own
            && self.promises.allow(job, &grants, until_ms, |promise| promise.at_ms < at_ms)
            && self.allocate(&grants)
        {
            self.start(job, grants, now_ms, until_ms, look);
            return Tried::Started;
        }
        let binds = |promise: &Promise| promise.pinned || before(promise);
        if amount > self.cluster.stock().gpu_free_total_milli() || look.full.contains(&shape) {
            return Tried::Room;
        }
        let Some(mut grants) = self.find(job) else {
            look.searches += 1;
            look.full.insert(shape);
            return Tried::Room;
        };
        if !self.promises.allow(job, &grants, until_ms, binds) {
            self.release(&grants);
            look.searches += 1;
            // Once more beside what is promised to others.
            let held_back = self.promises.held_back(job, until_ms, binds);
            let held: Vec<_> = held_back.iter().filter_map(|grant| self.keep_back(grant)).collect();
            let found = self.find(job);
            self.release(&held);
            match found {
                Some(found) if self.promises.allow(job, &found, until_ms, binds) => grants = found,
                Some(found) => {
                    self.release(&found);
                    return Tried::Room;
                }
                None => return Tried::Room,
            }
        }
        self.start(job, grants, now_ms, until_ms, look);
        Tried::Started
    }

    /// Takes room for all parts of a job, or for none.
    fn find(&mut self, job: JobIndex) -> Option<Grants> {
        let entry = &self.entries[job.index()];
        let (class, parts) = (entry.class, entry.job.parts);
        if parts > 1 && !place::has_room(&self.cluster, &entry.job) {
            return None;
        }
        if parts > 1 && (self.network.is_some() || entry.job.most_a_node.is_some()) {
            let grants = self.best_place(job)?;
            return self.allocate(&grants).then_some(grants);
        }
        let mut grants = Grants::new();
        for _ in 0..parts {
            let grant = self.policy.choose(&self.cluster, &self.classes, class);
            match grant.filter(|grant| self.cluster.allocate(grant).is_ok()) {
                Some(grant) => grants.push(grant),
                None => {
                    self.release(&grants);
                    return None;
                }
            }
        }
        Some(grants)
    }

    /// Takes what is free of a grant; what was taken.
    fn keep_back(&mut self, grant: &Grant) -> Option<Grant> {
        if self.cluster.allocate(grant).is_ok() {
            return Some(*grant);
        }
        let part = place::idle_part(self.cluster.stock(), grant)?;
        self.cluster.allocate(&part).is_ok().then_some(part)
    }

    /// Takes all grants or none.
    pub(super) fn allocate(&mut self, grants: &[pool::stock::Grant]) -> bool {
        for (at, grant) in grants.iter().enumerate() {
            if self.cluster.allocate(grant).is_err() {
                self.release(&grants[..at]);
                return false;
            }
        }
        true
    }

    pub(super) fn release(&mut self, grants: &[pool::stock::Grant]) {
        for grant in grants.iter().rev() {
            // What was taken can be given back.
            let _ = self.cluster.release(grant);
        }
    }

    /// A job has its places: counts it as running.
    pub(super) fn start(
        &mut self,
        job: JobIndex,
        grants: Grants,
        now_ms: u64,
        until_ms: u64,
        look: &mut Look,
    ) {
        self.unqueue(job);
        // That there is so much was looked at before a place was sought.
        let _ = self.charge(job, grants.len() as u32);
        let entry = &mut self.entries[job.index()];
        entry.phase = Phase::Running;
        entry.started_ms = now_ms;
        entry.ends_ms = until_ms;
        entry.grants = grants.clone();
        if entry.job.most_parts > entry.job.parts {
            self.elastic.insert(job);
        }
        if entry.job.most_parts > entry.job.parts || self.config.preempt && entry.job.checkpoint.is_some() {
            self.yielding.insert(job);
        }
        self.count(job, &grants, false);
        self.enter_network(job);
        self.running.insert((until_ms, job));
        if self.promises.of(job).is_some() {
            self.keep_promises(now_ms, |promise| promise.job != job);
        } else {
            self.promises.started(&grants, until_ms);
        }
        look.decisions.push(Decision::Start { job, grants });
    }

    /// Promises a job a time, where it has none that holds.
    fn promise(&mut self, job: JobIndex, now_ms: u64, before: impl Fn(&Promise) -> bool) {
        if self.promises.of(job).is_some_and(|promise| promise.pinned || promise.at_ms > now_ms) {
            return;
        }
        let mut promises = std::mem::take(&mut self.promises);
        // What is promised to those behind it does not bind it.
        let running = self.running_now(now_ms);
        promises.retain(&running, |promise| promise.pinned || promise.job != job && before(promise));
        self.promise_in(&mut promises, job, &running);
        self.promises = promises;
    }

    /// Adds a promise to others; its time, if there is room for the job at any.
    pub(super) fn promise_in(
        &self,
        promises: &mut Promises,
        job: JobIndex,
        running: &Running<'_>,
    ) -> Option<u64> {
        let entry = &self.entries[job.index()];
        let length_ms = entry.left_ms.unwrap_or(UNKNOWN_MS);
        promises.promise((job, &entry.job, length_ms), running, &mut |stock, room| {
            place::gang(self.locality(), &entry.job, stock, room)
        })
    }

    /// After many early ends: every promise is made anew, and the earlier time holds.
    fn renew_promises(&mut self, now_ms: u64) {
        if self.early_ends < EARLY_ENDS {
            return;
        }
        self.early_ends = 0;
        let mut promises = std::mem::take(&mut self.promises);
        let running = self.running_now(now_ms);
        let jobs: Vec<_> =
            promises.all().iter().filter(|promise| !promise.pinned).map(|promise| promise.job).collect();
        for job in jobs {
            let before = promises.clone();
            let old_ms = before.of(job).map_or(UNKNOWN_MS, |promise| promise.at_ms);
            promises.retain(&running, |promise| promise.job != job);
            let new_ms = self.promise_in(&mut promises, job, &running);
            if new_ms.is_none_or(|new_ms| new_ms > old_ms) {
                promises = before;
            }
        }
        self.promises = promises;
    }
}
