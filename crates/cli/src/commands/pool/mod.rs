//! `heddle pool`: the stock of GPUs, and the demand for it.

mod check;
mod forecast;
mod show;
mod source;

use clap::Subcommand;

use crate::Answer;
use crate::failure::Failure;

/// Verbs of `heddle pool`.
#[derive(Subcommand)]
pub enum PoolCommand {
    /// Say what a pool is: models, nodes, GPUs, states, slices, tenants, calendar
    Show(show::Show),
    /// Find promises that a pool cannot keep, and what a scheduler would miss
    Check(check::Check),
    /// Say how the running controller's pool stands: nodes, GPUs given out and free, tenants
    Status(crate::commands::client::pool::Status),
    /// Forecast demand from its history, beside what needs no forecast
    Forecast(forecast::Forecast),
}

impl PoolCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Show(show) => show.run(),
            Self::Check(check) => check.run(),
            Self::Status(status) => status.run(),
            Self::Forecast(forecast) => forecast.run(),
        }
    }
}
