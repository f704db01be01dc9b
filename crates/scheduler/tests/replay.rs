//! Placement and replay on small clusters, with a plain look at every node as the judge; readers on bytes of any kind.

use pool::stock::{Capacity, Demand, GpuSet, Grant};
use pool::tenants::Tenants;
use pool::{NodeIndex, Stock};
use proptest::prelude::*;
use scheduler::placement::{Classes, Cluster};
use scheduler::policy::{Kind, Policy};
use scheduler::replay::inflate::inflate;
use scheduler::replay::timed::{arrivals, replay, replay_on};
use scheduler::replay::why::WhyWatch;
use scheduler::schedule::{Backfill, Config};
use scheduler::simulate::Outcome;
use scheduler::trace::{BadLines, Format, ReadOptions, Trace, native, read};

fn stock(gpus: &[usize]) -> Stock {
    let mut stock = Stock::new();
    let model = stock.model_named("H100").unwrap();
    for &gpus in gpus {
        let model = (gpus > 0).then_some(model);
        stock.add_node(&Capacity { cpu_milli: 16_000, memory_mib: 64_000, gpus, model }).unwrap();
    }
    stock
}

fn demand(gpus: u16, gpu_milli: u16) -> Demand {
    Demand { cpu_milli: 1000, memory_mib: 1000, gpus, gpu_milli, ..Demand::default() }
}

fn jobs(text: &str) -> Trace {
    native::jobs("jobs.csv", text.as_bytes(), ReadOptions::default()).unwrap()
}

fn run(stock: &Stock, trace: &Trace, policy: Kind, backfill: Backfill) -> Outcome {
    let arrivals = arrivals(trace, stock, &Tenants::default()).unwrap();
    replay(
        stock,
        &Tenants::default(),
        &arrivals,
        Config { policy, backfill, ..Config::default() },
        &mut |_| {},
    )
}

fn wait_s(outcome: &Outcome) -> f64 {
    outcome.figures(|_| true).waiting_s.mean
}

#[test]
fn a_gap_is_filled_by_what_delays_nobody() {
    let trace = jobs("submit_s,run_s,gpus\n0,100,1\n1,10,2\n2,50,1\n3,200,1\n");
    let easy = run(&stock(&[2]), &trace, Kind::Heddle, Backfill::Easy);
    // The second waits for the first, the third runs beside it, the fourth would end too late and waits for the second.
    assert_eq!(wait_s(&easy), (0.0 + 99.0 + 0.0 + 107.0) / 4.0);
    let fifo = run(&stock(&[2]), &trace, Kind::Heddle, Backfill::None);
    assert_eq!(wait_s(&fifo), (0.0 + 99.0 + 108.0 + 107.0) / 4.0);
    assert_eq!((easy.ended, fifo.ended), (4, 4));
}

#[test]
fn a_job_starts_when_those_are_over_that_it_names() {
    let trace = jobs("name,submit_s,run_s,gpus,after\nb,0,10,1,a\na,0,100,1,\nc,0,10,9,\nd,0,10,1,c\n");
    let outcome = run(&stock(&[2]), &trace, Kind::Heddle, Backfill::Easy);
    let waited = |name: &str| {
        let at = trace.jobs.iter().position(|job| &*job.name == name).unwrap();
        outcome.waited_ms(at)
    };
    assert_eq!([waited("a"), waited("b"), waited("c"), waited("d")], [Some(0), Some(100_000), None, None]);
    let failed = outcome.failed();
    assert_eq!(failed.get("it waits for a job that can never run").map(|(_, jobs)| *jobs), Some(1));
}

#[test]
fn a_shared_gpu_is_occupied_whole_and_used_by_its_shares() {
    // For 50 s a quarter of one of the two GPUs, then for 50 s that and all of the other.
    let trace = jobs("submit_s,run_s,gpus,gpu_milli\n0,100,1,250\n50,50,1,1000\n");
    let outcome = run(&stock(&[2]), &trace, Kind::Heddle, Backfill::Easy);
    assert!((outcome.gpu_used_percent_mean() - (12.5 + 62.5) / 2.0).abs() < 1e-9);
    assert!((outcome.gpu_occupied_percent_mean() - (50.0 + 100.0) / 2.0).abs() < 1e-9);
    assert_eq!(outcome.course.points[0].gpu_occupied_percent, 50.0);
    // Where nothing is shared they are the same.
    let whole = run(&stock(&[2]), &jobs("submit_s,run_s,gpus\n0,100,1\n"), Kind::Heddle, Backfill::Easy);
    assert_eq!(whole.gpu_used_percent_mean(), whole.gpu_occupied_percent_mean());
}

/// Follows the job at a place of a trace.
fn followed(stock: &Stock, trace: &Trace, at: usize, asked_ms: Option<u64>) -> WhyWatch {
    let arrivals = arrivals(trace, stock, &Tenants::default()).unwrap();
    let mut watch = WhyWatch::new(at, asked_ms);
    let tenants = Tenants::default();
    replay_on(stock, &tenants, None, &arrivals, Config::default(), &mut |_| {}, &mut watch);
    watch
}

