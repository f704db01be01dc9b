//! `heddle fabric compare`: what is different between two fabrics.

use clap::Args;
use fabric::compare::{self, Properties};

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count};

/// Options of `heddle fabric compare`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  ibnetdiscover | heddle fabric compare plan.toml -\n\nExit code 1: they differ."
)]
pub struct Compare {
    /// The first fabric: the plan, or before
    before: String,
    /// The second fabric: what is there, or after
    after: String,
    /// Compare names of nodes too
    #[arg(long)]
    names: bool,
    /// Compare LIDs too
    #[arg(long)]
    lids: bool,
    /// Print JSON: a list of differences
    #[arg(long)]
    json: bool,
}

impl Compare {
    /// Reads both, compares, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        if self.before == "-" && self.after == "-" {
            return Err(Failure::new(
                "both fabrics cannot come from standard input",
                "- -",
                "name a file for one",
            ));
        }
        let before = files::read_fabric(&self.before)?.fabric;
        let after = files::read_fabric(&self.after)?.fabric;
        let properties = Properties { names: self.names, lids: self.lids, rates: true, ..Properties::NONE };
        let differences = compare::compare(&before, &after, properties);
        if self.json {
            files::print_json(&differences)?;
        } else {
            let mut text: String = differences.iter().map(|difference| format!("{difference}\n")).collect();
            if differences.is_empty() {
                text = format!("{}\n", Style::stdout().green("no difference"));
            } else {
                text.push_str(&format!("\n{}\n", count(differences.len() as u64, "difference")));
            }
            files::write("-", text.as_bytes())?;
        }
        Ok(if differences.is_empty() { Answer::Yes } else { Answer::No })
    }
}
