//! Demands that ask where on a node: NUMA domains and MIG instances, through the whole queue.

use pool::catalog::MigCatalog;
use pool::stock::{Capacity, Demand, Domain, Grant, NumaWant, Pin, WHOLE_GPU};
use pool::tenants::Tenants;
use pool::{NodeIndex, Stock};
use proptest::prelude::*;
use scheduler::job::{Checkpoint, Job, JobIndex, Refusal};
use scheduler::schedule::{Config, Decision, Phase, Scheduler, Wait};

const HOUR_MS: u64 = 3_600_000;

/// Nodes of two halves with 8 cores and 4 GPUs each.
fn halves(nodes: usize, model: &str) -> Stock {
    let mut stock = Stock::new();
    let model = stock.model_named(model).unwrap();
    let half = Domain { cpu_milli: 8000, memory_mib: 1000 };
    for _ in 0..nodes {
        let capacity = Capacity { cpu_milli: 16_000, memory_mib: 2000, gpus: 8, model: Some(model) };
        stock.add_node_of(&capacity, &[half; 2], &[0, 0, 0, 0, 1, 1, 1, 1]).unwrap();
    }
    stock.know_mig(&MigCatalog::shipped().unwrap()).unwrap();
    stock
}

fn wants(gpus: u16, numa: NumaWant) -> Demand {
    let gpu_milli = if gpus > 0 { WHOLE_GPU } else { 0 };
    Demand { cpu_milli: 1000, memory_mib: 10, gpus, gpu_milli, numa, ..Demand::default() }
}

fn instances(stock: &Stock, name: &str, count: u16) -> Demand {
    let mig = stock.profile_named(name);
    let gpu_milli = stock.profile_milli(mig.unwrap(), Default::default()).unwrap();
    Demand { cpu_milli: 100, memory_mib: 1, gpus: count, gpu_milli, mig, ..Demand::default() }
}

fn job(demand: Demand) -> Job {
    Job { limit_ms: Some(HOUR_MS), ..Job::new("job", demand) }
}

fn queue(stock: Stock) -> Scheduler {
    Scheduler::new(Config::default(), stock, Tenants::default(), &[wants(1, NumaWant::Anywhere)])
}

fn submit(scheduler: &mut Scheduler, demand: Demand, now_ms: u64) -> JobIndex {
    scheduler.submit(job(demand), now_ms).unwrap()
}

/// KAI chooses nodes by their free GPUs, though neither half of them can hold the pod.
#[test]
fn a_node_whose_halves_cannot_hold_a_part_is_no_place_for_it() {
    let mut stock = halves(2, "H100-80GB");
    let one = wants(1, NumaWant::Anywhere);
    // Both nodes have four GPUs free: the first has two in each half, the second all four in its second.
    for (node, gpus) in [(0, 0b0011_0011), (1, 0b0000_1111)] {
        for gpu in pool::stock::GpuSet(gpus).iter() {
            stock.allocate(&Grant::new(NodeIndex(node), &one, pool::stock::GpuSet(1 << gpu))).unwrap();
        }
    }
    let mut scheduler = queue(stock);
    let [first, second] = [0, 0].map(|at| submit(&mut scheduler, wants(4, NumaWant::One), at));
    scheduler.decide(0);
    let grant = scheduler.grants(first)[0];
    assert_eq!((grant.node, grant.gpus.0, grant.pin), (NodeIndex(1), 0b1111_0000, Pin::Domain(1)));
    // The other has four free GPUs on one node, and does not start there.
    assert_eq!(scheduler.phase(second), Some(Phase::Waiting));
    let pair = submit(&mut scheduler, wants(2, NumaWant::One), 1);
    let gang = Job { parts: 2, most_parts: 2, ..job(wants(2, NumaWant::One)) };
    let gang = scheduler.submit(gang, 1).unwrap();
    scheduler.decide(1);
    let running = [pair, gang].map(|job| scheduler.phase(job) == Some(Phase::Running));
    // There is room for two pairs, one in each half; the gang wants both.
    assert_eq!(running, [true, false]);
}

