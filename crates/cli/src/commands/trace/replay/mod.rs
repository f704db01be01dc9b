//! `heddle trace replay`: the jobs of a trace through a cluster under policies.

use std::io::IsTerminal;
use std::time::Instant;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use pool::Stock;
use pool::stock::Demand;
use pool::tenants::Tenants;
use scheduler::policy::Kind;
use scheduler::replay::inflate::{self, Point};
use scheduler::replay::picture::{self, Line};
use scheduler::replay::timed;
use scheduler::schedule::{Backfill, Config};
use scheduler::simulate::{Arrival, Figures as Fared, Moment, Outcome, Spread};
use scheduler::trace::Trace;
use serde::Serialize;

use super::Reading;
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, seconds, thousands};
use crate::table::{Side, Table};

/// In which order jobs start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Queueing {
    /// Nothing passes a job that waits
    Fifo,
    /// What does not delay the first that waits fills gaps (EASY backfill)
    Easy,
    /// What does not delay any of the first 32 that wait fills gaps (conservative backfill)
    Conservative,
}

/// How many jobs are promised a time with conservative backfill.
const PROMISES: u32 = 32;

/// Options of `heddle trace replay`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle trace replay --nodes examples/nodes.csv --jobs examples/jobs.csv\n  \
    heddle trace replay --nodes N --jobs J --compare -o timeline.svg    every policy side by side, drawn\n  \
    heddle trace replay --nodes N --jobs J --inflate 1.3 --seeds 10     the published experiment of the FGD paper:\n  \
                                        tasks arrive in a drawn order until 1.3 times all GPUs are wanted; none leaves\n\n\
    Nodes are whatever `heddle pool show` reads. Where jobs name tenants, those of the pool count.\n\
    Exit codes: 0 done, 2 the request was wrong."
)]
pub struct Replay {
    /// The cluster: a list of nodes as openb has it, or another file that `heddle pool show` reads
    #[arg(long, value_name = "FILE")]
    nodes: String,
    /// The jobs; - is standard input
    #[arg(long, value_name = "FILE")]
    jobs: String,
    /// random, first-fit, best-fit, dot-product, gpu-packing, gpu-clustering, fgd or heddle
    #[arg(long, default_value = "heddle", value_parser = policy)]
    policy: Kind,
    /// Lay these policies side by side; all where none is named
    #[arg(long, value_name = "POLICY", value_delimiter = ',', num_args = 0.., value_parser = policy)]
    compare: Option<Vec<Kind>>,
    /// The published experiment: tasks arrive until this many times all GPUs are wanted, and none leaves
    #[arg(long, value_name = "TIMES")]
    inflate: Option<f64>,
    /// In which order jobs start
    #[arg(long, value_enum, default_value_t = Queueing::Easy)]
    queue: Queueing,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take the mean over so many seeds, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    #[command(flatten)]
    reading: Reading,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the course of the first seed: a picture (.svg), or .csv or .json
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

fn policy(name: &str) -> Result<Kind, String> {
    let names = Kind::ALL.map(|(_, name)| name).join(", ");
    Kind::by_name(name).ok_or_else(|| format!("no policy is called so: give one of {names}"))
}

/// Why jobs can never run, and the first of them.
#[derive(Serialize)]
struct Never {
    why: String,
    jobs: usize,
    first: String,
}

/// One policy's figures; means over the seeds.
#[derive(Serialize)]
struct Figures {
    policy: &'static str,
    seeds: u64,
    jobs: f64,
    failed: f64,
    failures: Vec<Never>,
    gpu_allocated_percent_at_full: Option<f64>,
    gpu_allocated_percent_at_full_by_seed: Vec<f64>,
    gpu_used_percent_mean: Option<f64>,
    gpu_used_percent_while_waiting: Option<f64>,
    waiting_s: Option<Spread>,
    completion_s: Option<Spread>,
    bounded_slowdown: Option<Spread>,
    fairness: Option<f64>,
    preemptions: Option<f64>,
    span_s: Option<f64>,
    seconds: f64,
    #[serde(skip)]
    course: Course,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
enum Course {
    Demand(Vec<Point>),
    Time(Vec<Moment>),
}

#[derive(Serialize)]
struct Compared<'a> {
    nodes: usize,
    gpus: usize,
    policies: &'a [Figures],
}

impl Replay {
    /// Replays and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        if let Some(times) = self.inflate
            && !(times > 0.0 && times <= 100.0)
        {
            return Err(Failure::new(
                format!("{times} times all GPUs"),
                "--inflate",
                "give a number such as 1.3",
            ));
        }
        if let Some(path) = &self.output
            && ![".svg", ".csv", ".json"].iter().any(|ending| path.ends_with(ending))
        {
            return Err(Failure::new("the ending tells no format", path, "end it with .svg, .csv or .json"));
        }
        let (stock, tenants) = super::nodes(&self.nodes)?;
        let (trace, _) = self.reading.jobs(&self.jobs, self.inflate.is_none())?;
        let tenants = timed::tenants_in_use(&trace, &tenants);
        let arrivals = match self.inflate {
            Some(_) => Vec::new(),
            None => timed::arrivals(&trace, &stock, &tenants).map_err(|error| {
                Failure::new(error.to_string(), &self.jobs, "name it in the pool with [[tenant]]")
            })?,
        };
        let demands = trace.demands(&stock);
        let kinds = match &self.compare {
            None => vec![self.policy],
            Some(kinds) if kinds.is_empty() => Kind::ALL.map(|(kind, _)| kind).to_vec(),
            Some(kinds) => kinds.clone(),
        };
        let figures: Vec<Figures> = kinds
            .into_iter()
            .map(|kind| match self.inflate {
                Some(times) => self.inflated(&stock, &demands, kind, times),
                None => self.replayed((&stock, &tenants), &trace, &arrivals, kind),
            })
            .collect();
        match (self.json, &figures[..]) {
            (true, [one]) if self.compare.is_none() => files::print_json(one)?,
            (true, policies) => {
                files::print_json(&Compared { nodes: stock.len(), gpus: stock.gpu_count(), policies })?;
            }
            (false, policies) => {
                files::write("-", self.render(&stock, policies, Style::stdout()).as_bytes())?;
            }
        }
        if let Some(path) = &self.output {
            write_course(path, &figures)?;
        }
        Ok(Answer::Yes)
    }

