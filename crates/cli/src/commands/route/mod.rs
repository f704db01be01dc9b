//! `heddle route`: forwarding tables as files.

mod compute;
mod convert;
mod judge;
mod tables_file;
mod verify;

use clap::Subcommand;

use crate::Answer;
use crate::failure::Failure;

pub use tables_file::TablesFormat;

/// Verbs of `heddle route`.
#[derive(Subcommand)]
pub enum RouteCommand {
    /// Compute forwarding tables for a fabric, and prove them
    Compute(compute::Compute),
    /// Prove tables that a tool dumped: every pair reachable, no loop, no credit loop
    Verify(verify::Verify),
    /// Write tables in another form
    Convert(convert::Convert),
}

impl RouteCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Compute(compute) => compute.run(),
            Self::Verify(verify) => verify.run(),
            Self::Convert(convert) => convert.run(),
        }
    }
}

/// Tables in the form that a path's ending stands for, for other commands.
pub fn write_tables(fabric: &fabric::Fabric, tables: &routing::Tables, path: &str) -> String {
    tables_file::write(fabric, tables, TablesFormat::from_path_ending(path))
}
