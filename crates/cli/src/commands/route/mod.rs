//! `heddle route`: forwarding tables as files. Without a verb it computes.

mod addresses;
mod compute;
mod convert;
mod diff;
mod figures;
mod groups_file;
mod judge;
mod progress;
mod tables_file;
mod verify;
mod wishes;

use clap::{Args, Subcommand};

use crate::Answer;
use crate::failure::Failure;

pub use tables_file::TablesFormat;

/// Options of `heddle route`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    override_usage = "heddle route <FILE> [OPTIONS]\n       heddle route <COMMAND>"
)]
pub struct Route {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    compute: Option<compute::Compute>,
}

/// Verbs of `heddle route`.
#[derive(Subcommand)]
enum Verb {
    /// Compute forwarding tables for a fabric, prove and measure them: what `heddle route FILE` does
    Compute(Box<compute::Compute>),
    /// Prove and measure tables that a tool dumped: every pair reachable, no loop, no credit loop, loads
    Verify(verify::Verify),
    /// Say what would change from one file of tables to another: entries, blocks, pairs
    Diff(diff::Diff),
    /// Write tables in another form
    Convert(convert::Convert),
}

impl Route {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match (self.verb, self.compute) {
            (Some(Verb::Compute(compute)), _) => compute.run(),
            (None, Some(compute)) => compute.run(),
            (Some(Verb::Verify(verify)), _) => verify.run(),
            (Some(Verb::Diff(diff)), _) => diff.run(),
            (Some(Verb::Convert(convert)), _) => convert.run(),
            (None, None) => Err(Failure::new(
                "there is nothing to route",
                "heddle route",
                "name a topology file, or see heddle route --help",
            )),
        }
    }
}

/// Tables in the form that a path's ending stands for, for other commands.
pub fn write_tables(fabric: &fabric::Fabric, tables: &routing::Tables, path: &str) -> String {
    tables_file::write(fabric, tables, TablesFormat::from_path_ending(path))
}

/// A fabric with its tables, for other commands.
pub struct Routed {
    /// The cabling, every end port with a LID.
    pub fabric: fabric::Fabric,
    /// The tables.
    pub routes: routing::Routes,
    /// The engine that made them.
    pub engine: String,
    /// What the cabling is, where the engine was chosen by it.
    pub topology: Option<String>,
}

/// Reads a topology file and routes it by an engine, `auto` or one by name.
pub fn routed(file: &str, engine: &str) -> Result<Routed, Failure> {
    let progress = progress::Progress::new();
    progress.say("reading");
    let mut fabric = crate::files::read_fabric(file)?.fabric;
    addresses::assign(&mut fabric, None, file)?;
    progress.say("computing tables");
    let (routes, engine, choice) = compute::by_engine(&fabric, &routing::Options::default(), engine)?;
    Ok(Routed { fabric, routes, engine, topology: choice.map(|choice| choice.topology) })
}
