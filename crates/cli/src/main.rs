//! The `heddle` command: nouns, then verbs; `heddle up` brings a fabric up.
//!
//! Exit codes: 0 done, 1 the answer is no (a check failed), 2 the request was wrong. What a person or a program asked
//! for goes to standard output, everything else to standard error. An error says what is wrong, where, and what would
//! mend it; where it is 2, nothing was written.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "this crate is a door"
)]

mod commands;
mod failure;
mod files;
mod style;
mod table;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use commands::client::{event, job, link, way};
use commands::{drill, fabric, manual, pool, replay, route, token, trace, up};
use failure::Failure;

/// An InfiniBand subnet manager: brings a fabric up, proves its routes, watches its links.
#[derive(Parser)]
#[command(name = "heddle", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  heddle up                        bring up an emulated SuperPOD of 1,024 GPUs\n  \
    heddle up --umad                 manage the subnet of this machine's first port that is not down\n  \
    heddle fabric check site.ibnetdiscover\n\nExit codes: 0 done, 1 the answer is no, 2 the request was wrong."
)]
struct Heddle {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Bring a fabric up: discover, give out LIDs, route, program, activate every link
    Up(Box<up::Up>),
    /// Make, read, convert, check and compare fabrics
    #[command(subcommand)]
    Fabric(fabric::FabricCommand),
    /// The running fabric's subnet: the way from one node to another
    #[command(subcommand)]
    Subnet(way::SubnetCommand),
    /// The running fabric's links: list them, show one, pull a cable of an emulated one
    #[command(subcommand)]
    Link(link::LinkCommand),
    /// What has happened to the running fabric
    #[command(subcommand)]
    Event(event::EventCommand),
    /// Jobs on the running controller's pool: submit, list, show, ask why, read, end
    #[command(subcommand)]
    Job(Box<job::JobCommand>),
    /// Stand over the processes of one run of a job: the controller starts this
    #[command(hide = true)]
    Supervise(job::Supervise),
    /// Compute forwarding tables, prove, measure and compare them
    Route(Box<route::Route>),
    /// The stock of GPUs: show it, check it, forecast the demand for it
    #[command(subcommand)]
    Pool(pool::PoolCommand),
    /// Let failures happen on an emulated fabric, heal them, and judge what the switches hold after each
    Drill(Box<drill::DrillCommand>),
    /// Make a token with which a caller is let in to a controller
    Token(token::TokenCommand),
    /// Replay, describe and make traces of jobs on a GPU cluster
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Print completions for a shell
    Completions(manual::Completions),
    /// Write the manual pages of all commands
    Man(manual::Man),
    /// Feed a recording of `heddle up --record` to the same core, and compare what it does
    Replay(replay::Replay),
}

/// What a command that could be carried out answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// Done, or the answer is yes.
    Yes,
    /// A check failed.
    No,
}

fn run(command: Command) -> Result<Answer, Failure> {
    match command {
        Command::Up(up) => up.run(),
        Command::Fabric(command) => command.run(),
        Command::Subnet(command) => command.run(),
        Command::Link(command) => command.run(),
        Command::Event(command) => command.run(),
        Command::Job(command) => command.run(),
        Command::Supervise(supervise) => supervise.run(),
        Command::Route(route) => route.run(),
        Command::Pool(command) => command.run(),
        Command::Drill(drill) => drill.run(),
        Command::Token(command) => command.run(),
        Command::Trace(command) => command.run(),
        Command::Completions(command) => command.run(Heddle::command()),
        Command::Man(command) => command.run(Heddle::command()),
        Command::Replay(replay) => replay.run(),
    }
}

fn main() -> ExitCode {
    // A reader that has gone (`heddle … | head`) ends the program quietly, as it does other tools.
    restore_sigpipe();
    match run(Heddle::parse().command) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(failure) => {
            failure.print();
            ExitCode::from(2)
        }
    }
}

fn restore_sigpipe() {
    // SAFETY: the default action for one signal, set before any other thread is there.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
