//! The queue: what holds for any jobs on any small cluster, and what other schedulers get wrong.

mod migrating;

use std::sync::Arc;

use fabric::generate::FatTreeSpec;
use jiff::civil::Time;
use pool::calendar::{Calendar, Days, Window};
use pool::formats::{Equipment, from_fabric};
use pool::stock::{Capacity, Demand, WHOLE_GPU};
use pool::tenants::{Resource, Tenants, Wanted};
use pool::{Pool, Stock, TenantIndex};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use scheduler::job::{After, Checkpoint, Job, JobIndex, Refusal, Work};
use scheduler::network::{Level, Topology, Want};
use scheduler::schedule::{Backfill, Config, Decision, Phase, Scheduler, UNKNOWN_MS, Wait};
use scheduler::simulate::{Arrival, simulate};

const HOUR_MS: u64 = 3_600_000;

fn stock(gpus: &[usize]) -> Stock {
    let mut stock = Stock::new();
    let model = stock.model_named("H100").unwrap();
    for &gpus in gpus {
        let model = (gpus > 0).then_some(model);
        stock.add_node(&Capacity { cpu_milli: 64_000, memory_mib: 64_000, gpus, model }).unwrap();
    }
    stock
}

fn gpus(gpus: u16) -> Demand {
    Demand {
        cpu_milli: 0,
        memory_mib: 0,
        gpus,
        gpu_milli: if gpus > 0 { WHOLE_GPU } else { 0 },
        ..Demand::default()
    }
}

fn gang(name: &str, parts: u32, of: u16) -> Job {
    Job { parts, most_parts: parts, limit_ms: Some(HOUR_MS), ..Job::new(name, gpus(of)) }
}

fn tenants(list: &[(&str, Option<&str>, u64, Option<u64>)]) -> Tenants {
    let wanted = list.iter().map(|&(name, parent, quota, borrowing)| Wanted {
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        quota: quota * 1000,
        borrowing_limit: borrowing.map(|limit| limit * 1000),
        lending_limit: None,
        weight: 1,
    });
    Tenants::new(wanted.collect()).unwrap()
}

fn scheduler(config: Config, stock: Stock, tenants: Tenants) -> Scheduler {
    Scheduler::new(config, stock, tenants, &[gpus(1), gpus(8)])
}

fn started(decisions: &[Decision]) -> Vec<JobIndex> {
    let start = |decision: &Decision| match decision {
        Decision::Start { job, .. } => Some(*job),
        _ => None,
    };
    decisions.iter().filter_map(start).collect()
}

