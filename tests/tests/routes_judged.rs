//! The tables of every engine, judged by `ibdmchk` and compared with Heddle's own verdict: who is reached, in how many
//! hops, and whether there is a credit loop.

#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::heddle;
use serde_json::Value;

/// What `ibdmchk` says of a list of links and tables on one lane.
struct Judged {
    said: String,
    /// Pairs of hosts by links passed.
    pairs_by_hops: BTreeMap<u64, u64>,
}

fn ibdmchk(folder: &Path, list: &str, tables: &str) -> Judged {
    // It wants a file of multicast tables, and there is no multicast here.
    fs::write(folder.join("none.mcfdbs"), "").unwrap();
    let mut command = Command::new("ibdmchk");
    command.args(["-s", list, "-f", tables, "-m", "none.mcfdbs"]).current_dir(folder);
    let said = heddle::describe(&heddle::output(&mut command));
    let histogram =
        said.split_once("LFT ROUTE HOP HISTOGRAM").and_then(|(_, rest)| rest.split_once("PAIRS\n"));
    let (_, histogram) = histogram.unwrap_or_else(|| panic!("{said}"));
    let rows = histogram.lines().map_while(|line| {
        let mut words = line.split_whitespace().map(str::parse::<u64>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    });
    Judged { pairs_by_hops: rows.collect(), said }
}

fn made(folder: &Path, kind: &[&str]) {
    heddle::text(
        heddle::command(["fabric", "generate"]).args(kind).args(["-o", "a.toml"]).current_dir(folder),
    );
    let up = ["up", "a.toml", "--once", "--save-fabric", "a.lst"];
    heddle::text(heddle::command(up).current_dir(folder));
}

/// Our figures of an engine's tables, which lie in `a.fdbs` afterwards.
fn routed(folder: &Path, engine: &str) -> Value {
    let arguments = ["route", "a.lst", "--engine", engine, "--lanes", "1", "-o", "a.fdbs", "--json"];
    let output = heddle::output(heddle::command(arguments).current_dir(folder));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{engine}: {}", heddle::describe(&output)))
}

/// Whether both find the same pairs and hops.
fn agree(ours: &Value, theirs: &Judged, hosts: u64) {
    let pairs: u64 = theirs.pairs_by_hops.values().sum();
    assert_eq!(pairs, hosts * (hosts - 1), "{}", theirs.said);
    assert_eq!(ours["unreachable"], 0);
    // It counts links, Heddle the switches between them.
    let switches: u64 = theirs.pairs_by_hops.iter().map(|(links, pairs)| (links - 1) * pairs).sum();
    let most = theirs.pairs_by_hops.keys().max().map(|links| links - 1);
    assert_eq!(ours["hops"]["max"].as_u64(), most, "{}", theirs.said);
    let mean = ours["hops"]["mean"].as_f64().unwrap();
    assert!((mean - switches as f64 / pairs as f64).abs() < 1e-9, "{mean}: {}", theirs.said);
}

#[test]
fn ibdmchk_agrees_on_every_engine_s_tables_for_a_fat_tree() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    made(folder, &["fat-tree", "--levels", "3", "--radix", "4"]);
    for engine in ["fat-tree", "layered", "min-hop", "nue", "up-down", "down-up", "auto"] {
        let ours = routed(folder, engine);
        assert_eq!((&ours["loops"], &ours["credit_loops"]), (&0.into(), &0.into()), "{engine}");
        let theirs = ibdmchk(folder, "a.lst", "a.fdbs");
        agree(&ours, &theirs, 16);
        assert!(theirs.said.contains("no credit loops found"), "{engine}: {}", theirs.said);
        assert!(!theirs.said.contains("-E-"), "{engine}: {}", theirs.said);
    }
}

#[test]
fn ibdmchk_finds_the_credit_loop_that_heddle_finds_on_a_ring() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    made(folder, &["torus", "--dimensions", "5", "--hosts", "1"]);
    for (engine, safe) in [("min-hop", false), ("up-down", true), ("nue", true)] {
        let ours = routed(folder, engine);
        let theirs = ibdmchk(folder, "a.lst", "a.fdbs");
        agree(&ours, &theirs, 5);
        assert_eq!(ours["credit_loops"] == 0, safe, "{engine}");
        assert_eq!(theirs.said.contains("no credit loops found"), safe, "{engine}: {}", theirs.said);
    }
}
