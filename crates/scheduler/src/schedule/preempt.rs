//! Who is stopped for whom.
//!
//! A job may take the place of another if its claim is the stronger: it is within its tenant's quota and the other is on
//! borrowed capacity, or both stand alike and its priority is higher. The stopped job's claim on its stopper is never the
//! stronger, so two jobs cannot chase each other. Parts that an elastic job has beyond its need go before anything is
//! stopped, borrowed capacity before what is a tenant's own.
//!
//! Only such a set is stopped as makes room for the whole gang on the very nodes where it will run; what the set can spare
//! is spared. The room is promised to the job, so that nobody else comes between.

use pool::stock::Grant;
use pool::tenants::{Amounts, Tenants};
use pool::{NodeIndex, Stock, TenantIndex};

use super::place::{self, Grants};
use super::promises::{Promise, UNKNOWN_MS};
use super::turns::Turns;
use super::{Decision, Phase, Scheduler};
use crate::job::{Job, JobIndex};
use crate::network::Locality;

/// Something that can be taken from a job that runs.
#[derive(Clone, Debug)]
pub(super) struct Victim {
    pub(super) job: JobIndex,
    pub(super) grants: Grants,
    pub(super) tenant: Option<TenantIndex>,
    /// What goes first: parts beyond a job's need, then borrowed capacity, then lower priority.
    pub(super) rank: (u8, i32),
    /// GPU time that is lost, in thousandths of a GPU times milliseconds.
    pub(super) cost: u128,
}

/// The stock and the tenants as they would be.
pub(super) struct Trial<'a> {
    wanted: &'a Job,
    locality: Option<&'a Locality>,
    tenants: Tenants,
    pub(super) stock: Stock,
    room: Vec<u32>,
    total: u64,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        wanted: &'a Job,
        locality: Option<&'a Locality>,
        tenants: Tenants,
        stock: Stock,
    ) -> Self {
        let room = place::room(&stock, wanted);
        let total = room.iter().map(|&room| u64::from(room)).sum();
        Self { wanted, locality, tenants, stock, room, total }
    }

    fn amounts(&self) -> Amounts {
        self.wanted.amounts(self.wanted.parts)
    }

    fn tenant(&self) -> Option<TenantIndex> {
        self.wanted.tenant.filter(|_| !self.tenants.is_empty())
    }

    fn quota_suffices(&self) -> bool {
        self.tenant().is_none_or(|tenant| self.tenants.lacks(tenant, self.amounts()).is_none())
    }

    fn seats(&self) -> Option<Grants> {
        if self.total < u64::from(self.wanted.parts) {
            return None;
        }
        place::gang(self.locality, self.wanted, &self.stock, &self.room)
    }

    fn count(&mut self, grants: &[Grant]) {
        for grant in grants {
            let now = place::room_on(&self.stock, grant.node, self.wanted);
            let before = std::mem::replace(&mut self.room[grant.node.index()], now);
            self.total = self.total + u64::from(now) - u64::from(before);
        }
    }

    /// Takes from a victim, if its place is still to be had.
    fn take(&mut self, victim: &Victim) -> bool {
        if let Some(tenant) = victim.tenant {
            if victim.rank.0 == 1 && !self.tenants.is_in_debt(tenant) {
                return false;
            }
            let amounts: Amounts = victim.grants.iter().map(Grant::amounts).sum();
            if self.tenants.release(tenant, amounts).is_err() {
                return false;
            }
        }
        for grant in &victim.grants {
            let _ = self.stock.release(grant);
        }
        self.count(&victim.grants);
        true
    }

    /// Gives a victim its place back, if that can be.
    fn spare(&mut self, victim: &Victim) -> bool {
        if self.stock.allocate_all(&victim.grants).is_err() {
            return false;
        }
        let amounts: Amounts = victim.grants.iter().map(Grant::amounts).sum();
        if victim.tenant.is_some_and(|tenant| self.tenants.charge(tenant, amounts).is_err()) {
            for grant in &victim.grants {
                let _ = self.stock.release(grant);
            }
            return false;
        }
        self.count(&victim.grants);
        if self.quota_suffices() && self.seats().is_some() {
            return true;
        }
        if let Some(tenant) = victim.tenant {
            let _ = self.tenants.release(tenant, amounts);
        }
        for grant in &victim.grants {
            let _ = self.stock.release(grant);
        }
        self.count(&victim.grants);
        false
    }
}

