//! `heddle fabric check`: what is wrong with the cabling as it stands.

use clap::Args;
use fabric::check::{self, Finding};

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count};

/// Options of `heddle fabric check`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  ibnetdiscover | heddle fabric check -\n\nExit code 1: something was found."
)]
pub struct Check {
    /// A topology file of any readable format; - is standard input
    file: String,
    /// Print JSON: a list of findings, most important first
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Reads, checks, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let loaded = files::read_fabric(&self.file)?;
        let findings = check::check(&loaded);
        if self.json {
            files::print_json(&findings)?;
        } else {
            files::write("-", render(&findings, Style::stdout()).as_bytes())?;
        }
        Ok(if findings.is_empty() { Answer::Yes } else { Answer::No })
    }
}

fn render(findings: &[Finding], style: Style) -> String {
    if findings.is_empty() {
        return format!("{}\n", style.green("nothing wrong found"));
    }
    let mut text = String::new();
    for finding in findings {
        let severity = style.severity(finding.severity);
        text.push_str(&format!("{severity}  {}\n", finding.message));
        if !finding.ends.is_empty() && !finding.ends.iter().all(|end| finding.message.contains(end)) {
            text.push_str(&format!("  {} {}\n", style.dim("at"), finding.ends.join(" - ")));
        }
        if !finding.mend.is_empty() {
            text.push_str(&format!("  {} {}\n", style.dim("help:"), finding.mend));
        }
    }
    text.push_str(&format!("\n{}\n", count(findings.len() as u64, "finding")));
    text
}
