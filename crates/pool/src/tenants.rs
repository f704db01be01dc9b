//! Tenants and their queues in a tree: who may hold how much, and who lends to whom.
//!
//! All amounts are thousandths of a GPU. A tenant's **quota** is its own; its children's quotas sum to no more. What of a
//! quota is idle may be borrowed by others under the same ancestor, but for what its **lending limit** keeps back; a tenant
//! borrows no more than its **borrowing limit** beyond its quota. Each tenant has a sum of what is counted at it: what its
//! own jobs hold, and of each child what goes beyond what the child keeps back. A charge touches only the way up.
//!
//! Invariant ([`Tenants::check_invariants`]): no tenant holds more than its limits allow, and what it keeps back is always
//! there for it.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::index::TenantIndex;

/// A whole GPU in the unit of quotas.
pub const GPU: u64 = 1000;

/// The most that any amount may be: no sum of tenants overflows.
pub const MAX_AMOUNT: u64 = 1 << 40;

/// The most levels of a tree.
pub const MAX_DEPTH: usize = 16;

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
#[error("{tenant} may take {available} thousandths of a GPU more, not {wanted}: {because}")]
pub struct ChargeError {
    /// The tenant.
    pub tenant: String,
    /// How much it may take.
    pub available: u64,
    /// How much was asked for.
    pub wanted: u64,
    /// Which limit is in the way.
    pub because: String,
}

/// Why nothing was given back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("jobs of {tenant} hold {held} thousandths of a GPU, and {given} were to be given back")]
pub struct ReleaseError {
    /// The tenant.
    pub tenant: String,
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
    quota: Vec<u64>,
    borrowing_limit: Vec<Option<u64>>,
    weight: Vec<u32>,
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
    by_name: FxHashMap<String, TenantIndex>,
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
            let limits = [Some(tenant.quota), tenant.borrowing_limit, tenant.lending_limit];
            if limits.into_iter().flatten().any(|amount| amount > MAX_AMOUNT) {
                return fault(
                    at,
                    format!("a limit of {} is too large", tenant.name),
                    "a limit is at most 2^40",
                );
            }
            if tenant.weight == 0 {
                return fault(at, format!("{} has the weight 0", tenant.name), "a weight is at least 1");
            }
            if tenant.lending_limit.is_some_and(|limit| limit > tenant.quota) {
                let what = format!("{} would lend more than its quota", tenant.name);
                return fault(at, what, "a lending limit is at most the quota");
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

        // From the leaves up: what a child keeps back is not counted above it.
        let mut common: Vec<u64> = wanted.iter().map(|tenant| tenant.quota).collect();
        let mut counted = common.clone();
        let mut kept = vec![0; wanted.len()];
        for (_, at) in by_depth {
            let tenant = &wanted[at];
            let lent = counted[at].min(tenant.lending_limit.unwrap_or(tenant.quota));
            let Some(above) = parent[at] else { continue };
            kept[at] = counted[at] - lent;
            counted[above.index()] -= (tenant.quota - lent).min(counted[above.index()]);
            let left = &mut common[above.index()];
            if tenant.quota > *left {
                let above = &wanted[above.index()];
                let what = format!(
                    "with {} the quotas under {} are {} GPUs above its own of {}",
                    tenant.name,
                    above.name,
                    gpus(tenant.quota - *left),
                    gpus(above.quota)
                );
                return fault(at, what, "lower a child's quota, or raise the parent's");
            }
            *left -= tenant.quota;
        }

        let count = wanted.len();
        let mut tree = Self {
            name: Vec::with_capacity(count),
            parent,
            quota: Vec::with_capacity(count),
            borrowing_limit: Vec::with_capacity(count),
            weight: Vec::with_capacity(count),
            counted,
            kept,
            common,
            own: vec![0; count],
            used: vec![0; count],
            held: vec![0; count],
            by_name,
        };
        for tenant in wanted {
            tree.name.push(tenant.name);
            tree.quota.push(tenant.quota);
            tree.borrowing_limit.push(tenant.borrowing_limit);
            tree.weight.push(tenant.weight);
        }
        Ok(tree)
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

    /// What is its own, thousandths of a GPU.
    pub fn quota(&self, tenant: TenantIndex) -> u64 {
        self.quota[tenant.index()]
    }

    /// The most beyond its quota; `None`: whatever others lend.
    pub fn borrowing_limit(&self, tenant: TenantIndex) -> Option<u64> {
        self.borrowing_limit[tenant.index()]
    }

    /// What of its quota others may use while it is idle: all that is counted at it but what it keeps back.
    pub fn lends(&self, tenant: TenantIndex) -> u64 {
        self.counted[tenant.index()] - self.kept[tenant.index()]
    }

    /// Its weight.
    pub fn weight(&self, tenant: TenantIndex) -> u32 {
        self.weight[tenant.index()]
    }

    /// What it and all below it hold.
    pub fn held(&self, tenant: TenantIndex) -> u64 {
        self.held[tenant.index()]
    }

    /// How much of that goes beyond its quota: what goes first when a lender wants it back.
    pub fn borrowed(&self, tenant: TenantIndex) -> u64 {
        self.held(tenant).saturating_sub(self.quota(tenant))
    }

    /// What it borrows for each unit of weight: who has least is next, who has most gives back first.
    pub fn borrowed_by_weight(&self, tenant: TenantIndex) -> f64 {
        self.borrowed(tenant) as f64 / f64::from(self.weight(tenant))
    }

    /// From a tenant to the top, itself first.
    fn way_up(&self, tenant: TenantIndex) -> impl Iterator<Item = TenantIndex> + '_ {
        std::iter::successors(Some(tenant), |&at| self.parent(at))
    }

