//! The binary as a person or a program meets it: outputs, exit codes, bad input.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path().join(name), text).unwrap();
        self
    }

    fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_heddle"))
            .args(arguments.split_whitespace())
            .current_dir(self.path())
            .env_remove("IBSIM_SERVER_NAME")
            .env("IBSIM_SOCKNAME", "no-such-ibsim")
            .output()
            .unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs what must be refused with exit code 2, one error and nothing written; returns the error.
    fn refused(&self, arguments: &str) -> String {
        let before = self.names();
        let output = self.run(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert_eq!(error.matches("error:").count(), 1, "{error}");
        assert_eq!(self.names(), before, "{arguments} wrote something");
        assert_eq!(text(&output.stdout), "", "{arguments}");
        error
    }

    fn json(&self, arguments: &str, code: i32) -> Value {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SMALL: &str = "Switch 4 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\nHca 1 \"H2\"\n[1] \"S1\"[2]\n";

#[test]
fn a_fabric_is_made_converted_shown_checked_and_compared() {
    let folder = Folder::new();
    let made = folder.json("fabric generate fat-tree --levels 2 --radix 8 -o a.toml --json", 0);
    assert_eq!((&made["hosts"], &made["switches"], &made["links"]), (&32.into(), &12.into(), &64.into()));
    for file in ["a.net", "a.ibnetdiscover", "a.lst", "a.dot", "topology.conf", "topology.yaml"] {
        let output = folder.run(&format!("fabric convert a.toml {file}"));
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
    }
    let shown = folder.run("fabric show a.net");
    assert!(shown.status.success() && text(&shown.stdout).contains("32"), "{}", text(&shown.stdout));
    assert!(folder.json("fabric show a.net --json", 0).is_object());
    assert_eq!(folder.json("fabric check a.toml --json", 0), Value::Array(vec![]));
    assert_eq!(folder.json("fabric compare a.toml a.net --json", 0), Value::Array(vec![]));
    folder.run("fabric generate fat-tree --levels 2 --radix 8 --hosts 31 -o b.toml");
    assert!(!folder.json("fabric compare a.toml b.toml --json", 1).as_array().unwrap().is_empty());
    assert_eq!(folder.names().iter().filter(|name| name.starts_with('.')).count(), 0);
}

#[test]
fn each_kind_is_generated() {
    let folder = Folder::new();
    for (kind, hosts) in [
        ("fat-tree --hosts 100 --radix 8", 100),
        ("superpod --units 1", 256),
        ("dragonfly-plus --groups 3 --leaves 2 --spines 2 --hosts 2 --global-links 2", 12),
        ("torus --dimensions 3x3 --hosts 2", 18),
        ("hypercube --dimensions 3 --hosts 1", 8),
        ("random-regular --switches 10 --degree 3 --hosts 2 --seed 7", 20),
    ] {
        let made = folder.json(&format!("fabric generate {kind} -o f.toml --json"), 0);
        assert_eq!(made["hosts"], hosts, "{kind}");
    }
    // Standard output takes the fabric itself.
    let output = folder.run("fabric generate torus --dimensions 2x2 --format net");
    assert!(text(&output.stdout).contains("Switch"), "{}", text(&output.stdout));
}

#[test]
fn tables_are_computed_proven_and_converted() {
    let folder = Folder::new();
    folder.run("fabric generate fat-tree --levels 2 --radix 8 -o a.toml");
    let computed = folder.json("route compute a.toml --json", 0);
    assert_eq!((&computed["engine"], &computed["verify"]["unreachable"]), (&"fat-tree".into(), &0.into()));
    let up = folder.run(
        "up a.toml --once --save-fabric a.ibnetdiscover --save-fabric a.lst --save-tables a.lfts --json",
    );
    assert!(up.status.success(), "{}", text(&up.stderr));
    assert_eq!(folder.json("route verify a.ibnetdiscover a.lfts --json", 0)["unreachable"], 0);
    assert!(folder.run("route convert a.lst a.lfts -o a.fdbs").status.success());
    assert!(folder.run("route convert a.lst a.fdbs -o b.lfts").status.success());
    let (a, b) = (fs::read(folder.path().join("a.lfts")), fs::read(folder.path().join("b.lfts")));
    assert!(a.unwrap() == b.unwrap(), "the tables changed on their way through the other form");
    // One entry the wrong way: the answer is no.
    let tables = fs::read_to_string(folder.path().join("a.lfts")).unwrap();
    let at = tables.find("\n0x0").unwrap();
    let spoilt = format!("{}{} 001{}", &tables[..at], &tables[at..at + 7], &tables[at + 11..]);
    folder.write("spoilt.lfts", spoilt.replace(" 005 :", " 001 :"));
    let output = folder.run("route verify a.ibnetdiscover spoilt.lfts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
}

#[test]
fn up_prints_the_promised_json() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    let up = folder.json("up a.net --once --json --lids lids", 0);
    assert_eq!(up["state"], "up");
    assert_eq!(
        (&up["switches"], &up["hosts"], &up["links"], &up["lids"]),
        (&1.into(), &2.into(), &2.into(), &3.into())
    );
    for key in ["sent", "retried", "get", "set"] {
        assert!(up["mads"][key].is_u64(), "{key}: {up:#}");
    }
    for key in ["discover", "route", "program", "total"] {
        assert!(up["seconds"][key].is_number(), "{key}: {up:#}");
    }
    for (key, wanted) in [("pairs", 6), ("unreachable", 0), ("loops", 0), ("credit_loops", 0)] {
        assert_eq!(up["verify"][key], wanted, "{up:#}");
    }
    assert!(up["lft_blocks_written"].is_u64() && up["findings"].is_array(), "{up:#}");
    assert_eq!(fs::read_to_string(folder.path().join("lids")).unwrap().lines().count(), 4);
}

#[test]
fn lids_outlive_a_restart() {
    let folder = Folder::new();
    folder.write("a.net", SMALL).write("lids", "# heddle lids 1\n");
    folder.json("up a.net --once --json --save-fabric a.lst", 0);
    let guids = fs::read_to_string(folder.path().join("a.lst")).unwrap();
    let at = guids.find("PortGUID:").unwrap() + 9;
    folder.write("guid2lid", format!("0x{} 0x0123 0x0123\n", &guids[at..at + 16].to_lowercase()));
    folder.json("up a.net --once --json --opensm-guid2lid guid2lid --lids lids", 0);
    let lids = fs::read_to_string(folder.path().join("lids")).unwrap();
    assert!(lids.lines().any(|line| line.ends_with(" 291")), "{lids}");
}

#[test]
fn a_recording_is_replayed() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    folder.json("up a.net --once --json --record a.rec --capture a.pcap --trace a.trace", 0);
    let replayed = folder.json("replay a.rec --json", 0);
    assert_eq!((&replayed["same"], &replayed["ended"]), (&true.into(), &true.into()));
    assert_eq!(replayed["report"]["state"], "up");
    assert!(fs::metadata(folder.path().join("a.pcap")).unwrap().len() > 1000);
    assert!(fs::read_to_string(folder.path().join("a.trace")).unwrap().contains("NodeInfo"));
    folder.write("b.rec", "no recording");
    assert!(folder.refused("replay b.rec").contains("no recording"));
}

#[test]
fn faults_on_purpose_are_survived() {
    let folder = Folder::new();
    folder.run("fabric generate fat-tree --levels 2 --radix 8 -o a.toml");
    let up = folder.json("up a.toml --once --json --loss 0.02 --duplicate 0.05 --delay 300us --retries 8", 0);
    assert_eq!((&up["state"], &up["hosts"]), (&"up".into(), &32.into()), "{up:#}");
    assert!(up["mads"]["retried"].as_u64().unwrap() > 0);
}

#[test]
fn nothing_but_the_answer_goes_to_a_pipe() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    let output = folder.run("up a.net --once");
    assert_eq!(text(&output.stderr), "");
    let shown = text(&output.stdout);
    assert!(!shown.contains('\x1b') && shown.starts_with("up in "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn every_command_shows_an_example() {
    let folder = Folder::new();
    for command in [
        "up",
        "replay",
        "fabric convert",
        "fabric show",
        "fabric check",
        "fabric compare",
        "fabric status",
        "link list",
        "link show",
        "link pull",
        "link mend",
        "event list",
        "event follow",
        "subnet path",
        "route compute",
        "route verify",
        "route convert",
        "route diff",
        "route",
        "fabric generate fat-tree",
        "fabric generate superpod",
        "fabric generate dragonfly-plus",
        "fabric generate torus",
        "fabric generate hypercube",
        "fabric generate random-regular",
    ] {
        let output = folder.run(&format!("{command} --help"));
        assert!(text(&output.stdout).contains("Example"), "{command}");
    }
}

#[test]
fn bad_files_are_refused_with_place_and_mend() {
    let folder = Folder::new();
    folder
        .write("twice.net", "Switch 4 \"S1\"\n[1] \"H1\"[1]\n[1] \"H2\"[1]\n\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\nHca 1 \"H2\"\n[1] \"S1\"[1]\n")
        .write("binary.net", [0u8, 159, 146, 150, 0, 1, 2])
        .write("empty.net", "")
        .write("truncated.toml", "[[node]]\nname = \"a")
        .write("no-switch.net", "Hca 1 \"H1\"\n[1] \"H2\"[1]\n\nHca 1 \"H2\"\n[1] \"H1\"[1]\n")
        .write("islands.net", format!("{SMALL}\nSwitch 4 \"S2\"\n[1] \"H3\"[1]\n\nHca 1 \"H3\"\n[1] \"S2\"[1]\n"));
    let twice = folder.refused("up twice.net --once");
    assert!(twice.contains("at twice.net:3") && twice.contains("help:"), "{twice}");
    assert!(folder.refused("fabric convert binary.net out.toml").contains("binary"));
    for command in ["fabric show", "fabric check", "route compute", "up --once"] {
        for file in ["empty.net", "truncated.toml", "binary.net", "missing.net"] {
            let error = folder.refused(&format!("{command} {file}"));
            assert!(error.contains(&format!("at {file}")), "{command} {file}: {error}");
        }
    }
    assert!(folder.refused("up no-switch.net --once --lids lids").contains("no switch"));
    let islands = folder.refused("up islands.net --once --lids lids");
    assert!(islands.contains("2 parts") && islands.contains("S2"), "{islands}");
}

#[test]
fn one_switch_is_a_fabric() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    assert_eq!(folder.json("up a.net --once --json", 0)["switches"], 1);
}

#[test]
fn more_hosts_than_lids_are_refused_with_their_number() {
    let folder = Folder::new();
    folder.run("fabric generate fat-tree --hosts 50000 --radix 64 -o big.toml");
    let error = folder.refused("up big.toml --once --lids lids");
    assert!(error.contains("--addressing wide") && error.contains("49151"), "{error}");
}

#[test]
fn wrong_requests_name_the_option() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    assert!(folder.refused("up a.net --once --engine magic").contains("magic"));
    assert!(folder.refused("up --ibsim --addressing wide").contains("--addressing wide"));
    assert!(folder.refused("up a.net --once --loss 7").contains("--loss"));
    assert!(folder.refused("fabric convert a.net out.xyz").contains("out.xyz"));
    assert!(folder.refused("fabric generate torus --dimensions 0x3 -o t.toml").contains("--dimensions"));
    folder.write("lids", "garbage\n");
    assert!(folder.refused("up a.net --once --lids lids").contains("lids:1"));
}

#[test]
fn a_drill_is_held_and_judged() {
    let folder = Folder::new();
    folder.run("fabric generate fat-tree --levels 2 --radix 6 -o tree.toml");
    let free = "drill tree.toml --seed 7 --compute-time free";
    let held = folder.json(&format!("{free} --failures 12 --json"), 0);
    let keys: Vec<&str> = held.as_object().unwrap().keys().map(String::as_str).collect();
    let mut wanted =
        ["seed", "failures", "healed", "p50_ms", "p99_ms", "max_ms", "blocks_mean", "mads_mean", "kinds"];
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!((&held["seed"], &held["failures"], &held["healed"]), (&7.into(), &12.into(), &12.into()));
    assert_eq!(held, folder.json(&format!("{free} --failures 12 --json"), 0), "a seed replays");
    let links = folder.json(&format!("{free} --failures 5 --kinds link,uplink --json"), 0);
    let kinds: Vec<&str> =
        links["kinds"].as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert!(kinds.iter().all(|kind| ["link", "uplink", "mend"].contains(kind)), "{kinds:?}");
    let shown = folder.run("drill tree.toml --failures 3 --kinds link");
    assert!(text(&shown.stdout).starts_with("3 of 3 failures healed: 18 hosts, 9 switches, seed 1\n"));
    let alone = folder.json(&format!("{free} --only 4 --json"), 0);
    assert!(alone["kinds"].as_array().unwrap().len() == 1, "{alone}");
}

#[test]
fn a_drill_that_cannot_be_held_is_refused() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    assert!(folder.refused("drill a.net --kinds earthquake").contains("lost-trap"));
    assert!(folder.refused("drill a.net --kinds link").contains("nothing in this fabric can fail"));
    assert!(folder.refused("drill a.net --engine magic").contains("magic"));
    assert!(folder.refused("drill none.net").contains("none.net"));
}

