//! `heddle route diff`: what would change from one file of tables to another.

use clap::Args;
use fabric::Fabric;
use routing::Difference;
use serde::Serialize;

use super::progress::Progress;
use super::tables_file;
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{count, thousands};
use crate::table::{Side, Table};

/// Switches that people are shown: those that change most.
const SHOWN: usize = 20;

/// Options of `heddle route diff`.
#[derive(Args)]
#[command(after_help = "Example:\n  dump_lfts > now.lfts && heddle route site.ibnetdiscover -o new.lfts\n  \
    heddle route diff site.ibnetdiscover now.lfts new.lfts\n\nExit code 1: the tables differ.")]
pub struct Diff {
    /// A topology file with LIDs: ibnetdiscover output, opensm-subnet.lst
    file: String,
    /// The tables as they are, in any readable form
    a: String,
    /// The tables as they would be
    b: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The difference, for programs.
#[derive(Serialize)]
struct Differs {
    entries: u64,
    blocks: u64,
    switches: usize,
    lids: u64,
    pairs: routing::AffectedPairs,
    by_switch: Vec<Switch>,
}

#[derive(Serialize)]
struct Switch {
    switch: String,
    guid: ib::Guid,
    entries: u64,
    blocks: u64,
}

impl Diff {
    /// Reads, compares, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let progress = Progress::new();
        progress.say("reading");
        let fabric = files::read_fabric(&self.file)?.fabric;
        let (a, b) = (tables_file::load(&self.a, &fabric)?, tables_file::load(&self.b, &fabric)?);
        progress.say("comparing");
        let difference = routing::difference(&fabric, &a, &b);
        drop(progress);
        let same = difference.entries == 0;
        if self.json {
            files::print_json(&differs(&fabric, difference))?;
        } else if same {
            files::write("-", b"the tables are the same\n")?;
        } else {
            files::write("-", text(&fabric, &difference).as_bytes())?;
        }
        Ok(if same { Answer::Yes } else { Answer::No })
    }
}

fn differs(fabric: &Fabric, difference: Difference) -> Differs {
    let by_switch = difference.switches.iter().map(|change| Switch {
        switch: fabric.name(change.switch).to_owned(),
        guid: fabric.guid(change.switch),
        entries: change.entries,
        blocks: change.blocks,
    });
    Differs {
        entries: difference.entries,
        blocks: difference.blocks,
        switches: difference.switches.len(),
        lids: difference.lids,
        pairs: difference.pairs,
        by_switch: by_switch.collect(),
    }
}

fn text(fabric: &Fabric, difference: &Difference) -> String {
    let mut table = Table::new([Side::Left, Side::Left]);
    let pairs = difference.pairs;
    table
        .row(["entries", &format!("{} for {}", thousands(difference.entries), count(difference.lids, "LID"))])
        .row(["blocks", &thousands(difference.blocks)])
        .row(["switches", &thousands(difference.switches.len() as u64)])
        .row([
            "pairs of end ports",
            &format!(
                "{} take another path, of {}; {} lose theirs, {} get one",
                thousands(pairs.changed),
                thousands(pairs.all),
                thousands(pairs.lost),
                thousands(pairs.gained)
            ),
        ]);
    let mut text = table.render(0);
    let mut most: Vec<_> = difference.switches.iter().collect();
    most.sort_by_key(|change| (std::cmp::Reverse(change.entries), change.switch));
    let mut table = Table::new([Side::Left, Side::Right, Side::Right]);
    table.row(["switch", "entries", "blocks"]);
    for change in most.iter().take(SHOWN) {
        table.row([fabric.name(change.switch), &thousands(change.entries), &thousands(change.blocks)]);
    }
    text.push('\n');
    text.push_str(&table.render(0));
    if most.len() > SHOWN {
        text.push_str(&format!("and {} more: see --json\n", count((most.len() - SHOWN) as u64, "switch")));
    }
    text
}
