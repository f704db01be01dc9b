//! One lost uplink of a leaf on ibsim, and how long it takes from its trap to the last block of tables written.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fabric::formats::{self, Format};
use fabric::{Fabric, PortId};

use crate::ibsim::Ibsim;
use crate::process::tie;
use crate::statistics::{figure, grouped, median, range};
use crate::{Common, heddle, judge, opensm, trees};

/// Nothing that is measured here should take longer.
const LIMIT: Duration = Duration::from_secs(600);
/// A manager that has said nothing for so long has healed.
const QUIET: Duration = Duration::from_secs(3);

/// Measures and prints a table.
pub fn run(common: &Common, hosts: u32, alone: bool) -> anyhow::Result<()> {
    let fabric = trees::tree(hosts)?;
    let folder = tempfile::tempdir()?;
    let net = folder.path().join("fabric.net");
    fs::write(&net, formats::write(&fabric, Format::IbsimNet)?)?;
    let lost = uplinks(&fabric, common.runs() as usize)?;
    let mut left = fabric.clone();
    for &port in &lost {
        left.disconnect(port);
    }
    println!(
        "### Healing, {} on ibsim, one lost uplink of a leaf, {} times\n",
        trees::describe(&fabric),
        lost.len()
    );
    println!("| manager | trap to last block, ms | range | trap to up, ms | blocks written | MADs sent |");
    println!("| --- | --- | --- | --- | --- | --- |");
    if !alone {
        let own = tempfile::tempdir_in(folder.path())?;
        let mut ibsim = Ibsim::start_with_console(&net, &fabric, own.path())?;
        let mut running = opensm::Running::start(&ibsim, "ftree", own.path())?;
        running.wait_until_up(1, LIMIT)?;
        for (number, &port) in lost.iter().enumerate() {
            std::thread::sleep(QUIET);
            unlink(&mut ibsim, &fabric, port)?;
            running.wait_until_up(number + 2, LIMIT)?;
        }
        let heals = running.heals()?;
        drop(running);
        judged(&ibsim, &left).context("OpenSM")?;
        row(
            "OpenSM ftree",
            heals.iter().map(|heal| heal.until_tables),
            heals.iter().map(|heal| heal.until_up),
            "",
            "",
        );
    }
    let own = tempfile::tempdir_in(folder.path())?;
    let mut ibsim = Ibsim::start_with_console(&net, &fabric, own.path())?;
    let mut running = Running::start(common, &ibsim, own.path())?;
    running.wait_until_up()?;
    for &port in &lost {
        running.wait_until_quiet()?;
        unlink(&mut ibsim, &fabric, port)?;
        running.wait_for_a_word()?;
    }
    running.wait_until_quiet()?;
    let heals = running.end()?;
    judged(&ibsim, &left).context("Heddle")?;
    if heals.len() != lost.len() {
        bail!("{} links were lost, and the trace tells of {} heals", lost.len(), heals.len());
    }
    let mean =
        |value: fn(&Heal) -> u64| figure(heals.iter().map(value).sum::<u64>() as f64 / heals.len() as f64);
    row(
        "Heddle",
        heals.iter().map(|heal| heal.until_last_block),
        heals.iter().map(|heal| heal.until_done),
        &mean(|heal| heal.blocks),
        &mean(|heal| heal.mads),
    );
    println!(
        "\nOpenSM: its own log, from \"num:128\" to \"tables configured on all switches\" and to \"SUBNET UP\". Heddle: its trace, from the trap's arrival to the answer of the last write of a block, and to the last answer. After each manager all {} links left are ACTIVE and all pairs reachable by what the switches hold.\n",
        grouped(left.link_count() as u64)
    );
    Ok(())
}

fn row(
    name: &str,
    blocks: impl Iterator<Item = f64> + Clone,
    up: impl Iterator<Item = f64>,
    written: &str,
    sent: &str,
) {
    let ms = |seconds: f64| figure(seconds * 1e3);
    let (low, high) = range(blocks.clone());
    println!(
        "| {name} | {} | {} to {} | {} | {written} | {sent} |",
        ms(median(blocks)),
        ms(low),
        ms(high),
        ms(median(up))
    );
}

/// A first uplink of each of some leaves, that of the manager's host left out.
fn uplinks(fabric: &Fabric, count: usize) -> anyhow::Result<Vec<PortId>> {
    let seat = fabric.hosts().next().context("no host")?;
    let own = fabric.neighbors(seat).next().map(|(_, peer)| fabric.node_of(peer));
    let is_switch = |port: PortId| fabric.is_switch(fabric.node_of(port));
    let uplink = |leaf| fabric.neighbors(leaf).find(|&(_, peer)| is_switch(peer)).map(|(port, _)| port);
    let is_leaf = |&node: &fabric::NodeId| fabric.neighbors(node).any(|(_, peer)| !is_switch(peer));
    let found: Vec<PortId> = fabric
        .switches()
        .filter(|&node| Some(node) != own)
        .filter(is_leaf)
        .filter_map(uplink)
        .take(count)
        .collect();
    if found.is_empty() {
        bail!("no leaf has an uplink");
    }
    Ok(found)
}

fn unlink(ibsim: &mut Ibsim, fabric: &Fabric, port: PortId) -> anyhow::Result<()> {
    let (name, number) = (fabric.name(fabric.node_of(port)), fabric.port_number(port));
    ibsim.command(&format!("Unlink \"{name}\"[{number}]"))
}

fn judged(ibsim: &Ibsim, left: &Fabric) -> anyhow::Result<()> {
    judge::check_all_active(ibsim, left)?;
    judge::check_tables(ibsim, left)?;
    Ok(())
}