    fn inflated(&self, stock: &Stock, demands: &[Demand], kind: Kind, times: f64) -> Figures {
        let begun = Instant::now();
        let runs: Vec<_> = (0..self.seeds)
            .map(|more| inflate::inflate(stock, demands, times, kind, self.seed.wrapping_add(more)))
            .collect();
        let mean =
            |value: fn(&inflate::Inflated) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        Figures {
            policy: kind.name(),
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
            gpu_used_percent_while_waiting: None,
            waiting_s: None,
            completion_s: None,
            bounded_slowdown: None,
            fairness: None,
            preemptions: None,
            span_s: None,
            seconds: begun.elapsed().as_secs_f64(),
            course: Course::Demand(runs.into_iter().next().map_or_else(Vec::new, |run| run.course)),
        }
    }

    fn replayed(
        &self,
        (stock, tenants): (&Stock, &Tenants),
        trace: &Trace,
        arrivals: &[Arrival],
        kind: Kind,
    ) -> Figures {
        let begun = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(trace.jobs.len() as u64));
        let runs: Vec<_> = (0..self.seeds)
            .map(|more| {
                let config = Config {
                    policy: kind,
                    seed: self.seed.wrapping_add(more),
                    backfill: match self.queue {
                        Queueing::Fifo => Backfill::None,
                        Queueing::Easy => Backfill::Easy,
                        Queueing::Conservative => Backfill::Conservative(PROMISES),
                    },
                    ..Config::default()
                };
                timed::replay(stock, tenants, arrivals, config, &mut |come| {
                    if let Some(bar) = &bar {
                        bar.set_position(come as u64);
                    }
                })
            })
            .collect();
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let parts = runs.len() as f64;
        let mean = |value: fn(&Outcome) -> f64| runs.iter().map(value).sum::<f64>() / parts;
        let fared: Vec<Fared> = runs.iter().map(|run| run.figures(|_| true)).collect();
        let spread = |of: fn(&Fared) -> Spread| {
            let mean = |value: fn(Spread) -> f64| fared.iter().map(|run| value(of(run))).sum::<f64>() / parts;
            let [mean, median, p95, p99] =
                [mean(|s| s.mean), mean(|s| s.median), mean(|s| s.p95), mean(|s| s.p99)];
            Some(Spread { mean, median, p95, p99 })
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
            policy: kind.name(),
            seeds: self.seeds,
            jobs: trace.jobs.len() as f64,
            failed: mean(|run| run.failed().values().map(|(_, jobs)| *jobs).sum::<usize>() as f64),
            failures: failures.collect(),
            gpu_allocated_percent_at_full: None,
            gpu_allocated_percent_at_full_by_seed: Vec::new(),
            gpu_used_percent_mean: Some(mean(Outcome::gpu_used_percent_mean)),
            gpu_used_percent_while_waiting: mean_of(&waited),
            waiting_s: spread(|run| run.waiting_s),
            completion_s: spread(|run| run.completion_s),
            bounded_slowdown: spread(|run| run.bounded_slowdown),
            fairness: mean_of(&fairness),
            preemptions: Some(mean(|run| run.stops as f64)),
            span_s: Some(mean(|run| run.span_s)),
            seconds: begun.elapsed().as_secs_f64(),
            course: Course::Time(runs.into_iter().next().map_or_else(Vec::new, |run| run.course.points)),
        }
    }

    fn render(&self, stock: &Stock, policies: &[Figures], style: Style) -> String {
        let mut text =
            format!("{}, {}\n\n", count(stock.len() as u64, "node"), count(stock.gpu_count() as u64, "GPU"));
        let titles: &[&str] = match self.inflate {
            Some(_) => &["policy", "allocated at full", "tasks", "failed", "computed in"],
            None => &[
                "policy",
                "GPUs used",
                "while any waits",
                "wait mean",
                "half",
                "99 %",
                "completion",
                "slowdown",
                "failed",
                "computed in",
            ],
        };
        let mut sides = vec![Side::Right; titles.len()];
        sides[0] = Side::Left;
        let mut table = Table::new(sides);
        table.row(titles.iter().map(|title| style.dim(title)));
        let percent = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2} %"));
        for figures in policies {
            let policy = figures.policy.to_owned();
            let failed = thousands(figures.failed.round() as u64);
            let took = seconds(figures.seconds);
            match (self.inflate, figures.waiting_s, figures.completion_s, figures.bounded_slowdown) {
                (None, Some(waiting), Some(completion), Some(slowdown)) => table.row([
                    policy,
                    percent(figures.gpu_used_percent_mean),
                    percent(figures.gpu_used_percent_while_waiting),
                    seconds(waiting.mean),
                    seconds(waiting.median),
                    seconds(waiting.p99),
                    seconds(completion.mean),
                    format!("{:.2}", slowdown.mean),
                    failed,
                    took,
                ]),
                _ => table.row([
                    policy,
                    percent(figures.gpu_allocated_percent_at_full),
                    thousands(figures.jobs.round() as u64),
                    failed,
                    took,
                ]),
            };
        }
        text += &table.render(2);
        for never in policies.first().map_or(&[][..], |figures| &figures.failures) {
            text += &format!(
                "\n  {} can never run, first {}: {}\n",
                count(never.jobs as u64, "job"),
                never.first,
                never.why
            );
        }
        text
    }
}

