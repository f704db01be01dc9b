//! Gangs in a fabric: links that are full or to be avoided, nodes that fail and come back, hot spares.

use std::collections::BTreeSet;
use std::sync::Arc;

use fabric::generate::FatTreeSpec;
use ib::Lid;
use pool::formats::{Equipment, from_fabric};
use pool::stock::{Demand, WHOLE_GPU};
use pool::tenants::Tenants;
use pool::{NodeIndex, Stock};
use proptest::prelude::*;
use routing::{Options, engine_by_name};
use scheduler::job::{Checkpoint, Job, JobIndex};
use scheduler::network::{Level, Pattern, Topology, Traffic, Want};
use scheduler::schedule::{Config, Decision, Phase, Scheduler};

/// Leaves with six hosts of 8 GPUs and three spines, two cables to each: bandwidth enough for every gang.
fn scheduler(leaves: u32, config: Config) -> Scheduler {
    let spec = FatTreeSpec { levels: Some(2), hosts: Some(leaves * 6), radix: 12, ..FatTreeSpec::default() };
    let mut fabric = spec.build().unwrap();
    let ports: Vec<_> = fabric.end_ports().collect();
    for (number, port) in ports.into_iter().enumerate() {
        fabric.set_lid(port, Lid(number as u32 + 1), 0);
    }
    let pool = from_fabric("tree", &fabric, &Equipment::default()).unwrap();
    let tables = engine_by_name("fat-tree").unwrap().route(&fabric, &Options::default()).unwrap().tables;
    let topology = Topology::new(Arc::new(fabric), Some(Arc::new(tables)), &pool);
    let stock = Stock::of(&pool).unwrap();
    Scheduler::new(config, stock, Tenants::default(), &[node()]).with_network(topology)
}

/// All GPUs of a node.
fn node() -> Demand {
    Demand { cpu_milli: 0, memory_mib: 0, gpus: 8, gpu_milli: WHOLE_GPU, ..Demand::default() }
}

fn gang(parts: u32) -> Job {
    let traffic = vec![Traffic { pattern: Pattern::Ring, bytes_per_second: 10_000_000_000 }];
    Job { parts, most_parts: parts, limit_ms: Some(3_600_000), traffic, ..Job::new("gang", node()) }
}

fn started(decisions: &[Decision]) -> Vec<JobIndex> {
    let start = |decision: &Decision| match decision {
        Decision::Start { job, .. } => Some(*job),
        _ => None,
    };
    decisions.iter().filter_map(start).collect()
}

fn nodes(scheduler: &Scheduler, job: JobIndex) -> BTreeSet<NodeIndex> {
    scheduler.grants(job).iter().map(|grant| grant.node).collect()
}

#[test]
fn a_gang_keeps_to_its_leaf_and_away_from_links_with_a_verdict() {
    let mut queue = scheduler(4, Config::default());
    let network = queue.network().unwrap();
    let leaf_of = |network: &Topology, node| network.locality().group(Level::Leaf, node);
    let first = leaf_of(network, NodeIndex(0));
    // A verdict on a cable of a host on the first leaf: of four leaves that are alike another is taken.
    let port = network.ports().rails(NodeIndex(0))[0].port;
    queue.network_mut().unwrap().avoid_link(port, true);
    let job = queue.submit(gang(6), 0).unwrap();
    assert_eq!(started(&queue.decide(0)), [job]);
    let leaves: BTreeSet<_> =
        nodes(&queue, job).into_iter().map(|node| leaf_of(queue.network().unwrap(), node)).collect();
    assert_eq!(leaves.len(), 1);
    assert!(!leaves.contains(&first));
    let fit = queue.fit(job).unwrap();
    let contention = fit.contention.unwrap();
    assert_eq!((fit.spread.leaves, contention.avoided_links), (1, 0));
    assert!(contention.worst > 0.0);
    let why = queue.explain(job, 0).unwrap().to_string();
    assert!(why.contains("1 leaves in 1 pods") && why.contains("per cent full"), "{why}");
    queue.ended(job, true, 1).unwrap();
    assert!(queue.network().unwrap().loads().are_none());
}

#[test]
fn what_a_node_loses_goes_on_nearby_and_the_rest_stays() {
    let mut queue = scheduler(4, Config { spares_a_pod: 1, ..Config::default() });
    let spare: Vec<_> = queue.spares().collect();
    assert!(!spare.is_empty());
    let job = queue.submit(gang(4), 0).unwrap();
    queue.decide(0);
    let before = nodes(&queue, job);
    let failed = *before.first().unwrap();
    let decisions = queue.failed(failed, 10).unwrap();
    assert!(
        matches!(&decisions[..], [Decision::Move { job: moved, lost, grants }]
            if *moved == job && lost.len() == 1 && grants.len() == 1),
        "{decisions:?}"
    );
    let after = nodes(&queue, job);
    assert_eq!((before.intersection(&after).count(), after.contains(&failed)), (3, false));
    // The leaf has six hosts and the gang took four: the part that moved stays on the leaf.
    assert_eq!(queue.fit(job).unwrap().spread.leaves, 1);
}

