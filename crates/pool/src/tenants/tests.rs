//! Trees by hand and trees by chance.

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
    let [vision, speech, train] = ["vision", "speech", "vision-train"].map(|name| tree.named(name).unwrap());
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
    assert_eq!(tree.borrowers(Resource::Gpu, speech), [Offer { tenant: vision, amount: 20 }]);
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
    assert_eq!((at, what.as_str()), (1, "with b the quotas under a are 2 GPUs above its own of 1 GPUs"));
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

fn limits(quota: Option<u64>, borrowing: Option<u64>, lending: Option<u64>) -> Limits {
    Limits { quota, borrowing, lending }
}

#[test]
fn cpu_and_memory_have_limits_of_their_own() {
    let cpu = vec![
        limits(Some(64_000), None, None),
        limits(Some(16_000), Some(8000), None),
        limits(Some(32_000), None, Some(0)),
        Limits::default(),
    ];
    let mut tree = site().with_limits(Resource::Cpu, cpu).unwrap();
    let [vision, speech, train] = ["vision", "speech", "vision-train"].map(|name| tree.named(name).unwrap());
    let amounts = |gpu_milli, cpu_milli| Amounts { gpu_milli, cpu_milli, memory_mib: 1 << 39 };
    // Nothing of its own, all that vision may have; memory has no limits.
    assert_eq!(tree.lacks(train, amounts(60, 24_000)), None);
    assert_eq!(tree.lacks(train, amounts(60, 24_001)), Some((Resource::Cpu, 24_000)));
    assert_eq!(tree.lacks(train, amounts(61, 24_001)), Some((Resource::Gpu, 60)));
    let (resource, most, because) = tree.never(train, amounts(1, 25_000)).unwrap();
    assert_eq!((resource, most), (Resource::Cpu, 24_000));
    assert_eq!(because, "the CPU borrowing limit of vision is in the way");
    tree.charge(train, amounts(10, 20_000)).unwrap();
    let error = tree.charge(vision, amounts(1, 5000)).unwrap_err();
    assert_eq!((error.resource, error.available), (Resource::Cpu, 4000));
    let error = error.to_string();
    assert!(error.starts_with("vision may take 4 cores more, not 5 cores"), "{error}");
    // GPUs were not charged where CPU was lacking.
    assert_eq!((tree.held(vision), tree.available(vision)), (10, 50));
    assert!(tree.is_in_debt(train) && !tree.is_in_debt(speech));
    assert_eq!(tree.borrowers(Resource::Cpu, speech), [Offer { tenant: vision, amount: 4000 }]);
    assert_eq!(tree.borrowers(Resource::Gpu, speech), []);
    assert!(
        tree.within_quota(speech, amounts(50, 32_000)) && !tree.within_quota(speech, amounts(50, 32_001))
    );
    assert!(tree.release(train, amounts(10, 20_001)).is_err());
    tree.check_invariants();
    tree.release(train, amounts(10, 20_000)).unwrap();
    assert_eq!(tree.lacks(train, amounts(60, 24_000)), None);
}

#[test]
fn limits_above_the_parents_are_refused_for_each_resource() {
    let refused = |limits: [Limits; 4], resource| {
        let error = site().with_limits(resource, limits.to_vec()).unwrap_err();
        (error.tenant, error.what)
    };
    let quota = |amount| limits(Some(amount), None, None);
    let (at, what) = refused([quota(8000), quota(6000), quota(3000), Limits::default()], Resource::Cpu);
    assert!(at == 1 || at == 2);
    assert!(what.ends_with("the quotas under site are 1 cores above its own of 8 cores"), "{what}");
    let (_, what) = refused([quota(100), Limits::default(), quota(50), quota(60)], Resource::Memory);
    assert!(what.ends_with("the quotas under site are 10 MiB above its own of 100 MiB"), "{what}");
    let lends = limits(Some(1), None, Some(2));
    let (at, what) = refused([quota(100), lends, quota(1), Limits::default()], Resource::Memory);
    assert_eq!((at, what.as_str()), (1, "vision would lend more than its quota"));
    assert!(site().with_limits(Resource::Cpu, vec![Limits::default()]).is_err());
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
        let empty = tree.clone();
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
            let own = tree.gpus.own(tenant);
            prop_assert!(tree.release(tenant, own).is_ok());
        }
        let is_empty = |tenant| tree.held(tenant) == 0 && tree.gpus.idle(tenant) == empty.gpus.idle(tenant);
        prop_assert!(tree.all().all(is_empty));
    }
}
