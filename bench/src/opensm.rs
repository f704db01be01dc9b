//! OpenSM as the peer: one bring-up, or one that goes on and heals, with a configuration, cache and log of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::ibsim::Ibsim;
use crate::process::{Finished, run, tie};

/// A finished bring-up.
pub struct Run {
    /// The process as a whole.
    pub finished: Finished,
    /// Seconds from the first line of its log to "SUBNET UP".
    pub until_up: f64,
}

/// An OpenSM that goes on; dropped, it is ended.
pub struct Running {
    child: Child,
    log: PathBuf,
}

/// When OpenSM heard a trap, and what it said after it; seconds of its own log.
pub struct Healed {
    /// From the trap to "tables configured on all switches".
    pub until_tables: f64,
    /// From the trap to "SUBNET UP".
    pub until_up: f64,
}

impl Running {
    /// Starts it, with what it keeps in `folder`.
    pub fn start(ibsim: &Ibsim, engine: &str, folder: &Path) -> anyhow::Result<Self> {
        let (log, mut command) = command(ibsim, engine, folder)?;
        let output = File::create(folder.join("opensm.out"))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = tie(&mut command).spawn().context("cannot start ibsim-run")?;
        Ok(Self { child, log })
    }

    /// Waits until its log says for the `times`th time that the subnet is up.
    pub fn wait_until_up(&mut self, times: usize, most: Duration) -> anyhow::Result<()> {
        let start = Instant::now();
        while self.log()?.matches("SUBNET UP").count() < times {
            if let Some(status) = self.child.try_wait()? {
                bail!("opensm ended with {status}:\n{}", self.log()?);
            }
            if start.elapsed() > most {
                bail!("opensm is not up after {most:?}:\n{}", self.log()?);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Waits until its log has a line with `text`, and gives that line; `None` where it has none after `most`.
    pub fn wait_for(&mut self, text: &str, most: Duration) -> anyhow::Result<Option<String>> {
        let start = Instant::now();
        while start.elapsed() < most {
            if let Some(line) = self.log()?.lines().find(|line| line.contains(text)) {
                return Ok(Some(line.to_owned()));
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("opensm ended with {status}:\n{}", self.log()?);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(None)
    }

    fn log(&self) -> anyhow::Result<String> {
        Ok(fs::read(&self.log)
            .map_or_else(|_| String::new(), |log| String::from_utf8_lossy(&log).into_owned()))
    }

    /// Each heal that its log tells of: from the first trap 128 after it was up to its being up again.
    pub fn heals(&self) -> anyhow::Result<Vec<Healed>> {
        let (mut heals, mut trap, mut tables) = (Vec::new(), None, None);
        for line in self.log()?.lines() {
            let Some(at) = seconds_of_day(line) else { continue };
            let since = |from: f64| (at - from).rem_euclid(86_400.0);
            if line.contains("num:128") && trap.is_none() {
                trap = Some(at);
            } else if let Some(from) = trap {
                if line.contains("tables configured on all switches") {
                    tables = Some(since(from));
                } else if line.contains("SUBNET UP") {
                    heals.extend(
                        tables.take().map(|until_tables| Healed { until_tables, until_up: since(from) }),
                    );
                    trap = None;
                }
            }
        }
        Ok(heals)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// OpenSM on `ibsim` with a configuration, a cache and a log of its own in `folder`; the log's path.
fn command(ibsim: &Ibsim, engine: &str, folder: &Path) -> anyhow::Result<(PathBuf, Command)> {
    let path = |name: &str| folder.join(name);
    let (cache, log, configuration) = (path("cache/"), path("opensm.log"), path("opensm.conf"));
    fs::create_dir(&cache)?;
    let written = Command::new("opensm")
        .arg("-c")
        .arg(&configuration)
        .output()
        .context("cannot start opensm: is the package opensm installed? `make packages`")?;
    if !configuration.exists() {
        bail!("opensm -c wrote no configuration: {}", String::from_utf8_lossy(&written.stdout));
    }
    // Whoever reads the log while it runs must not wait for a full buffer.
    let text = fs::read_to_string(&configuration)?;
    fs::write(&configuration, text.replace("force_log_flush FALSE", "force_log_flush TRUE"))?;
    let mut command = Command::new("ibsim-run");
    command.args(["opensm", "-R", engine, "-F"]).arg(&configuration).arg("-f").arg(&log);
    command.env("OSM_CACHE_DIR", &cache).env("OSM_TMP_DIR", &cache);
    ibsim.place(&mut command);
    Ok((log, command))
}

/// Brings the fabric in `ibsim` up once. `window`: its `--maxsmps`, where not its own default.
pub fn bring_up(ibsim: &Ibsim, engine: &str, window: Option<u32>, folder: &Path) -> anyhow::Result<Run> {
    let own = tempfile::tempdir_in(folder)?;
    let (log, mut command) = command(ibsim, engine, own.path())?;
    command.arg("-o");
    if let Some(window) = window {
        command.args(["-n", &window.to_string()]);
    }
    let finished = run(&mut command, own.path())?.succeeded("opensm")?;
    let log = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let up =
        log.lines().find(|line| line.contains("SUBNET UP")).context("opensm's log has no \"SUBNET UP\"")?;
    let start = log.lines().find_map(seconds_of_day).context("opensm's log is empty")?;
    let until_up = (seconds_of_day(up).unwrap_or(start) - start).rem_euclid(86_400.0);
    Ok(Run { finished, until_up })
}

/// Brings the fabric up and lets OpenSM dump its tables (`opensm.fdbs`) and its view of the subnet
/// (`opensm-subnet.lst`) to `folder`. Returns its log.
pub fn dump(ibsim: &Ibsim, engine: &str, folder: &Path) -> anyhow::Result<String> {
    let (log, mut command) = command(ibsim, engine, folder)?;
    // Errors, information and the dumps of routing.
    command.args(["-o", "-D", "0x43", "--dump_files_dir"]).arg(folder);
    run(&mut command, folder)?.succeeded("opensm")?;
    Ok(String::from_utf8_lossy(&fs::read(&log)?).into_owned())
}

/// Brings the fabric up and times the routing phase by its log: seconds from "building routing with" to "routing is done". The
/// tables stand then, and no block is sent yet.
pub fn routing_seconds(ibsim: &Ibsim, engine: &str, folder: &Path) -> anyhow::Result<f64> {
    let own = tempfile::tempdir_in(folder)?;
    let (log, mut command) = command(ibsim, engine, own.path())?;
    // Errors, information and what it calls verbose: the steps of routing among it.
    command.args(["-o", "-D", "0x07"]);
    run(&mut command, own.path())?.succeeded("opensm")?;
    routing_phase(&String::from_utf8_lossy(&fs::read(&log)?))
        .with_context(|| format!("opensm's log does not say when {engine} began and was done"))
}

/// From the beginning of the last routing phase in a log to its end, seconds.
fn routing_phase(log: &str) -> Option<f64> {
    let at = |text: &str| log.lines().rfind(|line| line.contains(text)).and_then(seconds_of_day);
    Some((at("routing is done")? - at("building routing with")?).rem_euclid(86_400.0))
}

/// The time of a log line: `Dec 01 15:51:36 515460 [A1A3B740] 0x03 -> OpenSM 3.3.23`.
fn seconds_of_day(line: &str) -> Option<f64> {
    let mut words = line.split_whitespace().skip(2);
    let clock =
        words.next()?.split(':').map(|part| part.parse::<f64>().ok()).collect::<Option<Vec<f64>>>()?;
    let micros: f64 = words.next()?.parse().ok()?;
    let [hours, minutes, seconds] = clock[..] else { return None };
    Some(hours * 3600.0 + minutes * 60.0 + seconds + micros * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_have_their_time() {
        let time = seconds_of_day("Dec 01 15:51:36 515460 [A1A3B740] 0x03 -> OpenSM 3.3.23").unwrap();
        assert!((time - 57_096.515_46).abs() < 1e-6);
        assert_eq!(seconds_of_day("no time at all"), None);
    }

    #[test]
    fn the_routing_phase_is_read_from_a_log() {
        let log = "\
            Dec 02 23:59:59 500000 [B] 0x04 -> ucast_mgr_route: building routing with 'ftree' routing algorithm...\n\
            Dec 02 23:59:59 600000 [B] 0x04 -> do_routing: Starting FatTree routing\n\
            Dec 03 00:00:02 750000 [B] 0x04 -> do_routing: FatTree routing is done\n\
            Dec 03 00:00:09 000000 [B] 0x02 -> osm_ucast_mgr_process: ftree tables configured on all switches\n";
        assert!((routing_phase(log).unwrap() - 3.25).abs() < 1e-6);
        assert_eq!(routing_phase("Dec 02 23:59:59 500000 [B] 0x02 -> SUBNET UP"), None);
    }
}
