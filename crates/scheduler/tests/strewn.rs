//! How gangs lie in a network, measured alike for schedulers that know it and for those that do not.

use std::sync::Arc;

use fabric::generate::FatTreeSpec;
use ib::Lid;
use pool::formats::{Equipment, from_fabric};
use pool::tenants::Tenants;
use pool::{Pool, Stock};
use routing::{Options, engine_by_name};
use scheduler::network::{Pattern, Topology, Traffic};
use scheduler::policy::Kind;
use scheduler::replay::strewn::{GangFigures, GangWatch};
use scheduler::replay::timed::{arrivals, replay_on, set_traffic};
use scheduler::replay::why::WhyWatch;
use scheduler::schedule::Config;
use scheduler::simulate::Outcome;
use scheduler::trace::{ReadOptions, Trace, native};

/// Two levels: 8 leaves with 4 hosts and 4 uplinks, 8 GPUs a host.
fn tree() -> (Pool, Topology) {
    let spec = FatTreeSpec { levels: Some(2), radix: 8, hosts: Some(32), ..FatTreeSpec::default() };
    let mut fabric = spec.build().unwrap();
    for (number, port) in fabric.end_ports().collect::<Vec<_>>().into_iter().enumerate() {
        fabric.set_lid(port, Lid(number as u32 + 1), 0);
    }
    let pool = from_fabric("tree", &fabric, &Equipment::default()).unwrap();
    let tables = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
    let topology = Topology::new(Arc::new(fabric), Some(Arc::new(tables)), &pool);
    (pool, topology)
}

fn replayed(trace: &Trace, policy: Kind, knows: bool) -> (Outcome, GangFigures) {
    let (pool, topology) = tree();
    let stock = Stock::of(&pool).unwrap();
    let mut arrivals = arrivals(trace, &stock, &Tenants::default()).unwrap();
    let speed = topology.node_speed(pool::NodeIndex(0)).unwrap();
    // Each node of a ring sends at all that its port carries, but for what the ring's length takes off.
    set_traffic(&mut arrivals, Traffic { pattern: Pattern::Ring, bytes_per_second: (speed / 2.0) as u64 });
    let mut watch = GangWatch::new(topology.clone());
    let config = Config { policy, ..Config::default() };
    let network = knows.then_some(topology);
    let outcome = replay_on(&stock, &Tenants::default(), network, &arrivals, config, &mut |_| {}, &mut watch);
    (outcome, watch.figures())
}

fn jobs(text: &str) -> Trace {
    native::jobs("jobs.csv", text.as_bytes(), ReadOptions::default()).unwrap()
}

#[test]
fn a_gang_in_one_leaf_loads_no_link_between_switches() {
    let trace = jobs("submit_s,run_s,parts,gpus\n0,100,4,8\n0,100,1,8\n");
    let (outcome, figures) = replayed(&trace, Kind::Heddle, true);
    assert_eq!((outcome.ended, figures.starts), (2, 1));
    assert_eq!((figures.leaves.mean, figures.one_leaf_percent, figures.hops.mean), (1.0, 100.0, 1.0));
    assert_eq!((figures.gang_link_percent.p99, figures.fullest_link_percent_max), (0.0, 0.0));
}

#[test]
fn a_ring_over_two_leaves_loads_a_link_each_way() {
    // Nothing else runs: eight nodes are two leaves, and the ring crosses between them once each way.
    let trace = jobs("submit_s,run_s,parts,gpus\n0,100,8,8\n50,50,1,1\n");
    for knows in [true, false] {
        let (_, figures) = replayed(&trace, Kind::Heddle, knows);
        assert_eq!(
            (figures.leaves.mean, figures.one_leaf_percent, figures.one_pod_percent),
            (2.0, 0.0, 100.0)
        );
        // Of 56 ordered pairs 24 are in one leaf and 32 are not.
        assert!((figures.hops.mean - (24.0 + 3.0 * 32.0) / 56.0).abs() < 1e-9);
        let full = 100.0 * 7.0 / 8.0;
        assert!((figures.gang_link_percent.mean - full).abs() < 0.1, "{figures:?}");
        // The gang runs all of the time.
        assert!((figures.fullest_link_percent_mean - full).abs() < 0.1, "{figures:?}");
        assert!((figures.fullest_link_percent_max - full).abs() < 0.1);
        assert_eq!(figures.without_way, 0);
    }
}

#[test]
fn knowing_the_fabric_brings_gangs_together() {
    // Small jobs end here and there and leave holes in many leaves; gangs come all the while.
    let mut text = "submit_s,run_s,parts,gpus\n".to_owned();
    for at in 0..400_u64 {
        let (run, parts) = (600 + at * 7919 % 4000, [1, 1, 2, 1, 4, 1, 3, 1][at as usize % 8]);
        text += &format!("{},{run},{parts},8\n", at * 150);
    }
    let trace = jobs(&text);
    let (blind, strewn) = replayed(&trace, Kind::Heddle, false);
    let (knowing, together) = replayed(&trace, Kind::Heddle, true);
    assert_eq!((blind.ended, knowing.ended), (400, 400));
    assert_eq!(strewn.starts, together.starts);
    assert!(together.leaves.mean < strewn.leaves.mean, "{together:?}\n{strewn:?}");
    assert!(together.hops.mean < strewn.hops.mean && together.one_leaf_percent > strewn.one_leaf_percent);
    assert!(together.gang_link_percent.mean < strewn.gang_link_percent.mean);
    assert!(together.fullest_link_percent_mean < strewn.fullest_link_percent_mean);
}

#[test]
fn the_place_that_a_gang_took_is_among_those_weighed_and_costs_least() {
    // Singles on some nodes of every leaf leave gangs a choice.
    let mut text = "submit_s,run_s,parts,gpus\n".to_owned();
    for at in 0..14_u64 {
        text += &format!("{at},{},1,8\n", 100 + at * 37 % 50);
    }
    text += "120,60,3,8\n";
    let trace = jobs(&text);
    let (pool, topology) = tree();
    let stock = Stock::of(&pool).unwrap();
    let mut arrivals = arrivals(&trace, &stock, &Tenants::default()).unwrap();
    set_traffic(&mut arrivals, Traffic { pattern: Pattern::Ring, bytes_per_second: 1_000_000_000 });
    let mut watch = WhyWatch::new(14, None);
    let config = Config::default();
    replay_on(&stock, &Tenants::default(), Some(topology), &arrivals, config, &mut |_| {}, &mut watch);
    let taken: Vec<_> = watch.weighed.iter().filter(|place| place.taken).collect();
    assert_eq!(taken.len(), 1, "{:?}", watch.weighed);
    assert!(watch.weighed.len() > 1 && watch.weighed.iter().all(|place| place.cost >= taken[0].cost));
    let fit = watch.started.unwrap().explanation.fit.unwrap();
    assert!((fit.cost - taken[0].cost).abs() < 1e-9 && fit.spread.leaves == taken[0].leaves);
}