    /// How much more it may take now, thousandths of a GPU.
    pub fn available(&self, tenant: TenantIndex) -> u64 {
        self.bound(tenant, &self.used).0
    }

    /// The most that it may ever hold, thousandths of a GPU: while all others are idle; and which limit that is, in words.
    pub fn most(&self, tenant: TenantIndex) -> (u64, String) {
        let (most, whose) = self.bound(tenant, &vec![0; self.len()]);
        (most, self.limit_of(whose))
    }

    /// How much beside what is used, and whose limit that is. No deeper than the tree.
    fn bound(&self, tenant: TenantIndex, used: &[u64]) -> (u64, TenantIndex) {
        let at = tenant.index();
        let left_of = |capacity: u64| capacity.saturating_sub(used[at]);
        let Some(above) = self.parent(tenant) else { return (left_of(self.counted[at]), tenant) };
        let (from_above, whose) = self.bound(above, used);
        let reach = left_of(self.kept[at]) + from_above;
        match self.borrowing_limit[at].map(|limit| left_of(self.counted[at] + limit)) {
            Some(cap) if cap <= reach => (cap, tenant),
            _ => (reach, whose),
        }
    }

    fn limit_of(&self, whose: TenantIndex) -> String {
        let what = if self.parent(whose).is_some() { "borrowing limit" } else { "quota" };
        format!("the {what} of {} is in the way", self.name(whose))
    }

    /// Charges a tenant, or nothing at all.
    ///
    /// # Errors
    /// Where it may not take so much now; says whose limit is in the way.
    pub fn charge(&mut self, tenant: TenantIndex, amount: u64) -> Result<(), ChargeError> {
        let (available, whose) = self.bound(tenant, &self.used);
        if amount > available {
            return Err(ChargeError {
                tenant: self.name(tenant).to_owned(),
                available,
                wanted: amount,
                because: self.limit_of(whose),
            });
        }
        self.own[tenant.index()] += amount;
        let mut rise = amount;
        let mut at = Some(tenant);
        while let Some(node) = at {
            let i = node.index();
            self.held[i] += amount;
            let before = self.used[i].saturating_sub(self.kept[i]);
            self.used[i] += rise;
            rise = self.used[i].saturating_sub(self.kept[i]) - before;
            at = self.parent[i];
        }
        Ok(())
    }

    /// Takes back what was charged.
    ///
    /// # Errors
    /// Where jobs of the tenant itself hold less.
    pub fn release(&mut self, tenant: TenantIndex, amount: u64) -> Result<(), ReleaseError> {
        let own = &mut self.own[tenant.index()];
        if amount > *own {
            let tenant = self.name[tenant.index()].clone();
            return Err(ReleaseError { tenant, held: *own, given: amount });
        }
        *own -= amount;
        let mut fall = amount;
        let mut at = Some(tenant);
        while let Some(node) = at {
            let i = node.index();
            self.held[i] -= amount;
            let before = self.used[i].saturating_sub(self.kept[i]);
            self.used[i] -= fall;
            fall = before - self.used[i].saturating_sub(self.kept[i]);
            at = self.parent[i];
        }
        Ok(())
    }

