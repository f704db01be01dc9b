//! Slurm's `scontrol show nodes`, and what `gres.conf` adds to it: which socket a GPU sits at.
//!
//! A node takes the model's name from its Gres as it stands (`gpu:h100:8`); without a type it is `gpu`. The GPUs of a node count
//! as one NVLink domain. Slurm's states become Heddle's: what is down, failing or not answering is failed; what drains or
//! is to be rebooted, draining; what is set aside for maintenance, and any state that is not known here, cordoned.

use std::collections::BTreeMap;

use super::gres::{self, Line};
use crate::FormatError;
use crate::node::{Gpu, Health, Node, Pool, State};

/// What `scontrol` says of one node.
#[derive(Default)]
struct Record<'a> {
    line: usize,
    name: &'a str,
    cpus: u32,
    sockets: u32,
    memory_mib: u64,
    gres: &'a str,
    state: &'a str,
    reason: &'a str,
}

/// Reads `scontrol show nodes` with, where there is one, `gres.conf`.
///
/// # Errors
/// Where a number is none, a Gres cannot be read, a node stands twice, or the two contradict each other.
pub fn read(name: &str, text: &str, gres_conf: Option<(&str, &str)>) -> Result<Pool, FormatError> {
    let records = records(name, text)?;
    let lines = gres_conf.map_or(Ok(Vec::new()), |(name, text)| gres::read(name, text))?;
    let mut by_node: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in &lines {
        for node in &line.nodes {
            by_node.entry(node).or_default().push(line);
        }
    }
    let mut pool = Pool::new();
    for record in &records {
        let error = |what: String, mend: &str| FormatError::at(name, record.line as u32, 1, what, mend);
        let counts = gpus_of(record.gres)
            .map_err(|what| error(what, "a Gres is gpu:8, gpu:h100:8 or gpu:h100:8(S:0-1)"))?;
        let sockets = record.sockets.max(1);
        let own = by_node.get(record.name).map_or(&[][..], Vec::as_slice);
        let numa = numa_of(own, record, counts.iter().map(|(_, count)| count).sum())
            .map_err(|what| error(what, "let gres.conf and scontrol come from the same time"))?;
        let domain = pool.node_count() as u32;
        let health = health(record);
        let mut gpus = Vec::with_capacity(numa.len());
        for (model, count) in counts {
            let model = pool.model_named(model, 0);
            for _ in 0..count {
                let numa = numa[gpus.len()];
                let health = Health::default();
                gpus.push(Gpu { model, nvlink: Some(domain), numa, attachment: None, health });
            }
        }
        let cpu_milli = record.cpus.saturating_mul(1000) / sockets;
        pool.add_node(Node {
            name: record.name.to_owned(),
            cpu_milli: vec![cpu_milli; sockets as usize],
            memory_mib: record.memory_mib,
            health,
            gpus,
        })
        .map_err(|problem| error(problem.to_string(), "give the output of one `scontrol show nodes`"))?;
    }
    Ok(pool)
}

fn records<'a>(name: &str, text: &'a str) -> Result<Vec<Record<'a>>, FormatError> {
    let mut records: Vec<Record<'a>> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let error = |what: String, mend: &str| FormatError::at(name, at as u32 + 1, 1, what, mend);
        if let Some(rest) = line.trim_start().strip_prefix("NodeName=") {
            let host = rest.split_whitespace().next().unwrap_or_default();
            if host.is_empty() {
                return Err(error("a node without a name".to_owned(), "give `scontrol show nodes` as it is"));
            }
            records.push(Record { line: at + 1, name: host, ..Record::default() });
        }
        let Some(record) = records.last_mut() else {
            if line.trim().is_empty() {
                continue;
            }
            let what = format!("\"{}\" before any NodeName=", line.trim());
            return Err(error(what, "give `scontrol show nodes` as it is"));
        };
        if let Some((_, reason)) = line.split_once("Reason=") {
            record.reason = reason.trim();
            continue;
        }
        for word in line.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else { continue };
            let number = || {
                value.parse::<u64>().map_err(|_| {
                    error(
                        format!("{key} of {} is \"{value}\"", record.name),
                        "it is a whole number from 0 on",
                    )
                })
            };
            match key {
                "CPUTot" => record.cpus = u32::try_from(number()?).unwrap_or(u32::MAX),
                "Sockets" => record.sockets = u32::try_from(number()?).unwrap_or(u32::MAX).min(MAX_SOCKETS),
                "RealMemory" => record.memory_mib = number()?,
                "Gres" => record.gres = value,
                "State" => record.state = value,
                _ => {}
            }
        }
    }
    Ok(records)
}

