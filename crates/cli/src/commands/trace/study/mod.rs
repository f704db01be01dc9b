//! `heddle trace study`: whole sites from documented distributions and a seed, and what one pool is worth to them.

mod day_night;
mod teams;

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use scheduler::trace::native;
use scheduler::workloads::{self, Workload, daynight, sharing};
use serde::Serialize;

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::Style;

/// Which site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Site {
    /// Five teams on 12 nodes with 8 GPUs: on fixed parts, and the very same jobs in one pool
    Teams,
    /// Inference by day and training by night on 2,000 GPUs: on fixed parts, and in one pool with and without a forecast
    DayNight,
}

/// Options of `heddle trace study`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle trace study teams -o teams.svg\n  \
    heddle trace study teams --jobs-out jobs.csv --pool-out pool.toml && heddle trace replay --nodes pool.toml --jobs jobs.csv\n  \
    heddle trace study day-night --percentile 99\n  \
    heddle trace study day-night --loads-out loads.csv && heddle pool forecast loads.csv --queue service-01\n\n\
    The distributions are described in crates/scheduler/src/workloads.\n\
    Exit codes: 0 done, 2 the request was wrong.")]
pub struct Study {
    /// Which site
    site: Site,
    /// Days in which jobs come [default: 182 for teams, 30 for day-night]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: Option<u32>,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// day-night: the percentile of demand ahead that services have replicas for [default: 99.9]
    #[arg(long, value_name = "PERCENT", value_parser = percentile)]
    percentile: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw GPUs in use over time (.svg)
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Where the jobs go, for `heddle trace replay`
    #[arg(long, value_name = "FILE")]
    jobs_out: Option<String>,
    /// Where the pool goes, with its tenants or its calendar
    #[arg(long, value_name = "FILE")]
    pool_out: Option<String>,
    /// day-night: where the hourly load of services goes, for `heddle pool forecast`
    #[arg(long, value_name = "FILE")]
    loads_out: Option<String>,
}

/// Of what may come, replicas are there for so much, where nothing else is asked for: the objective of services itself.
const PERCENTILE: f64 = daynight::OBJECTIVE_PERCENT;

fn percentile(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (50.0..100.0).contains(&percent) => Ok(percent),
        _ => Err("give a number from 50 to below 100, such as 95".to_owned()),
    }
}

impl Study {
    /// Runs the jobs every way and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        if let Some(path) = self.output.as_ref().filter(|path| !path.ends_with(".svg")) {
            return Err(Failure::new("the ending tells no picture", path, "end it with .svg"));
        }
        match self.site {
            Site::Teams => self.teams(),
            Site::DayNight => self.day_night(),
        }
    }

    fn teams(&self) -> Result<Answer, Failure> {
        let only = [("--percentile", self.percentile.is_some()), ("--loads-out", self.loads_out.is_some())];
        if let Some((name, _)) = only.into_iter().find(|(_, given)| *given) {
            return Err(Failure::new("the teams have no services", name, "give it to day-night"));
        }
        let days = self.days.unwrap_or(182);
        self.write_out(|| workloads::teams::workload(days, self.seed))?;
        let sharing = with_progress(|progress| sharing::compare(days, self.seed, progress))?;
        self.answer(&sharing, |style| teams::render(&sharing, style), || teams::draw(&sharing))
    }

    fn day_night(&self) -> Result<Answer, Failure> {
        let days = self.days.unwrap_or(30);
        self.write_out(|| daynight::workload(days, self.seed))?;
        if let Some(path) = &self.loads_out {
            files::write(path, daynight::history(days, self.seed).as_bytes())?;
        }
        let level = self.percentile.unwrap_or(PERCENTILE) / 100.0;
        let study = with_progress(|progress| daynight::compare(days, self.seed, level, progress))?;
        self.answer(&study, |style| day_night::render(&study, style), || day_night::draw(&study))
    }

    /// Writes the workload where that is asked for.
    fn write_out(&self, make: impl Fn() -> Workload) -> Result<(), Failure> {
        if self.jobs_out.is_none() && self.pool_out.is_none() {
            return Ok(());
        }
        let workload = make();
        if let Some(path) = &self.jobs_out {
            files::write(path, native::write(&workload.trace).as_bytes())?;
        }
        if let Some(path) = &self.pool_out {
            files::write(path, workload.pool.as_bytes())?;
        }
        Ok(())
    }

    fn answer(
        &self,
        study: &impl Serialize,
        render: impl Fn(Style) -> String,
        draw: impl Fn() -> String,
    ) -> Result<Answer, Failure> {
        if self.json {
            files::print_json(study)?;
        } else {
            files::write("-", render(Style::stdout()).as_bytes())?;
        }
        if let Some(path) = &self.output {
            files::write(path, draw().as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

/// Shows on a terminal how many jobs have come.
fn with_progress<T>(work: impl FnOnce(&mut dyn FnMut(usize)) -> T) -> T {
    let bar = std::io::stderr().is_terminal().then(ProgressBar::no_length);
    let done = work(&mut |come| {
        if let Some(bar) = &bar {
            bar.set_position(come as u64);
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    done
}