    /// Who could lend to a tenant now, the nearest first: idle parts of others' quotas, and of what an ancestor has beyond its
    /// children's. Limits further up may allow less of it: [`Tenants::available`] is the sum that counts.
    pub fn lenders(&self, tenant: TenantIndex) -> Vec<Offer> {
        let mut offers = Vec::new();
        let mut below = tenant;
        for above in self.way_up(tenant).skip(1) {
            for child in self.all().filter(|&child| self.parent(child) == Some(above) && child != below) {
                let idle = self.counted[child.index()].saturating_sub(self.used[child.index()]);
                offers.push(Offer { tenant: child, amount: idle.min(self.lends(child)) });
            }
            let idle = self.counted[above.index()].saturating_sub(self.used[above.index()]);
            offers.push(Offer { tenant: above, amount: idle.min(self.common[above.index()]) });
            below = above;
        }
        offers.retain(|offer| offer.amount > 0);
        offers
    }

    /// Who beside a tenant or beside an ancestor of it holds more than its quota, and how much: what a preemption may take back
    /// for a tenant that holds less than its own. Who borrows most for its weight comes first.
    pub fn borrowers(&self, tenant: TenantIndex) -> Vec<Offer> {
        let way: Vec<_> = self.way_up(tenant).collect();
        let mut borrowers: Vec<_> = self
            .all()
            .filter(|&other| self.borrowed(other) > 0 && !way.contains(&other))
            .filter(|&other| self.parent(other).is_some_and(|above| way.contains(&above)))
            .map(|other| Offer { tenant: other, amount: self.borrowed(other) })
            .collect();
        borrowers.sort_by(|a, b| {
            let by_weight = |offer: &Offer| self.borrowed_by_weight(offer.tenant);
            by_weight(b).total_cmp(&by_weight(a)).then(a.tenant.cmp(&b.tenant))
        });
        borrowers
    }

    /// Panics where the sums are wrong or a limit is broken. For tests and for the simulator, after every step.
    pub fn check_invariants(&self) {
        let (mut held, mut used) = (self.own.clone(), self.own.clone());
        let mut order: Vec<_> = self.all().collect();
        order.sort_by_key(|&tenant| std::cmp::Reverse(self.way_up(tenant).count()));
        for tenant in order {
            let at = tenant.index();
            assert_eq!((held[at], used[at]), (self.held[at], self.used[at]), "{}", self.name(tenant));
            match self.parent(tenant) {
                Some(above) => {
                    held[above.index()] += held[at];
                    used[above.index()] += used[at].saturating_sub(self.kept[at]);
                }
                None => assert!(held[at] <= self.quota[at], "{} holds more than there is", self.name(tenant)),
            }
            if let Some(limit) = self.borrowing_limit[at] {
                assert!(held[at] <= self.quota[at] + limit, "{} borrows too much", self.name(tenant));
            }
        }
    }
}

