//! How evenly tables load the links, ours and those of each engine of OpenSM, on many fabrics, whole and with links
//! missing. One judge counts for both: `routing::quality`.

mod fabrics;
mod peer;

use std::path::PathBuf;

use clap::Args;
use fabric::Fabric;
use fabric::formats::{self, Format};
use ib::Lid;
use routing::quality::permutation_load;
use routing::{Options, Tables, auto, engine_by_name, link_load, verify};

use crate::Common;
use crate::statistics::{figure, grouped};
use fabrics::Named;
use peer::Peer;

/// OpenSM's engines.
const ENGINES: [&str; 4] = ["ftree", "minhop", "updn", "dfsssp"];
/// Links missing, in a hundred.
const MISSING: [u32; 4] = [0, 1, 5, 10];

/// Which fabrics, and how long each is looked at.
#[derive(Args, Clone)]
pub struct Loads {
    /// Folder with real topology files, looked at besides the generated ones [default: none]
    #[arg(long, value_name = "FOLDER")]
    real: Option<PathBuf>,
    /// Only fabrics whose name holds this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Random permutations drawn on each fabric
    #[arg(long, default_value_t = 200)]
    permutations: u32,
    /// What decides which links are missing, and the permutations
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Default for Loads {
    fn default() -> Self {
        Self { real: None, only: None, permutations: 200, seed: 1 }
    }
}

/// The largest load of a link.
#[derive(Clone, Copy)]
struct Load {
    all_to_all: u64,
    /// On average over the permutations.
    permutations: f64,
}

/// Our largest loads divided by a peer's.
#[derive(Clone, Copy)]
struct Ratio {
    all_to_all: f64,
    permutations: f64,
}

/// What one fabric gave.
struct Row {
    /// For each of OpenSM's engines, ours with as many lanes against it; none where it refused or can deadlock.
    ratios: [Option<Ratio>; ENGINES.len()],
    /// Ours against the best of them.
    best: Option<Ratio>,
}

impl Loads {
    /// Measures and prints a table of all fabrics, then the worst and the mean ratios.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        let mut all = fabrics::generated(common.quick)?;
        if let Some(folder) = &self.real {
            all.extend(fabrics::real(folder)?);
        }
        all.retain(|(name, _)| self.only.as_ref().is_none_or(|part| name.contains(part)));
        println!("### Largest load of a link, {} fabrics\n", all.len());
        println!(
            "| fabric | hosts | links missing | Heddle: engine, lanes, all-to-all, permutations | {} | ratio to the best: all-to-all | permutations |",
            ENGINES.join(" | ")
        );
        println!("|{}", " --- |".repeat(6 + ENGINES.len()));
        let mut rows = Vec::new();
        for (name, whole) in &all {
            for missing in MISSING {
                let mut fabric = whole.clone();
                fabrics::degrade(&mut fabric, missing, self.seed + u64::from(missing));
                eprintln!("{name}, {missing} per cent of links missing");
                rows.push(self.measure(&(name.clone(), fabric), missing)?);
            }
        }
        println!();
        summarize(&rows);
        Ok(())
    }