/// More sockets than any machine has: a bound on what one line can ask for.
const MAX_SOCKETS: u32 = 1024;
/// The same for GPUs of one node.
const MAX_GPUS_OF_NODE: usize = 1024;

/// Model and count of each kind of GPU in a Gres.
fn gpus_of(gres: &str) -> Result<Vec<(&str, usize)>, String> {
    let mut found = Vec::new();
    let mut depth = 0;
    // Commas within parentheses belong to an index list.
    let parts = gres.split(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    });
    for part in parts.filter(|part| !part.is_empty()) {
        let plain = part.split('(').next().unwrap_or_default();
        let mut words = plain.split(':');
        if words.next() != Some("gpu") {
            continue;
        }
        let (model, count) = match (words.next(), words.next()) {
            (None, _) => ("gpu", Some(1)),
            (Some(count), None) if count.parse::<usize>().is_ok() => ("gpu", count.parse().ok()),
            (Some(model), None) => (model, Some(1)),
            (Some(model), Some(count)) => (model, count.parse().ok()),
        };
        let Some(count) = count.filter(|&count| count <= MAX_GPUS_OF_NODE) else {
            return Err(format!("\"{part}\" is no count of GPUs"));
        };
        found.push((model, count));
    }
    Ok(found)
}

/// The socket of each GPU: by the cores that gres.conf names, else evenly.
fn numa_of(lines: &[&Line], record: &Record<'_>, gpus: usize) -> Result<Vec<u16>, String> {
    let sockets = record.sockets.max(1) as usize;
    let evenly = (0..gpus).map(|gpu| (gpu * sockets / gpus.max(1)) as u16);
    let listed: usize = lines.iter().map(|line| line.count).sum();
    if listed == 0 {
        return Ok(evenly.collect());
    }
    if listed != gpus {
        return Err(format!("{} has {gpus} GPUs by scontrol and {listed} by gres.conf", record.name));
    }
    let per_socket = (record.cpus as usize / sockets).max(1);
    Ok(lines
        .iter()
        .flat_map(|line| {
            let socket = line.first_core.map(|core| (core / per_socket).min(sockets - 1) as u16);
            std::iter::repeat_n(socket, line.count)
        })
        .zip(evenly)
        .map(|(socket, evenly)| socket.unwrap_or(evenly))
        .collect())
}

