//! `heddle route verify`: the proof and the figures of tables that a tool dumped.

use clap::Args;

use super::figures::Figures;
use super::progress::Progress;
use super::{judge, tables_file};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::table::{Side, Table};

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
    /// Reads, proves, measures, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let progress = Progress::new();
        progress.say("reading");
        let fabric = files::read_fabric(&self.file)?.fabric;
        let tables = tables_file::load(&self.tables, &fabric)?;
        progress.say("proving");
        let verdict = routing::verify(&fabric, &tables);
        let answer = judge::answer(&verdict);
        let figures = Figures::measure(&fabric, &tables, verdict, 1, &progress);
        drop(progress);
        if self.json {
            files::print_json(&figures)?;
        } else {
            let mut table = Table::new([Side::Left, Side::Left]);
            figures.rows(&mut table);
            files::write("-", table.render(0).as_bytes())?;
        }
        Ok(answer)
    }
}
