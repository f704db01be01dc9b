//! `heddle trace describe`: what is in a trace, in one screen.

use std::collections::BTreeMap;

use clap::Args;
use scheduler::simulate::Spread;
use scheduler::trace::{Format, Trace};
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

/// GPUs in use if no job waited.
#[derive(Serialize)]
struct AtOnce {
    mean: f64,
    most: f64,
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
    gpus_at_once: Option<AtOnce>,
    gangs: usize,
    waiting_for_others: usize,
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
            gpus_at_once: at_once(&trace),
            gangs: trace.jobs.iter().filter(|job| job.parts > 1).count(),
            waiting_for_others: trace.after.chunk_by(|a, b| a.job == b.job).count(),
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
            files::write("-", render(&described, format, Style::stdout()).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

/// What a cluster would be used by that starts every job when it comes: nothing where no job tells how long it runs.
fn at_once(trace: &Trace) -> Option<AtOnce> {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for job in &trace.jobs {
        let Some(run_ms) = job.run_ms.filter(|&run_ms| run_ms > 0) else { continue };
        let milli = i64::try_from(job.gpu_milli_total()).unwrap_or(i64::MAX);
        changes.extend([(job.submit_ms, milli), (job.submit_ms.saturating_add(run_ms), -milli)]);
    }
    // What ends makes room for what comes at the same time.
    changes.sort_unstable();
    let (first, last) = (changes.first()?.0, changes.last()?.0);
    let (mut now, mut most, mut sum, mut at) = (0_i64, 0, 0.0, first);
    for (then, milli) in changes {
        sum += now as f64 * (then - at) as f64;
        at = then;
        now = now.saturating_add(milli);
        most = most.max(now);
    }
    let mean = if last > first { sum / (last - first) as f64 } else { 0.0 };
    Some(AtOnce { mean: mean / 1000.0, most: most as f64 / 1000.0 })
}

/// A number of GPUs: whole, but for a few of which tenths matter.
fn gpus(number: f64) -> String {
    if number < 100.0 {
        ((number * 10.0).round() / 10.0).to_string()
    } else {
        thousands(number.round() as u64)
    }
}

fn render(described: &Described, format: Format, style: Style) -> String {
    // Its tasks name no owners.
    let owner = if format == Format::Openb { "class of service" } else { "user" };
    let owners = match described.users {
        1 => String::new(),
        users if owner == "user" => format!(" of {}", count(users as u64, owner)),
        users => format!(" of {} classes of service", thousands(users as u64)),
    };
    let mut text = format!(
        "{}{owners}, read as {}\n\n  they want {} GPUs in all",
        count(described.jobs as u64, "job"),
        described.format,
        gpus(described.gpus_wanted),
    );
    if described.without_run_time == described.jobs {
        text += "; the file does not tell how long they run";
    } else {
        text += &format!(
            " and {} GPU hours; the last comes {} after the first\n  run times: half up to {}, 95 % up to {}, 99 % up to {}",
            gpus(described.gpu_hours),
            seconds(described.span_s),
            seconds(described.run_s.median),
            seconds(described.run_s.p95),
            seconds(described.run_s.p99)
        );
        if described.without_run_time > 0 {
            text += &format!("; {} do not tell", count(described.without_run_time as u64, "job"));
        }
    }
    if let Some(AtOnce { mean, most }) = described.gpus_at_once {
        text += &format!(
            "\n  if none waited, {} GPUs would be in use in the mean and {} at the most",
            gpus(mean),
            gpus(most)
        );
    }
    if described.gangs > 0 {
        let gangs = described.gangs;
        text += &format!(
            "\n  {} of several parts, each part on one node",
            if gangs == 1 { "1 job is".to_owned() } else { format!("{} jobs are", thousands(gangs as u64)) }
        );
    }
    if described.waiting_for_others > 0 {
        text += &format!("\n  {} to come after others", count(described.waiting_for_others as u64, "job"));
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