impl Scheduler {
    /// What tenants will hold once those that were told to stop have, and those that they stop for have started.
    fn tenants_to_come(&self) -> Tenants {
        let mut tenants = self.tenants.clone();
        if tenants.is_empty() {
            return tenants;
        }
        for entry in self.running.iter().map(|(_, job)| &self.entries[job.index()]) {
            if let (Phase::Stopping { .. }, Some(tenant)) = (entry.phase, entry.job.tenant) {
                // What was charged can be given back.
                let _ = tenants.release(tenant, entry.job.amounts(entry.grants.len() as u32));
            }
        }
        for promise in self.promises.all().iter().filter(|promise| promise.pinned) {
            let job = &self.entries[promise.job.index()].job;
            if let Some(tenant) = job.tenant {
                // Where it may no longer hold so much, it will not start.
                let _ = tenants.charge(tenant, job.amounts(job.parts));
            }
        }
        tenants
    }

    /// Whatever may be taken for a job, what goes first in front.
    fn victims(&self, job: JobIndex, tenants: &Tenants, now_ms: u64) -> Vec<Victim> {
        let wanted = &self.entries[job.index()].job;
        let tenant = wanted.tenant.filter(|_| !tenants.is_empty());
        let (amount, amounts) = (wanted.gpu_milli(wanted.parts), wanted.amounts(wanted.parts));
        let entitled = tenant.is_none_or(|tenant| tenants.within_quota(tenant, amounts))
            && self.turns.as_ref().is_none_or(|turns| turns.within_share(wanted.work, amount, now_ms));
        let borrowers: Vec<TenantIndex> = tenant.map_or(Vec::new(), |tenant| {
            let of = |resource| tenants.borrowers(resource, tenant);
            let wanted = tenants.limited().filter(|&resource| amounts.of(resource) > 0);
            wanted.flat_map(of).map(|offer| offer.tenant).collect()
        });
        let mut victims = Vec::new();
        for &other in &self.yielding {
            let entry = &self.entries[other.index()];
            if entry.phase != Phase::Running {
                continue;
            }
            let theirs = entry.job.tenant.filter(|_| !self.tenants.is_empty());
            for grant in entry.grants.iter().skip(entry.job.parts as usize) {
                let grants = Grants::from_slice(&[*grant]);
                victims.push(Victim { job: other, grants, tenant: theirs, rank: (0, 0), cost: 0 });
            }
            let Some(checkpoint) = entry.job.checkpoint.filter(|_| self.config.preempt) else { continue };
            if now_ms.saturating_sub(entry.started_ms) < self.config.least_run_ms {
                continue;
            }
            let in_debt = theirs.is_some_and(|tenant| {
                std::iter::successors(Some(tenant), |&tenant| tenants.parent(tenant))
                    .any(|at| borrowers.contains(&at))
            });
            let by_turn =
                |turns: &Turns| entry.job.work != wanted.work && turns.borrows(entry.job.work, now_ms);
            let in_debt = in_debt || self.turns.as_ref().is_some_and(by_turn);
            let own_debt = theirs.is_some_and(|tenant| tenants.is_in_debt(tenant));
            let rank = if entitled && in_debt {
                (1, entry.job.priority)
            } else if entry.job.priority < wanted.priority && (entitled || own_debt) {
                (2, entry.job.priority)
            } else {
                continue;
            };
            let grants: Grants = entry.grants.iter().take(entry.job.parts as usize).copied().collect();
            let lost = u128::from(checkpoint.cost_ms.max(1));
            let cost = u128::from(entry.job.gpu_milli(entry.job.parts).max(1)) * lost;
            victims.push(Victim { job: other, grants, tenant: theirs, rank, cost });
        }
        victims.sort_by_key(|victim| (victim.rank, victim.cost, std::cmp::Reverse(victim.job)));
        victims
    }

    /// Shrinks and stops others so that a job will have room, and promises it that room. Whether it did.
    pub(super) fn make_room(
        &mut self,
        job: JobIndex,
        now_ms: u64,
        before: impl Fn(&Promise) -> bool,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        if self.yielding.is_empty() {
            return false;
        }
        let tenants = self.tenants_to_come();
        let victims = self.victims(job, &tenants, now_ms);
        if victims.is_empty() {
            return false;
        }
        let wanted = &self.entries[job.index()].job;
        let until_ms =
            self.entries[job.index()].left_ms.map_or(UNKNOWN_MS, |left| now_ms.saturating_add(left));
        let mut stock = self.cluster.stock().clone();
        for grant in self.promises.held_back(job, until_ms, |promise| promise.pinned || before(promise)) {
            // What is promised to those before it is not for it, as far as it is free now.
            let _ = stock.allocate(&grant);
        }
        let mut trial = Trial::new(wanted, self.locality(), tenants, stock);
        let Some((mut taken, grants)) = choose(&mut trial, &victims) else { return false };

        // A job that is stopped gives its extra parts up with the rest.
        let stopped: Vec<JobIndex> =
            taken.iter().filter(|&&at| victims[at].rank.0 > 0).map(|&at| victims[at].job).collect();
        taken.retain(|&at| victims[at].rank.0 > 0 || !stopped.contains(&victims[at].job));
        let mut at_ms = now_ms;
        for at in taken {
            let Victim { job: victim, grants, rank, .. } = &victims[at];
            if rank.0 == 0 {
                self.shrink(*victim, grants);
                decisions.push(Decision::Shrink { job: *victim, by: Some(job), grants: grants.clone() });
                continue;
            }
            at_ms = at_ms.max(self.stop(*victim, Some(job), now_ms, decisions));
        }
        let length_ms = self.entries[job.index()].left_ms.unwrap_or(UNKNOWN_MS);
        let mut promises = std::mem::take(&mut self.promises);
        promises.pin(job, at_ms, at_ms.saturating_add(length_ms), grants, &self.running_now(now_ms));
        self.promises = promises;
        true
    }
}

