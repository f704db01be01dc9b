//! `heddle fabric`: fabrics as files, and where the running one stands.

mod check;
mod compare;
mod convert;
mod generate;
mod show;

use clap::Subcommand;

use crate::Answer;
use crate::commands::client::status;
use crate::failure::Failure;

/// Verbs of `heddle fabric`.
#[derive(Subcommand)]
pub enum FabricCommand {
    /// Make a fabric of a kind, from its numbers
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Read a topology file and write it in another format
    Convert(convert::Convert),
    /// Say what a fabric is: levels, counts, radix, taper, bisection, speeds
    Show(show::Show),
    /// Find what is wrong with the cabling as it stands
    Check(check::Check),
    /// Say what is different between two fabrics
    Compare(compare::Compare),
    /// Say where the fabric of a running controller stands
    Status(status::Status),
}

impl FabricCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Generate(generate) => generate.run(),
            Self::Convert(convert) => convert.run(),
            Self::Show(show) => show.run(),
            Self::Check(check) => check.run(),
            Self::Compare(compare) => compare.run(),
            Self::Status(status) => status.run(),
        }
    }
}
