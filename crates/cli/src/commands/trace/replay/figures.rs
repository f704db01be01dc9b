//! What a replay shows of a policy.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::ProgressBar;
use pool::Stock;
use pool::stock::Demand;
use scheduler::policy::Kind;
use scheduler::replay::inflate;
use scheduler::replay::strewn::{GangFigures, GangWatch};
use scheduler::replay::timed;
use scheduler::simulate::{Figures as Fared, Outcome, Spread};
use serde::Serialize;

use super::course::Course;
use super::{Replay, Setting, Way};

/// Why jobs can never run, and the first of them.
#[derive(Serialize)]
pub struct Never {
    /// What is in the way.
    pub why: String,
    /// How many.
    pub jobs: usize,
    /// The first one's name.
    pub first: String,
}

/// One policy's figures; means over the seeds.
#[derive(Serialize)]
pub struct Figures {
    pub policy: String,
    pub seeds: u64,
    pub jobs: f64,
    pub failed: f64,
    pub failures: Vec<Never>,
    pub gpu_allocated_percent_at_full: Option<f64>,
    pub gpu_allocated_percent_at_full_by_seed: Vec<f64>,
    pub gpu_used_percent_mean: Option<f64>,
    pub gpu_occupied_percent_mean: Option<f64>,
    pub gpu_used_percent_while_waiting: Option<f64>,
    pub waiting_s: Option<Spread>,
    pub completion_s: Option<Spread>,
    pub bounded_slowdown: Option<Spread>,
    pub fairness: Option<f64>,
    pub preemptions: Option<f64>,
    pub migrations: Option<f64>,
    pub moves: Option<f64>,
    pub lost_gpu_h: Option<f64>,
    pub span_s: Option<f64>,
    pub gangs: Option<Gangs>,
    pub seconds: f64,
    #[serde(skip)]
    pub course: Course,
}

/// How gangs lay in the network.
#[derive(Serialize)]
pub struct Gangs {
    /// Whether the policy placed them by the fabric.
    pub placed_by_fabric: bool,
    /// What was measured.
    #[serde(flatten)]
    pub figures: GangFigures,
}

impl Replay {
    /// The published experiment.
    pub(super) fn inflated(&self, stock: &Stock, demands: &[Demand], kind: Kind, times: f64) -> Figures {
        let begun = Instant::now();
        let runs: Vec<_> = (0..self.seeds)
            .map(|more| inflate::inflate(stock, demands, times, kind, self.seed.wrapping_add(more)))
            .collect();
        let mean =
            |value: fn(&inflate::Inflated) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        Figures {
            policy: kind.name().to_owned(),
            seeds: self.seeds,
            jobs: mean(|run| run.tasks as f64),
            failed: mean(|run| run.failed as f64),
            failures: Vec::new(),
            gpu_allocated_percent_at_full: Some(mean(|run| run.allocated_percent_at_full)),
            gpu_allocated_percent_at_full_by_seed: runs
                .iter()
                .map(|run| run.allocated_percent_at_full)
                .collect(),
            gpu_used_percent_mean: None,
            gpu_occupied_percent_mean: None,
            gpu_used_percent_while_waiting: None,
            waiting_s: None,
            completion_s: None,
            bounded_slowdown: None,
            fairness: None,
            preemptions: None,
            migrations: None,
            moves: None,
            lost_gpu_h: None,
            span_s: None,
            gangs: None,
            seconds: begun.elapsed().as_secs_f64(),
            course: Course::Demand(runs.into_iter().next().map_or_else(Vec::new, |run| run.course)),
        }
    }

    /// Jobs come, wait, run and end.
    pub(super) fn replayed(&self, setting: &Setting, way: Way) -> Figures {
        let (trace, site) = (&setting.trace, setting.site.as_ref());
        let begun = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(trace.jobs.len() as u64));
        let mut gangs = Vec::new();
        let runs: Vec<_> = (0..self.seeds)
            .map(|more| {
                let network = site.map(|site| site.topology.clone());
                let mut watch = network.clone().map(GangWatch::new);
                let outcome = timed::replay_on(
                    &setting.cluster.stock,
                    &setting.tenants,
                    network.filter(|_| way.knows_fabric),
                    &setting.arrivals,
                    self.config(way.kind, self.seed.wrapping_add(more)),
                    &mut |come| {
                        if let Some(bar) = &bar {
                            bar.set_position(come as u64);
                        }
                    },
                    &mut watch,
                );
                gangs.extend(watch.map(|watch| watch.figures()));
                outcome
            })
            .collect();
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let parts = runs.len() as f64;
        let mean = |value: fn(&Outcome) -> f64| runs.iter().map(value).sum::<f64>() / parts;
        let fared: Vec<Fared> = runs.iter().map(|run| run.figures(|_| true)).collect();
        let spread = |of: fn(&Fared) -> Spread| {
            let spreads: Vec<Spread> = fared.iter().map(of).collect();
            Spread::mean_of(&spreads)
        };
        let waited: Vec<f64> = runs.iter().filter_map(Outcome::gpu_used_percent_while_waiting).collect();
        let fairness: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.fairness(|at| trace.jobs.get(at).map_or(0, |job| job.user as usize)))
            .collect();
        let mean_of =
            |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let failed = runs.first().map_or_else(Default::default, Outcome::failed);
        let failures = failed.iter().map(|(why, &(first, jobs))| {
            let name = trace.jobs.get(first).map_or("", |job| &job.name);
            let first = if name.is_empty() { format!("number {}", first + 1) } else { name.to_owned() };
            Never { why: why.clone(), jobs, first }
        });
        Figures {
            policy: way.name(site.is_some()),
            seeds: self.seeds,
            jobs: trace.jobs.len() as f64,
            failed: mean(|run| run.failed().values().map(|(_, jobs)| *jobs).sum::<usize>() as f64),
            failures: failures.collect(),
            gpu_allocated_percent_at_full: None,
            gpu_allocated_percent_at_full_by_seed: Vec::new(),
            gpu_used_percent_mean: Some(mean(Outcome::gpu_used_percent_mean)),
            gpu_occupied_percent_mean: Some(mean(Outcome::gpu_occupied_percent_mean)),
            gpu_used_percent_while_waiting: mean_of(&waited),
            waiting_s: spread(|run| run.waiting_s),
            completion_s: spread(|run| run.completion_s),
            bounded_slowdown: spread(|run| run.bounded_slowdown),
            fairness: mean_of(&fairness),
            preemptions: Some(mean(|run| run.preemptions() as f64)),
            migrations: Some(mean(|run| run.migrated.migrations as f64)),
            moves: Some(mean(|run| run.migrated.moves as f64)),
            lost_gpu_h: Some(mean(|run| run.stop_cost_gpu_s / 3600.0)),
            span_s: Some(mean(|run| run.span_s)),
            gangs: GangFigures::mean(&gangs)
                .map(|figures| Gangs { placed_by_fabric: way.knows_fabric, figures }),
            seconds: begun.elapsed().as_secs_f64(),
            course: Course::Time(runs.into_iter().next().map_or_else(Vec::new, |run| run.course.points)),
        }
    }
}
