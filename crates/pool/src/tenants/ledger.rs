//! Who may hold how much of one resource, and who holds how much.
//!
//! Each tenant has a sum of what is counted at it: what its own jobs hold, and of each child what goes beyond what the child
//! keeps back. A charge touches only the way up.

use super::{Limits, MAX_AMOUNT, Resource, TreeError};
use crate::index::TenantIndex;

/// The sums of one resource over a tree of tenants.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    resource: Resource,
    quota: Vec<u64>,
    borrowing_limit: Vec<Option<u64>>,
    /// Of its quota, what is counted at it: all but what its children keep back.
    counted: Vec<u64>,
    /// What of that it keeps back.
    kept: Vec<u64>,
    /// What its quota has beyond the sum of its children's.
    common: Vec<u64>,
    /// What jobs of its own hold.
    own: Vec<u64>,
    /// What is used of what is counted at it; more than that where it borrows.
    used: Vec<u64>,
    /// What it and all below it hold.
    held: Vec<u64>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            resource: Resource::Gpu,
            quota: Vec::new(),
            borrowing_limit: Vec::new(),
            counted: Vec::new(),
            kept: Vec::new(),
            common: Vec::new(),
            own: Vec::new(),
            used: Vec::new(),
            held: Vec::new(),
        }
    }
}

type Parents = [Option<TenantIndex>];

impl Ledger {
    /// Of a tree whose tenants stand in `upwards` before those above them.
    pub(super) fn new(
        resource: Resource,
        names: &[String],
        parent: &Parents,
        upwards: &[TenantIndex],
        limits: Vec<Limits>,
    ) -> Result<Self, TreeError> {
        let fault = |tenant: usize, what: String, mend| Err(TreeError { tenant, what, mend });
        for (at, Limits { quota, borrowing, lending }) in limits.iter().enumerate() {
            if [quota, borrowing, lending].into_iter().flatten().any(|&amount| amount > MAX_AMOUNT) {
                let what = format!("a limit of {} is too large", names[at]);
                return fault(at, what, "a limit is at most 2^40");
            }
        }
        let mut quota = vec![0_u64; limits.len()];
        for at in upwards.iter().map(|tenant| tenant.index()) {
            // By now its children have added theirs.
            let by_children = if parent[at].is_some() { quota[at].min(MAX_AMOUNT) } else { MAX_AMOUNT };
            quota[at] = limits[at].quota.unwrap_or(by_children);
            if let Some(above) = parent[at] {
                quota[above.index()] += quota[at];
            }
        }
        // What a child keeps back is not counted above it.
        let (mut common, mut counted, mut kept) = (quota.clone(), quota.clone(), vec![0; limits.len()]);
        for at in upwards.iter().map(|tenant| tenant.index()) {
            let lending = limits[at].lending.unwrap_or(quota[at]);
            if lending > quota[at] {
                let what = format!("{} would lend more than its quota", names[at]);
                return fault(at, what, "a lending limit is at most the quota");
            }
            let lent = counted[at].min(lending);
            let Some(above) = parent[at] else { continue };
            kept[at] = counted[at] - lent;
            counted[above.index()] -= (quota[at] - lent).min(counted[above.index()]);
            let left = &mut common[above.index()];
            if quota[at] > *left {
                let what = format!(
                    "with {} the quotas under {} are {} above its own of {}",
                    names[at],
                    names[above.index()],
                    resource.show(quota[at] - *left),
                    resource.show(quota[above.index()])
                );
                return fault(at, what, "lower a child's quota, or raise the parent's");
            }
            *left -= quota[at];
        }
        let nothing = vec![0; limits.len()];
        Ok(Self {
            resource,
            quota,
            borrowing_limit: limits.iter().map(|limits| limits.borrowing).collect(),
            counted,
            kept,
            common,
            own: nothing.clone(),
            used: nothing.clone(),
            held: nothing,
        })
    }

    pub(super) fn resource(&self) -> Resource {
        self.resource
    }

    pub(super) fn quota(&self, tenant: TenantIndex) -> u64 {
        self.quota[tenant.index()]
    }

    pub(super) fn borrowing_limit(&self, tenant: TenantIndex) -> Option<u64> {
        self.borrowing_limit[tenant.index()]
    }