#[test]
fn a_part_is_promised_the_time_when_one_half_comes_free() {
    let stock = halves(1, "H100-80GB");
    let mut scheduler = queue(stock);
    let three: Vec<_> = (0..2).map(|_| submit(&mut scheduler, wants(3, NumaWant::One), 0)).collect();
    scheduler.decide(0);
    let long = Job { limit_ms: Some(3 * HOUR_MS), ..job(wants(4, NumaWant::One)) };
    let wide = scheduler.submit(long, 1000).unwrap();
    scheduler.decide(1000);
    let why = scheduler.explain(wide, 1000).unwrap();
    assert_eq!(scheduler.phase(wide), Some(Phase::Waiting));
    // Two GPUs are free where four are wanted: no node has enough in all.
    assert!(matches!(why.wait, Some(Wait::Room { room: 0, elsewhere: None, .. })), "{why}");
    let pair = Job { limit_ms: Some(HOUR_MS / 2), ..job(wants(1, NumaWant::One)) };
    let pairs = [scheduler.submit(pair.clone(), 2000).unwrap(), scheduler.submit(pair, 2000).unwrap()];
    scheduler.decide(2000);
    assert_eq!(pairs.map(|job| scheduler.phase(job)), [Some(Phase::Running); 2]);
    scheduler.ended(three[0], true, 3000).unwrap();
    scheduler.decide(3000);
    // Three are free now, all in one half: the fourth comes free with the short one beside them, not with the other.
    assert_eq!(scheduler.phase(wide), Some(Phase::Waiting));
    assert_eq!(scheduler.promised_ms(wide), Some(HOUR_MS));
    let half = |job: JobIndex| scheduler.grants(job)[0].gpus.0 < 0b1_0000;
    let [near, far] = if half(pairs[0]) { pairs } else { [pairs[1], pairs[0]] };
    scheduler.ended(far, true, 4000).unwrap();
    scheduler.decide(4000);
    assert_eq!(scheduler.phase(wide), Some(Phase::Waiting));
    scheduler.ended(near, true, 5000).unwrap();
    scheduler.decide(5000);
    assert_eq!(scheduler.grants(wide)[0].pin, Pin::Domain(0));
}

