//! The stock by hand, and held against plain sums.

use proptest::prelude::*;

use super::*;

fn stock(gpus: &[usize]) -> Stock {
    let mut stock = Stock::new();
    let model = stock.model_named("H100").unwrap();
    for &gpus in gpus {
        let model = (gpus > 0).then_some(model);
        stock.add_node(&Capacity { cpu_milli: 4000, memory_mib: 1000, gpus, model }).unwrap();
    }
    stock
}

fn whole(gpus: u16) -> Demand {
    Demand { cpu_milli: 1000, memory_mib: 100, gpus, gpu_milli: WHOLE_GPU, ..Demand::default() }
}

#[test]
fn a_share_is_never_granted_from_two_gpus_that_have_half_of_it() {
    let mut stock = stock(&[2]);
    let taken = Grant::new(NodeIndex(0), &Demand { gpu_milli: 600, ..whole(2) }, GpuSet(0b11));
    stock.allocate(&taken).unwrap();
    assert_eq!(stock.gpus_free_milli(NodeIndex(0)), [400, 400]);
    assert!(!stock.fits(NodeIndex(0), &Demand { gpu_milli: 800, ..whole(1) }));
    assert!(stock.fits(NodeIndex(0), &Demand { gpu_milli: 400, ..whole(2) }));
}

#[test]
fn a_share_takes_its_part_of_the_memory_and_models_with_less_will_not_do() {
    let mut stock = Stock::new();
    for (name, memory_mib) in [("T4", 16_000), ("H100", 80_000), ("X", 0)] {
        let model = stock.model_named(name).unwrap();
        stock.set_gpu_memory(model, memory_mib);
    }
    let [t4, h100, x] = ["T4", "H100", "X"].map(|name| stock.find_model(name).unwrap());
    let share = Demand { gpu_milli: 100, ..whole(1) };
    let small = stock.with_gpu_memory(&share, 4000);
    assert_eq!((small.gpu_milli, small.models), (250, ModelSet::NONE.with(t4).with(h100).with(x)));
    let large = stock.with_gpu_memory(&share, 20_001);
    assert_eq!((large.gpu_milli, large.models), (251, ModelSet::NONE.with(h100).with(x)));
    let of_h100 = Demand { models: ModelSet::NONE.with(h100), ..share };
    assert_eq!(stock.with_gpu_memory(&of_h100, 4000), of_h100);
    assert_eq!(stock.with_gpu_memory(&of_h100, 80_001).models, ModelSet::NONE);
    let several = stock.with_gpu_memory(&whole(2), 40_000);
    assert_eq!((several.gpu_milli, several.models), (WHOLE_GPU, ModelSet::NONE.with(h100).with(x)));
    assert_eq!(stock.reordered(&[]).with_gpu_memory(&share, 20_001), large);
}

#[test]
fn a_pool_becomes_a_stock() {
    let text = "sn,cpu_milli,memory_mib,gpu,model\na,64000,1000,2,H100\nb,8000,500,0,\nc,8000,500,3,T4\n";
    let beside = crate::formats::Beside::default();
    let mut pool = crate::formats::read("nodes.csv", text.as_bytes(), &beside).unwrap().0.pool;
    let [a, b, c] = [0, 1, 2].map(NodeIndex);
    let failed = crate::Health { state: State::Failed, reason: String::new() };
    let second = pool.gpus_of(a).nth(1).unwrap();
    pool.set_gpu_health(second, failed.clone());
    pool.set_node_health(c, failed);
    let stock = Stock::of(&pool).unwrap();
    assert_eq!(stock.models(), ["H100", "T4"]);
    assert_eq!([a, b, c].map(|node| stock.capacity(node).gpus), [1, 0, 3]);
    assert_eq!([a, b, c].map(|node| stock.is_open(node)), [true, true, false]);
    assert_eq!((stock.cpu_free_milli(a), stock.memory_free_mib(b)), (64_000, 500));
}

#[test]
fn a_gang_is_taken_whole_or_not_at_all() {
    let mut stock = stock(&[2, 1]);
    let before = stock.clone();
    let gang = [0, 1].map(|node| Grant::new(NodeIndex(node), &whole(2), GpuSet(0b11)));
    let error = stock.allocate_all(&gang).unwrap_err();
    assert_eq!(error, StockError::Gpu { node: 1, gpu: 1, free: 0, wanted: WHOLE_GPU });
    assert_eq!(stock, before);
}

