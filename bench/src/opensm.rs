//! OpenSM as the peer: one bring-up with a configuration, cache and log of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::ibsim::Ibsim;
use crate::process::{Finished, run};

/// A finished bring-up.
pub struct Run {
    /// The process as a whole.
    pub finished: Finished,
    /// Seconds from the first line of its log to "SUBNET UP".
    pub until_up: f64,
}

/// Brings the fabric in `ibsim` up once. `window`: its `--maxsmps`, where not its own default.
pub fn bring_up(ibsim: &Ibsim, engine: &str, window: Option<u32>, folder: &Path) -> anyhow::Result<Run> {
    let own = tempfile::tempdir_in(folder)?;
    let path = |name: &str| own.path().join(name);
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
    let mut command = Command::new("ibsim-run");
    command.args(["opensm", "-o", "-R", engine, "-F"]).arg(&configuration).arg("-f").arg(&log);
    command.env("OSM_CACHE_DIR", &cache).env("OSM_TMP_DIR", &cache);
    if let Some(window) = window {
        command.args(["-n", &window.to_string()]);
    }
    let finished = run(ibsim.place(&mut command), own.path())?.succeeded("opensm")?;
    let log = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let up =
        log.lines().find(|line| line.contains("SUBNET UP")).context("opensm's log has no \"SUBNET UP\"")?;
    let start = log.lines().find_map(seconds_of_day).context("opensm's log is empty")?;
    let until_up = (seconds_of_day(up).unwrap_or(start) - start).rem_euclid(86_400.0);
    Ok(Run { finished, until_up })
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
}
