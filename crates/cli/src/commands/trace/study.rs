//! `heddle trace study`: whole sites from documented distributions and a seed, and what one pool is worth to them.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use scheduler::replay::picture::{self, Line};
use scheduler::trace::native;
use scheduler::workloads::sharing::{self, Sharing};
use scheduler::workloads::teams;

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, seconds, thousands};
use crate::table::{Side, Table};

/// Hours of a step of the picture.
const PICTURE_STEP_H: usize = 12;

/// Which site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Site {
    /// Five teams on 12 nodes with 8 GPUs: on fixed parts, and the very same jobs in one pool
    Teams,
}

/// Options of `heddle trace study`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle trace study teams -o teams.svg\n  \
    heddle trace study teams --jobs-out jobs.csv --pool-out pool.toml && heddle trace replay --nodes pool.toml --jobs jobs.csv\n\n\
    The distributions are described in crates/scheduler/src/workloads.\n\
    Exit codes: 0 done, 2 the request was wrong.")]
pub struct Study {
    /// Which site
    site: Site,
    /// Days in which jobs come
    #[arg(long, value_name = "N", default_value_t = 182, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw GPUs in use over time (.svg)
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Where the jobs go, for `heddle trace replay`
    #[arg(long, value_name = "FILE")]
    jobs_out: Option<String>,
    /// Where the pool with its tenants goes
    #[arg(long, value_name = "FILE")]
    pool_out: Option<String>,
}

impl Study {
    /// Runs the jobs both ways and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        if let Some(path) = self.output.as_ref().filter(|path| !path.ends_with(".svg")) {
            return Err(Failure::new("the ending tells no picture", path, "end it with .svg"));
        }
        let Site::Teams = self.site;
        if self.jobs_out.is_some() || self.pool_out.is_some() {
            let workload = teams::workload(self.days, self.seed);
            if let Some(path) = &self.jobs_out {
                files::write(path, native::write(&workload.trace).as_bytes())?;
            }
            if let Some(path) = &self.pool_out {
                files::write(path, workload.pool.as_bytes())?;
            }
        }
        let bar = std::io::stderr().is_terminal().then(ProgressBar::no_length);
        let sharing = sharing::compare(self.days, self.seed, &mut |come| {
            if let Some(bar) = &bar {
                bar.set_position(come as u64);
            }
        })?;
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        if self.json {
            files::print_json(&sharing)?;
        } else {
            files::write("-", render(&sharing, Style::stdout()).as_bytes())?;
        }
        if let Some(path) = &self.output {
            files::write(path, draw(&sharing).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

fn render(sharing: &Sharing, style: Style) -> String {
    let mut text = format!(
        "{} jobs of {} teams in {} days on {} GPUs, seed {}\n\n",
        thousands(sharing.jobs as u64),
        sharing.teams.len(),
        sharing.days,
        sharing.gpus,
        sharing.seed
    );
    let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Right]);
    let titles = ["", "GPUs used", "while any job waits", "wait mean", "95 %", "stopped for others"];
    table.row(titles.map(|title| style.dim(title)));
    for (name, way) in [("separate parts", &sharing.separate), ("one pool", &sharing.pooled)] {
        let waiting = way.gpu_used_percent_while_waiting;
        table.row([
            name.to_owned(),
            format!("{:.1} %", way.gpu_used_percent_mean),
            waiting.map_or(String::new(), |percent| format!("{percent:.1} %")),
            seconds(way.waiting_s.mean),
            seconds(way.waiting_s.p95),
            thousands(way.preemptions),
        ]);
    }
    text += &table.render(2);
    let mut sides = vec![Side::Right; 8];
    sides[0] = Side::Left;
    let mut table = Table::new(sides);
    let titles =
        ["team", "GPUs", "jobs", "own part used", "wait mean", "in the pool", "wait 95 %", "in the pool"];
    table.row(titles.map(|title| style.dim(title)));
    for team in &sharing.teams {
        let better = |there: f64, here: f64| {
            let text = seconds(there);
            if there <= here { style.green(&text) } else { style.yellow(&text) }
        };
        let (separate, pooled) = (team.separate_waiting_s, team.pooled_waiting_s);
        table.row([
            team.team.to_owned(),
            team.gpus.to_string(),
            thousands(team.jobs as u64),
            format!("{:.1} %", team.separate_gpu_used_percent_mean),
            seconds(separate.mean),
            better(pooled.mean, separate.mean),
            seconds(separate.p95),
            better(pooled.p95, separate.p95),
        ]);
    }
    text += "\n";
    text += &table.render(2);
    if sharing.failed > 0 {
        text += &format!("\n  {} jobs never came to their end\n", sharing.failed);
    }
    text
}

fn draw(sharing: &Sharing) -> String {
    let line = |name: &str, course: &[f64]| Line {
        name: name.to_owned(),
        points: course
            .chunks(PICTURE_STEP_H)
            .enumerate()
            .map(|(step, hours)| {
                let days = (step as f64 + 0.5) * PICTURE_STEP_H as f64 / 24.0;
                (days, hours.iter().sum::<f64>() / hours.len() as f64)
            })
            .collect(),
    };
    let lines = [line("separate parts", &sharing.separate.course), line("one pool", &sharing.pooled.course)];
    picture::svg("GPUs in use: five teams, the same jobs (means of 12 hours)", "days", &lines)
}