    pub(super) fn lends(&self, tenant: TenantIndex) -> u64 {
        self.counted[tenant.index()] - self.kept[tenant.index()]
    }

    pub(super) fn own(&self, tenant: TenantIndex) -> u64 {
        self.own[tenant.index()]
    }

    pub(super) fn held(&self, tenant: TenantIndex) -> u64 {
        self.held[tenant.index()]
    }

    pub(super) fn borrowed(&self, tenant: TenantIndex) -> u64 {
        self.held(tenant).saturating_sub(self.quota(tenant))
    }

    /// What its quota has beyond the sum of its children's.
    pub(super) fn common(&self, tenant: TenantIndex) -> u64 {
        self.common[tenant.index()]
    }

    /// What of all that is counted at it nobody uses.
    pub(super) fn idle(&self, tenant: TenantIndex) -> u64 {
        self.counted[tenant.index()].saturating_sub(self.used[tenant.index()])
    }

    pub(super) fn available(&self, parent: &Parents, tenant: TenantIndex) -> u64 {
        self.bound(parent, tenant).0
    }

    /// How much it may take now, and whose limit that is.
    pub(super) fn bound(&self, parent: &Parents, tenant: TenantIndex) -> (u64, TenantIndex) {
        self.beside(parent, tenant, |at| self.used[at])
    }

    /// The most that it may ever hold: while all others are idle; and whose limit that is.
    pub(super) fn most(&self, parent: &Parents, tenant: TenantIndex) -> (u64, TenantIndex) {
        self.beside(parent, tenant, |_| 0)
    }

    /// How much beside what is used, and whose limit that is. No deeper than the tree.
    fn beside(
        &self,
        parent: &Parents,
        tenant: TenantIndex,
        used: impl Fn(usize) -> u64 + Copy,
    ) -> (u64, TenantIndex) {
        let at = tenant.index();
        let left_of = |capacity: u64| capacity.saturating_sub(used(at));
        let Some(above) = parent[at] else { return (left_of(self.counted[at]), tenant) };
        let (from_above, whose) = self.beside(parent, above, used);
        let reach = left_of(self.kept[at]) + from_above;
        match self.borrowing_limit[at].map(|limit| left_of(self.counted[at] + limit)) {
            Some(cap) if cap <= reach => (cap, tenant),
            _ => (reach, whose),
        }
    }

    /// Counts what may be taken.
    pub(super) fn charge(&mut self, parent: &Parents, tenant: TenantIndex, amount: u64) {
        self.own[tenant.index()] += amount;
        let (mut rise, mut at) = (amount, Some(tenant));
        while let Some(node) = at {
            let i = node.index();
            self.held[i] += amount;
            let before = self.used[i].saturating_sub(self.kept[i]);
            self.used[i] += rise;
            rise = self.used[i].saturating_sub(self.kept[i]) - before;
            at = parent[i];
        }
    }

    /// Counts what its own jobs hold no longer.
    pub(super) fn release(&mut self, parent: &Parents, tenant: TenantIndex, amount: u64) {
        self.own[tenant.index()] -= amount;
        let (mut fall, mut at) = (amount, Some(tenant));
        while let Some(node) = at {
            let i = node.index();
            self.held[i] -= amount;
            let before = self.used[i].saturating_sub(self.kept[i]);
            self.used[i] -= fall;
            fall = before - self.used[i].saturating_sub(self.kept[i]);
            at = parent[i];
        }
    }

    /// Panics where the sums are wrong or a limit is broken.
    pub(super) fn check_invariants(&self, names: &[String], parent: &Parents, upwards: &[TenantIndex]) {
        let (mut held, mut used) = (self.own.clone(), self.own.clone());
        for tenant in upwards {
            let at = tenant.index();
            assert_eq!((held[at], used[at]), (self.held[at], self.used[at]), "{}", names[at]);
            match parent[at] {
                Some(above) => {
                    held[above.index()] += held[at];
                    used[above.index()] += used[at].saturating_sub(self.kept[at]);
                }
                None => assert!(held[at] <= self.quota[at], "{} holds more than there is", names[at]),
            }
            if let Some(limit) = self.borrowing_limit[at] {
                assert!(held[at] <= self.quota[at] + limit, "{} borrows too much", names[at]);
            }
        }
    }
}
