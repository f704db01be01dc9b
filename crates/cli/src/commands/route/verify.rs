//! `heddle route verify`: the proof of tables that a tool dumped.

use clap::Args;

use super::{judge, tables_file};
use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// Options of `heddle route verify`.
#[derive(Args)]
#[command(after_help = "Example:\n  ibnetdiscover > site.ibnetdiscover && dump_lfts > site.lfts\n  \
    heddle route verify site.ibnetdiscover site.lfts\n\nExit code 1: something is wrong with the tables.")]
pub struct Verify {
    /// A topology file with LIDs: ibnetdiscover output, opensm-subnet.lst
    file: String,
    /// The tables: what dump_lfts printed, or OpenSM's opensm.fdbs
    tables: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    /// Reads, proves, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let fabric = files::read_fabric(&self.file)?.fabric;
        let text = String::from_utf8_lossy(&files::read(&self.tables)?).into_owned();
        let tables = tables_file::read(&self.tables, &text, &fabric)?;
        let verification = routing::verify(&fabric, &tables);
        if self.json {
            files::print_json(&verification)?;
        } else {
            files::write("-", judge::print(&verification).as_bytes())?;
        }
        Ok(judge::answer(&verification))
    }
}