#[test]
fn other_models_and_closed_nodes_take_nothing() {
    let mut stock = stock(&[2]);
    let other = stock.model_named("T4").unwrap();
    let node = NodeIndex(0);
    assert!(!stock.fits(node, &Demand { models: ModelSet::NONE.with(other), ..whole(1) }));
    stock.set_open(node, false).unwrap();
    assert!(!stock.fits(node, &whole(1)));
    let grant = Grant::new(node, &whole(1), GpuSet(1));
    assert_eq!(stock.allocate(&grant), Err(StockError::Closed(0)));
    stock.set_open(node, true).unwrap();
    stock.allocate(&grant).unwrap();
    stock.set_open(node, false).unwrap();
    stock.release(&grant).unwrap();
    assert_eq!(stock.gpu_taken_total_milli(), 0);
}

#[test]
fn what_was_not_taken_cannot_be_given_back() {
    let mut stock = stock(&[2]);
    let before = stock.clone();
    let grant = Grant::new(NodeIndex(0), &whole(1), GpuSet(1));
    assert!(matches!(stock.release(&grant), Err(StockError::NotTaken(..))));
    assert_eq!(stock.release(&Grant { node: NodeIndex(9), ..grant }), Err(StockError::NoSuchNode(9, 1)));
    assert_eq!(stock, before);
}

prop_compose! {
    fn any_grant()(
        node in 0_u32..5, cpu in 0_u32..5000, memory in 0_u32..1200, gpus in 0_u64..512, milli in 0_u16..1100,
    ) -> Grant {
        Grant { node: NodeIndex(node), cpu_milli: cpu, memory_mib: memory, gpus: GpuSet(gpus), gpu_milli: milli, pin: Pin::Floating, instances: None }
    }
}

/// The same bookkeeping by plain sums over what is held.
fn is_possible(stock: &Stock, held: &[Grant], grant: &Grant) -> bool {
    if grant.node.index() >= stock.len() {
        return false;
    }
    let capacity = stock.capacity(grant.node);
    let here = || held.iter().filter(|other| other.node == grant.node);
    let cpu = here().map(|other| u64::from(other.cpu_milli)).sum::<u64>() + u64::from(grant.cpu_milli);
    let memory = here().map(|other| u64::from(other.memory_mib)).sum::<u64>() + u64::from(grant.memory_mib);
    let gpus_fit = grant.gpus.iter().all(|gpu| {
        let on = here().filter(|other| other.gpus.0 >> gpu & 1 == 1);
        gpu < capacity.gpus
            && on.map(|other| u64::from(other.gpu_milli)).sum::<u64>() + u64::from(grant.gpu_milli) <= 1000
    });
    cpu <= u64::from(capacity.cpu_milli) && memory <= u64::from(capacity.memory_mib) && gpus_fit
}

proptest! {

    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_call_happens_whole_or_not_at_all(calls in prop::collection::vec((any_grant(), any::<bool>()), 1..60)) {
        let empty = stock(&[8, 0, 3, 1]);
        let (mut stock, mut held) = (empty.clone(), Vec::<Grant>::new());
        for (grant, take) in calls {
            let before = stock.clone();
            if take || held.is_empty() {
                let possible = is_possible(&stock, &held, &grant);
                let done = stock.allocate(&grant).is_ok();
                prop_assert_eq!(done, possible);
                if done { held.push(grant) } else { prop_assert_eq!(&stock, &before) }
            } else {
                let oldest = held.remove(0);
                prop_assert!(stock.release(&oldest).is_ok());
            }
            let taken: u64 = held.iter().map(|g| u64::from(g.gpus.len()) * u64::from(g.gpu_milli)).sum();
            prop_assert_eq!(stock.gpu_taken_total_milli(), taken);
        }
        for grant in &held {
            prop_assert!(stock.release(grant).is_ok());
        }
        prop_assert_eq!(stock, empty);
    }

    #[test]
    fn several_grants_are_taken_together_or_none_is(gang in prop::collection::vec(any_grant(), 1..6)) {
        let mut stock = stock(&[8, 0, 3, 1]);
        let before = stock.clone();
        let mut one_by_one = stock.clone();
        let possible = gang.iter().all(|grant| one_by_one.allocate(grant).is_ok());
        prop_assert_eq!(stock.allocate_all(&gang).is_ok(), possible);
        prop_assert_eq!(stock, if possible { one_by_one } else { before });
    }
}
