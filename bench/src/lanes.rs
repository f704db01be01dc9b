//! How many virtual lanes shortest paths need on fabrics that are no trees: OpenSM's dfsssp and Heddle's layered on the
//! same files.

use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use fabric::Fabric;
use fabric::formats::{self, Format};
use fabric::generate::{DragonflyPlusSpec, RandomRegularSpec, TorusSpec};

use crate::ibsim::Ibsim;
use crate::process::run;
use crate::statistics::figure;
use crate::{Common, heddle, opensm};

/// What OpenSM's log has before the number of lanes.
const NEEDED: &str = "Virtual Lanes needed: ";
/// Data lanes that ibsim's ports have; both may use them all.
const LANES: u32 = 8;

/// Which fabrics.
#[derive(Args, Clone)]
pub struct Lanes {
    /// Seeds of the random-regular fabrics of 1,000 switches with 8 neighbours each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3])]
    seeds: Vec<u64>,
    /// Switches along each side of the torus of three dimensions; 0: none
    #[arg(long, default_value_t = 16)]
    torus: u32,
    /// Hosts on each switch of those
    #[arg(long, default_value_t = 1)]
    hosts: u32,
    /// Give OpenSM up after so many seconds
    #[arg(long, default_value_t = 900)]
    patience: u64,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { seeds: vec![1, 2, 3], torus: 16, hosts: 1, patience: 900 }
    }
}

impl Lanes {
    /// Measures and prints a table.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        println!("### Virtual lanes that shortest paths need, {LANES} given\n");
        println!(
            "| fabric | hosts, switches | OpenSM dfsssp, lanes | s | Heddle layered, lanes | s | credit loops |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        for (name, fabric) in self.fabrics(common)? {
            let folder = tempfile::tempdir()?;
            let net = folder.path().join("fabric.net");
            std::fs::write(&net, formats::write(&fabric, Format::IbsimNet)?)?;
            let (lanes, seconds) = self.opensm(&net, &fabric, folder.path())?;
            eprintln!("{name}: OpenSM {lanes} lanes, {seconds} s");
            let net = net.to_string_lossy();
            let arguments = ["route", &net, "--engine", "layered", "--lanes", &LANES.to_string(), "--json"];
            let mut command = std::process::Command::new(heddle::binary(common)?);
            let finished = run(command.args(arguments), folder.path())?.succeeded("heddle")?;
            let report = heddle::report(&finished)?;
            let number =
                |key: &str| report[key].as_f64().with_context(|| format!("heddle's report has no {key}"));
            println!(
                "| {name} | {}, {} | {lanes} | {seconds} | {} | {} | {} |",
                fabric.hosts().count(),
                fabric.switch_count(),
                number("virtual_lanes")?,
                figure(number("seconds")?),
                number("credit_loops")?
            );
        }
        println!();
        Ok(())
    }

    fn fabrics(&self, common: &Common) -> anyhow::Result<Vec<(String, Fabric)>> {
        let (switches, side) = if common.quick { (60, self.torus.min(4)) } else { (1000, self.torus) };
        let mut fabrics = Vec::new();
        for &seed in &self.seeds {
            let spec = RandomRegularSpec {
                switches,
                degree: 8,
                hosts: self.hosts,
                seed,
                ..RandomRegularSpec::default()
            };
            fabrics.push((format!("random-regular, seed {seed}"), spec.build()?));
        }
        if side > 0 {
            let spec = TorusSpec { dimensions: vec![side; 3], hosts: self.hosts, ..TorusSpec::default() };
            fabrics.push((format!("torus {side}x{side}x{side}"), spec.build()?));
        }
        fabrics.push(("dragonfly+".to_owned(), DragonflyPlusSpec::default().build()?));
        Ok(fabrics)
    }

    /// The lanes that dfsssp needs by its own log, and the seconds until it says so.
    fn opensm(
        &self,
        net: &std::path::Path,
        fabric: &Fabric,
        folder: &std::path::Path,
    ) -> anyhow::Result<(String, String)> {
        let ibsim = Ibsim::start(net, fabric, folder)?;
        let start = Instant::now();
        let mut opensm = opensm::Running::start(&ibsim, "dfsssp", folder)?;
        let line = opensm.wait_for(NEEDED, Duration::from_secs(self.patience))?;
        let seconds = figure(start.elapsed().as_secs_f64());
        let needed = line.as_deref().and_then(|line| line.split(NEEDED).nth(1)?.trim().parse::<u32>().ok());
        Ok(match needed {
            // It stops counting at the first that it lacks.
            Some(needed) if needed > LANES => (format!("more than {LANES}, refused"), seconds),
            Some(needed) => (needed.to_string(), seconds),
            None => ("not known".to_owned(), format!("more than {}", self.patience)),
        })
    }
}
