//! Where and when: a figure without its machine and date says nothing.

use std::fs;
use std::process::Command;

use anyhow::Context;

/// One line: date, processor, memory, system, versions of the peers, how busy the machine was at the start. Says so on
/// standard error where others use it at the same time: wall times then measure them too.
pub fn describe() -> anyhow::Result<String> {
    let date = said_by("date", &["-u", "+%Y-%m-%d"])?;
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or(0.0, |kibibytes| kibibytes / f64::from(1 << 20));
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = system
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map_or("Linux", |name| name.trim_matches('"'))
        .to_owned();
    let kernel = said_by("uname", &["-r"])?;
    let versions = said_by(
        "dpkg-query",
        &["-W", "-f=${Package} ${Version}, ", "opensm", "ibsim-utils", "infiniband-diags"],
    )
    .unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg")?;
    let load: f64 = load.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0);
    if load > 0.5 {
        eprintln!("warning: this machine is busy with other work (load {load}): wall times will be too long");
    }
    Ok(format!(
        "{date}. {processor}, {cores} cores, {memory:.0} GiB; {system}, Linux {kernel}; {}; load {load} at the start",
        versions.trim_end_matches([',', ' '])
    ))
}

fn said_by(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output =
        Command::new(program).args(arguments).output().with_context(|| format!("cannot start {program}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