    fn measure(&self, (name, fabric): &Named, missing: u32) -> anyhow::Result<Row> {
        let folder = tempfile::tempdir()?;
        let net = folder.path().join("fabric.net");
        std::fs::write(&net, formats::write(fabric, Format::IbsimNet)?)?;
        let peers: Vec<anyhow::Result<Peer>> =
            ENGINES.iter().map(|engine| peer::tables(fabric, &net, engine, folder.path())).collect();
        let mut own: Vec<(u8, Load, String)> = Vec::new();
        let mut row = Row { ratios: [None; ENGINES.len()], best: None };
        let mut cells = Vec::new();
        for (at, peer) in peers.iter().enumerate() {
            let (peer, lanes) = match peer {
                Ok(peer) => (peer, peer.lanes),
                Err(error) => {
                    eprintln!("{name}: OpenSM with {}: {error:#}", ENGINES[at]);
                    cells.push("failed".to_owned());
                    continue;
                }
            };
            if peer.engine != ENGINES[at] {
                cells.push(format!("refuses: {}", peer.engine));
                continue;
            }
            let load = self.load(&peer.fabric, &peer.tables);
            let proof = verify(&peer.fabric, &peer.tables);
            if proof.end_ports == 0 || proof.unreachable > 0 {
                cells.push(format!("{} pairs unreachable", grouped(proof.unreachable)));
                continue;
            }
            let safe = lanes > 1 || proof.credit_loops == 0;
            let danger = if safe { "" } else { ", can deadlock" };
            cells.push(format!(
                "{lanes}, {}, {}{danger}",
                grouped(load.all_to_all),
                figure(load.permutations)
            ));
            let ours = match own.iter().find(|(with, ..)| *with == lanes) {
                Some((_, load, _)) => *load,
                None => {
                    let (load, said) = self.own(fabric, lanes)?;
                    own.push((lanes, load, said));
                    load
                }
            };
            if safe {
                row.ratios[at] = Some(ratio(ours, load));
            }
        }
        if own.is_empty() {
            let (load, said) = self.own(fabric, 1)?;
            own.push((1, load, said));
        }
        row.best = row.ratios.iter().flatten().copied().reduce(|a, b| Ratio {
            all_to_all: a.all_to_all.max(b.all_to_all),
            permutations: a.permutations.max(b.permutations),
        });
        own.sort_by_key(|(lanes, ..)| *lanes);
        let own: Vec<&str> = own.iter().map(|(.., said)| said.as_str()).collect();
        let best = row.best.map_or(["-".to_owned(), "-".to_owned()], |best| {
            [best.all_to_all, best.permutations].map(|ratio| format!("{ratio:.3}"))
        });
        println!(
            "| {name} | {} | {missing} % | {} | {} | {} |",
            grouped(fabric.hosts().count() as u64),
            own.join("; "),
            cells.join(" | "),
            best.join(" | ")
        );
        Ok(row)
    }

    /// Our load with at most so many lanes, and what was chosen: by `auto`, or by `layered` where several lanes are
    /// allowed and it loads the links less.
    fn own(&self, fabric: &Fabric, lanes: u8) -> anyhow::Result<(Load, String)> {
        let mut fabric = fabric.clone();
        for (at, port) in fabric.end_ports().collect::<Vec<_>>().into_iter().enumerate() {
            fabric.set_lid(port, Lid(at as u32 + 1), 0);
        }
        let options = Options { most_lanes: lanes, ..Options::default() };
        let (mut routes, choice) = auto(&fabric, &options)?;
        let (mut engine, mut load) = (choice.engine, self.load(&fabric, &routes.tables));
        // More lanes than allowed is an error of that engine, and no reason to stop.
        if lanes > 1
            && let Ok(layered) = engine_by_name("layered")?.route(&fabric, &options)
        {
            let found = self.load(&fabric, &layered.tables);
            if found.all_to_all < load.all_to_all {
                (routes, engine, load) = (layered, "layered", found);
            }
        }
        let said = format!(
            "{engine}, {}, {}, {}",
            routes.lanes.count(),
            grouped(load.all_to_all),
            figure(load.permutations)
        );
        Ok((load, said))
    }

    fn load(&self, fabric: &Fabric, tables: &Tables) -> Load {
        Load {
            all_to_all: link_load(fabric, tables).max,
            permutations: permutation_load(fabric, tables, self.permutations, self.seed).max_mean,
        }
    }
}

fn ratio(own: Load, peer: Load) -> Ratio {
    // Nothing between switches is loaded by either: equal.
    let divide = |own: f64, peer: f64| if own == peer { 1.0 } else { own / peer };
    Ratio {
        all_to_all: divide(own.all_to_all as f64, peer.all_to_all as f64),
        permutations: divide(own.permutations, peer.permutations),
    }
}

fn summarize(rows: &[Row]) {
    println!(
        "Heddle's load divided by OpenSM's, with as many lanes; tables that can deadlock are left out:\n"
    );
    println!("| against | fabrics | all-to-all: worst | mean | permutations: worst | mean |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let line = |name: &str, ratios: Vec<Ratio>| {
        let over = |value: fn(&Ratio) -> f64| {
            let worst = ratios.iter().map(value).fold(0.0, f64::max);
            let mean = ratios.iter().map(value).sum::<f64>() / ratios.len().max(1) as f64;
            format!("{worst:.3} | {mean:.3}")
        };
        println!(
            "| {name} | {} | {} | {} |",
            ratios.len(),
            over(|ratio| ratio.all_to_all),
            over(|ratio| ratio.permutations)
        );
    };
    for (at, engine) in ENGINES.iter().enumerate() {
        line(engine, rows.iter().filter_map(|row| row.ratios[at]).collect());
    }
    line("the best of them", rows.iter().filter_map(|row| row.best).collect());
    println!();
}