fn gpus(amount: u64) -> f64 {
    amount as f64 / GPU as f64
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(name: &str, parent: Option<&str>, quota: u64) -> Wanted {
        Wanted {
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            quota,
            borrowing_limit: None,
            lending_limit: None,
            weight: 1,
        }
    }

    fn site() -> Tenants {
        Tenants::new(vec![
            wanted("site", None, 100),
            Wanted { borrowing_limit: Some(20), ..wanted("vision", Some("site"), 40) },
            Wanted { lending_limit: Some(10), ..wanted("speech", Some("site"), 50) },
            wanted("vision-train", Some("vision"), 30),
        ])
        .unwrap()
    }

    #[test]
    fn what_is_idle_is_lent_but_for_what_is_kept_back() {
        let mut tree = site();
        let [vision, speech, train] =
            ["vision", "speech", "vision-train"].map(|name| tree.named(name).unwrap());
        // 40 of its own, and 20 by its limit; of the 50 of speech 10 are lent, 10 are the site's own.
        assert_eq!(tree.available(train), 60);
        let offers: Vec<_> =
            tree.lenders(train).iter().map(|offer| (tree.name(offer.tenant), offer.amount)).collect();
        assert_eq!(offers, [("vision", 10), ("speech", 10), ("site", 10)]);
        tree.charge(train, 60).unwrap();
        assert_eq!((tree.borrowed(vision), tree.borrowed(train)), (20, 30));
        let error = tree.charge(vision, 1).unwrap_err().to_string();
        assert!(error.contains("the borrowing limit of vision"), "{error}");
        // What speech keeps back is there; the rest it has to get back from who borrows.
        assert_eq!(tree.available(speech), 40);
        assert_eq!(tree.borrowers(speech), [Offer { tenant: vision, amount: 20 }]);
        tree.charge(speech, 40).unwrap();
        let error = tree.charge(speech, 1).unwrap_err().to_string();
        assert!(error.contains("the quota of site"), "{error}");
        tree.release(train, 60).unwrap();
        assert_eq!(tree.available(speech), 60);
        assert!(tree.release(train, 1).is_err());
        tree.check_invariants();
    }

    #[test]
    fn a_tree_that_cannot_be_is_refused() {
        let refused = |list: Vec<Wanted>| {
            let error = Tenants::new(list).unwrap_err();
            (error.tenant, error.what)
        };
        let (at, what) = refused(vec![wanted("a", Some("b"), 1), wanted("b", Some("a"), 1)]);
        assert!(at == 0 && what.ends_with("a under b under a"), "{what}");
        let (at, what) = refused(vec![wanted("a", None, 1000), wanted("b", Some("a"), 3000)]);
        assert_eq!((at, what.as_str()), (1, "with b the quotas under a are 2 GPUs above its own of 1"));
        assert!(refused(vec![wanted("a", Some("x"), 1)]).1.contains("\"x\", which is not there"));
        assert!(refused(vec![wanted("a", None, 1), wanted("a", None, 1)]).1.contains("second"));
        assert!(refused(vec![Wanted { weight: 0, ..wanted("a", None, 1) }]).1.contains("weight 0"));
        assert!(refused(vec![Wanted { lending_limit: Some(2), ..wanted("a", None, 1) }]).1.contains("lend"));
        assert!(refused(vec![wanted("a", None, u64::MAX)]).1.contains("too large"));
        let deep = (0..40).map(|at| {
            let parent = (at > 0).then(|| format!("t{}", at - 1));
            Wanted { parent, ..wanted(&format!("t{at}"), None, 1) }
        });
        assert!(refused(deep.collect()).1.contains("more than 16 levels"));
    }

    fn trees() -> impl Strategy<Value = Vec<Wanted>> {
        let one = (0..8usize, 0..40u64, prop::option::of(0..30u64), prop::option::of(0..40u64));
        prop::collection::vec(one, 1..8).prop_map(|list| {
            let mut left: Vec<u64> = Vec::new();
            let mut tree: Vec<Wanted> = Vec::new();
            for (at, (parent, quota, borrowing_limit, lending_limit)) in list.into_iter().enumerate() {
                let parent = (at > 0).then(|| parent % at);
                let quota = parent.map_or(100, |parent| quota.min(left[parent]));
                if let Some(parent) = parent {
                    left[parent] -= quota;
                }
                left.push(quota);
                tree.push(Wanted {
                    borrowing_limit,
                    lending_limit: lending_limit.map(|limit| limit.min(quota)),
                    ..wanted(&format!("t{at}"), parent.map(|at| format!("t{at}")).as_deref(), quota)
                });
            }
            tree
        })
    }

    proptest! {

        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn limits_hold_whatever_is_charged(
            tree in trees(),
            steps in prop::collection::vec((0..8u32, 0..60u64, any::<bool>()), 1..60),
        ) {
            let kept: Vec<u64> =
                tree.iter().map(|one| one.quota - one.lending_limit.unwrap_or(one.quota)).collect();
            let leaf = |tree: &Tenants, at| tree.all().all(|other| tree.parent(other) != Some(at));
            let mut tree = Tenants::new(tree).unwrap();
            for (tenant, amount, give) in steps {
                let tenant = TenantIndex(tenant % tree.len() as u32);
                let before = (tree.available(tenant), tree.held(tenant));
                if give {
                    prop_assert_eq!(tree.charge(tenant, amount).is_ok(), amount <= before.0);
                    if amount <= before.0 {
                        prop_assert_eq!(tree.available(tenant), before.0 - amount);
                    }
                } else {
                    let _ = tree.release(tenant, amount);
                }
                tree.check_invariants();
                // What a queue keeps back is there for it at any time.
                for at in tree.all().filter(|&at| leaf(&tree, at) && tree.parent(at).is_some()) {
                    prop_assert!(tree.available(at) + tree.held(at) >= kept[at.index()]);
                }
            }
            for tenant in tree.all() {
                let own = tree.own[tenant.index()];
                prop_assert!(tree.release(tenant, own).is_ok());
            }
            prop_assert!(tree.all().all(|tenant| tree.held(tenant) == 0 && tree.used[tenant.index()] == 0));
        }
    }
}