/// A `heddle up` that goes on; dropped, it is ended.
struct Running {
    child: Child,
    output: PathBuf,
    trace: PathBuf,
}

/// One heal as the trace tells it, seconds.
struct Heal {
    until_last_block: f64,
    until_done: f64,
    blocks: u64,
    /// Sent until the last block was written.
    mads: u64,
}

impl Running {
    fn start(common: &Common, ibsim: &Ibsim, folder: &Path) -> anyhow::Result<Self> {
        let (output, trace) = (folder.join("heddle.out"), folder.join("heddle.trace"));
        let mut command = Command::new(heddle::binary(common)?);
        command.args(["up", "--ibsim", "--json", "--listen", "127.0.0.1:0", "--trace"]).arg(&trace);
        let file = File::create(&output)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = tie(ibsim.place(&mut command)).spawn().context("cannot start heddle")?;
        Ok(Self { child, output, trace })
    }

    /// How much it has said.
    fn said(&mut self) -> anyhow::Result<u64> {
        if let Some(status) = self.child.try_wait()? {
            bail!("heddle ended with {status}:\n{}", fs::read_to_string(&self.output)?);
        }
        Ok(fs::metadata(&self.output)?.len())
    }

    /// Waits for what it says of its first bring-up.
    fn wait_until_up(&mut self) -> anyhow::Result<()> {
        self.wait(|said, _| said > 0)
    }

    fn wait_for_a_word(&mut self) -> anyhow::Result<()> {
        let before = self.said()?;
        self.wait(|said, _| said > before)
    }

    fn wait_until_quiet(&mut self) -> anyhow::Result<()> {
        self.wait(|_, silent| silent > QUIET)
    }

    fn wait(&mut self, done: impl Fn(u64, Duration) -> bool) -> anyhow::Result<()> {
        let start = Instant::now();
        let (mut said, mut since) = (self.said()?, Instant::now());
        while !done(said, since.elapsed()) {
            if start.elapsed() > LIMIT {
                bail!("heddle does not go on after {LIMIT:?}:\n{}", fs::read_to_string(&self.output)?);
            }
            std::thread::sleep(Duration::from_millis(20));
            let now = self.said()?;
            if now != said {
                (said, since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    /// Ends it in order, and reads the heals from its trace.
    fn end(mut self) -> anyhow::Result<Vec<Heal>> {
        // SAFETY: a signal to a child that has not been waited for, so its number is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        self.child.wait()?;
        Ok(heals(&fs::read_to_string(&self.trace)?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The heals that a trace tells of: each from the first trap 128 after a silence to the last write before the next one.
fn heals(trace: &str) -> Vec<Heal> {
    let (mut heals, mut began, mut last, mut sent) = (Vec::<Heal>::new(), None, 0.0, 0);
    for line in trace.lines() {
        let mut words = line.split_whitespace();
        let Some(at) = words.next().and_then(|word| word.parse::<f64>().ok()) else { continue };
        let comes_in = line.contains(" s in ");
        let trap = comes_in && line.contains(" Trap Notice ");
        if trap && at - last > QUIET.as_secs_f64() / 2.0 {
            (began, sent) = (Some(at), 0);
            heals.push(Heal { until_last_block: 0.0, until_done: 0.0, blocks: 0, mads: 0 });
        }
        if trap {
            last = at;
        }
        let (Some(from), Some(heal)) = (began, heals.last_mut()) else { continue };
        // What is asked later belongs to no heal.
        if at - last > QUIET.as_secs_f64() / 2.0 {
            continue;
        }
        if !comes_in {
            sent += 1;
        } else if line.contains(" GetResp ") {
            last = at;
            heal.until_done = at - from;
        }
        if !comes_in && line.contains(" Set LinearForwardingTable ") {
            heal.blocks += 1;
        }
        if comes_in && line.contains(" GetResp LinearForwardingTable ") {
            heal.until_last_block = at - from;
            heal.mads = sent;
        }
    }
    heals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heals_are_read_from_a_trace() {
        let trace = "\
            0.900000000 s out 65535 to 65535 SubnDirected Set LinearForwardingTable modifier 0x1 tid 0x1 status 0x0000 (ok)\n\
            5.000000000 s in  7 to 1 SubnLid Trap Notice modifier 0x0 tid 0x1 status 0x0000 (ok)\n\
            5.000100000 s out 1 to 7 SubnLid TrapRepress Notice modifier 0x0 tid 0x1 status 0x0000 (ok)\n\
            5.001000000 s out 65535 to 65535 SubnDirected Set LinearForwardingTable modifier 0x1 tid 0x2 status 0x0000 (ok)\n\
            5.002000000 s in  65535 to 65535 SubnDirected GetResp LinearForwardingTable modifier 0x1 tid 0x2 status 0x0000 (ok)\n\
            5.003000000 s in  65535 to 65535 SubnDirected GetResp PortInfo modifier 0x1 tid 0x3 status 0x0000 (ok)\n\
            9.000000000 s out 65535 to 65535 SubnDirected Get SwitchInfo modifier 0x0 tid 0x4 status 0x0000 (ok)\n\
            12.000000000 s in  9 to 1 SubnLid Trap Notice modifier 0x0 tid 0x1 status 0x0000 (ok)\n";
        let heals = heals(trace);
        assert_eq!(heals.len(), 2);
        assert!(
            (heals[0].until_last_block - 0.002).abs() < 1e-9 && (heals[0].until_done - 0.003).abs() < 1e-9
        );
        assert_eq!((heals[0].blocks, heals[0].mads, heals[1].blocks), (1, 2, 0));
    }
}