#[test]
fn with_no_room_left_a_spare_helps_and_without_one_the_gang_waits_again() {
    for spares_a_pod in [0, 1] {
        let mut queue = scheduler(2, Config { spares_a_pod, ..Config::default() });
        let spares = queue.spares().count() as u32;
        let job = queue.submit(gang(12 - spares), 0).unwrap();
        assert_eq!(started(&queue.decide(0)), [job]);
        let decisions = queue.failed(NodeIndex(0), 10).unwrap();
        match (spares, &decisions[..]) {
            (0, [Decision::Requeue { .. }]) => {
                assert_eq!(queue.phase(job), Some(Phase::Waiting));
                assert!(queue.decide(11).is_empty());
                queue.set_open(NodeIndex(0), true).unwrap();
                assert_eq!(started(&queue.decide(12)), [job]);
            }
            (1.., [Decision::Move { .. }]) => assert_eq!(queue.phase(job), Some(Phase::Running)),
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit { parts: u32, extra: u32, gpus: u16, leaf: bool, stoppable: bool },
    End(prop::sample::Index),
    Fail(u32),
    Recover(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u32..8, 0_u32..3, prop::sample::select(vec![1_u16, 2, 4, 8, 8]), any::<bool>(), any::<bool>())
            .prop_map(|(parts, extra, gpus, leaf, stoppable)| Step::Submit { parts, extra, gpus, leaf, stoppable }),
        3 => any::<prop::sample::Index>().prop_map(Step::End),
        1 => (0_u32..18).prop_map(Step::Fail),
        2 => (0_u32..18).prop_map(Step::Recover),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// Whatever fails and comes back: nothing runs on what has failed, a gang is whole or waits, and in the end all has
    /// run and nothing is left on any link.
    #[test]
    fn nothing_is_lost_when_nodes_fail(steps in prop::collection::vec(step(), 1..60), spares_a_pod in 0_usize..2) {
        let mut queue = scheduler(3, Config { spares_a_pod, least_run_ms: 0, ..Config::default() });
        let mut failed = BTreeSet::new();
        let mut jobs: Vec<JobIndex> = Vec::new();
        let mut now = 0;
        let finish = |queue: &mut Scheduler, job, now| match queue.phase(job) {
            Some(Phase::Running) => queue.ended(job, true, now).unwrap(),
            Some(Phase::Stopping { .. }) => queue.stopped(job, now).unwrap(),
            _ => {}
        };
        for step in steps {
            now += 1000;
            match step {
                Step::Submit { parts, extra, gpus, leaf, stoppable } => {
                    let wants = if leaf { vec![Want { level: Level::Leaf, required: true }] } else { Vec::new() };
                    let checkpoint = stoppable.then_some(Checkpoint { grace_ms: 1000, cost_ms: 1000 });
                    let demand = Demand { gpus, ..node() };
                    let job = Job { most_parts: parts + extra, demand, wants, checkpoint, ..gang(parts) };
                    if let Ok(job) = queue.submit(job, now) {
                        jobs.push(job);
                    }
                }
                Step::End(at) if !jobs.is_empty() => finish(&mut queue, jobs[at.index(jobs.len())], now),
                Step::End(_) => {}
                Step::Fail(node) => {
                    failed.insert(node);
                    queue.failed(NodeIndex(node), now).unwrap();
                }
                Step::Recover(node) => {
                    if failed.remove(&node) {
                        queue.set_open(NodeIndex(node), true).unwrap();
                    }
                }
            }
            queue.decide(now);
            for &job in &jobs {
                let holds = queue.grants(job);
                prop_assert!(holds.iter().all(|grant| !failed.contains(&grant.node.0)), "{job:?} runs on what failed");
                let runs = matches!(queue.phase(job), Some(Phase::Running | Phase::Stopping { .. }));
                let wanted = queue.job(job).unwrap();
                let whole = (wanted.parts..=wanted.most_parts).contains(&(holds.len() as u32));
                prop_assert_eq!(whole, runs, "{:?} holds {} parts", job, holds.len());
                if runs && !wanted.wants.is_empty() {
                    let locality = queue.network().unwrap().locality();
                    let leaves: BTreeSet<_> =
                        holds.iter().map(|grant| locality.group(Level::Leaf, grant.node)).collect();
                    prop_assert_eq!(leaves.len(), 1);
                }
            }
        }
        for node in failed {
            queue.set_open(NodeIndex(node), true).unwrap();
        }
        let spares = queue.spares().count() as u32;
        for _ in 0..4 * jobs.len() + 4 {
            now += 100_000;
            queue.decide(now);
            for &job in &jobs {
                finish(&mut queue, job, now);
            }
        }
        for &job in &jobs {
            let done = matches!(queue.phase(job), Some(Phase::Over { .. }));
            // Spares are kept from ordinary work: a gang that needs them too waits.
            prop_assert!(done || spares > 0, "{:?} is {:?}", job, queue.phase(job));
        }
        prop_assert_eq!(queue.stock().gpu_taken_total_milli(), 0);
        prop_assert!(queue.network().unwrap().loads().are_none());
    }
}
