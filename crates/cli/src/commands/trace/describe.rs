//! `heddle trace describe`: what is in a trace, in one screen.

use std::collections::BTreeMap;

use clap::Args;
use scheduler::simulate::Spread;
use serde::Serialize;

use super::Reading;
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, seconds, thousands};
use crate::table::{Side, Table};

/// Options of `heddle trace describe`.
#[derive(Args)]
#[command(after_help = "Example:\n  heddle trace describe examples/jobs.csv")]
pub struct Describe {
    /// A file of jobs; - is standard input
    jobs: String,
    #[command(flatten)]
    reading: Reading,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Size {
    gpus: f64,
    jobs: u64,
    jobs_percent: f64,
    gpu_percent: f64,
}

#[derive(Serialize)]
struct Described {
    format: &'static str,
    jobs: usize,
    users: usize,
    bad_lines: usize,
    span_s: f64,
    gpus_wanted: f64,
    gpu_hours: f64,
    without_run_time: usize,
    run_s: Spread,
    sizes: Vec<Size>,
    models: Vec<String>,
}

impl Describe {
    /// Reads and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let (trace, format) = self.reading.jobs(&self.jobs, false)?;
        let mut sizes = BTreeMap::<u64, u64>::new();
        let (mut milli, mut gpu_ms) = (0_u64, 0.0);
        for job in &trace.jobs {
            *sizes.entry(job.gpu_milli_total()).or_default() += 1;
            milli += job.gpu_milli_total();
            gpu_ms += job.gpu_milli_total() as f64 * job.run_ms.unwrap_or(0) as f64 / 1000.0;
        }
        let jobs = trace.jobs.len();
        let of = |part: f64, all: f64| if all > 0.0 { 100.0 * part / all } else { 0.0 };
        let mut models: Vec<String> = trace.model_lists.iter().flatten().cloned().collect();
        models.sort_unstable();
        models.dedup();
        let runs: Vec<f64> =
            trace.jobs.iter().filter_map(|job| job.run_ms).map(|run| run as f64 / 1000.0).collect();
        let described = Described {
            format: format.name(),
            jobs,
            users: trace.users.len(),
            bad_lines: trace.bad_count,
            span_s: trace.jobs.last().map_or(0.0, |job| job.submit_ms as f64 / 1000.0),
            gpus_wanted: milli as f64 / 1000.0,
            gpu_hours: gpu_ms / 3.6e6,
            without_run_time: jobs - runs.len(),
            run_s: Spread::of(runs),
            sizes: sizes
                .into_iter()
                .map(|(size, number)| Size {
                    gpus: size as f64 / 1000.0,
                    jobs: number,
                    jobs_percent: of(number as f64, jobs as f64),
                    gpu_percent: of((size * number) as f64, milli as f64),
                })
                .collect(),
            models,
        };
        if self.json {
            files::print_json(&described)?;
        } else {
            files::write("-", render(&described, Style::stdout()).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

fn render(described: &Described, style: Style) -> String {
    let mut text = format!(
        "{} of {}, read as {}\n\n  over {} want {:.1} GPUs in all and {:.0} GPU hours\n  run times: half to {}, 95 % to {}, 99 % to {}",
        count(described.jobs as u64, "job"),
        count(described.users as u64, "user"),
        described.format,
        seconds(described.span_s),
        described.gpus_wanted,
        described.gpu_hours,
        seconds(described.run_s.median),
        seconds(described.run_s.p95),
        seconds(described.run_s.p99)
    );
    if described.without_run_time > 0 {
        text += &format!("; {} tell none", count(described.without_run_time as u64, "job"));
    }
    if !described.models.is_empty() {
        text += &format!("\n  models asked for: {}", described.models.join(", "));
    }
    text += "\n\n";
    let mut table = Table::new([Side::Right; 4]);
    table.row(["GPUs", "jobs", "% of jobs", "% of GPUs"].map(|title| style.dim(title)));
    let (most, mut rest) = (18, (0, 0.0, 0.0));
    // The sizes that most GPUs are of; the others together.
    let mut order: Vec<&Size> = described.sizes.iter().collect();
    order.sort_by(|a, b| (b.gpu_percent + b.jobs_percent).total_cmp(&(a.gpu_percent + a.jobs_percent)));
    for size in order.split_off(most.min(order.len())) {
        rest = (rest.0 + size.jobs, rest.1 + size.jobs_percent, rest.2 + size.gpu_percent);
    }
    order.sort_by(|a, b| a.gpus.total_cmp(&b.gpus));
    let mut row = |name: String, jobs: u64, of_jobs: f64, of_gpus: f64| {
        table.row([name, thousands(jobs), format!("{of_jobs:.1}"), format!("{of_gpus:.1}")]);
    };
    for size in order {
        row(size.gpus.to_string(), size.jobs, size.jobs_percent, size.gpu_percent);
    }
    if rest.0 > 0 {
        row("others".to_owned(), rest.0, rest.1, rest.2);
    }
    text + &table.render(2)
}
