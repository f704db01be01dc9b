//! `heddle trace`: what a cluster was asked for, and how policies would have served it.

mod describe;
mod generate;
mod replay;
mod study;

use clap::{Args, Subcommand};
use pool::formats::Beside;
use pool::tenants::Tenants;
use pool::{Pool, Stock};
use scheduler::trace::{self, BadLines, Format, ReadOptions, Trace};

use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// Verbs of `heddle trace`.
#[derive(Subcommand)]
pub enum TraceCommand {
    /// Let the jobs of a trace through a cluster under a policy, or several side by side
    Replay(replay::Replay),
    /// Say what is in a trace, in one screen
    Describe(describe::Describe),
    /// Make a cluster and jobs from documented distributions and a seed
    Generate(generate::Generate),
    /// Run a whole site from documented distributions: what one pool is worth to those who share it
    Study(study::Study),
}

impl TraceCommand {
    /// Carries it out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Replay(replay) => replay.run(),
            Self::Describe(describe) => describe.run(),
            Self::Generate(generate) => generate.run(),
            Self::Study(study) => study.run(),
        }
    }
}

/// How jobs are read.
#[derive(Args)]
struct Reading {
    /// Format of the jobs [default: told by the first line]: csv, openb, swf, sacct, helios, philly, toml
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    /// What becomes of lines that cannot be, such as negative times: skip or refuse
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = bad_lines)]
    bad_lines: BadLines,
    /// Where a format knows no nodes (swf): the most GPUs of one part of a job
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    gpus_a_part: u16,
}

fn format(name: &str) -> Result<Format, String> {
    let names = Format::ALL.map(|(_, name)| name).join(", ");
    Format::by_name(name).ok_or_else(|| format!("no format is called so: give one of {names}"))
}

fn bad_lines(name: &str) -> Result<BadLines, String> {
    match name {
        "skip" => Ok(BadLines::Skip),
        "refuse" => Ok(BadLines::Refuse),
        _ => Err("give skip or refuse".to_owned()),
    }
}

impl Reading {
    /// Reads jobs; says on standard error what was skipped.
    fn jobs(&self, path: &str, times_wanted: bool) -> Result<(Trace, Format), Failure> {
        let bytes = files::read(path)?;
        let format = self.format.unwrap_or_else(|| Format::detect(&bytes));
        let options = ReadOptions { bad_lines: self.bad_lines, times_wanted, gpus_a_part: self.gpus_a_part };
        let trace = trace::read(path, &bytes, format, options)?;
        for bad in &trace.bad {
            eprintln!("skipped: {path}:{}: {}", bad.line, bad.what);
        }
        if trace.bad_count > trace.bad.len() {
            eprintln!("skipped: {path}: {} lines in all", trace.bad_count);
        }
        Ok((trace, format))
    }
}

/// What jobs run on.
struct Cluster {
    /// The nodes, one by one.
    pool: Pool,
    /// What they have.
    stock: Stock,
    /// Who may hold how much.
    tenants: Tenants,
}

/// Reads the nodes of a pool, and its tenants.
fn cluster(path: &str) -> Result<Cluster, Failure> {
    let (site, _) = pool::formats::read(path, &files::read(path)?, &Beside::default())?;
    let refused = |error: pool::stock::StockError| Failure::new(error.to_string(), path, "");
    let stock = Stock::of(&site.pool).map_err(refused)?;
    if stock.is_empty() {
        return Err(Failure::new("there is no node in it", path, "is it the right file?"));
    }
    Ok(Cluster { pool: site.pool, stock, tenants: site.tenants })
}
