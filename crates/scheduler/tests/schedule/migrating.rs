//! Moves that pay for themselves: proposed, carried out, and harmless.

use std::collections::{BTreeMap, BTreeSet};

use pool::tenants::Tenants;
use proptest::prelude::*;
use scheduler::job::{Checkpoint, Job, JobIndex};
use scheduler::schedule::{Backfill, Config, Decision, Phase, Scheduler};

use super::{HOUR_MS, any_job, arrivals, gang, scheduler, started, stock};

const HALF_HOUR_MS: u64 = HOUR_MS / 2;

/// Four nodes are half full; a job that needs a whole one waits, though 16 GPUs are idle. Half an hour has passed.
fn four_half_full(migrate: bool, cost_ms: u64) -> (Scheduler, JobIndex) {
    let mut scheduler =
        scheduler(Config { migrate, ..Config::default() }, stock(&[8; 4]), Tenants::default());
    let checkpoint = Some(Checkpoint { grace_ms: 60_000, cost_ms });
    let halves: Vec<_> =
        (0..8).map(|_| scheduler.submit(Job { checkpoint, ..gang("half", 1, 4) }, 0).unwrap()).collect();
    scheduler.decide(0);
    let mut left = BTreeSet::new();
    for job in halves {
        // One of each pair ends.
        if !left.insert(scheduler.grants(job)[0].node) {
            scheduler.ended(job, true, HALF_HOUR_MS).unwrap();
        }
    }
    let whole = scheduler.submit(gang("whole", 1, 8), HALF_HOUR_MS).unwrap();
    (scheduler, whole)
}

#[test]
fn moves_are_proposed_where_they_pay_for_themselves() {
    let proposals = |cost_ms| {
        let (mut scheduler, whole) = four_half_full(false, cost_ms);
        assert!(scheduler.decide(HALF_HOUR_MS).is_empty());
        assert_eq!(scheduler.promised_ms(whole), Some(HOUR_MS));
        (scheduler.migrations(HALF_HOUR_MS), scheduler, whole)
    };
    let (cheap, scheduler, whole) = proposals(240_000);
    let [migration] = &cheap[..] else { panic!("{cheap:?}") };
    assert_eq!((migration.job, migration.moves.len()), (whole, 1));
    assert_eq!(
        migration.sum.to_string(),
        "3.9 GPU hours of waiting less for 0.3 GPU hours of moving: 3.6 won"
    );
    // What is proposed can be done.
    let mut stock = scheduler.stock().clone();
    for step in &migration.moves {
        assert_eq!(step.from[..], *scheduler.grants(step.job));
        step.from.iter().for_each(|grant| stock.release(grant).unwrap());
        stock.allocate_all(&step.to).unwrap();
    }
    stock.allocate_all(&migration.grants).unwrap();
    // Nobody is moved before it has run four times as long as that costs.
    assert!(proposals(600_000).0.is_empty());
}

#[test]
fn moves_that_cost_more_than_they_win_are_not_proposed() {
    // An hour's wait of one node with eight GPUs, against moves of jobs that have run for a day.
    let moves = |cost_ms| {
        let mut scheduler =
            scheduler(Config { migrate: false, ..Config::default() }, stock(&[8, 8]), Tenants::default());
        let checkpoint = Some(Checkpoint { grace_ms: 0, cost_ms });
        let day = |of| Job { checkpoint, limit_ms: Some(25 * HOUR_MS), ..gang("", 1, of) };
        let jobs: Vec<_> = (0..4).map(|_| scheduler.submit(day(4), 0).unwrap()).collect();
        scheduler.decide(0);
        let first = scheduler.grants(jobs[0])[0].node;
        let other = jobs.iter().find(|job| scheduler.grants(**job)[0].node != first).unwrap();
        for job in [jobs[0], *other] {
            scheduler.ended(job, true, 24 * HOUR_MS).unwrap();
        }
        scheduler.submit(gang("whole", 1, 8), 24 * HOUR_MS).unwrap();
        scheduler.decide(24 * HOUR_MS);
        scheduler.migrations(24 * HOUR_MS).len()
    };
    assert_eq!((moves(HOUR_MS), moves(3 * HOUR_MS)), (1, 0));
}

