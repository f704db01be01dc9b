//! `heddle pool` as a person or a program meets it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_heddle"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    fn answer(&self, arguments: &str, code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn json(&self, arguments: &str, code: i32) -> Value {
        serde_json::from_str(&self.answer(arguments, code)).unwrap()
    }

    fn refused(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const POOL: &str = include_str!("../../../examples/pool.toml");

#[test]
fn the_example_is_shown_and_checked() {
    let folder = Folder::new();
    folder.write("pool.toml", POOL);
    let shown = folder.answer("pool show pool.toml", 0);
    for words in ["160 GPUs", "XID 79", "8 1g.10gb", "vision", "calendar"] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    let shown = folder.json("pool show pool.toml --json", 0);
    assert_eq!((&shown["gpus"], &shown["format"]), (&160.into(), &"native".into()));
    assert!(shown["calendar"]["next_turn"]["drain_from"].is_i64(), "{shown}");
    let found = folder.json("pool check pool.toml --json", 1);
    assert_eq!(found[0]["kind"], "quota-above-healthy");
    folder.write(
        "pool.toml",
        &POOL.replacen("quota = 160", "quota = 144", 1).replacen("\"failed\"", "\"healthy\"", 1),
    );
    assert_eq!(folder.json("pool check pool.toml --json", 0), Value::Array(vec![]));
}

#[test]
fn slurm_and_fabrics_are_pools_too() {
    let folder = Folder::new();
    folder.write("nodes.txt", "NodeName=n1 CPUTot=8 Sockets=2 Gres=gpu:h100:4 State=IDLE RealMemory=1\n");
    folder.write("gres.conf", "NodeName=n1 Name=gpu Type=h100 File=/dev/nvidia[0-3] Cores=4-7\n");
    let shown = folder.json("pool show nodes.txt --gres gres.conf --json", 0);
    assert_eq!((&shown["gpus"], &shown["models"][0]["name"]), (&4.into(), &"h100".into()));
    folder.answer("fabric generate superpod --units 1 -o pod.toml", 0);
    let shown = folder.json("pool show pod.toml --model H100-80GB --json", 0);
    assert_eq!(
        (&shown["nodes"], &shown["gpus"], &shown["gpus_with_port"]),
        (&32.into(), &256.into(), &256.into())
    );
    assert_eq!(shown["models"][0]["memory_mib"], 81_920);
    assert_eq!(
        folder.json("pool check pod.toml --model H100-80GB --fabric pod.toml --json", 0),
        Value::Array(vec![])
    );
    assert!(folder.refused("pool show pod.toml --gres gres.conf").contains("--gres"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let folder = Folder::new();
    folder.write("pool.toml", &POOL.replacen("weight = 2", "wait = 2", 1));
    let error = folder.refused("pool show pool.toml");
    assert!(error.contains("unknown field `wait`") && error.contains("pool.toml:"), "{error}");
    assert!(folder.refused("pool show none.toml").contains("none.toml"));
    folder.write("history.csv", "time,a\n2026-11-02 00:00:00,1\n2026-11-02 01:00:00,x\n");
    assert!(folder.refused("pool forecast history.csv").contains("history.csv:3:1"));
    folder.write("history.csv", "time,a\n2026-11-02 00:00:00,1\n2026-11-02 01:00:00,2\n");
    assert!(folder.refused("pool forecast history.csv --queue b").contains("the history has a"));
    assert!(folder.refused("pool forecast history.csv --horizon 24h").contains("judge a part"));
    folder.write("daily.csv", "time,a\n2026-11-02 00:00:00,1\n2026-11-03 00:00:00,2\n");
    assert!(folder.refused("pool forecast daily.csv").contains("no whole number of steps"));
}

#[test]
fn demand_is_forecast_beside_its_baselines() {
    let folder = Folder::new();
    let mut history = "time,a,b\n".to_owned();
    for step in 0..24 * 28 {
        let (day, hour) = (step / 24 + 1, step % 24);
        let demand = if (9..18).contains(&hour) { 40 + step % 5 } else { 10 + step % 3 };
        history.push_str(&format!("2026-02-{day:02} {hour:02}:00:00,{demand},1\n"));
    }
    folder.write("history.csv", &history);
    let said = folder.json("pool forecast history.csv --json", 0);
    assert_eq!(
        (&said["step_s"], &said["steps"], &said["horizon_s"]),
        (&3600.into(), &672.into(), &3600.into())
    );
    assert_eq!(said["forecast_for"], "2026-03-01T00:00:00");
    let (a, b) = (&said["queues"][0], &said["queues"][1]);
    assert_eq!(a["baselines"].as_array().unwrap().len(), 3);
    assert!(a["errors"]["mae"].as_f64() < a["baselines"][0]["mae"].as_f64(), "{a}");
    assert_eq!(b["errors"]["mae"], 0.0);
    let shown = folder.answer("pool forecast history.csv --horizon 24h --queue a --from 2026-02-20", 0);
    for words in ["24 h ahead", "same hour last week", "90th percentile", "2026-03-01T23:00:00"] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
}

#[test]
fn a_study_writes_what_replay_reads() {
    let folder = Folder::new();
    let sharing = folder.json(
        "trace study teams --days 14 --seed 3 --json -o a.svg --jobs-out jobs.csv --pool-out pool.toml",
        0,
    );
    assert_eq!((&sharing["gpus"], &sharing["failed"]), (&Value::from(96), &Value::from(0)));
    let replayed = folder.json("trace replay --nodes pool.toml --jobs jobs.csv --json", 0);
    // The same jobs and the same scheduler; the policy draws nothing from the seed.
    for key in ["gpu_used_percent_while_waiting", "preemptions"] {
        assert_eq!(replayed[key].as_f64(), sharing["pooled"][key].as_f64(), "{key}");
    }
    let pool = fs::read_to_string(folder.0.path().join("pool.toml")).unwrap();
    folder.write("other.toml", &pool.replace("\"speech\"", "\"other\""));
    let refused = folder.refused("trace replay --nodes other.toml --jobs jobs.csv");
    assert!(refused.contains("is of the tenant \"speech\", whom the pool does not have"), "{refused}");
}
