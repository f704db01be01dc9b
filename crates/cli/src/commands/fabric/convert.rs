//! `heddle fabric convert`: a topology file in another format.

use clap::Args;
use fabric::formats::Format;

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count};

/// Options of `heddle fabric convert`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle fabric convert site.ibnetdiscover site.net      for ibsim\n  \
    heddle fabric convert site.ibnetdiscover topology.yaml for Slurm\n  \
    ibnetdiscover | heddle fabric convert - site.dot")]
pub struct Convert {
    /// The file to read, whatever its format; - is standard input
    input: String,
    /// The file to write; its ending tells the format. - is standard output
    #[arg(default_value = "-", hide_default_value = true)]
    output: String,
    /// Format to write, whatever the ending: toml, net, ibnetdiscover, subnet-lst, dot, topology.conf, topology.yaml
    #[arg(long)]
    format: Option<Format>,
}

impl Convert {
    /// Reads and writes.
    pub fn run(self) -> Result<Answer, Failure> {
        let format = files::format_for(&self.output, self.format)?;
        let loaded = files::read_fabric(&self.input)?;
        files::write_fabric(&loaded.fabric, &self.output, format)?;
        if self.output != "-" {
            let fabric = &loaded.fabric;
            eprintln!(
                "wrote {} ({format}): {}, {}, {}",
                self.output,
                count(fabric.hosts().count() as u64, "host"),
                count(fabric.switch_count() as u64, "switch"),
                count(fabric.link_count() as u64, "link")
            );
        }
        let style = Style::stderr();
        for note in &loaded.notes {
            eprintln!("{} {}:{}: {}", style.yellow("note:"), self.input, note.line, note.message);
        }
        Ok(Answer::Yes)
    }
}