fn write_course(path: &str, figures: &[Figures]) -> Result<(), Failure> {
    let text = if path.ends_with(".svg") {
        let lines: Vec<Line> = figures
            .iter()
            .map(|figures| Line {
                name: figures.policy.to_owned(),
                points: match &figures.course {
                    Course::Demand(points) => {
                        points.iter().map(|point| (point.arrived_percent, point.allocated_percent)).collect()
                    }
                    Course::Time(moments) => {
                        moments.iter().map(|moment| (moment.at_s / 3600.0, moment.gpu_used_percent)).collect()
                    }
                },
            })
            .collect();
        let across = match figures.first().map(|figures| &figures.course) {
            Some(Course::Demand(_)) => "demand that has arrived, in per cent of all GPUs",
            _ => "hours",
        };
        picture::svg("GPUs allocated", across, &lines)
    } else if path.ends_with(".json") {
        let courses: std::collections::BTreeMap<_, _> =
            figures.iter().map(|figures| (figures.policy, &figures.course)).collect();
        serde_json::to_string(&courses)
            .map_err(|error| Failure::new(format!("cannot write as JSON: {error}"), path, ""))?
    } else {
        let mut text = String::new();
        for figures in figures {
            let name = figures.policy;
            match &figures.course {
                Course::Demand(points) => {
                    text += if text.is_empty() {
                        "policy,arrived_percent,allocated_percent,fragmented_percent\n"
                    } else {
                        ""
                    };
                    for point in points {
                        let Point { arrived_percent, allocated_percent, fragmented_percent } = point;
                        text +=
                            &format!("{name},{arrived_percent},{allocated_percent},{fragmented_percent}\n");
                    }
                }
                Course::Time(moments) => {
                    text += if text.is_empty() {
                        "policy,at_s,gpu_used_percent,gpu_fragmented_percent,waiting,running\n"
                    } else {
                        ""
                    };
                    for moment in moments {
                        let Moment { at_s, gpu_used_percent, gpu_fragmented_percent, waiting, running } =
                            moment;
                        text += &format!(
                            "{name},{at_s},{gpu_used_percent},{gpu_fragmented_percent},{waiting},{running}\n"
                        );
                    }
                }
            }
        }
        text
    };
    files::write(path, text.as_bytes())
}
