//! Limits of CPU and memory beside those of GPUs, through the queue.

use pool::Stock;
use pool::stock::{Capacity, Demand, WHOLE_GPU};
use pool::tenants::{Limits, Resource, Tenants, Wanted};
use proptest::prelude::*;
use scheduler::job::{Checkpoint, Job, JobIndex, Refusal};
use scheduler::schedule::{Config, Decision, Phase, Scheduler, Wait};

const HOUR_MS: u64 = 3_600_000;

fn stock(nodes: usize) -> Stock {
    let mut stock = Stock::new();
    let model = stock.model_named("H100").ok();
    for _ in 0..nodes {
        stock.add_node(&Capacity { cpu_milli: 16_000, memory_mib: 1000, gpus: 8, model }).unwrap();
    }
    stock
}

/// A site with two teams, each with half of its GPUs, and these cores.
fn teams(nodes: usize, cores: [u64; 2]) -> Tenants {
    let wanted = |name: &str, parent: Option<&str>, gpus: usize| Wanted {
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        quota: gpus as u64 * 1000,
        borrowing_limit: None,
        lending_limit: None,
        weight: 1,
    };
    let (all, half) = (nodes * 8, nodes * 4);
    let teams = [("a", half), ("b", half)].map(|(name, gpus)| wanted(name, Some("site"), gpus));
    let [a, b] = cores.map(|cores| Limits { quota: Some(cores * 1000), ..Limits::default() });
    let site = Limits { quota: Some(nodes as u64 * 16_000), ..Limits::default() };
    Tenants::new([vec![wanted("site", None, all)], teams.into()].concat())
        .unwrap()
        .with_limits(Resource::Cpu, vec![site, a, b])
        .unwrap()
}

fn job(tenants: &Tenants, team: &str, gpus: u16, cores: u32) -> Job {
    let gpu_milli = if gpus > 0 { WHOLE_GPU } else { 0 };
    let demand = Demand { cpu_milli: cores * 1000, memory_mib: 10, gpus, gpu_milli, ..Demand::default() };
    let checkpoint = Some(Checkpoint { grace_ms: 0, cost_ms: 1000 });
    Job { tenant: tenants.named(team), limit_ms: Some(HOUR_MS), checkpoint, ..Job::new(team, demand) }
}

fn queue(stock: Stock, tenants: &Tenants) -> Scheduler {
    let config = Config { least_run_ms: 0, ..Config::default() };
    Scheduler::new(config, stock, tenants.clone(), &[])
}

#[test]
fn what_is_beyond_a_cpu_limit_is_refused_or_waits_and_says_so() {
    let site = Limits { quota: Some(20_000), ..Limits::default() };
    let tenants = teams(2, [4, 8]);
    let tenants =
        tenants.with_limits(Resource::Cpu, vec![site, Limits::default(), Limits::default()]).unwrap();
    let mut scheduler = queue(stock(2), &tenants);
    let gang = Job { parts: 2, most_parts: 2, ..job(&tenants, "a", 0, 11) };
    let Err(Refusal::Quota { resource, wanted, most, because, .. }) = scheduler.submit(gang, 0) else {
        panic!()
    };
    assert_eq!((resource, wanted, most), (Resource::Cpu, 22_000, 20_000));
    assert_eq!(because, "the CPU quota of site is in the way");
    scheduler.submit(job(&tenants, "a", 1, 15), 0).unwrap();
    let waits = scheduler.submit(Job { checkpoint: None, ..job(&tenants, "a", 1, 6) }, 0).unwrap();
    scheduler.decide(0);
    let why = scheduler.explain(waits, 0).unwrap();
    assert_eq!(why.wait, Some(Wait::Quota { resource: Resource::Cpu, wanted: 6000, available: 5000 }));
    assert!(why.to_string().contains("may take 5 cores more now, and it wants 6 cores"), "{why}");
}

#[test]
fn borrowed_cpu_is_given_back_to_its_owner() {
    let tenants = teams(1, [4, 12]);
    let mut scheduler = queue(stock(1), &tenants);
    // Within its GPUs, and ten cores beyond its own.
    let borrower = scheduler.submit(job(&tenants, "a", 1, 14), 0).unwrap();
    scheduler.decide(0);
    let owner = scheduler.submit(job(&tenants, "b", 1, 12), 1).unwrap();
    let stopped = scheduler.decide(1);
    let expected = Decision::Stop { job: borrower, by: Some(owner), until_ms: 1 };
    assert_eq!(stopped, [expected]);
    scheduler.stopped(borrower, 1).unwrap();
    scheduler.decide(1);
    assert_eq!(scheduler.phase(owner), Some(Phase::Running));
    // The other stays within its own: nobody has a claim on it, though it holds more GPUs.
    let other = scheduler.submit(job(&tenants, "a", 4, 4), 2).unwrap();
    scheduler.decide(2);
    assert_eq!(scheduler.phase(other), Some(Phase::Running));
    scheduler.submit(job(&tenants, "b", 4, 0), 3).unwrap();
    assert!(scheduler.decide(3).iter().all(|decision| !matches!(decision, Decision::Stop { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_limit_is_broken_and_all_is_given_back(
        jobs in prop::collection::vec((any::<bool>(), 0_u16..9, 0_u32..9, 1_u32..4), 1..40),
        cores in 0_u64..17,
    ) {
        let tenants = teams(2, [cores, 32 - cores]);
        let mut scheduler = queue(stock(2), &tenants);
        let mut taken: Vec<JobIndex> = Vec::new();
        let (mut next, mut now_ms) = (jobs.into_iter(), 0);
        loop {
            for (first, gpus, cores, parts) in next.by_ref().take(3) {
                let job = job(&tenants, if first { "a" } else { "b" }, gpus, cores);
                taken.extend(scheduler.submit(Job { parts, most_parts: parts, ..job }, now_ms));
            }
            let decisions = scheduler.decide(now_ms);
            let quiet = decisions.is_empty();
            for decision in decisions {
                if let Decision::Stop { job, .. } = decision {
                    scheduler.stopped(job, now_ms).unwrap();
                }
            }
            scheduler.tenants().check_invariants();
            now_ms += HOUR_MS / 4;
            match taken.iter().find(|job| scheduler.phase(**job) == Some(Phase::Running)) {
                Some(&job) => scheduler.ended(job, true, now_ms).unwrap(),
                None if next.len() == 0 && quiet => break,
                None => {}
            }
        }
        prop_assert_eq!((scheduler.waiting(), scheduler.running()), (0, 0));
        prop_assert!(tenants.all().all(|tenant| scheduler.tenants().held(tenant) == 0));
    }
}
