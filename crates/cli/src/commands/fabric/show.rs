//! `heddle fabric show`: what a fabric is.

use clap::Args;
use fabric::summary;

use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// Options of `heddle fabric show`.
#[derive(Args)]
#[command(after_help = "Example:\n  heddle fabric show site.ibnetdiscover")]
pub struct Show {
    /// A topology file of any readable format; - is standard input
    file: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    /// Reads and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let loaded = files::read_fabric(&self.file)?;
        let summary = summary::summarize(&loaded.fabric);
        if self.json {
            files::print_json(&summary)?;
        } else {
            let text = summary.to_string();
            files::write("-", format!("{}\n", text.trim_end()).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}
