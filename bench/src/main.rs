//! Heddle side by side with OpenSM: every figure of `RESULTS.md` comes from this program, and is a ratio or a measure
//! of one run on one machine. `README.md` beside it says how and what is counted.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that measures"
)]

mod bring_up;
mod decisions;
mod emulated;
mod exchange;
mod graph;
mod heal;
mod heal_ibsim;
mod heddle;
mod ibsim;
mod ibsim_rate;
mod judge;
mod lanes;
mod loads;
mod machine;
mod opensm;
mod places;
mod process;
mod repair;
mod statistics;
mod tables;
mod trees;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Measures Heddle side by side with OpenSM. Prints Markdown; says what it does on standard error.
#[derive(Parser)]
#[command(name = "bench", max_term_width = 100)]
struct Bench {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    common: Common,
}

/// Options of every measurement.
#[derive(Args, Clone)]
pub struct Common {
    /// The heddle to measure [default: the one built beside this program]
    #[arg(long, global = true)]
    heddle: Option<PathBuf>,
    /// How often each is measured; medians are printed
    #[arg(long, global = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Small fabrics and one run: shows that the program works, measures nothing of use
    #[arg(long, global = true)]
    quick: bool,
}

#[derive(Subcommand)]
enum What {
    /// OpenSM and Heddle bring the same fabric up on ibsim, turn by turn
    BringUp(bring_up::BringUp),
    /// Heddle brings big fabrics up on its own emulator
    Emulated(emulated::Emulated),
    /// Failures one after another, healed on the emulator; a lost uplink on ibsim, side by side with OpenSM
    Heal(heal::Heal),
    /// A fabric of 130,000 nodes and 400,000 links is built
    Graph,
    /// How many MADs a second ibsim answers, by the number under way
    IbsimRate,
    /// How many virtual lanes shortest paths need where the fabric is no tree, OpenSM's and Heddle's
    Lanes(lanes::Lanes),
    /// How evenly tables load the links of 20 fabrics, whole and degraded, against each engine of OpenSM
    Loads(loads::Loads),
    /// How long the scheduler takes to decide on a full cluster with a long queue
    Decisions(decisions::Decisions),
    /// One lost link where paths take several lanes: tables repaired, and computed anew
    Repair(repair::Repair),
    /// How long it takes to find places for gangs on a fabric of 16,384 GPUs
    Places,
    /// Tables of fat trees computed, OpenSM's and Heddle's
    Tables(tables::Tables),
    /// All of these
    All,
}

impl Common {
    fn runs(&self) -> u32 {
        if self.quick { 1 } else { self.runs }
    }
}

fn main() -> anyhow::Result<()> {
    let Bench { what, common } = Bench::parse();
    println!("{}\n", machine::describe()?);
    match what {
        What::BringUp(bring_up) => bring_up.run(&common),
        What::Emulated(emulated) => emulated.run(&common),
        What::Heal(heal) => heal.run(&common),
        What::Graph => graph::run(&common),
        What::IbsimRate => ibsim_rate::run(&common),
        What::Lanes(lanes) => lanes.run(&common),
        What::Loads(loads) => loads.run(&common),
        What::Decisions(decisions) => decisions.run(&common),
        What::Repair(repair) => repair.run(&common),
        What::Places => places::run(&common),
        What::Tables(tables) => tables.run(&common),
        What::All => {
            lanes::Lanes::default().run(&common)?;
            graph::run(&common)?;
            decisions::Decisions::default().run(&common)?;
            places::run(&common)?;
            repair::Repair::default().run(&common)?;
            ibsim_rate::run(&common)?;
            emulated::Emulated::default().run(&common)?;
            bring_up::BringUp::default().run(&common)?;
            loads::Loads::default().run(&common)?;
            tables::Tables::default().run(&common)?;
            heal::Heal::default().run(&common)
        }
    }
}