#[test]
fn missing_doors_are_explained() {
    let folder = Folder::new();
    let ibsim = folder.refused("up --ibsim --once");
    assert!(ibsim.contains("@no-such-ibsim:ctl") && ibsim.contains("help: start it first"), "{ibsim}");
    if !Path::new("/sys/class/infiniband_mad").exists() {
        let umad = folder.refused("up --umad --once");
        assert!(umad.contains("no InfiniBand device") && umad.contains("modprobe ib_umad"), "{umad}");
    }
}

#[test]
fn tshark_reads_a_capture_as_it_was_sent() {
    let folder = Folder::new();
    folder.write("a.net", SMALL);
    folder.json("up a.net --once --json --capture a.pcap --trace a.trace", 0);
    let fields = ["method", "attributeid", "attributemodifier", "transactionid", "status"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-r", "a.pcap", "-T", "fields"]).current_dir(folder.path());
    for field in fields {
        tshark.args(["-e", &format!("infiniband.mad.{field}")]);
    }
    let Ok(output) = tshark.output() else {
        println!("skipped: no tshark");
        return;
    };
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(u64::MAX);
    let seen: Vec<Vec<u64>> =
        text(&output.stdout).lines().map(|line| line.split('\t').map(number).collect()).collect();
    let trace = fs::read_to_string(folder.path().join("a.trace")).unwrap();
    let traced: Vec<&str> = trace.lines().collect();
    assert_eq!(seen.len(), traced.len(), "{}", text(&output.stderr));
    let methods = [("Get", 1), ("Set", 2), ("GetResp", 0x81), ("Trap", 5), ("TrapRepress", 7)];
    for (seen, line) in seen.iter().zip(traced) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |name: &str| number(words[words.iter().position(|word| *word == name).unwrap() + 1]);
        let method = methods.iter().find(|(name, _)| words.contains(name)).unwrap().1;
        assert_eq!(seen[0], method, "{line}");
        assert_eq!((seen[2], seen[3]), (after("modifier"), after("tid")), "{line}");
        assert_eq!(seen[4] & 0x7fff, after("status"), "{line}");
    }
}
