//! Forwarding tables of fat trees computed: Heddle's engine in the program, OpenSM's by its own log.

use std::time::Instant;

use clap::Args;
use fabric::formats::{self, Format};
use routing::{Options, engine_by_name};

use crate::ibsim::Ibsim;
use crate::statistics::{figure, median, range};
use crate::{Common, opensm, trees};

/// LIDs of the standard: OpenSM has no others.
const MOST_STANDARD: u32 = 0xbfff;

/// Which fat trees.
#[derive(Args, Clone, Default)]
pub struct Tables {
    /// Fat trees by their number of hosts: 648, 1944, 8192, 27648, 114688 [default: 8192, 27648, 114688]
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<u32>,
    /// Measure Heddle alone
    #[arg(long)]
    alone: bool,
}

impl Tables {
    /// Measures and prints a table.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        let sizes = match &self.hosts[..] {
            [] if common.quick => &[648],
            [] => &[8192, 27_648, 114_688][..],
            given => given,
        };
        println!("### Tables of fat trees, median of {}; OpenSM once\n", common.runs());
        println!("| fabric | OpenSM ftree s | Heddle fat-tree s | range | OpenSM's / Heddle's |");
        println!("| --- | --- | --- | --- | --- |");
        for &hosts in sizes {
            self.measure(common, hosts)?;
        }
        println!(
            "\nOpenSM: its own log, from \"building routing with\" to \"routing is done\": tables alone, no MAD. Heddle: the engine's call, from the fabric to all tables, on all processors of the machine.\n"
        );
        Ok(())
    }

    fn measure(&self, common: &Common, hosts: u32) -> anyhow::Result<()> {
        let fabric = trees::tree(hosts)?;
        let engine = engine_by_name("fat-tree")?;
        let mut taken = Vec::new();
        for _ in 0..common.runs() {
            let start = Instant::now();
            let routes = engine.route(&fabric, &Options::default())?;
            taken.push(start.elapsed().as_secs_f64());
            drop(routes);
        }
        let ours = median(taken.iter().copied());
        let (low, high) = range(taken);
        let theirs = if self.alone || hosts > MOST_STANDARD {
            None
        } else {
            eprintln!("{hosts} hosts: OpenSM");
            let folder = tempfile::tempdir()?;
            let net = folder.path().join("fabric.net");
            std::fs::write(&net, formats::write(&fabric, Format::IbsimNet)?)?;
            let ibsim = Ibsim::start(&net, &fabric, folder.path())?;
            Some(opensm::routing_seconds(&ibsim, "ftree", folder.path())?)
        };
        let (theirs, ratio) =
            theirs.map_or_else(Default::default, |theirs: f64| (figure(theirs), figure(theirs / ours)));
        println!(
            "| {} | {theirs} | {} | {} to {} | {ratio} |",
            trees::describe(&fabric),
            figure(ours),
            figure(low),
            figure(high)
        );
        Ok(())
    }
}
