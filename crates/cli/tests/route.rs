//! `heddle route` as a person or a program meets it: figures, every option, differences.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a fabric of 12 switches and 32 hosts: `a.toml`; the same with LIDs: `a.ibnetdiscover`, `a.lst`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.yes("fabric generate fat-tree --levels 2 --radix 8 -o a.toml");
        folder.yes("up a.toml --once --save-fabric a.ibnetdiscover --save-fabric a.lst --save-tables a.lfts");
        folder
    }

    fn run(&self, arguments: &str) -> Output {
        let words = arguments.split_whitespace().map(|word| word.replace('~', " "));
        Command::new(env!("CARGO_BIN_EXE_heddle")).args(words).current_dir(self.0.path()).output().unwrap()
    }

    fn yes(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &str) -> Value {
        let output = self.run(&format!("{arguments} --json"));
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{arguments}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn refused(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }
}

#[test]
fn the_promised_figures_are_printed_with_and_without_a_verb() {
    let folder = Folder::new();
    for command in
        ["route a.toml --engine fat-tree", "route compute a.toml --engine fat-tree", "route a.toml"]
    {
        let figures = folder.json(command);
        assert_eq!(figures["engine"], "fat-tree", "{command}");
        for (key, wanted) in [
            ("switches", 12),
            ("lids", 44),
            ("unreachable", 0),
            ("loops", 0),
            ("credit_loops", 0),
            ("virtual_lanes", 1),
        ] {
            assert_eq!(figures[key], wanted, "{command}: {key}");
        }
        assert!(figures["seconds"].is_f64() && figures["hops"]["mean"].is_f64());
        assert_eq!(figures["hops"]["max"], 3);
        let load = &figures["load"];
        assert_eq!((&load["all_to_all"]["max"], &load["all_to_all"]["p99"]), (&28.into(), &28.into()));
        assert_eq!((&load["all_to_all"]["mean"], &load["shifts"]["max"]), (&28.0.into(), &1.into()));
        let bandwidth = load["permutations"]["effective_bandwidth"].as_f64().unwrap();
        assert!((0.5..1.0).contains(&bandwidth), "{bandwidth}");
        let bounds = &figures["bounds"];
        assert_eq!((&bounds["all_to_all"], &bounds["shifts"]), (&28.into(), &1.into()));
        assert_eq!(bounds["effective_bandwidth"], 1.0);
    }
    let auto = folder.json("route a.toml");
    assert!(auto["topology"].as_str().unwrap().contains("fat tree") && auto["reason"].is_string());
    assert!(folder.yes("route a.toml").contains("1,000 permutations"));
}

#[test]
fn foreign_tables_have_the_same_figures() {
    let folder = Folder::new();
    folder.yes("route convert a.lst a.lfts -o a.fdbs");
    let ours = folder.json("route a.ibnetdiscover");
    for command in ["route verify a.ibnetdiscover a.lfts", "route verify a.lst a.fdbs"] {
        let theirs = folder.json(command);
        for key in
            ["switches", "lids", "virtual_lanes", "unreachable", "credit_loops", "hops", "load", "bounds"]
        {
            assert_eq!(theirs[key], ours[key], "{command}: {key}");
        }
    }
    assert!(folder.refused("route verify a.toml a.lfts").contains("no port of the fabric has a LID"));
}

#[test]
fn the_difference_names_what_would_change() {
    let folder = Folder::new();
    let same = folder.json("route diff a.lst a.lfts a.lfts");
    assert_eq!(
        (&same["entries"], &same["blocks"], &same["pairs"]["changed"]),
        (&0.into(), &0.into(), &0.into())
    );
    assert!(folder.yes("route diff a.lst a.lfts a.lfts").contains("the same"));
    folder.yes("route a.lst --engine min-hop --scatter 7 -o b.fdbs");
    let output = folder.run("route diff a.lst a.lfts b.fdbs");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("pairs of end ports") && text.contains("0 lose theirs"), "{text}");
    let differs = folder.json("route diff a.lst a.lfts b.fdbs");
    let list = differs["by_switch"].as_array().unwrap();
    assert_eq!(differs["switches"], list.len());
    for key in ["entries", "blocks"] {
        let sum: u64 = list.iter().map(|switch| switch[key].as_u64().unwrap()).sum();
        assert!(sum > 0 && differs[key] == sum, "{key}");
    }
    let pairs = &differs["pairs"];
    assert_eq!((&pairs["all"], &pairs["lost"], &pairs["gained"]), (&(44 * 43).into(), &0.into(), &0.into()));
    assert!(pairs["changed"].as_u64().unwrap() > 0);
}

