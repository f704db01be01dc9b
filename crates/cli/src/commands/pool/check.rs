//! `heddle pool check`: promises that a pool cannot keep, and what a scheduler would miss.

use clap::Args;
use pool::check::{self, Finding, Severity};

use super::source::Source;
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count};

/// Options of `heddle pool check`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  heddle pool check examples/pool.toml --fabric site.ibnetdiscover\n\nExit code 1: \
    something critical or a warning was found."
)]
pub struct Check {
    #[command(flatten)]
    source: Source,
    /// A topology file in which nodes and the ports beside GPUs are looked up
    #[arg(long, value_name = "FILE")]
    fabric: Option<String>,
    /// Print JSON: a list of findings, worst first
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Reads, checks, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let (site, _) = self.source.read()?;
        let fabric = self.fabric.as_deref().map(files::read_fabric).transpose()?;
        let findings = check::check(&site, fabric.as_ref().map(|loaded| &loaded.fabric));
        if self.json {
            files::print_json(&findings)?;
        } else {
            files::write("-", render(&findings, Style::stdout()).as_bytes())?;
        }
        let wrong = findings.iter().any(|finding| finding.severity != Severity::Info);
        Ok(if wrong { Answer::No } else { Answer::Yes })
    }
}

fn render(findings: &[Finding], style: Style) -> String {
    if findings.is_empty() {
        return format!("{}\n", style.green("nothing wrong found"));
    }
    let mut text = String::new();
    for finding in findings {
        let severity = style.severity(finding.severity);
        text.push_str(&format!(
            "{severity}  {}\n  {} {}\n",
            finding.message,
            style.green("help:"),
            finding.mend
        ));
    }
    text.push_str(&format!("\n{}\n", count(findings.len() as u64, "finding")));
    text
}