/// Kueue frees eight GPUs on four nodes for a job that needs them on one.
#[test]
fn a_preemption_frees_the_room_of_one_node() {
    let mut scheduler =
        scheduler(Config { least_run_ms: 0, ..Config::default() }, stock(&[8; 4]), Tenants::default());
    let checkpoint = Some(Checkpoint { grace_ms: 1000, cost_ms: 1000 });
    for name in 0..16 {
        // Pairs of GPUs, so that each node bears four jobs.
        scheduler.submit(Job { checkpoint, ..gang(&name.to_string(), 1, 2) }, 0).unwrap();
    }
    assert_eq!(started(&scheduler.decide(0)).len(), 16);
    let wide = scheduler.submit(Job { priority: 1, ..gang("wide", 1, 8) }, 1).unwrap();
    let decisions = scheduler.decide(1);
    let stopped: Vec<JobIndex> = decisions
        .iter()
        .map(|decision| match decision {
            Decision::Stop { job, by, until_ms } => {
                assert_eq!((*by, *until_ms), (Some(wide), 1001));
                *job
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let nodes: Vec<_> = stopped.iter().map(|job| scheduler.grants(*job)[0].node).collect();
    assert_eq!(stopped.len(), 4);
    assert!(nodes.iter().all(|node| *node == nodes[0]), "{nodes:?}");
    // Nobody comes between: neither what waits nor what arrives.
    let small = scheduler.submit(gang("small", 1, 1), 2).unwrap();
    assert!(scheduler.decide(2).is_empty());
    for (at, job) in stopped.iter().enumerate() {
        scheduler.stopped(*job, 1001).unwrap();
        let now = started(&scheduler.decide(1001));
        assert_eq!(now, if at == 3 { vec![wide] } else { Vec::new() });
    }
    assert_eq!(scheduler.phase(small), Some(Phase::Waiting));
}

/// Ray grants 0.8 of a GPU because two have 0.4 each; others admit a gang by a sum of free GPUs that no node has.
#[test]
fn shares_and_gangs_are_not_summed_over_gpus_or_nodes() {
    let mut scheduler = scheduler(Config::default(), stock(&[2, 2]), Tenants::default());
    let share = |gpu_milli| {
        let demand = Demand { gpu_milli, ..gpus(1) };
        Job { limit_ms: Some(HOUR_MS), ..Job::new("share", demand) }
    };
    for _ in 0..4 {
        scheduler.submit(share(600), 0).unwrap();
    }
    let large = scheduler.submit(share(800), 0).unwrap();
    let pair = scheduler.submit(gang("pair", 1, 2), 0).unwrap();
    let one = scheduler.submit(share(400), 0).unwrap();
    let now = started(&scheduler.decide(0));
    assert_eq!((now.len(), now.contains(&one)), (5, true));
    let why = scheduler.explain(large, 0).unwrap();
    assert_eq!(
        why.wait,
        Some(Wait::Room {
            parts: 1,
            room: 0,
            idle_gpu_milli: 1200,
            unusable_gpu_milli: 1200,
            elsewhere: None
        })
    );
    assert_eq!(scheduler.phase(pair), Some(Phase::Waiting));
}

/// KAI starts a part of a gang that is bigger than its queue's quota.
#[test]
fn a_gang_beyond_its_quota_is_refused_and_never_started_in_part() {
    let tree =
        tenants(&[("site", None, 32, None), ("a", Some("site"), 8, Some(8)), ("b", Some("site"), 24, None)]);
    let mut scheduler = scheduler(Config::default(), stock(&[8; 4]), tree);
    let of = |tenant, job: Job| Job { tenant: Some(TenantIndex(tenant)), ..job };
    let refusal = scheduler.submit(of(1, gang("wide", 3, 8)), 0).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it wants 24 GPUs, and a may never hold more than 16 GPUs: the borrowing limit of a is in the way"
    );
    let first = scheduler.submit(of(1, gang("first", 1, 8)), 0).unwrap();
    let second = scheduler.submit(of(1, gang("second", 2, 8)), 0).unwrap();
    assert_eq!(started(&scheduler.decide(0)), [first]);
    assert!(scheduler.grants(second).is_empty());
    assert_eq!(
        scheduler.explain(second, 0).unwrap().wait,
        Some(Wait::Quota { resource: Resource::Gpu, wanted: 16_000, available: 8000 })
    );
    scheduler.ended(first, true, 5).unwrap();
    assert_eq!(started(&scheduler.decide(5)), [second]);
}

/// Hundreds of gangs submitted at once, each holding a part and waiting for the rest: none runs.
#[test]
fn hundreds_of_gangs_at_once_run_one_after_another() {
    let arrivals: Vec<Arrival> = (0..300)
        .map(|at| Arrival { at_ms: 0, job: gang(&at.to_string(), 2 + at % 3, 8), run_ms: HOUR_MS })
        .collect();
    let scheduler = scheduler(Config::default(), stock(&[8; 4]), Tenants::default());
    let (outcome, scheduler) = simulate(scheduler, &arrivals, &mut |_| {});
    assert_eq!(outcome.ended, 300);
    assert_eq!(scheduler.stock().gpu_taken_total_milli(), 0);
    // Two, three and four nodes an hour: no node idles that a gang could have used.
    assert!(outcome.span_s <= 3600.0 * (50.0 + 100.0 + 100.0), "{}", outcome.span_s);
}

#[test]
fn a_lender_takes_back_what_is_borrowed_and_no_more() {
    let tree =
        tenants(&[("site", None, 32, None), ("a", Some("site"), 16, None), ("b", Some("site"), 16, None)]);
    let mut scheduler = scheduler(Config { least_run_ms: 0, ..Config::default() }, stock(&[8; 4]), tree);
    let checkpoint = Some(Checkpoint { grace_ms: 10, cost_ms: 10 });
    let of = |tenant, name: &str| Job { tenant: Some(TenantIndex(tenant)), checkpoint, ..gang(name, 1, 8) };
    for name in ["1", "2", "3", "4"] {
        scheduler.submit(of(1, name), 0).unwrap();
    }
    assert_eq!(started(&scheduler.decide(0)).len(), 4);
    for name in ["5", "6", "7"] {
        scheduler.submit(of(2, name), 1).unwrap();
    }
    // Two of b's three are within its quota; the third has no claim on what is a's own.
    let stops: Vec<_> = scheduler.decide(1);
    assert_eq!(stops.len(), 2, "{stops:?}");
    for decision in stops {
        let Decision::Stop { job, .. } = decision else { panic!("{decision:?}") };
        scheduler.stopped(job, 11).unwrap();
    }
    assert_eq!(started(&scheduler.decide(11)).len(), 2);
    let held = [1, 2].map(|tenant| scheduler.tenants().held(TenantIndex(tenant)));
    assert_eq!(held, [16_000, 16_000]);
    // And nothing more happens, however often one looks.
    assert!((12..40).all(|now| scheduler.decide(now).is_empty()));
}

#[test]
fn elastic_jobs_take_what_is_free_and_give_it_back() {
    let mut scheduler =
        scheduler(Config { preempt: false, ..Config::default() }, stock(&[8, 8]), Tenants::default());
    let elastic = Job { most_parts: 12, ..gang("elastic", 2, 1) };
    let elastic = scheduler.submit(elastic, 0).unwrap();
    let decisions = scheduler.decide(0);
    assert!(matches!(&decisions[1], Decision::Grow { job, grants } if *job == elastic && grants.len() == 10));
    let other = scheduler.submit(gang("other", 1, 8), 1).unwrap();
    let decisions = scheduler.decide(1);
    assert!(
        matches!(&decisions[0], Decision::Shrink { job, by, .. } if (*job, *by) == (elastic, Some(other))),
        "{decisions:?}"
    );
    assert_eq!(started(&decisions), [other]);
    assert!((2..=8).contains(&scheduler.grants(elastic).len()));
}

#[test]
fn what_comes_after_another_waits_for_it_and_fails_with_it() {
    let mut scheduler = scheduler(Config::default(), stock(&[8]), Tenants::default());
    let first = scheduler.submit(gang("first", 1, 1), 0).unwrap();
    let after = |job, succeeded| Job { after: vec![After { job, succeeded }], ..gang("then", 1, 1) };
    let strict = scheduler.submit(after(first, true), 0).unwrap();
    let any = scheduler.submit(after(first, false), 0).unwrap();
    let chain = scheduler.submit(after(strict, false), 0).unwrap();
    assert_eq!(scheduler.submit(after(JobIndex(9), false), 0), Err(Refusal::After(9)));
    assert_eq!(started(&scheduler.decide(0)), [first]);
    assert_eq!(scheduler.explain(strict, 0).unwrap().wait, Some(Wait::Jobs(vec![first])));
    scheduler.ended(first, false, 1).unwrap();
    assert_eq!(scheduler.phase(strict), Some(Phase::Over { succeeded: false }));
    assert_eq!(started(&scheduler.decide(1)), [any, chain]);
    assert_eq!(scheduler.submit(after(first, true), 2), Err(Refusal::AfterFailed(0)));
}

#[test]
fn of_an_array_only_so_many_run_at_once_and_services_scale() {
    let mut scheduler = scheduler(Config::default(), stock(&[8, 8]), Tenants::default());
    let array = scheduler.submit_array(gang("array", 1, 1), 7, 3, 0).unwrap();
    let members = scheduler.members(array).unwrap().to_vec();
    assert_eq!(started(&scheduler.decide(0)), members[..3]);
    scheduler.ended(members[1], true, 1).unwrap();
    assert_eq!(started(&scheduler.decide(1)), members[3..4]);
    scheduler.cancel(members[4], 2).unwrap();
    scheduler.ended(members[0], false, 2).unwrap();
    assert_eq!(started(&scheduler.decide(2)), members[5..6]);
    // Room for 13 more: of sixteen replicas three wait, and they go first when there are too many.
    let replica = Job { work: Work::Service, limit_ms: None, ..gang("replica", 1, 1) };
    let service = scheduler.submit_service(replica, 16, 3).unwrap();
    assert_eq!(started(&scheduler.decide(3)).len(), 13);
    assert_eq!(scheduler.scale(service, 13, 4).unwrap(), []);
    let gone = scheduler.scale(service, 4, 5).unwrap();
    assert_eq!((gone.len(), scheduler.waiting()), (9, 0));
    assert_eq!(scheduler.scale(service, 6, 6).unwrap(), []);
    assert_eq!(started(&scheduler.decide(6)).len(), 2);
    assert!(scheduler.submit_array(gang("wide", 9, 8), 2, 1, 7).is_err());
}

#[test]
fn a_deadline_that_comes_near_goes_before_and_one_that_cannot_be_met_is_refused() {
    let mut scheduler = scheduler(Config::default(), stock(&[8]), Tenants::default());
    let long = |name: &str| Job { limit_ms: Some(4 * HOUR_MS), ..gang(name, 1, 8) };
    let first = scheduler.submit(long("first"), 0).unwrap();
    scheduler.decide(0);
    let second = scheduler.submit(long("second"), 1).unwrap();
    let urgent = Job { deadline_ms: Some(10 * HOUR_MS), ..long("urgent") };
    let urgent = scheduler.submit(urgent, 2).unwrap();
    scheduler.decide(2);
    assert_eq!(scheduler.explain(urgent, 2).unwrap().before, Some(1));
    // It takes four hours and is due two before the last moment, after four.
    scheduler.ended(first, true, 4 * HOUR_MS).unwrap();
    assert_eq!(started(&scheduler.decide(4 * HOUR_MS)), [urgent]);
    assert_eq!(scheduler.phase(second), Some(Phase::Waiting));
    let refusal =
        scheduler.submit(Job { deadline_ms: Some(5 * HOUR_MS), ..long("late") }, 4 * HOUR_MS).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it may run 14400 s and its deadline is in 3600 s: give it a later one, or a shorter limit"
    );
}

#[test]
fn who_has_least_of_its_share_comes_first() {
    let tree =
        tenants(&[("site", None, 8, None), ("a", Some("site"), 4, None), ("b", Some("site"), 4, None)]);
    let mut scheduler = scheduler(Config { preempt: false, ..Config::default() }, stock(&[8]), tree);
    let of = |tenant, cpu_milli| Job {
        tenant: Some(TenantIndex(tenant)),
        ..Job { limit_ms: Some(HOUR_MS), ..Job::new("", Demand { cpu_milli, ..gpus(1) }) }
    };
    // a came first with all its jobs; each takes an eighth of the GPUs, and b's a quarter of the cores.
    let a: Vec<_> = (0..8).map(|_| scheduler.submit(of(1, 0), 0).unwrap()).collect();
    let b: Vec<_> = (0..8).map(|_| scheduler.submit(of(2, 16_000), 1).unwrap()).collect();
    let now = started(&scheduler.decide(1));
    let count = |of: &[JobIndex]| now.iter().filter(|job| of.contains(job)).count();
    assert_eq!((count(&a), count(&b)), (5, 3), "{now:?}");
}

/// Racks of 18 nodes with 4 GPUs, each the hosts of one leaf of a tree.
fn racks(count: u32) -> (Pool, Topology) {
    let spec = FatTreeSpec { levels: Some(2), hosts: Some(count * 18), radix: 36, ..FatTreeSpec::default() };
    let fabric = spec.build().unwrap();
    let equipment = Equipment { gpus_per_node: 4, ..Equipment::default() };
    let pool = from_fabric("racks", &fabric, &equipment).unwrap();
    let topology = Topology::new(Arc::new(fabric), None, &pool);
    (pool, topology)
}

/// Kueue strews small jobs over every rack, so that no rack of 72 GPUs stays whole.
#[test]
fn small_jobs_leave_racks_whole() {
    let (pool, network) = racks(8);
    let stock = Stock::of(&pool).unwrap();
    let want = Want { level: Level::Leaf, required: true };
    let mut scheduler = scheduler(Config::default(), stock, Tenants::default()).with_network(network);
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut running = Vec::new();
    for step in 0..4000_u64 {
        // About half of the GPUs are in use by jobs of one to four.
        if scheduler.stock().gpu_taken_total_milli() < 8 * 72 * 500 {
            let gpus = [1, 1, 2, 4][(chance.next_u64() % 4) as usize];
            scheduler.submit(gang("small", 1, gpus), step).unwrap();
        } else {
            let at = (chance.next_u64() % running.len() as u64) as usize;
            scheduler.ended(running.swap_remove(at), true, step).unwrap();
        }
        running.extend(started(&scheduler.decide(step)));
    }
    let rack = Job { wants: vec![want], ..gang("rack", 18, 4) };
    let wide = Job { wants: vec![want], ..gang("wide", 19, 4) };
    assert_eq!(
        scheduler.submit(wide, 4000).unwrap_err().to_string(),
        "19 members are required in one leaf, and the largest could take, empty, 18"
    );
    let jobs: Vec<_> = (0..8).map(|_| scheduler.submit(rack.clone(), 4000).unwrap()).collect();
    let whole = started(&scheduler.decide(4000));
    assert!(whole.len() >= 2, "{} racks are whole", whole.len());
    let why = scheduler.explain(jobs[7], 4000).unwrap();
    assert!(matches!(why.wait, Some(Wait::Room { .. } | Wait::Place(_))), "{why}");
}

/// Office hours are inference's with three quarters of 32 GPUs, from nine to six; half an hour before, training gives back.
#[test]
fn the_calendar_turns_the_pool_over_before_the_demand_comes() {
    let window = Window {
        name: "office hours".to_owned(),
        days: Days::WEEKDAYS,
        from: Time::constant(9, 0, 0, 0),
        until: Time::constant(18, 0, 0, 0),
        inference_percent: 75,
    };
    let calendar = Calendar::new("UTC", vec![window], Vec::new(), 0, 1800).unwrap();
    // Monday, 30 November 2026, 00:00 UTC.
    let monday_s = 1_795_996_800;
    let config = Config { least_run_ms: 0, ..Config::default() };
    let mut scheduler =
        scheduler(config, stock(&[8; 4]), Tenants::default()).with_calendar(calendar, monday_s);
    let checkpoint = Some(Checkpoint { grace_ms: 60_000, cost_ms: 60_000 });
    let at = |hour: u64, minute: u64| hour * HOUR_MS + minute * 60_000;
    let long = |name: &str| Job { limit_ms: Some(12 * HOUR_MS), ..gang(name, 1, 8) };
    // At midnight: one that cannot be stopped has room beside inference, a second would stand in its way; those that can
    // be stopped, and one that is over by nine, take the rest.
    let fixed = scheduler.submit(long("fixed"), 0).unwrap();
    let second = scheduler.submit(long("second"), 0).unwrap();
    let mild = [1, 2].map(|_| scheduler.submit(Job { checkpoint, ..long("mild") }, 0).unwrap());
    let short = scheduler.submit(Job { limit_ms: Some(8 * HOUR_MS), ..gang("short", 1, 8) }, 0).unwrap();
    assert_eq!(started(&scheduler.decide(0)), [fixed, mild[0], mild[1], short]);
    assert_eq!(scheduler.explain(second, 0).unwrap().wait, Some(Wait::Turn { wanted: 8000, available: 0 }));
    scheduler.ended(short, true, at(7, 0)).unwrap();
    assert!(scheduler.decide(at(7, 0)).is_empty());
    assert_eq!(scheduler.wake_ms(at(7, 0)), Some(at(8, 30)));
    // Half past eight: what is beyond training's share to come stops, and is not lent again.
    let decisions = scheduler.decide(at(8, 30));
    let stops: Vec<JobIndex> = decisions
        .iter()
        .map(|decision| match decision {
            Decision::Stop { job, by: None, .. } => *job,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(stops, mild);
    for job in mild {
        scheduler.stopped(job, at(8, 31)).unwrap();
    }
    assert!(scheduler.decide(at(8, 31)).is_empty());
    assert!(scheduler.decide(at(8, 31)).is_empty());
    // Nine: inference finds its room free; what it leaves idle may be borrowed again.
    let service = |name: &str| Job { work: Work::Service, priority: 1, limit_ms: None, ..gang(name, 2, 8) };
    let serving = scheduler.submit(service("serving"), at(9, 0)).unwrap();
    assert_eq!(started(&scheduler.decide(at(9, 0))), [serving, mild[0]]);
    // More inference within its share takes it back.
    let more = Job { parts: 1, most_parts: 1, ..service("more") };
    scheduler.submit(more, at(10, 0)).unwrap();
    let decisions = scheduler.decide(at(10, 0));
    assert!(
        matches!(&decisions[..], [Decision::Stop { job, by: Some(_), .. }] if *job == mild[0]),
        "{decisions:?}"
    );
}

#[derive(Clone, Debug)]
struct Any {
    at_s: u64,
    parts: u32,
    extra: u32,
    gpus: u16,
    run_s: u64,
    slack_s: Option<u64>,
    priority: i32,
    stoppable: bool,
    tenant: u32,
}

fn any_job() -> impl Strategy<Value = Any> {
    let wide = (1_u32..4, 0_u32..3, prop::sample::select(vec![0_u16, 1, 1, 2, 4, 8]));
    let time = (0_u64..2000, 1_u64..500, prop::option::weighted(0.8, 0_u64..300));
    (wide, time, -1_i32..3, any::<bool>(), 1_u32..4).prop_map(
        |((parts, extra, gpus), (at_s, run_s, slack_s), priority, stoppable, tenant)| Any {
            at_s,
            parts,
            extra,
            gpus,
            run_s,
            slack_s,
            priority,
            stoppable,
            tenant,
        },
    )
}

fn arrivals(jobs: &[Any], elastic: bool, stoppable: bool, known: bool) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = jobs
        .iter()
        .map(|any| Arrival {
            at_ms: any.at_s * 1000,
            run_ms: any.run_s * 1000,
            job: Job {
                tenant: Some(TenantIndex(any.tenant)),
                priority: any.priority,
                most_parts: any.parts + if elastic { any.extra } else { 0 },
                limit_ms: if known {
                    Some((any.run_s + any.slack_s.unwrap_or(0)) * 1000)
                } else {
                    any.slack_s.map(|slack| (any.run_s + slack) * 1000)
                },
                checkpoint: (stoppable && any.stoppable)
                    .then_some(Checkpoint { grace_ms: 5000, cost_ms: 20_000 }),
                parts: any.parts,
                ..Job::new("", gpus(any.gpus))
            },
        })
        .collect();
    arrivals.sort_by_key(|arrival| arrival.at_ms);
    arrivals
}

fn tree() -> Tenants {
    tenants(&[
        ("site", None, 20, None),
        ("a", Some("site"), 8, None),
        ("b", Some("site"), 6, Some(10)),
        ("c", Some("site"), 4, None),
    ])
}

fn config() -> impl Strategy<Value = Config> {
    let backfill = prop::sample::select(vec![Backfill::None, Backfill::Easy, Backfill::Conservative(4)]);
    (backfill, any::<bool>(), 0_u32..2000, any::<bool>()).prop_map(
        |(backfill, fair_share, length_permille, preempt)| Config {
            backfill,
            fair_share,
            length_permille,
            preempt,
            priority_ms: 60_000,
            overdue_ms: 3_600_000,
            least_run_ms: 10_000,
            ..Config::default()
        },
    )
}

/// Two that wait were both promised room for a time that nobody knew, since what ran had no limit; it ends.
#[test]
fn promises_for_an_unknown_time_do_not_stand_in_each_others_way() {
    let config = Config { backfill: Backfill::Conservative(4), preempt: false, ..Config::default() };
    let mut scheduler = scheduler(config, stock(&[8, 8]), Tenants::default());
    let unknown = scheduler.submit(Job { limit_ms: None, ..gang("unknown", 2, 8) }, 0).unwrap();
    scheduler.decide(0);
    let jobs = [1, 2].map(|at| scheduler.submit(gang("", 1, 8), at).unwrap());
    assert!(scheduler.decide(2).is_empty());
    assert_eq!(jobs.map(|job| scheduler.promised_ms(job)), [Some(UNKNOWN_MS); 2]);
    scheduler.ended(unknown, true, 3).unwrap();
    assert_eq!(started(&scheduler.decide(3)), jobs);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, every job that was taken comes to its end, all is given back, and sums are right: nothing starves,
    /// nothing chases another for ever.
    #[test]
    fn every_job_that_fits_ends(
        jobs in prop::collection::vec(any_job(), 1..60),
        config in config(),
        known in any::<bool>(),
    ) {
        let arrivals = arrivals(&jobs, true, true, known);
        let scheduler = scheduler(config, stock(&[8, 8, 4, 0]), tree());
        let (outcome, scheduler) = simulate(scheduler, &arrivals, &mut |_| {});
        for at in 0..arrivals.len() {
            let refused = matches!(outcome.fate_of(at), Some(scheduler::simulate::Fate::Refused(_)));
            prop_assert!(refused || outcome.waited_ms(at).is_some(), "job {at} never ended");
        }
        scheduler.tenants().check_invariants();
        prop_assert_eq!((scheduler.waiting(), scheduler.running()), (0, 0));
        prop_assert_eq!(scheduler.stock(), &stock(&[8, 8, 4, 0]));
        // Each stop is one that a stronger claim asked for: no more than jobs times levels of claim allow.
        prop_assert!(outcome.stops <= (arrivals.len() * arrivals.len()) as u64);
    }

    /// A time once promised is kept, and what is promised later to the same job is no later, while nobody overruns its limit
    /// and nobody is stopped for another.
    #[test]
    fn promises_are_kept(
        jobs in prop::collection::vec(any_job(), 1..50),
        depth in 1_u32..5,
        easy in any::<bool>(),
    ) {
        let backfill = if easy { Backfill::Easy } else { Backfill::Conservative(depth) };
        let config = Config { backfill, preempt: false, fair_share: false, priority_ms: 0, ..Config::default() };
        let arrivals = arrivals(&jobs, false, false, true);
        let mut queue = scheduler(config, stock(&[8, 8, 4, 0]), Tenants::default());
        let mut promised = std::collections::BTreeMap::<JobIndex, u64>::new();
        let mut ends = std::collections::BTreeSet::<(u64, JobIndex)>::new();
        let mut run_ms = Vec::new();
        let (mut next, mut clock) = (0, 0);
        loop {
            let coming = arrivals.get(next).map(|arrival| arrival.at_ms);
            let times = [coming, ends.first().map(|end| end.0), queue.wake_ms(clock)];
            let Some(now) = times.into_iter().flatten().min() else { break };
            clock = now;
            while let Some(&(at, job)) = ends.first() && at <= now {
                ends.pop_first();
                queue.ended(job, true, now).unwrap();
            }
            while let Some(arrival) = arrivals.get(next).filter(|arrival| arrival.at_ms <= now) {
                if queue.submit(arrival.job.clone(), now).is_ok() {
                    run_ms.push(arrival.run_ms);
                }
                next += 1;
            }
            for decision in queue.decide(now) {
                let Decision::Start { job, .. } = decision else { panic!("{decision:?}") };
                ends.insert((now + run_ms[job.index()], job));
                if let Some(promised) = promised.remove(&job) {
                    prop_assert!(now <= promised, "job {job:?} started at {now}, promised for {promised}");
                }
            }
            for job in (0..run_ms.len() as u32).map(JobIndex) {
                if let Some(at) = queue.promised_ms(job) {
                    prop_assert!(at > now, "{job:?}");
                    let before = promised.entry(job).or_insert(at);
                    prop_assert!(at <= *before, "{job:?} was promised {before}, now {at}");
                    *before = at;
                }
            }
        }
        prop_assert_eq!(queue.waiting(), 0);
    }

    /// The same calls give the same decisions.
    #[test]
    fn nothing_depends_on_chance(jobs in prop::collection::vec(any_job(), 1..30), config in config()) {
        let arrivals = arrivals(&jobs, true, true, true);
        let run = || {
            let scheduler = scheduler(config.clone(), stock(&[8, 4]), tree());
            let (outcome, _) = simulate(scheduler, &arrivals, &mut |_| {});
            (outcome.course.points.clone(), outcome.stops)
        };
        prop_assert_eq!(run(), run());
    }
}