/// Names and GUIDs of the fabric's nodes of a kind.
fn nodes(folder: &Folder, mark: &str) -> Vec<(String, String)> {
    let text = folder.read("a.ibnetdiscover");
    let lines = text.lines().filter(|line| line.starts_with(mark));
    lines
        .map(|line| {
            let mut quoted = line.split('"');
            let guid = quoted.nth(1).unwrap().split('-').nth(1).unwrap().to_owned();
            (quoted.nth(1).unwrap().to_owned(), format!("0x{guid}"))
        })
        .collect()
}

#[test]
fn wishes_are_heeded_by_name_and_by_guid() {
    let folder = Folder::new();
    let (switches, hosts) = (nodes(&folder, "Switch"), nodes(&folder, "Ca"));
    assert_eq!((switches.len(), hosts.len()), (12, 32));
    let word = |name: &str| name.replace(' ', "~");
    let plain = folder.json("route a.lst --engine up-down")["load"].clone();

    // Roots, from the command line and from a file, mean the same.
    let leaf = word(&switches[0].0);
    let root = folder.json(&format!("route a.lst --engine up-down --root {leaf}"));
    folder.write("roots", &format!("# tops\n{}  # by GUID\n\n", switches[0].1));
    assert_eq!(folder.json("route a.lst --engine up-down --roots roots")["load"], root["load"]);
    assert_eq!(root["unreachable"], 0);
    assert_ne!(root["load"]["all_to_all"]["max"], Value::Null);
    assert!(folder.refused(&format!("route a.lst --root {}", word(&hosts[0].0))).contains("is no switch"));
    assert!(folder.refused("route a.lst --root nobody").contains("the fabric has no node \"nobody\""));
    folder.write("wrong", "\n0x99\n");
    assert!(folder.refused("route a.lst --roots wrong").contains("at wrong:2"));
    folder.write("empty", "# nobody\n");
    assert!(folder.refused("route a.lst --io-nodes empty").contains("names nobody"));

    // A weight: heavy hosts part, so the load is another one.
    let heavy: Vec<&(String, String)> = hosts.iter().step_by(4).collect();
    let file: String = heavy.iter().map(|(name, _)| format!("{name} = 20\n")).collect();
    folder.write("weights", &file);
    let weighed = folder.yes("route a.lst --engine up-down --weights weights -o weighed.lfts");
    assert!(weighed.contains("reachable"));
    let options: Vec<String> = heavy.iter().map(|(_, guid)| format!("--weight {guid}=20")).collect();
    folder.yes(&format!("route a.lst --engine up-down {} -o again.lfts", options.join(" ")));
    assert_eq!(folder.read("weighed.lfts"), folder.read("again.lfts"));
    folder.yes("route a.lst --engine up-down -o plain.lfts");
    assert_ne!(folder.read("weighed.lfts"), folder.read("plain.lfts"));
    assert!(folder.refused(&format!("route a.lst --weight {}=0", heavy[0].1)).contains("is no weight"));
    assert!(folder.refused(&format!("route a.lst --weight {}", heavy[0].1)).contains("write NAME=W"));

    // Compute and IO nodes are two ways to say the same.
    let (io, compute): (Vec<_>, Vec<_>) = hosts.iter().enumerate().partition(|(i, _)| i % 4 == 0);
    let list = |hosts: Vec<(usize, &(String, String))>| {
        hosts.iter().map(|(_, (_, guid))| format!("{guid}\n")).collect::<String>()
    };
    folder.write("io", &list(io));
    folder.write("compute", &list(compute));
    folder.yes("route a.lst --io-nodes io -o io.lfts");
    folder.yes("route a.lst --compute-nodes compute -o compute.lfts");
    assert_eq!(folder.read("io.lfts"), folder.read("compute.lfts"));
    assert_ne!(folder.read("io.lfts"), folder.read("a.lfts"));

    // A port to avoid carries nothing: its switch has one link fewer in its table.
    let ports = |file: &str| {
        let text = folder.read(file);
        let section =
            text.split("Unicast lids").find(|section| section.contains(&switches[0].1)).unwrap().to_owned();
        section
            .lines()
            .filter_map(|line| line.strip_prefix("0x")?.split_whitespace().nth(1)?.parse::<u8>().ok())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let used = *ports("a.lfts").last().unwrap();
    folder.yes(&format!("route a.lst --avoid {leaf}:{used} -o avoid.lfts"));
    assert!(!ports("avoid.lfts").contains(&used));
    assert!(folder.refused(&format!("route a.lst --avoid {leaf}:99")).contains("no cable leads from"));
    assert!(folder.refused("route a.lst --avoid nothing").contains("names no port"));

    // Chance follows its seed.
    let scattered = folder.json("route a.lst --engine up-down --scatter 3")["load"].clone();
    assert_eq!(scattered, folder.json("route a.lst --engine up-down --scatter 3")["load"]);
    assert_ne!(scattered, plain);
    assert!(folder.refused("route a.lst --lanes 16").contains("--lanes"));
    assert_eq!(folder.json("route a.lst --lanes 2")["unreachable"], 0);
}

#[test]
fn ports_get_as_many_lids_as_asked_for() {
    let folder = Folder::new();
    for lmc in [0, 1, 3, 7] {
        let figures = folder.json(&format!("route a.lst --lmc {lmc}"));
        assert_eq!((&figures["lids"], &figures["unreachable"]), (&(12 + (32 << lmc)).into(), &0.into()));
    }
    assert!(folder.refused("route a.lst --lmc 8").contains("--lmc"));
    folder.yes("fabric generate fat-tree --radix 36 --hosts 2000 -o big.toml");
    assert!(folder.refused("route big.toml --lmc 7").contains("128 each"));
}

#[test]
fn given_tables_are_an_engine() {
    let folder = Folder::new();
    folder.yes("route a.lst --engine up-down --scatter 5 -o given.fdbs");
    let taken = folder.json("route a.lst --engine file --tables given.fdbs -o taken.fdbs");
    assert_eq!((&taken["engine"], &taken["unreachable"]), (&"file".into(), &0.into()));
    assert_eq!(folder.read("given.fdbs"), folder.read("taken.fdbs"));
    assert!(folder.refused("route a.lst --engine file").contains("--tables opensm.fdbs"));
    assert!(folder.refused("route a.lst --tables given.fdbs").contains("--engine file"));
    assert!(folder.refused("route a.lst --engine magic").contains("fat-tree, layered, min-hop"));
    assert_eq!(folder.json("route a.lst --engine down-up")["credit_loops"], 0);
}

#[test]
fn lanes_are_told_and_missed_by_their_number() {
    let folder = Folder::new();
    folder.yes("fabric generate torus --dimensions 4x4 -o torus.toml");
    assert!(folder.yes("route torus.toml --engine torus").contains("no credit loop on 2 lanes"));
    assert!(folder.yes("route torus.toml --engine nue --lanes 1").contains("no credit loop on one lane"));
    let refused = folder.refused("route torus.toml --engine layered --lanes 1");
    assert!(refused.contains("layered needs 2 virtual lanes and may use 1"), "{refused}");
}

#[test]
fn adaptive_groups_are_lines_of_json() {
    let folder = Folder::new();
    folder.yes("route a.lst --adaptive-groups groups");
    let text = folder.read("groups");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let head = lines.next().unwrap();
    assert_eq!((&head["heddle-adaptive-groups"], &head["engine"]), (&1.into(), &"fat-tree".into()));
    assert_eq!(head["switches"].as_array().unwrap().len(), 12);
    for (at, line) in lines.enumerate() {
        assert_eq!(line["switch"], at);
        let (groups, group_of) = (line["groups"].as_array().unwrap(), line["group_of"].as_array().unwrap());
        assert_eq!((group_of.len(), &group_of[at]), (12, &Value::Null));
        let known = |group: &Value| group.as_u64().is_some_and(|group| (group as usize) < groups.len());
        // One spine has no way to another that climbs first.
        let others = if groups.len() == 8 { 8 } else { 11 };
        assert_eq!(group_of.iter().filter(|group| known(group)).count(), others);
    }
    folder.yes("fabric generate torus --dimensions 5 --hosts 1 -o ring.toml");
    let refused = folder.refused("route ring.toml --engine min-hop --adaptive-groups groups");
    assert!(refused.contains("would deadlock"), "{refused}");
    assert!(folder.yes("route --help").contains("on standard hardware they stay off"));
}