impl Scheduler {
    /// Tells a job to stop; when it has at the latest.
    pub(super) fn stop(
        &mut self,
        job: JobIndex,
        by: Option<JobIndex>,
        now_ms: u64,
        decisions: &mut Vec<Decision>,
    ) -> u64 {
        let entry = &mut self.entries[job.index()];
        let grace_ms = entry.job.checkpoint.map_or(0, |checkpoint| checkpoint.grace_ms);
        let until_ms = now_ms.saturating_add(grace_ms);
        entry.phase = Phase::Stopping { until_ms };
        self.running.remove(&(entry.ends_ms, job));
        entry.ends_ms = entry.ends_ms.min(until_ms);
        self.running.insert((entry.ends_ms, job));
        self.elastic.remove(&job);
        self.yielding.remove(&job);
        self.stale = true;
        decisions.push(Decision::Stop { job, by, until_ms });
        until_ms
    }
}

/// Which victims make room, and where the gang goes then; nothing where all of them do not suffice.
pub(super) fn choose(trial: &mut Trial<'_>, victims: &[Victim]) -> Option<(Vec<usize>, Grants)> {
    let mut taken: Vec<usize> = Vec::new();
    while trial.seats().is_none() {
        let before = taken.len();
        for offer in offers(trial, victims, &taken) {
            if trial.seats().is_some() {
                break;
            }
            for at in offer {
                if !taken.contains(&at) && trial.take(&victims[at]) {
                    taken.push(at);
                }
            }
        }
        if taken.len() == before {
            return None;
        }
    }
    // Then what has to be given back for the quota's sake.
    for (at, victim) in victims.iter().enumerate() {
        if trial.quota_suffices() {
            break;
        }
        if victim.rank.0 <= 1 && !taken.contains(&at) && trial.take(victim) {
            taken.push(at);
        }
    }
    if !trial.quota_suffices() {
        return None;
    }
    taken.sort_unstable_by(|a, b| b.cmp(a));
    taken.retain(|&at| !trial.spare(&victims[at]));
    taken.reverse();
    Some((taken, trial.seats()?))
}

/// For each node the fewest victims, in order, with which it has room for more parts; what hurts least first.
fn offers(trial: &mut Trial<'_>, victims: &[Victim], taken: &[usize]) -> Vec<Vec<usize>> {
    let mut by_node: Vec<(NodeIndex, usize)> = (0..victims.len())
        .filter(|at| !taken.contains(at))
        .flat_map(|at| victims[at].grants.iter().map(move |grant| (grant.node, at)))
        .collect();
    by_node.sort_unstable();
    by_node.dedup();
    let mut offers = Vec::new();
    for of_node in by_node.chunk_by(|a, b| a.0 == b.0) {
        let node = of_node[0].0;
        if !trial.stock.is_open(node) {
            continue;
        }
        let mut cost = 0_u128;
        let mut released: Vec<Grant> = Vec::new();
        for (count, &(_, at)) in of_node.iter().enumerate() {
            for grant in victims[at].grants.iter().filter(|grant| grant.node == node) {
                if trial.stock.release(grant).is_ok() {
                    released.push(*grant);
                }
            }
            cost += victims[at].cost;
            let room = place::room_on(&trial.stock, node, trial.wanted);
            let gain = room.saturating_sub(trial.room[node.index()]);
            if gain > 0 {
                let order = (victims[at].rank, cost / u128::from(gain), node);
                offers.push((order, of_node[..=count].iter().map(|&(_, at)| at).collect()));
                break;
            }
        }
        for grant in &released {
            // What was given back a moment ago can be taken again: no room is made on closed nodes.
            let _ = trial.stock.allocate(grant);
        }
    }
    offers.sort_unstable_by_key(|&(order, _)| order);
    offers.into_iter().map(|(_, offer)| offer).collect()
}
