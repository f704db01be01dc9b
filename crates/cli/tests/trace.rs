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

#[test]
fn a_job_is_explained() {
    let folder = Folder::new();
    folder.write(
        "few.csv",
        "name,submit_s,run_s,gpus,parts,after\nbig,0,100,8,8,\nwide,10,50,8,3,\nlast,10,5,1,1,wide\n",
    );
    let replay = "trace replay --nodes nodes.csv --jobs few.csv --fabric tree.toml";
    let wide = folder.json(&format!("{replay} --why wide --at 1m --json"));
    assert_eq!(
        (&wide["submitted_s"], &wide["started_s"], &wide["ended_s"]),
        (&10.0.into(), &100.0.into(), &150.0.into())
    );
    assert_eq!(
        (&wide["waited"][0]["waits_for"], &wide["waited"][0]["seconds"]),
        (&"room".into(), &90.0.into())
    );
    assert_eq!((&wide["asked"]["phase"], &wide["asked"]["promised_s"]), (&"waiting".into(), &100.0.into()));
    assert_eq!(wide["when_it_started"]["nodes"].as_array().unwrap().len(), 3);
    assert!(wide["weighed"].as_array().unwrap().iter().any(|place| place["taken"] == true));
    let shown = folder.answer(&format!("{replay} --why wide"));
    for words in
        ["started after 90.00 s", "there is room for 0 of its 3 parts", "3 parts on 3 nodes", "taken"]
    {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    let last = folder.answer(&format!("{replay} --why 3 --at 20"));
    assert!(last.contains("it is to come after wide"), "{last}");
    for (wish, words) in [
        ("--why nobody", "from 1 to 3"),
        ("--at 5", "--why"),
        ("--why wide --at noon", "2.5h"),
        ("--why wide --compare", "--compare"),
    ] {
        assert!(folder.refused(&format!("{replay} {wish}")).contains(words), "{wish}");
    }
}

#[test]
fn what_is_in_a_trace_is_told_in_one_screen() {
    let folder = Folder::new();
    folder.write(
        "few.csv",
        "name,submit_s,run_s,gpus,parts,user,after\na,0,100,8,2,ann,\nb,50,100,8,1,bob,a\n",
    );
    let told = folder.json("trace describe few.csv --json");
    let once = &told["gpus_at_once"];
    assert_eq!((&once["mean"], &once["most"]), (&16.0.into(), &24.0.into()));
    assert_eq!(
        (&told["gangs"], &told["waiting_for_others"], &told["users"]),
        (&1.into(), &1.into(), &2.into())
    );
    let shown = folder.answer("trace describe few.csv");
    assert!(shown.contains("2 jobs of 2 users") && shown.lines().count() < 24, "{shown}");
    // A file without times says so.
    folder.write("untimed.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,500\n");
    let shown = folder.answer("trace describe untimed.csv");
    assert!(shown.contains("does not tell how long") && !shown.contains("0 s"), "{shown}");
}