fn health(record: &Record<'_>) -> Health {
    let mut state = State::Healthy;
    for word in record.state.split('+') {
        let answers = !word.ends_with('*');
        let word = word.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
        let of_word = match word {
            _ if !answers => State::Failed,
            "DOWN" | "FAIL" | "FAILING" | "ERROR" | "UNKNOWN" | "NOT_RESPONDING" | "INVALID_REG"
            | "INVAL" | "POWERED_DOWN" | "POWER_DOWN" | "POWERING_DOWN" | "FUTURE" => State::Failed,
            "DRAIN" | "DRAINED" | "DRAINING" | "REBOOT" | "REBOOT_REQUESTED" | "REBOOT_ISSUED" => {
                State::Draining
            }
            "" | "IDLE" | "ALLOCATED" | "ALLOC" | "MIXED" | "MIX" | "COMPLETING" | "COMP" | "PLANNED"
            | "RESERVED" | "RESV" | "CLOUD" | "DYNAMIC_NORM" | "DYNAMIC_FUTURE" | "RESUME"
            | "POWERING_UP" | "BLOCKED" => State::Healthy,
            _ => State::Cordoned,
        };
        state = state.max(of_word);
    }
    let reason = match (state, record.reason) {
        (State::Healthy, _) => String::new(),
        (_, "") => format!("Slurm: {}", record.state),
        (_, reason) => reason.to_owned(),
    };
    Health { state, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "NodeName=n1 Arch=x86_64 CoresPerSocket=56 \n   CPUAlloc=0 CPUEfctv=112 CPUTot=112 CPULoad=0.05\n   \
        Gres=gpu:h100:8(S:0-1)\n   RealMemory=2063937 AllocMem=0 Sockets=2 Boards=1\n   State=IDLE ThreadsPerCore=1\n\n\
        NodeName=n2 Arch=x86_64 CoresPerSocket=16 \n   CPUTot=32 Gres=gpu:a100_3g.20gb:2,shard:4,gpu:1\n   RealMemory=500000 \
        Sockets=1\n   State=MIXED+DRAIN ThreadsPerCore=1\n   Reason=bad fan [root@2026-12-01T10:00:00]\n";

    #[test]
    fn nodes_as_scontrol_shows_them() {
        let pool = read("nodes.txt", TWO, None).unwrap();
        pool.check_invariants();
        let [n1, n2] = ["n1", "n2"].map(|name| pool.node_named(name).unwrap());
        assert_eq!((pool.gpus_of(n1).len(), pool.gpus_of(n2).len()), (8, 3));
        assert_eq!(pool.numa_cpu_milli(n1), [56_000, 56_000]);
        assert_eq!(pool.gpus_of(n1).map(|gpu| pool.numa(gpu)).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(pool.node_health(n2).state, State::Draining);
        assert_eq!(pool.node_health(n2).reason, "bad fan [root@2026-12-01T10:00:00]");
        let models: Vec<_> = pool.models().iter().map(|model| model.name.as_str()).collect();
        assert_eq!(models, ["h100", "a100_3g.20gb", "gpu"]);
    }

    #[test]
    fn gres_conf_says_where_gpus_sit() {
        let gres = "# comment\nNodeName=n[1,7] Name=gpu Type=h100 File=/dev/nvidia[0-5] Cores=0-55\n\
            NodeName=n1 Name=gpu Type=h100 File=/dev/nvidia[6-7] Cores=56-111\n";
        let pool = read("nodes.txt", TWO, Some(("gres.conf", gres))).unwrap();
        let n1 = pool.node_named("n1").unwrap();
        assert_eq!(pool.gpus_of(n1).map(|gpu| pool.numa(gpu)).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1, 1]);
        let gres = "NodeName=n1 Name=gpu File=/dev/nvidia[0-2]\n";
        let error = read("nodes.txt", TWO, Some(("gres.conf", gres))).unwrap_err().to_string();
        assert!(error.contains("n1 has 8 GPUs by scontrol and 3 by gres.conf"), "{error}");
    }

    #[test]
    fn states_are_taken_over() {
        let state = |state: &str| health(&Record { state, ..Record::default() }).state;
        assert_eq!([state("IDLE"), state("MIXED+PLANNED"), state("IDLE+CLOUD")], [State::Healthy; 3]);
        assert_eq!([state("DOWN*"), state("IDLE*"), state("DOWN+DRAIN+INVALID_REG")], [State::Failed; 3]);
        assert_eq!([state("IDLE+DRAIN"), state("ALLOCATED+REBOOT_ISSUED")], [State::Draining; 2]);
        assert_eq!([state("IDLE+MAINTENANCE"), state("IDLE+SOMETHING_NEW")], [State::Cordoned; 2]);
    }

    #[test]
    fn wrong_text_is_refused_by_line() {
        let refused = |text: &str| read("nodes.txt", text, None).unwrap_err().to_string();
        assert!(refused("   CPUTot=1\n").starts_with("nodes.txt:1:1:"));
        assert!(refused("NodeName=a\n CPUTot=x\n").contains("nodes.txt:2:1: CPUTot of a is \"x\""));
        assert!(refused("NodeName=a Gres=gpu:h100:many\n").contains("no count"));
        assert!(refused("NodeName=a Gres=gpu:99999999\n").contains("no count"));
        assert!(refused("NodeName=a\nNodeName=a\n").contains("nodes.txt:2:1: a second node"));
    }
}
