//! Failures one after another, healed: `heddle drill` on emulated fabrics, then a lost uplink on ibsim beside OpenSM.

use std::process::Command;

use clap::Args;
use fabric::formats::{self, Format};
use serde_json::Value;

use crate::process::run;
use crate::statistics::{figure, grouped};
use crate::{Common, heal_ibsim, heddle, trees};

/// Which fabrics and failures.
#[derive(Args, Clone, Default)]
pub struct Heal {
    /// Emulated fabrics by their number of hosts: 648, 1944, 8192, 27648, 114688 [default: 8192, 27648]
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<u32>,
    /// The largest too: 114,688 hosts
    #[arg(long)]
    largest: bool,
    /// How many failures on each emulated fabric [default: 1000]
    #[arg(long)]
    failures: Option<u32>,
    /// What fails on emulated fabrics, as for heddle drill [default: uplink]
    #[arg(long)]
    kinds: Option<String>,
    /// Management packets that every port has room for [default: heddle's]
    #[arg(long)]
    vl15_buffers: Option<u8>,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave ibsim out
    #[arg(long)]
    emulated_only: bool,
    /// Leave the emulated fabrics out
    #[arg(long, conflicts_with = "emulated_only")]
    ibsim_only: bool,
    /// The fabric on ibsim by its number of hosts [default: 8192]
    #[arg(long)]
    ibsim_hosts: Option<u32>,
    /// Measure Heddle alone on ibsim
    #[arg(long)]
    alone: bool,
}

impl Heal {
    /// Measures and prints a table each.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        if !self.ibsim_only {
            self.emulated(common)?;
        }
        if !self.emulated_only {
            let hosts = self.ibsim_hosts.unwrap_or(if common.quick { 648 } else { 8192 });
            heal_ibsim::run(common, hosts, self.alone)?;
        }
        Ok(())
    }

    fn emulated(&self, common: &Common) -> anyhow::Result<()> {
        let sizes: Vec<u32> = match &self.hosts[..] {
            [] if common.quick => vec![648],
            [] => [8192, 27_648].into_iter().chain(self.largest.then_some(114_688)).collect(),
            given => given.to_vec(),
        };
        let failures = self.failures.unwrap_or(if common.quick { 20 } else { 1000 });
        let kinds = self.kinds.as_deref().unwrap_or("uplink");
        println!("### Healing, emulated: {} failures of kind {kinds}\n", grouped(failures.into()));
        println!(
            "| fabric | failed | healed | half in ms | 99 % in ms | all in ms | blocks written | MADs sent | mended: half in ms | 99 % in ms | wall s of the drill |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for hosts in sizes {
            self.drill(common, hosts, failures, kinds)?;
        }
        println!(
            "\n1 us a hop, 20 us an agent, 64 MADs in flight; the time that the manager really computes is counted in. From the first trap to the last block of tables written; blocks and MADs in the mean of all failures.\n"
        );
        Ok(())
    }

    fn drill(&self, common: &Common, hosts: u32, failures: u32, kinds: &str) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let fabric = trees::tree(hosts)?;
        let file = folder.path().join("fabric.toml");
        std::fs::write(&file, formats::write(&fabric, Format::Native)?)?;
        // The oracle looks at every entry of every table: on large fabrics not after every step.
        let judge_every = match hosts {
            0..10_000 => 1,
            10_000..50_000 => 10,
            _ => 100,
        };
        let mut command = Command::new(heddle::binary(common)?);
        command.arg("drill").arg(&file).args(["--json", "--kinds", kinds]);
        for (option, value) in
            [("--failures", failures.into()), ("--seed", self.seed), ("--judge-every", judge_every)]
        {
            command.args([option, &value.to_string()]);
        }
        if let Some(buffers) = self.vl15_buffers {
            command.args(["--vl15-buffers", &buffers.to_string()]);
        }
        let finished = run(&mut command, folder.path())?.succeeded("heddle drill")?;
        let report = heddle::report(&finished)?;
        let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
        let mends = report["kinds"].as_array().into_iter().flatten().find(|kind| kind["kind"] == "mend");
        let mended = |key: &str| mends.map_or_else(String::new, |mends| figure(number(mends, key)));
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            trees::describe(&fabric),
            number(&report, "failures"),
            number(&report, "healed"),
            figure(number(&report, "p50_ms")),
            figure(number(&report, "p99_ms")),
            figure(number(&report, "max_ms")),
            figure(number(&report, "blocks_mean")),
            figure(number(&report, "mads_mean")),
            mended("p50_ms"),
            mended("p99_ms"),
            figure(finished.wall),
        );
        Ok(())
    }
}