#[test]
fn moves_that_pay_for_themselves_are_carried_out() {
    let (mut scheduler, whole) = four_half_full(true, 240_000);
    let decisions = scheduler.decide(HALF_HOUR_MS);
    let [Decision::Stop { job: moved, by: Some(by), until_ms }] = decisions[..] else {
        panic!("{decisions:?}")
    };
    assert_eq!((by, until_ms), (whole, HALF_HOUR_MS + 60_000));
    let from = scheduler.grants(moved)[0].node;
    // While it stops nobody else comes between, though each place has room.
    let late = scheduler.submit(gang("late", 1, 4), HALF_HOUR_MS + 1).unwrap();
    assert_eq!(started(&scheduler.decide(HALF_HOUR_MS + 1)), [late]);
    assert_eq!(scheduler.phase(moved), Some(Phase::Stopping { until_ms }));
    scheduler.stopped(moved, until_ms).unwrap();
    assert_eq!(started(&scheduler.decide(until_ms)), [whole, moved]);
    assert_eq!(scheduler.grants(whole)[0].node, from);
    assert_ne!(scheduler.grants(moved)[0].node, from);
    let migrated = scheduler.migrated();
    assert_eq!((migrated.migrations, migrated.moves), (1, 1));
    assert!(migrated.sum.gain_gpu_s > migrated.sum.cost_gpu_s);
}

#[test]
fn who_was_to_move_and_is_done_before_is_in_nobodys_way() {
    let (mut scheduler, whole) = four_half_full(true, 240_000);
    let [Decision::Stop { job, .. }] = scheduler.decide(HALF_HOUR_MS)[..] else { panic!() };
    scheduler.ended(job, true, HALF_HOUR_MS + 1).unwrap();
    assert_eq!(started(&scheduler.decide(HALF_HOUR_MS + 1)), [whole]);
    assert_eq!((scheduler.promised_ms(job), scheduler.running()), (None, 4));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Moves break no promise either, and whoever moves starts again.
    #[test]
    fn moves_keep_promises(
        jobs in prop::collection::vec(any_job(), 1..50),
        easy in any::<bool>(),
    ) {
        let backfill = if easy { Backfill::Easy } else { Backfill::Conservative(3) };
        let config = Config { backfill, fair_share: false, least_run_ms: 10_000, ..Config::default() };
        let mut arrivals = arrivals(&jobs, false, true, true);
        arrivals.iter_mut().for_each(|arrival| arrival.job.priority = 0);
        let mut queue = scheduler(config, stock(&[8, 8, 4, 0]), Tenants::default());
        let mut promised = BTreeMap::<JobIndex, u64>::new();
        let mut events = BTreeSet::<(u64, JobIndex)>::new();
        // Of each job: what is left to do, since when it runs, and whether it is to stop.
        let mut run = Vec::<(u64, u64, bool)>::new();
        let (mut next, mut clock) = (0, 0);
        loop {
            let coming = arrivals.get(next).map(|arrival| arrival.at_ms);
            let times = [coming, events.first().map(|event| event.0), queue.wake_ms(clock)];
            let Some(now) = times.into_iter().flatten().min() else { break };
            clock = now;
            while let Some(&(at, job)) = events.first() && at <= now {
                events.pop_first();
                let (left, since, stops) = &mut run[job.index()];
                *left -= now - *since;
                if *stops && *left > 0 {
                    *left += 20_000;
                    queue.stopped(job, now).unwrap();
                } else {
                    promised.remove(&job);
                    queue.ended(job, true, now).unwrap();
                }
                *stops = false;
            }
            while let Some(arrival) = arrivals.get(next).filter(|arrival| arrival.at_ms <= now) {
                if queue.submit(arrival.job.clone(), now).is_ok() {
                    run.push((arrival.run_ms, 0, false));
                }
                next += 1;
            }
            for decision in queue.decide(now) {
                match decision {
                    Decision::Start { job, .. } => {
                        run[job.index()].1 = now;
                        events.insert((now + run[job.index()].0, job));
                        if let Some(promised) = promised.remove(&job) {
                            prop_assert!(now <= promised, "{job:?} started at {now}, promised for {promised}");
                        }
                    }
                    Decision::Stop { job, until_ms, .. } => {
                        let (left, since, stops) = &mut run[job.index()];
                        if *since + *left > until_ms {
                            *stops = true;
                            events.remove(&(*since + *left, job));
                            events.insert((until_ms, job));
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
            for job in (0..run.len() as u32).map(JobIndex) {
                if let Some(at) = queue.promised_ms(job) {
                    let before = promised.entry(job).or_insert(at);
                    prop_assert!(at <= *before, "{job:?} was promised {before}, now {at}");
                    *before = at;
                }
            }
        }
        prop_assert_eq!((queue.waiting(), queue.running()), (0, 0));
        prop_assert!(queue.migrated().sum.gain_gpu_s >= queue.migrated().sum.cost_gpu_s);
    }
}