#[test]
fn what_is_free_in_each_half_is_said() {
    let mut stock = halves(1, "H100-80GB");
    let one = wants(1, NumaWant::Anywhere);
    for gpu in [0, 1, 4, 5] {
        stock.allocate(&Grant::new(NodeIndex(0), &one, pool::stock::GpuSet(1 << gpu))).unwrap();
    }
    let mut scheduler = queue(stock);
    let wide = submit(&mut scheduler, Demand { cpu_milli: 4000, ..wants(4, NumaWant::One) }, 0);
    let soft = submit(&mut scheduler, Demand { cpu_milli: 4000, ..wants(4, NumaWant::PreferOne) }, 0);
    scheduler.decide(0);
    assert_eq!(scheduler.phase(soft), Some(Phase::Running));
    assert_eq!(scheduler.grants(soft)[0].pin, Pin::Floating);
    scheduler.ended(soft, true, 1).unwrap();
    scheduler.decide(1);
    let text = scheduler.explain(wide, 1).unwrap().to_string();
    let expected =
        "node 0 has 4 GPUs idle, but by NUMA domain 2 with 8 cores and 1000 MiB and 2 with 8 cores";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn what_no_domain_can_hold_is_refused_with_what_is_in_the_way() {
    let mut scheduler = queue(halves(2, "H100-80GB"));
    let mut refused = |demand: Demand| match scheduler.submit(job(demand), 0) {
        Err(Refusal::Never(why)) => why,
        other => panic!("{other:?}"),
    };
    let five = refused(wants(5, NumaWant::One));
    assert_eq!(five, "it wants 5 GPUs in one NUMA domain, and the most that one has is 4");
    let cores = refused(Demand { cpu_milli: 9000, ..wants(1, NumaWant::One) });
    assert_eq!(cores, "it wants 9 cores in one NUMA domain, and the most that one has is 8");
    let memory = refused(Demand { memory_mib: 1001, ..wants(1, NumaWant::One) });
    assert_eq!(memory, "it wants 1001 MiB in one NUMA domain, and the most that one has is 1000");
    let beside = refused(Demand { cpu_milli: 9000, ..wants(1, NumaWant::Beside) });
    assert_eq!(beside, "no node has its GPUs, CPU and memory each in the NUMA domain of its GPU");
    // Five are of two halves, and their cores lie beside them; a preferred want keeps nobody out.
    for demand in [wants(5, NumaWant::Beside), wants(5, NumaWant::PreferOne)] {
        assert!(scheduler.submit(job(demand), 0).is_ok());
    }
}

#[test]
fn instances_share_gpus_that_are_cut_and_give_them_back_whole() {
    let stock = halves(3, "H100-80GB");
    let mut scheduler = queue(stock.clone());
    let small: Vec<_> = (0..14).map(|_| submit(&mut scheduler, instances(&stock, "1g.10gb", 1), 0)).collect();
    let large = submit(&mut scheduler, instances(&stock, "3g.40gb", 2), 0);
    scheduler.decide(0);
    let mut cut: Vec<_> = small.iter().chain([&large]).flat_map(|&job| scheduler.grants(job)).collect();
    cut.sort_by_key(|grant| (grant.node, grant.gpus.0));
    cut.dedup_by_key(|grant| (grant.node, grant.gpus));
    assert_eq!(cut.len(), 3, "{cut:?}");
    assert_eq!(scheduler.stock().gpu_taken_total_milli(), 14 * 125 + 2 * 500);
    for job in small.into_iter().chain([large]) {
        scheduler.ended(job, true, 1).unwrap();
    }
    assert_eq!(*scheduler.stock(), stock);
    let why = scheduler.submit(job(instances(&stock, "7g.80gb", 7)), 2);
    assert!(why.is_ok());
    let refused =
        scheduler.submit(job(Demand { gpus: 8, ..instances(&stock, "1g.10gb", 1) }), 2).unwrap_err();
    assert_eq!(refused.to_string(), "8 MIG instances: a part has 1 to 7 of them, a job any number of parts");
}

#[test]
fn why_an_instance_waits_is_said_in_slices() {
    let stock = halves(1, "A30");
    let mut scheduler = queue(stock.clone());
    for _ in 0..8 {
        submit(&mut scheduler, instances(&stock, "2g.12gb", 1), 0);
    }
    submit(&mut scheduler, wants(4, NumaWant::Anywhere), 0);
    scheduler.decide(0);
    let small = submit(&mut scheduler, instances(&stock, "1g.6gb", 1), 1);
    scheduler.decide(1);
    assert_eq!(scheduler.phase(small), Some(Phase::Waiting));
    scheduler.ended(JobIndex(0), true, 2).unwrap();
    let whole = submit(&mut scheduler, instances(&stock, "4g.24gb", 1), 2);
    scheduler.decide(2);
    assert_eq!(scheduler.phase(small), Some(Phase::Running));
    let text = scheduler.explain(whole, 2).unwrap().to_string();
    assert!(
        text.contains("4 are cut, and nowhere in the 1 memory slices free on them can 4g.24gb begin"),
        "{text}"
    );
}

/// All that runs, by sums of its own.
fn check(stock: &Stock, idle: &Stock, held: &[(Demand, Grant)]) {
    let (model, mut gpu_milli) = (idle.model(NodeIndex(0)).unwrap(), 0);
    for node in idle.nodes() {
        let here = || held.iter().filter(|(_, grant)| grant.node == node);
        let (mut cpu, mut slices, mut shares) = ([0_u32; 2], [0_u8; 8], [0_u32; 8]);
        for (demand, grant) in here() {
            let half = |gpu: usize| gpu / 4;
            let gpus: Vec<usize> = match grant.instances {
                Some(instances) => instances.iter().map(|(gpu, _)| gpu).collect(),
                None => grant.gpus.iter().collect(),
            };
            assert_eq!(gpus.len(), usize::from(demand.gpus));
            match demand.numa {
                NumaWant::One => {
                    let Pin::Domain(domain) = grant.pin else { panic!("{grant:?} of {demand:?}") };
                    assert!(gpus.iter().all(|&gpu| half(gpu) == usize::from(domain)));
                    cpu[usize::from(domain)] += demand.cpu_milli;
                }
                NumaWant::Beside if !gpus.is_empty() => {
                    assert_eq!(grant.pin, Pin::Beside);
                    gpus.iter().for_each(|&gpu| cpu[half(gpu)] += demand.cpu_milli / gpus.len() as u32);
                }
                _ => {}
            }
            match (demand.mig, grant.instances) {
                (Some(profile), Some(instances)) => {
                    let (cuts, number) = idle.cut_of(model, profile).unwrap();
                    for (gpu, start) in instances.iter() {
                        assert!(cuts.profiles[number].starts.contains(&start));
                        assert_eq!(slices[gpu] & cuts.profiles[number].mask(start), 0, "an overlap");
                        slices[gpu] |= cuts.profiles[number].mask(start);
                        gpu_milli += u64::from(demand.gpu_milli);
                    }
                }
                (None, None) => {
                    gpus.iter().for_each(|&gpu| shares[gpu] += u32::from(demand.gpu_milli));
                    gpu_milli += u64::from(demand.gpu_milli_total());
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(cpu.iter().all(|&cpu| cpu <= 8000), "{cpu:?}");
        assert!(here().map(|(demand, _)| demand.cpu_milli).sum::<u32>() <= 16_000);
        for gpu in 0..8 {
            assert!(shares[gpu] <= 1000 && (shares[gpu] == 0 || slices[gpu] == 0));
        }
    }
    assert_eq!(stock.gpu_taken_total_milli(), gpu_milli);
}

prop_compose! {
    fn demands()(
        numa in prop::sample::select(NumaWant::ALL.map(|(want, _)| want).to_vec()),
        cpu in 0_u32..7, gpus in 0_u16..5, share in 1_u16..10,
        profile in prop::option::of(prop::sample::select(vec!["1g.6gb", "2g.12gb", "4g.24gb", "1g.6gb+me"])),
    ) -> (Demand, Option<&'static str>) {
        let gpu_milli = match gpus { 0 => 0, 1 => share * 100, _ => 1000 };
        (Demand { cpu_milli: cpu * 1000, gpus, gpu_milli, numa, ..Demand::default() }, profile)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn nothing_overlaps_and_every_job_that_was_taken_starts(
        jobs in prop::collection::vec((demands(), 1_u32..4, 0_i32..3, any::<bool>()), 1..40),
    ) {
        let idle = halves(3, "A30");
        let mut scheduler = queue(idle.clone());
        let mut taken = Vec::new();
        let mut now_ms = 0;
        let mut next = jobs.into_iter();
        let mut started = 0;
        loop {
            for ((demand, profile), parts, priority, stops) in next.by_ref().take(3) {
                let demand = match profile {
                    Some(name) => Demand { cpu_milli: demand.cpu_milli, numa: demand.numa, gpus: demand.gpus.max(1), ..instances(&idle, name, 1) },
                    None => demand,
                };
                let checkpoint = stops.then_some(Checkpoint { grace_ms: 1, cost_ms: 1 });
                let job = Job { parts, most_parts: parts, priority, checkpoint, ..job(demand) };
                if let Ok(index) = scheduler.submit(job, now_ms) {
                    taken.push((index, demand));
                }
            }
            let decisions = scheduler.decide(now_ms);
            let quiet = decisions.is_empty();
            started += decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. })).count();
            for decision in decisions {
                if let Decision::Stop { job, .. } = decision {
                    scheduler.stopped(job, now_ms + 1).unwrap();
                }
            }
            let held: Vec<(Demand, Grant)> = taken
                .iter()
                .flat_map(|&(job, demand)| scheduler.grants(job).iter().map(move |&grant| (demand, grant)))
                .collect();
            check(scheduler.stock(), &idle, &held);
            now_ms += HOUR_MS / 3;
            let running = taken.iter().find(|(job, _)| scheduler.phase(*job) == Some(Phase::Running));
            match running {
                Some(&(job, _)) => scheduler.ended(job, true, now_ms).unwrap(),
                None if next.len() == 0 && quiet => break,
                None => {}
            }
        }
        prop_assert_eq!(scheduler.waiting(), 0);
        prop_assert!(started >= taken.len());
        prop_assert_eq!(scheduler.stock(), &idle);
    }
}
