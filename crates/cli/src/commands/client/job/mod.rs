//! `heddle job`: jobs on the running controller's pool.

mod sbatch;
mod show;
mod submit;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::Answer;
use crate::failure::Failure;

/// Verbs of `heddle job`.
#[derive(Subcommand)]
pub enum JobCommand {
    /// Hand in a job: a TOML file, a script with #SBATCH lines, or a command
    Submit(Box<submit::Submit>),
    /// List jobs, all or those in a state or of a tenant
    List(show::List),
    /// Show a job: where it is, what it holds, how it ended
    Show(show::One),
    /// Say why a job waits, or is where it is
    Why(show::One),
    /// End a job
    Cancel(show::One),
    /// Wait until a job is over, and print what it writes meanwhile
    Watch(show::One),
    /// Print what a job has written
    Output(show::One),
}

impl JobCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Submit(submit) => submit.run(),
            Self::List(list) => list.run(),
            Self::Show(one) => one.show(),
            Self::Why(one) => one.why(),
            Self::Cancel(one) => one.cancel(),
            Self::Watch(one) => one.watch(),
            Self::Output(one) => one.output(),
        }
    }
}

/// Options of `heddle supervise`.
#[derive(Args)]
pub struct Supervise {
    /// The run's folder
    folder: PathBuf,
}

impl Supervise {
    /// Stands over the run to its end.
    pub fn run(self) -> Result<Answer, Failure> {
        let place = self.folder.display().to_string();
        let ran = executor::supervisor::supervise(&self.folder);
        let ran = ran.map_err(|error| Failure::new(error.to_string(), place, ""))?;
        Ok(if ran { Answer::Yes } else { Answer::No })
    }
}
