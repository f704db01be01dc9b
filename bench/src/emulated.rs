//! Heddle brings big fabrics up on its own emulator, in one process: wall time and memory.

use clap::Args;
use fabric::formats::{self, Format};

use crate::process::{Finished, run};
use crate::statistics::{figure, grouped, median, range};
use crate::{Common, heddle, trees};

/// The most hosts that 16-bit LIDs are for in these trees.
const MOST_STANDARD: u32 = 40_000;

/// Which fabrics.
#[derive(Args, Clone, Default)]
pub struct Emulated {
    /// Fabrics by their number of hosts: 648, 1944, 8192, 27648, 114688 [default: the last two]
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<u32>,
}

impl Emulated {
    /// Measures and prints a table.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        let sizes = match &self.hosts[..] {
            [] if common.quick => &[648],
            [] => &[27_648, 114_688][..],
            given => given,
        };
        println!("### Emulated in memory, median of {}\n", common.runs());
        println!(
            "| fabric | wall s | range | user s | peak MiB | discover s | route s | program s | MADs sent | retried | pairs verified |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for &hosts in sizes {
            measure(common, hosts)?;
        }
        println!(
            "\nWall time is of the whole process, reading the file and proving every pair of the routes included; the phases are the manager's own time, on the emulated fabric's clock where it waits.\n"
        );
        Ok(())
    }
}

fn measure(common: &Common, hosts: u32) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let fabric = trees::tree(hosts)?;
    let file = folder.path().join("fabric.toml");
    std::fs::write(&file, formats::write(&fabric, Format::Native)?)?;
    let file = file.to_string_lossy();
    let mut arguments = vec!["--emulate", &*file];
    if hosts > MOST_STANDARD {
        arguments.extend(["--addressing", "wide"]);
    }
    let mut runs: Vec<Finished> = Vec::new();
    for number in 1..=common.runs() {
        let finished = run(&mut heddle::up(common, &arguments)?, folder.path())?.succeeded("heddle")?;
        eprintln!("run {number}: {hosts} hosts emulated, {} s", figure(finished.wall));
        runs.push(finished);
    }
    let reports = runs.iter().map(heddle::report).collect::<Result<Vec<_>, _>>()?;
    let reported = |path: &str| {
        median(
            reports
                .iter()
                .map(|report| report.pointer(path).and_then(|value| value.as_f64()).unwrap_or(f64::NAN)),
        )
    };
    let middle = |value: &dyn Fn(&Finished) -> f64| figure(median(runs.iter().map(value)));
    let (low, high) = range(runs.iter().map(|run| run.wall));
    println!(
        "| {} | {} | {} to {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        trees::describe(&fabric),
        middle(&|run| run.wall),
        figure(low),
        figure(high),
        middle(&|run| run.user),
        middle(&|run| run.peak_bytes as f64 / f64::from(1 << 20)),
        figure(reported("/seconds/discover")),
        figure(reported("/seconds/route")),
        figure(reported("/seconds/program")),
        grouped(reported("/mads/sent") as u64),
        grouped(reported("/mads/retried") as u64),
        grouped(reported("/verify/pairs") as u64),
    );
    Ok(())
}
