//! A gang that can never fit says which of its wants is in the way.

use std::sync::Arc;

use fabric::generate::{FatTreeSpec, SuperpodSpec};
use pool::formats::{Equipment, from_fabric};
use pool::stock::{Capacity, Demand, Domain, NumaWant, WHOLE_GPU};
use pool::tenants::Tenants;
use pool::{NodeIndex, Pool, Stock};
use scheduler::job::{Job, Refusal};
use scheduler::network::{Level, Topology, Want};
use scheduler::schedule::{Config, Scheduler};

/// Hosts of a fabric with eight GPUs each, in two NUMA domains with eight cores each.
fn site(fabric: fabric::Fabric) -> (Pool, Scheduler) {
    let fabric = Arc::new(fabric);
    let pool = from_fabric("site", &fabric, &Equipment { gpus_per_node: 8, ..Equipment::default() }).unwrap();
    let mut stock = Stock::new();
    let model = stock.model_named("H100").ok();
    let half = Domain { cpu_milli: 8000, memory_mib: 0 };
    for _ in pool.nodes() {
        let capacity = Capacity { cpu_milli: 16_000, memory_mib: 0, gpus: 8, model };
        stock.add_node_of(&capacity, &[half; 2], &[0, 0, 0, 0, 1, 1, 1, 1]).unwrap();
    }
    let network = Topology::new(fabric, None, &pool);
    let scheduler = Scheduler::new(Config::default(), stock, Tenants::default(), &[]).with_network(network);
    (pool, scheduler)
}

fn gang(parts: u32, gpus: u16, level: Option<Level>) -> Job {
    let demand = Demand { gpus, gpu_milli: WHOLE_GPU, ..Demand::default() };
    let wants = level.map(|level| Want { level, required: true }).into_iter().collect();
    Job { parts, most_parts: parts, wants, ..Job::new("gang", demand) }
}

fn refused(scheduler: &mut Scheduler, job: Job) -> String {
    match scheduler.submit(job, 0) {
        Err(Refusal::Never(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Four leaves of four hosts each.
fn tree() -> fabric::Fabric {
    FatTreeSpec { levels: Some(2), hosts: Some(16), radix: 8, ..FatTreeSpec::default() }.build().unwrap()
}

#[test]
fn each_level_that_is_required_is_named_with_what_it_could_take() {
    let units = SuperpodSpec { units: 2, ..SuperpodSpec::default() }.build().unwrap();
    for (fabric, level, words) in [
        (tree(), Level::NvlinkDomain, "one NVLink domain"),
        (tree(), Level::Leaf, "one leaf"),
        (units, Level::RailGroup, "one rail group"),
    ] {
        let (_, mut scheduler) = site(fabric);
        let locality = scheduler.network().unwrap().locality();
        let largest = (0..locality.group_count(level) as u32).map(|group| locality.nodes(level, group).len());
        let largest = largest.max().unwrap() as u32;
        let all = locality.node_count() as u32;
        assert!(largest < all, "{level:?} is all there is");
        let why = refused(&mut scheduler, gang(largest + 1, 8, Some(level)));
        let asked = largest + 1;
        let expected =
            format!("{asked} members are required in {words}, and the largest could take, empty, {largest}");
        assert_eq!(why, expected);
        // One that fits is taken, and so is the larger one where it only prefers.
        assert!(scheduler.submit(gang(largest, 8, Some(level)), 0).is_ok());
        let wants = vec![Want { level, required: false }];
        assert!(scheduler.submit(Job { wants, ..gang(asked, 8, None) }, 0).is_ok());
    }
}

#[test]
fn two_levels_that_only_together_are_in_the_way_are_both_named() {
    let (_, mut scheduler) = site(tree());
    let wants = [Level::Leaf, Level::NvlinkDomain].map(|level| Want { level, required: true });
    let why = refused(&mut scheduler, Job { wants: wants.to_vec(), ..gang(2, 8, None) });
    assert!(why.starts_with("2 members are required in one NVLink domain"), "{why}");
}

#[test]
fn anti_affinity_is_named_alone_and_with_a_level() {
    let (pool, mut scheduler) = site(tree());
    let spread = |parts, level| Job { most_a_node: Some(1), ..gang(parts, 1, level) };
    assert_eq!(pool.nodes().len(), 16);
    let why = refused(&mut scheduler, spread(17, None));
    let expected = "with 1 parts on a node at the most, the cluster has room for 16 of its 17 parts";
    assert_eq!(why, expected);
    let why = refused(&mut scheduler, spread(5, Some(Level::Leaf)));
    let leaf = "5 members are required in one leaf, and the largest could take, empty, 4";
    assert_eq!(why, format!("{leaf}, with 1 parts on a node at the most"));
    // Without it a leaf takes them all.
    assert!(scheduler.submit(gang(5, 1, Some(Level::Leaf)), 0).is_ok());
    assert!(scheduler.submit(spread(4, Some(Level::Leaf)), 0).is_ok());
}

#[test]
fn a_numa_domain_is_named_alone_and_with_a_level() {
    let (_, mut scheduler) = site(tree());
    let within = |parts, gpus, level| {
        let job = gang(parts, gpus, level);
        Job { demand: Demand { numa: NumaWant::One, ..job.demand }, ..job }
    };
    // Five of eight are in no half; of three there are two on a node, where two and a half would fit.
    assert_eq!(
        refused(&mut scheduler, within(1, 5, None)),
        "it wants 5 GPUs in one NUMA domain, and the most that one has is 4"
    );
    let wide = Demand { cpu_milli: 5000, ..within(1, 1, None).demand };
    let why = refused(&mut scheduler, Job { demand: wide, ..within(33, 1, None) });
    assert_eq!(why, "with each part in one NUMA domain the cluster has room for 32 of its 33 parts");
    let why = refused(&mut scheduler, Job { demand: wide, ..within(9, 1, Some(Level::Leaf)) });
    let leaf = "9 members are required in one leaf, and the largest could take, empty, 8";
    assert_eq!(why, format!("{leaf}, with each part in one NUMA domain"));
    // Room for three on a node in all: 16 cores.
    let anywhere = Demand { numa: NumaWant::Anywhere, ..wide };
    assert!(scheduler.submit(Job { demand: anywhere, ..within(9, 1, Some(Level::Leaf)) }, 0).is_ok());
    assert!(scheduler.stock().is_open(NodeIndex(0)));
}
