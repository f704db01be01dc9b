//! `heddle trace replay` and `describe` as a person or a program meets them.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with a cluster of eight nodes, jobs for it, and a fabric with a host for each.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.json("trace generate --jobs 300 --nodes 8 --seed 5 --jobs-out jobs.csv --nodes-out nodes.csv");
        folder.json("fabric generate fat-tree --levels 2 --radix 8 --hosts 8 -o tree.toml");
        folder
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

    fn answer(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// What is printed as JSON; null where nothing is.
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.answer(arguments)).unwrap_or(Value::Null)
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

#[test]
fn what_knowing_the_fabric_brings_stands_side_by_side() {
    let folder = Folder::new();
    let replay = "trace replay --nodes nodes.csv --jobs jobs.csv --fabric tree.toml";
    let compared = folder.json(&format!("{replay} --compare heddle,best-fit --json"));
    assert_eq!(compared["fabric"]["bound"], "in-order");
    let policies = compared["policies"].as_array().unwrap();
    let names: Vec<_> = policies.iter().map(|figures| figures["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["heddle-blind", "heddle", "best-fit"]);
    let placed: Vec<_> =
        policies.iter().map(|figures| figures["gangs"]["placed_by_fabric"].as_bool().unwrap()).collect();
    assert_eq!(placed, [false, true, false]);
    let hops = |at: usize| policies[at]["gangs"]["hops"]["mean"].as_f64().unwrap();
    assert!(hops(1) <= hops(0), "{} {}", hops(1), hops(0));
    let shown =
        folder.answer(&format!("{replay} --engine min-hop --collective all-to-all --collective-gbps 10"));
    for words in
        ["routed by min-hop", "all-to-all with 10 Gbit/s", "in one leaf", "the order of the hosts' names"]
    {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    // Without a fabric nothing is said of one.
    let plain = folder.json("trace replay --nodes nodes.csv --jobs jobs.csv --json");
    assert!(plain["gangs"].is_null() && plain["fabric"].is_null() && plain["waiting_s"].is_object());
    // The hosts of the fabric as the pool have its names.
    folder.write("own.csv", "submit_s,run_s,gpus,parts\n0,60,8,3\n");
    let own = folder.json("trace replay --nodes tree.toml --jobs own.csv --fabric tree.toml --json");
    assert_eq!((&own["fabric"]["bound"], &own["gangs"]["starts"]), (&"by-name".into(), &1.into()));
}

#[test]
fn wishes_for_a_fabric_that_cannot_be_are_refused() {
    let folder = Folder::new();
    folder.json("fabric generate fat-tree --levels 2 --radix 8 --hosts 7 -o few.toml");
    let replay = "trace replay --nodes nodes.csv --jobs jobs.csv";
    let refused = folder.refused(&format!("{replay} --fabric few.toml"));
    assert!(
        refused.contains("7 hosts") && refused.contains("8 nodes") && refused.contains("few.toml"),
        "{refused}"
    );
    assert!(folder.refused(&format!("{replay} --fabric tree.toml --engine best")).contains("min-hop"));
    assert!(folder.refused(&format!("{replay} --engine min-hop")).contains("--fabric"));
    assert!(
        folder
            .refused(&format!("{replay} --fabric tree.toml --collective star"))
            .contains("halving-doubling")
    );
    assert!(folder.refused(&format!("{replay} --fabric tree.toml --collective-gbps -4")).contains("error"));
    assert!(folder.refused(&format!("{replay} --fabric tree.toml --inflate 1.3")).contains("--inflate"));
}
