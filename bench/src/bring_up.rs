//! OpenSM and Heddle bring the same fabric up, each on a fresh ibsim, turn by turn.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use fabric::Fabric;
use fabric::formats::{self, Format};

use crate::ibsim::Ibsim;
use crate::process::{Finished, run};
use crate::statistics::{figure, grouped, median, range};
use crate::{Common, heddle, judge, opensm, trees};

/// Which fabrics, and how OpenSM is set.
#[derive(Args, Clone, Default)]
pub struct BringUp {
    /// Fabrics by their number of hosts: 648, 1944, 8192, 27648 [default: the last three]
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<u32>,
    /// OpenSM's routing engines, as in ftree,minhop [default: ftree]
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Measure Heddle alone, as while working on it
    #[arg(long, conflicts_with = "engines")]
    alone: bool,
    /// OpenSM's --maxsmps [default: its own default, 4; 0 is no bound]
    #[arg(long, value_name = "N")]
    opensm_window: Option<u32>,
}

/// One run of one manager.
struct Run {
    finished: Finished,
    /// Seconds until the manager itself said that the subnet was up.
    until_up: f64,
    ibsim_seconds: f64,
    sent: u64,
}

impl BringUp {
    /// Measures and prints a table a fabric.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        let sizes = match &self.hosts[..] {
            [] if common.quick => &[648],
            [] => &[1944, 8192, 27_648][..],
            given => given,
        };
        for &hosts in sizes {
            self.measure(common, &trees::tree(hosts)?)?;
        }
        Ok(())
    }

    fn measure(&self, common: &Common, fabric: &Fabric) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let net = folder.path().join("fabric.net");
        std::fs::write(&net, formats::write(fabric, Format::IbsimNet)?)?;
        let engines = match &self.engines[..] {
            _ if self.alone => vec![],
            [] => vec!["ftree".to_owned()],
            given => given.to_vec(),
        };
        let mut peers: Vec<Vec<Run>> = engines.iter().map(|_| Vec::new()).collect();
        let mut own = Vec::new();
        for number in 1..=common.runs() {
            for (engine, runs) in engines.iter().zip(&mut peers) {
                let run = judged(fabric, &net, folder.path(), |ibsim| {
                    let run = opensm::bring_up(ibsim, engine, self.opensm_window, folder.path())?;
                    Ok((run.finished, run.until_up))
                });
                let run = run.with_context(|| format!("OpenSM with {engine}"))?;
                eprintln!("run {number}: OpenSM {engine} {} s", figure(run.finished.wall));
                runs.push(run);
            }
            let run = judged(fabric, &net, folder.path(), |ibsim| {
                let finished = run(ibsim.place(&mut heddle::up(common, &["--ibsim"])?), folder.path())?;
                let finished = finished.succeeded("heddle")?;
                let total = heddle::report(&finished)?["seconds"]["total"].as_f64();
                Ok((finished, total.context("heddle's report has no total time")?))
            });
            let run = run.context("Heddle")?;
            eprintln!("run {number}: Heddle {} s", figure(run.finished.wall));
            own.push(run);
        }

        println!("### {} on ibsim, median of {}\n", trees::describe(fabric), common.runs());
        println!(
            "| manager | wall s | range | until up s | user s | system s | ibsim's processor s | peak MiB | MADs sent | wall, OpenSM's / Heddle's | MADs, Heddle's / OpenSM's |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for (engine, runs) in engines.iter().zip(&peers) {
            let window = self.opensm_window.map_or(String::new(), |window| format!(" -n {window}"));
            let wall = median_of(runs, |run| run.finished.wall) / median_of(&own, |run| run.finished.wall);
            let sent = median_of(&own, |run| run.sent as f64) / median_of(runs, |run| run.sent as f64);
            row(&format!("OpenSM {engine}{window}"), runs, &format!("{} | {}", figure(wall), figure(sent)));
        }
        row("Heddle", &own, "1 | 1");
        println!("\nEvery run: both ends of all {} links ACTIVE.\n", grouped(fabric.link_count() as u64));
        Ok(())
    }
}

/// One bring-up on a fresh ibsim, then the judges: all links active, MADs counted.
fn judged(
    fabric: &Fabric,
    net: &Path,
    folder: &Path,
    bring_up: impl FnOnce(&Ibsim) -> anyhow::Result<(Finished, f64)>,
) -> anyhow::Result<Run> {
    let ibsim = Ibsim::start(net, fabric, folder)?;
    let before = ibsim.processor_seconds()?;
    let (finished, until_up) = bring_up(&ibsim)?;
    let ibsim_seconds = ibsim.processor_seconds()? - before;
    let sent = judge::sent_by_manager(&ibsim)?;
    judge::check_all_active(&ibsim, fabric)?;
    Ok(Run { finished, until_up, ibsim_seconds, sent })
}

fn median_of(runs: &[Run], value: impl Fn(&Run) -> f64) -> f64 {
    median(runs.iter().map(value))
}

fn row(name: &str, runs: &[Run], ratios: &str) {
    let middle = |value: &dyn Fn(&Run) -> f64| figure(median_of(runs, value));
    let (low, high) = range(runs.iter().map(|run| run.finished.wall));
    println!(
        "| {name} | {} | {} to {} | {} | {} | {} | {} | {} | {} | {ratios} |",
        middle(&|run| run.finished.wall),
        figure(low),
        figure(high),
        middle(&|run| run.until_up),
        middle(&|run| run.finished.user),
        middle(&|run| run.finished.system),
        middle(&|run| run.ibsim_seconds),
        middle(&|run| run.finished.peak_bytes as f64 / f64::from(1 << 20)),
        grouped(median_of(runs, |run| run.sent as f64) as u64),
    );
}
