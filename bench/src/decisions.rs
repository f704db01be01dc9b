//! How long the scheduler takes to decide: a full cluster, thousands of jobs waiting, gangs and single GPUs that come.

use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use pool::Stock;
use pool::stock::{Capacity, Demand, WHOLE_GPU};
use pool::tenants::Tenants;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use scheduler::job::{Checkpoint, Job, JobIndex};
use scheduler::schedule::{Config, Decision, Phase, Scheduler};

use crate::Common;
use crate::statistics::percentile;

/// GPUs of a node.
const GPUS_A_NODE: usize = 8;

/// Nodes of a gang of 512 GPUs.
const GANG: u32 = 64;

const HOUR_MS: u64 = 3_600_000;

/// How large a cluster and queue.
#[derive(Args, Clone)]
pub struct Decisions {
    /// GPUs of the cluster
    #[arg(long, default_value_t = 16_384)]
    gpus: usize,
    /// Jobs that wait
    #[arg(long, default_value_t = 5000)]
    waiting: usize,
    /// Decisions of each kind
    #[arg(long, default_value_t = 1000)]
    decisions: usize,
}

impl Default for Decisions {
    fn default() -> Self {
        Self { gpus: 16_384, waiting: 5000, decisions: 1000 }
    }
}

struct Cluster {
    scheduler: Scheduler,
    chance: Xoshiro256PlusPlus,
    running: Vec<JobIndex>,
    now_ms: u64,
}

impl Decisions {
    /// Measures and prints a table.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        let decisions = if common.quick { 20 } else { self.decisions };
        let (gpus, waiting) = if common.quick { (1024, 200) } else { (self.gpus, self.waiting) };
        let mut cluster = Cluster::full(gpus, waiting)?;
        let (mut single, mut ended, mut gang, mut head) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for at in 0..decisions {
            cluster.refill(waiting);
            cluster.end_one()?;
            ended.push(cluster.decide());
            cluster.submit(1, 1, 0, None);
            single.push(cluster.decide());
            if at % 4 == 0 {
                // A gang before all others: it is promised a time, or others are stopped for it; then it starts.
                let job = cluster.submit(GANG, 8, 1, None);
                gang.push(cluster.decide());
                let mut ends = 0;
                while cluster.scheduler.grants(job).is_empty() {
                    cluster.make_room()?;
                    head.push(cluster.decide());
                    ends += 1;
                    ensure!(ends < 10_000, "a gang of {GANG} nodes never starts");
                }
            }
        }
        println!("### Decisions, {gpus} GPUs in use, {waiting} jobs waiting\n");
        println!("| what has happened | decisions | median ms | 99th percentile ms | largest ms |");
        println!("| --- | --- | --- | --- | --- |");
        for (name, taken) in [
            ("a job of one GPU came", single),
            ("a job ended", ended),
            ("a gang of 512 GPUs came", gang),
            ("a job ended or stopped while such a gang waits at the head", head),
        ] {
            let at = |part: f64| percentile(&taken, part);
            println!("| {name} | {} | {:.3} | {:.3} | {:.3} |", taken.len(), at(0.5), at(0.99), at(1.0));
        }
        println!(
            "\nSizes from 1 to 256 GPUs, a third can be stopped; EASY backfill; each decision includes what the event set free for others.\n"
        );
        Ok(())
    }
}

impl Cluster {
    fn full(gpus: usize, waiting: usize) -> anyhow::Result<Self> {
        let mut stock = Stock::new();
        let model = stock.model_named("H100-80GB")?;
        for _ in 0..gpus / GPUS_A_NODE {
            let model = Some(model);
            stock.add_node(&Capacity {
                cpu_milli: 128_000,
                memory_mib: 2_000_000,
                gpus: GPUS_A_NODE,
                model,
            })?;
        }
        let mix: Vec<Demand> = [1, 2, 4, 8].map(demand).into();
        let scheduler = Scheduler::new(Config::default(), stock, Tenants::default(), &mix);
        let chance = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut cluster = Self { scheduler, chance, running: Vec::new(), now_ms: 0 };
        while cluster.scheduler.waiting() < waiting {
            cluster.refill(cluster.scheduler.waiting() + 100);
            cluster.decide();
        }
        Ok(cluster)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.chance.next_u64() % end
    }

    fn submit(&mut self, parts: u32, gpus: u16, priority: i32, checkpoint: Option<Checkpoint>) -> JobIndex {
        let limit_ms = Some(HOUR_MS / 4 + self.below(48 * HOUR_MS));
        let job =
            Job { parts, most_parts: parts, priority, checkpoint, limit_ms, ..Job::new("", demand(gpus)) };
        self.scheduler.submit(job, self.now_ms).unwrap_or(JobIndex(u32::MAX))
    }

    /// Jobs come until so many wait, without a look at the queue.
    fn refill(&mut self, waiting: usize) {
        while self.scheduler.waiting() < waiting {
            let size = self.below(100);
            let checkpoint =
                (self.below(3) == 0).then_some(Checkpoint { grace_ms: 60_000, cost_ms: 600_000 });
            let (parts, gpus) = match size {
                0..50 => (1, 1),
                50..65 => (1, 2),
                65..75 => (1, 4),
                75..90 => (1, 8),
                90..96 => (4, 8),
                _ => (32, 8),
            };
            self.submit(parts, gpus, 0, checkpoint);
        }
    }

    fn end_one(&mut self) -> anyhow::Result<()> {
        let at = self.below(self.running.len() as u64) as usize;
        let job = self.running.swap_remove(at);
        self.scheduler.ended(job, true, self.now_ms).context("a job that runs ends")
    }

    /// What was told to stop does, or else some job ends.
    fn make_room(&mut self) -> anyhow::Result<()> {
        let stopping = self
            .running
            .iter()
            .position(|&job| matches!(self.scheduler.phase(job), Some(Phase::Stopping { .. })));
        match stopping {
            Some(at) => {
                let job = self.running.swap_remove(at);
                self.scheduler.stopped(job, self.now_ms).context("a job that was told to stop stops")
            }
            None => self.end_one(),
        }
    }

    /// Milliseconds that a decision takes.
    fn decide(&mut self) -> f64 {
        self.now_ms += 1000;
        let begun = Instant::now();
        let decisions = self.scheduler.decide(self.now_ms);
        let taken = begun.elapsed().as_secs_f64() * 1000.0;
        for decision in decisions {
            if let Decision::Start { job, .. } = decision {
                self.running.push(job);
            }
        }
        taken
    }
}

fn demand(gpus: u16) -> Demand {
    Demand { cpu_milli: 4000, memory_mib: 16_000, gpus, gpu_milli: WHOLE_GPU, ..Demand::default() }
}
