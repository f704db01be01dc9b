//! Tenants and their queues in a tree: who may hold how much, and who lends to whom.
//!
//! Amounts are thousandths of a GPU; CPU and memory are counted in the same way where any tenant has a limit of them, each in a
//! `ledger` of its own. A tenant's **quota** is its own; its children's quotas sum to no more. What of a
//! quota is idle may be borrowed by others under the same ancestor, but for what its **lending limit** keeps back; a tenant
//! borrows no more than its **borrowing limit** beyond its quota. Each tenant has a sum of what is counted at it: what its
//! own jobs hold, and of each child what goes beyond what the child keeps back. A charge touches only the way up.
//!
//! Invariant ([`Tenants::check_invariants`]): no tenant holds more than its limits allow, and what it keeps back is always
//! there for it.

mod ledger;

use std::fmt;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::index::TenantIndex;
use ledger::Ledger;

/// A whole GPU in the unit of quotas.
pub const GPU: u64 = 1000;

/// The most that any amount may be: no sum of tenants overflows.
pub const MAX_AMOUNT: u64 = 1 << 40;

/// The most levels of a tree.
pub const MAX_DEPTH: usize = 16;

/// What a tenant can have limits of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// GPUs, in thousandths.
    Gpu,
    /// CPU, in thousandths of a core.
    Cpu,
    /// Memory, in MiB.
    Memory,
}

impl Resource {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Gpu, Self::Cpu, Self::Memory];

    /// An amount of it for a person: `2.5 GPUs`.
    pub fn show(self, amount: u64) -> Shown {
        Shown(self, amount)
    }
}

/// An amount for a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown(Resource, u64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousandths = self.1 as f64 / 1000.0;
        match self.0 {
            Resource::Gpu => write!(f, "{thousandths} GPUs"),
            Resource::Cpu => write!(f, "{thousandths} cores"),
            Resource::Memory => write!(f, "{} MiB", self.1),
        }
    }
}

/// How much of each resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amounts {
    /// Thousandths of a GPU.
    pub gpu_milli: u64,
    /// Thousandths of a core.
    pub cpu_milli: u64,
    /// MiB.
    pub memory_mib: u64,
}

impl Amounts {
    /// How much of one of them.
    pub const fn of(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Gpu => self.gpu_milli,
            Resource::Cpu => self.cpu_milli,
            Resource::Memory => self.memory_mib,
        }
    }

    /// So many times as much.
    #[must_use]
    pub const fn times(&self, count: u64) -> Self {
        Self {
            gpu_milli: self.gpu_milli.saturating_mul(count),
            cpu_milli: self.cpu_milli.saturating_mul(count),
            memory_mib: self.memory_mib.saturating_mul(count),
        }
    }
}

impl From<u64> for Amounts {
    /// Thousandths of a GPU, and nothing else.
    fn from(gpu_milli: u64) -> Self {
        Self { gpu_milli, ..Self::default() }
    }
}

impl std::iter::Sum for Amounts {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |sum, one| Self {
            gpu_milli: sum.gpu_milli.saturating_add(one.gpu_milli),
            cpu_milli: sum.cpu_milli.saturating_add(one.cpu_milli),
            memory_mib: sum.memory_mib.saturating_add(one.memory_mib),
        })
    }
}

/// What a tenant may hold of one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// What is its own. `None`: at the top of the tree whatever there is, below that the sum of its children's.
    pub quota: Option<u64>,
    /// The most beyond its quota; `None`: whatever others lend.
    pub borrowing: Option<u64>,
    /// The most of its quota that others may use while it is idle; `None`: all.
    pub lending: Option<u64>,
}

/// A tenant to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Its name, unique in the tree.
    pub name: String,
    /// The tenant above; `None`: the top of the tree.
    pub parent: Option<String>,
    /// What is its own, thousandths of a GPU.
    pub quota: u64,
    /// The most beyond its quota; `None`: whatever others lend.
    pub borrowing_limit: Option<u64>,
    /// The most of its quota that others may use while it is idle; `None`: all.
    pub lending_limit: Option<u64>,
    /// How much of what is borrowed is fair for it, beside its siblings; at least 1.
    pub weight: u32,
}

/// Why there is no such tree. `tenant` is the number of the one at fault in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeError {
    /// Which of the list.
    pub tenant: usize,
    /// What is wrong.
    pub what: String,
    /// What would mend it.
    pub mend: &'static str,
}

/// Why nothing was charged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{tenant} may take {} more, not {}: {because}", resource.show(*available), resource.show(*wanted))]
pub struct ChargeError {
    /// The tenant.
    pub tenant: String,
    /// What there is too little of.
    pub resource: Resource,
    /// How much it may take.
    pub available: u64,
    /// How much was asked for.
    pub wanted: u64,
    /// Which limit is in the way.
    pub because: String,
}