#[test]
fn a_job_is_followed_and_what_it_waited_for_adds_up() {
    let trace = jobs("name,submit_s,run_s,gpus,after\na,0,100,1,\nb,1,10,2,\nc,2,500,1,\nd,3,5,1,b\n");
    let (stock, ms) = (stock(&[2]), 1000);
    let b = followed(&stock, &trace, 1, Some(50 * ms));
    let started = b.started.as_ref().unwrap();
    assert_eq!((b.came_ms, started.at_ms, b.ended_ms), (Some(ms), 100 * ms, Some(110 * ms)));
    assert_eq!(b.waited_ms.iter().map(|(&why, &ms)| (why, ms)).collect::<Vec<_>>(), [("room", 99 * ms)]);
    assert_eq!((b.first_wait.unwrap().at_ms, b.asked.as_ref().unwrap().explanation.phase), (ms, "waiting"));
    assert_eq!(started.explanation.nodes.len(), 1);
    // The third would end too late to pass the second: there is a GPU, and it is promised.
    let c = followed(&stock, &trace, 2, None);
    assert_eq!(c.waited_ms.get("promised"), Some(&(98 * ms)));
    let d = followed(&stock, &trace, 3, Some(4 * ms));
    let asked = d.asked.unwrap();
    assert_eq!((&asked.ahead[..], asked.explanation.phase), (&["b".to_owned()][..], "held"));
    let waited: u64 = d.waited_ms.values().sum();
    assert_eq!(d.came_ms.unwrap() + waited, d.started.unwrap().at_ms);
    // One that can never run says so.
    let never = jobs("submit_s,run_s,gpus\n0,5,9\n");
    let refused = followed(&stock, &never, 0, None);
    assert!(refused.refused.is_some_and(|why| why.contains("9 GPUs")) && refused.started.is_none());
}

#[test]
fn a_gang_never_starts_by_a_sum_that_no_node_has() {
    // The parts want so many cores that each is on a node of its own: two GPUs are free then, but not on one node.
    let trace = jobs("submit_s,run_s,cpu_milli,parts,gpus\n0,100,9000,2,1\n1,10,0,1,2\n");
    for (kind, name) in Kind::ALL {
        let replayed = run(&stock(&[2, 2]), &trace, kind, Backfill::Easy);
        assert_eq!((replayed.ended, replayed.figures(|_| true).waiting_s.p99), (2, 99.0), "{name}");
    }
}

#[test]
fn what_can_never_run_fails_with_its_reason() {
    let trace = jobs(
        "name,submit_s,run_s,parts,gpus,models\nbig,0,9,1,9,\nwide,0,9,5,8,\nodd,0,9,1,1,T4\nok,0,9,1,1,\n",
    );
    let failed = run(&stock(&[8, 8]), &trace, Kind::Heddle, Backfill::Easy).failed();
    let reason = |job: &str| {
        let named = |at: usize| &*trace.jobs[at].name == job;
        failed.iter().find(|(_, (first, _))| named(*first)).map_or("", |(why, _)| why)
    };
    assert_eq!(reason("big"), "it wants 9 GPUs of one node, and the most that a node has is 8");
    assert_eq!(reason("wide"), "the cluster has room for 2 of its 5 parts");
    assert_eq!(reason("odd"), "no node has a model of GPU that it asks for");
    assert_eq!(failed.len(), 3);
}

#[test]
fn the_same_seed_gives_the_same_replay() {
    let stock = stock(&[8, 4, 4, 2, 1, 0]);
    let demands: Vec<Demand> =
        [(1, 300), (1, 700), (2, 1000), (1, 1000), (0, 0), (4, 1000)].map(|(g, m)| demand(g, m)).into();
    for (kind, name) in Kind::ALL {
        assert_eq!(
            inflate(&stock, &demands, 1.3, kind, 7),
            inflate(&stock, &demands, 1.3, kind, 7),
            "{name}"
        );
    }
}

#[test]
fn bad_lines_are_counted_or_refused() {
    let text = b"submit_s,run_s,gpus\n0,5,1\n-3,5,1\n4,,1\n5,-1,1\n";
    let skip = ReadOptions { bad_lines: BadLines::Skip, ..ReadOptions::default() };
    let trace = native::jobs("a.csv", text, skip).unwrap();
    assert_eq!((trace.jobs.len(), trace.bad_count), (1, 3));
    assert_eq!(trace.bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [3, 4, 5]);
    let error = native::jobs("a.csv", text, ReadOptions::default()).unwrap_err();
    assert_eq!((error.line, error.what.contains("negative")), (3, true), "{error}");
    let share = native::jobs("a.csv", b"submit_s,run_s,gpus,gpu_milli\n0,5,2,400\n", ReadOptions::default());
    assert!(share.unwrap_err().what.contains("a share is of one GPU"));
}

#[test]
fn every_format_is_told_and_read() {
    let swf = "; Version: 2.2\n7 10 5 300 16 -1 -1 16 600 -1 1 3 1 -1 1 -1 -1 -1\n";
    let sacct = "JobID|User|Submit|Start|End|Timelimit|NNodes|ReqTRES\n\
        12|ann|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T11:01:00|02:00:00|2|cpu=32,gres/gpu=16,mem=64G,node=2\n\
        12.batch|ann|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T11:01:00||1|\n";
    let helios = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n\
        5,u,v,16,64,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 19:41:01,3600,0\n";
    let cases =
        [(swf, Format::Swf, 300_000), (sacct, Format::Sacct, 3_600_000), (helios, Format::Helios, 3_600_000)];
    for (text, format, run_ms) in cases {
        assert_eq!(Format::detect(text.as_bytes()), format);
        let trace = read("jobs", text.as_bytes(), format, ReadOptions::default()).unwrap();
        let job = &trace.jobs[0];
        assert_eq!(
            (trace.jobs.len(), job.parts, job.gpus, job.run_ms),
            (1, 2, 8, Some(run_ms)),
            "{format:?}"
        );
    }
}

proptest! {

    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    /// A policy finds a place if and only if some node has room, whatever came and went before.
    #[test]
    fn a_place_is_found_where_there_is_one(
        gpus in prop::collection::vec(0_usize..9, 1..5),
        steps in prop::collection::vec((0_u16..5, 1_u16..1001, 0_u32..6000, any::<prop::sample::Index>(), any::<bool>()), 1..60),
        kind in prop::sample::select(Kind::ALL.map(|(kind, _)| kind).to_vec()),
    ) {
        let stock = stock(&gpus);
        let demands: Vec<Demand> = steps.iter().map(|&(gpus, milli, cpu_milli, ..)| {
            let gpu_milli = match gpus { 0 => 0, 1 => milli, _ => 1000 };
            Demand { cpu_milli, ..demand(gpus, gpu_milli) }
        }).collect();
        let mut classes = Classes::default();
        let class: Vec<_> = demands.iter().map(|demand| classes.class(demand)).collect();
        let mut policy = Policy::new(kind, &stock, &demands, 3);
        let mut cluster = Cluster::new(stock.clone(), kind.keeps_sizes());
        let mut held: Vec<Grant> = Vec::new();
        for (at, (.., leaves, one_leaves)) in steps.iter().enumerate() {
            if *one_leaves && !held.is_empty() {
                let grant = held.swap_remove(leaves.index(held.len()));
                prop_assert!(cluster.release(&grant).is_ok());
            }
            let grant = policy.choose(&cluster, &classes, class[at]);
            let room = cluster.stock().nodes().any(|node| cluster.stock().fits(node, &demands[at]));
            prop_assert_eq!(grant.is_some(), room);
            if let Some(grant) = grant {
                prop_assert_eq!(grant.gpus.len(), u32::from(demands[at].gpus));
                prop_assert!(cluster.allocate(&grant).is_ok());
                held.push(grant);
            }
            let grouped: usize = cluster.groups().iter().map(|group| group.nodes().len()).sum();
            prop_assert_eq!(grouped, stock.len());
        }
        for grant in &held {
            prop_assert!(cluster.release(grant).is_ok());
        }
        prop_assert_eq!(cluster.stock(), &stock);
    }

    /// Bytes of any kind are read or refused.
    #[test]
    fn no_bytes_make_a_reader_panic(
        head in prop::sample::select(vec![
            "submit_s,run_s,gpus\n", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n",
            "; swf\n", "JobID|Submit|Start|End|ReqTRES\n",
            "job_id,user,gpu_num,cpu_num,node_num,submit_time,duration\n",
        ]),
        lines in prop::collection::vec("[-0-9.,|:T =a-zMGé\"]{0,60}|(-?[0-9]{1,20} ){18}|([0-9]{1,12},){8}", 0..8),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut text = format!("{head}{}\n", lines.join("\n")).into_bytes();
        text.extend(bytes);
        for (format, _) in Format::ALL {
            for bad_lines in [BadLines::Skip, BadLines::Refuse] {
                let _ = read("x", &text, format, ReadOptions { bad_lines, ..ReadOptions::default() });
            }
        }
    }

    /// What is written is read again.
    #[test]
    fn own_jobs_go_round(seed in any::<u64>(), jobs in 1_u32..50) {
        let recipe = scheduler::trace::generate::Recipe { jobs, nodes: 4, gpus_a_node: 8, load: 0.9, users: 1, seed };
        let made = scheduler::trace::generate::jobs(&recipe);
        let again = native::jobs("x", native::write(&made).as_bytes(), ReadOptions::default()).unwrap();
        prop_assert_eq!(again.jobs, made.jobs);
    }
}

#[test]
fn a_share_of_eight_tenths_is_not_two_of_four() {
    let mut cluster = Cluster::new(stock(&[2]), false);
    cluster.allocate(&Grant::new(NodeIndex(0), &demand(2, 600), GpuSet(0b11))).unwrap();
    let mut classes = Classes::default();
    let class = classes.class(&demand(1, 800));
    for (kind, _) in Kind::ALL {
        let mut policy = Policy::new(kind, cluster.stock(), classes.demands(), 1);
        assert_eq!(policy.choose(&cluster, &classes, class), None);
    }
}