/// Why nothing was given back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("jobs of {tenant} hold {}, and {} were to be given back", resource.show(*held), resource.show(*given))]
pub struct ReleaseError {
    /// The tenant.
    pub tenant: String,
    /// What it holds less of.
    pub resource: Resource,
    /// What its own jobs hold.
    pub held: u64,
    /// What was to be given back.
    pub given: u64,
}

/// Something that a tenant could borrow, or has borrowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Offer {
    /// Who lends or has borrowed it.
    pub tenant: TenantIndex,
    /// How much, thousandths of a GPU.
    pub amount: u64,
}

/// The tree with what is charged.
#[derive(Clone, Debug, Default)]
pub struct Tenants {
    name: Vec<String>,
    parent: Vec<Option<TenantIndex>>,
    weight: Vec<u32>,
    by_name: FxHashMap<String, TenantIndex>,
    /// Every tenant before those above it.
    upwards: Vec<TenantIndex>,
    gpus: Ledger,
    /// Of CPU and memory, where any tenant has a limit of it.
    others: Vec<Ledger>,
}

impl Tenants {
    /// Builds the tree; parents may stand before or after their children.
    ///
    /// # Errors
    /// Two of one name, a parent that is not there, a circle, too many levels, quotas above the parent's, a lending limit above
    /// the quota, a weight of nothing.
    pub fn new(wanted: Vec<Wanted>) -> Result<Self, TreeError> {
        let fault = |tenant: usize, what: String, mend| Err(TreeError { tenant, what, mend });
        let mut by_name = FxHashMap::default();
        for (at, tenant) in wanted.iter().enumerate() {
            if by_name.insert(tenant.name.clone(), TenantIndex(at as u32)).is_some() {
                let what = format!("a second tenant with the name \"{}\"", tenant.name);
                return fault(at, what, "give every tenant and queue its own name");
            }
        }
        let mut parent = Vec::with_capacity(wanted.len());
        for (at, tenant) in wanted.iter().enumerate() {
            if tenant.weight == 0 {
                return fault(at, format!("{} has the weight 0", tenant.name), "a weight is at least 1");
            }
            let above = tenant.parent.as_deref().map(|name| (name, by_name.get(name).copied()));
            if let Some((name, None)) = above {
                let what = format!("{} is under \"{name}\", which is not there", tenant.name);
                return fault(at, what, "name a tenant of the list as its parent");
            }
            parent.push(above.and_then(|(_, above)| above));
        }
        let mut by_depth = Vec::with_capacity(wanted.len());
        for at in 0..wanted.len() {
            match way_to_top(&parent, at) {
                Ok(way) => by_depth.push((way, at)),
                Err(way) => {
                    let names: Vec<_> = way.iter().map(|&at| wanted[at].name.as_str()).collect();
                    let what =
                        format!("a circle, or more than {MAX_DEPTH} levels: {}", names.join(" under "));
                    return fault(at, what, "take the parent of one of them away");
                }
            }
        }
        by_depth.sort_unstable_by(|a, b| b.cmp(a));
        let upwards: Vec<_> = by_depth.into_iter().map(|(_, at)| TenantIndex(at as u32)).collect();
        let limits = wanted.iter().map(|tenant| Limits {
            quota: Some(tenant.quota),
            borrowing: tenant.borrowing_limit,
            lending: tenant.lending_limit,
        });
        let limits: Vec<_> = limits.collect();
        let weight = wanted.iter().map(|tenant| tenant.weight).collect();
        let name: Vec<_> = wanted.into_iter().map(|tenant| tenant.name).collect();
        let gpus = Ledger::new(Resource::Gpu, &name, &parent, &upwards, limits)?;
        Ok(Self { name, parent, weight, by_name, upwards, gpus, others: Vec::new() })
    }

    /// Limits of CPU or memory besides, one for each tenant in the order of the list; nothing of it may be charged yet. A tenant
    /// without a quota of it has nothing of its own, and what others lend.
    ///
    /// # Errors
    /// Quotas above the parent's, a lending limit above the quota, or one limit too few or too many.
    pub fn with_limits(mut self, resource: Resource, limits: Vec<Limits>) -> Result<Self, TreeError> {
        if limits.len() != self.len() {
            let what = format!("{} limits for {} tenants", limits.len(), self.len());
            return Err(TreeError { tenant: 0, what, mend: "give one for each tenant" });
        }
        let ledger = Ledger::new(resource, &self.name, &self.parent, &self.upwards, limits)?;
        match resource {
            Resource::Gpu => self.gpus = ledger,
            Resource::Cpu | Resource::Memory => {
                self.others.retain(|other| other.resource() != resource);
                self.others.push(ledger);
            }
        }
        Ok(self)
    }

    fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        std::iter::once(&self.gpus).chain(&self.others)
    }

    fn ledger(&self, resource: Resource) -> Option<&Ledger> {
        self.ledgers().find(|ledger| ledger.resource() == resource)
    }

    /// The resources that tenants have limits of.
    pub fn limited(&self) -> impl Iterator<Item = Resource> + '_ {
        self.ledgers().map(Ledger::resource)
    }

    /// How many tenants and queues.
    pub fn len(&self) -> usize {
        self.name.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    /// Every tenant, in the order of the list.
    pub fn all(&self) -> impl ExactSizeIterator<Item = TenantIndex> + DoubleEndedIterator + use<> {
        (0..self.name.len() as u32).map(TenantIndex)
    }

    /// The tenant of that name.
    pub fn named(&self, name: &str) -> Option<TenantIndex> {
        self.by_name.get(name).copied()
    }

    /// Its name.
    pub fn name(&self, tenant: TenantIndex) -> &str {
        &self.name[tenant.index()]
    }

    /// The tenant above.
    pub fn parent(&self, tenant: TenantIndex) -> Option<TenantIndex> {
        self.parent[tenant.index()]
    }

    /// Its weight.
    pub fn weight(&self, tenant: TenantIndex) -> u32 {
        self.weight[tenant.index()]
    }

    /// What is its own, thousandths of a GPU.
    pub fn quota(&self, tenant: TenantIndex) -> u64 {
        self.gpus.quota(tenant)
    }

    /// The most beyond its quota; `None`: whatever others lend.
    pub fn borrowing_limit(&self, tenant: TenantIndex) -> Option<u64> {
        self.gpus.borrowing_limit(tenant)
    }

    /// What of its quota others may use while it is idle: all that is counted at it but what it keeps back.
    pub fn lends(&self, tenant: TenantIndex) -> u64 {
        self.gpus.lends(tenant)
    }

    /// What is its own of a resource, what it may borrow beyond that, and what it lends; nothing where the resource has no
    /// limits, or the quota no bound.
    pub fn limits(&self, resource: Resource, tenant: TenantIndex) -> Option<Limits> {
        let ledger = self.ledger(resource).filter(|ledger| ledger.quota(tenant) < MAX_AMOUNT)?;
        Some(Limits {
            quota: Some(ledger.quota(tenant)),
            borrowing: ledger.borrowing_limit(tenant),
            lending: Some(ledger.lends(tenant)),
        })
    }

    /// What it and all below it hold, thousandths of a GPU.
    pub fn held(&self, tenant: TenantIndex) -> u64 {
        self.gpus.held(tenant)
    }

    /// How many thousandths of a GPU of that go beyond its quota: what goes first when a lender wants it back.
    pub fn borrowed(&self, tenant: TenantIndex) -> u64 {
        self.gpus.borrowed(tenant)
    }

    /// Whether it, or one above it, holds more of any resource than its quota.
    pub fn is_in_debt(&self, tenant: TenantIndex) -> bool {
        self.way_up(tenant).any(|at| self.ledgers().any(|ledger| ledger.borrowed(at) > 0))
    }

    /// Whether it would hold no more of any resource than its quota with so much more.
    pub fn within_quota(&self, tenant: TenantIndex, more: impl Into<Amounts>) -> bool {
        let more = more.into();
        self.ledgers().all(|ledger| {
            let more = more.of(ledger.resource());
            more == 0 || ledger.held(tenant).saturating_add(more) <= ledger.quota(tenant)
        })
    }

    /// From a tenant to the top, itself first.
    fn way_up(&self, tenant: TenantIndex) -> impl Iterator<Item = TenantIndex> + '_ {
        std::iter::successors(Some(tenant), |&at| self.parent(at))
    }

    /// How much more it may take now, thousandths of a GPU.
    pub fn available(&self, tenant: TenantIndex) -> u64 {
        self.gpus.available(&self.parent, tenant)
    }

    /// The first resource of which it may not take so much now, with how much it may take.
    pub fn lacks(&self, tenant: TenantIndex, wanted: impl Into<Amounts>) -> Option<(Resource, u64)> {
        let wanted = wanted.into();
        self.ledgers()
            .map(|ledger| (ledger.resource(), ledger.available(&self.parent, tenant)))
            .find(|&(resource, available)| wanted.of(resource) > available)
    }

    /// The first resource of which it may never hold so much, even while all others are idle: the most that it may hold, and
    /// which limit is in the way.
    pub fn never(&self, tenant: TenantIndex, wanted: impl Into<Amounts>) -> Option<(Resource, u64, String)> {
        let wanted = wanted.into();
        self.ledgers().find_map(|ledger| {
            let (most, whose) = ledger.most(&self.parent, tenant);
            let resource = ledger.resource();
            (wanted.of(resource) > most).then(|| (resource, most, self.limit_of(resource, whose)))
        })
    }

    fn limit_of(&self, resource: Resource, whose: TenantIndex) -> String {
        let what = if self.parent(whose).is_some() { "borrowing limit" } else { "quota" };
        let of = match resource {
            Resource::Gpu => "",
            Resource::Cpu => "CPU ",
            Resource::Memory => "memory ",
        };
        format!("the {of}{what} of {} is in the way", self.name(whose))
    }

    /// Charges a tenant, or nothing at all; a bare number is thousandths of a GPU.
    ///
    /// # Errors
    /// Where it may not take so much now; says whose limit is in the way.
    pub fn charge(&mut self, tenant: TenantIndex, amounts: impl Into<Amounts>) -> Result<(), ChargeError> {
        let amounts = amounts.into();
        for ledger in self.ledgers() {
            let (resource, wanted) = (ledger.resource(), amounts.of(ledger.resource()));
            let (available, whose) = ledger.bound(&self.parent, tenant);
            if wanted > available {
                return Err(ChargeError {
                    tenant: self.name(tenant).to_owned(),
                    resource,
                    available,
                    wanted,
                    because: self.limit_of(resource, whose),
                });
            }
        }
        for ledger in std::iter::once(&mut self.gpus).chain(&mut self.others) {
            ledger.charge(&self.parent, tenant, amounts.of(ledger.resource()));
        }
        Ok(())
    }

    /// Takes back what was charged, or nothing at all; a bare number is thousandths of a GPU.
    ///
    /// # Errors
    /// Where jobs of the tenant itself hold less.
    pub fn release(&mut self, tenant: TenantIndex, amounts: impl Into<Amounts>) -> Result<(), ReleaseError> {
        let amounts = amounts.into();
        for ledger in self.ledgers() {
            let (resource, given, held) =
                (ledger.resource(), amounts.of(ledger.resource()), ledger.own(tenant));
            if given > held {
                return Err(ReleaseError { tenant: self.name(tenant).to_owned(), resource, held, given });
            }
        }
        for ledger in std::iter::once(&mut self.gpus).chain(&mut self.others) {
            ledger.release(&self.parent, tenant, amounts.of(ledger.resource()));
        }
        Ok(())
    }

    /// Who could lend GPUs to a tenant now, the nearest first: idle parts of others' quotas, and of what an ancestor has beyond
    /// its children's. Limits further up may allow less of it: [`Tenants::available`] is the sum that counts.
    pub fn lenders(&self, tenant: TenantIndex) -> Vec<Offer> {
        let mut offers = Vec::new();
        let mut below = tenant;
        for above in self.way_up(tenant).skip(1) {
            for child in self.all().filter(|&child| self.parent(child) == Some(above) && child != below) {
                let amount = self.gpus.idle(child).min(self.lends(child));
                offers.push(Offer { tenant: child, amount });
            }
            let amount = self.gpus.idle(above).min(self.gpus.common(above));
            offers.push(Offer { tenant: above, amount });
            below = above;
        }
        offers.retain(|offer| offer.amount > 0);
        offers
    }

    /// Who beside a tenant or beside an ancestor of it holds more of a resource than its quota, and how much: what a preemption
    /// may take back for a tenant that holds less than its own. Who borrows most for its weight comes first.
    pub fn borrowers(&self, resource: Resource, tenant: TenantIndex) -> Vec<Offer> {
        let Some(ledger) = self.ledger(resource) else { return Vec::new() };
        let way: Vec<_> = self.way_up(tenant).collect();
        let mut borrowers: Vec<_> = self
            .all()
            .filter(|&other| ledger.borrowed(other) > 0 && !way.contains(&other))
            .filter(|&other| self.parent(other).is_some_and(|above| way.contains(&above)))
            .map(|other| Offer { tenant: other, amount: ledger.borrowed(other) })
            .collect();
        let by_weight = |offer: &Offer| offer.amount as f64 / f64::from(self.weight(offer.tenant));
        borrowers.sort_by(|a, b| by_weight(b).total_cmp(&by_weight(a)).then(a.tenant.cmp(&b.tenant)));
        borrowers
    }

    /// Panics where the sums are wrong or a limit is broken. For tests and for the simulator, after every step.
    pub fn check_invariants(&self) {
        for ledger in self.ledgers() {
            ledger.check_invariants(&self.name, &self.parent, &self.upwards);
        }
    }
}

/// How many levels are above; the way there as an error where it does not end.
fn way_to_top(parent: &[Option<TenantIndex>], from: usize) -> Result<usize, Vec<usize>> {
    let mut way = vec![from];
    while let Some(above) = parent[way[way.len() - 1]] {
        let seen = way.contains(&above.index());
        way.push(above.index());
        if seen || way.len() > MAX_DEPTH {
            return Err(way);
        }
    }
    Ok(way.len())
}

#[cfg(test)]
mod tests;
