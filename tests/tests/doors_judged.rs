//! The doors of `heddle up`, and what it leaves behind: sockets, the preload library, recordings, captures.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::heddle;
use end_to_end::ibsim::Ibsim;
use end_to_end::tools;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn tree(folder: &Path) -> PathBuf {
    let file = folder.join("tree.net");
    let kind = ["fabric", "generate", "fat-tree", "--levels", "2", "--radix", "8", "-o"];
    heddle::text(heddle::command(kind).arg(&file));
    file
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < limit, "still not so after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_second_bring_up_writes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ibsim = Ibsim::start(&tree(folder.path()));
    let up = ["up", "--ibsim", "--once", "--json"];
    let first = heddle::json(&mut ibsim.heddle(&up));
    assert!(first["mads"]["set"].as_u64() > Some(0), "{first:#}");
    let second = heddle::json(&mut ibsim.heddle(&up));
    assert_eq!(second["state"], "up", "{second:#}");
    assert_eq!(second["mads"]["set"], 0, "{second:#}");
    assert_eq!(second["lft_blocks_written"], 0, "{second:#}");
}

#[test]
fn the_preload_library_and_the_socket_give_one_fabric() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let net = tree(folder.path());
    let by_socket = Ibsim::start(&net);
    let report = heddle::json(&mut by_socket.heddle(&["up", "--ibsim", "--once", "--json"]));
    let by_umad = Ibsim::start(&net);
    let mut umad = by_umad.tool(heddle::binary(), &["up", "--umad", "--once", "--json"]);
    let other = heddle::json(&mut umad);
    for key in ["state", "switches", "hosts", "links", "lids", "verify", "lft_blocks_written"] {
        assert_eq!(report[key], other[key], "{key}");
    }
    let lfts = |ibsim: &Ibsim| tools::forwarding(&tools::run(&mut ibsim.tool("dump_lfts", &[])));
    assert_eq!(lfts(&by_socket), lfts(&by_umad));
}

#[test]
fn a_running_manager_answers_and_hears_of_lost_links() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut ibsim = Ibsim::start(&tree(folder.path()));
    let log = folder.path().join("heddle.log");
    let out = fs::File::create(&log).expect("a log file");
    let mut running = ibsim
        .heddle(&["up", "--ibsim", "--sweep", "1s", "--listen", "127.0.0.1:0"])
        .stdout(out.try_clone().expect("a second handle"))
        .stderr(out)
        .stdin(Stdio::null())
        .spawn()
        .expect("heddle starts");
    let said = || fs::read_to_string(&log).unwrap_or_default();
    wait_until("the fabric is up", || said().contains("up in"));

    let sminfo = tools::run(&mut ibsim.tool("sminfo", &[]));
    assert!(sminfo.contains("SMINFO_MASTER"), "{sminfo}");
    let links = |ibsim: &Ibsim| tools::link_states(&tools::run(&mut ibsim.tool("iblinkinfo", &[])));
    let (active, other) = links(&ibsim);
    assert_eq!((active, other), (2 * (32 + 32), 0));

    ibsim.console("Unlink \"leaf-0001\"[5]");
    wait_until("the tables no longer use the lost link", || {
        let held = tools::forwarding(&tools::run(&mut ibsim.tool("dump_lfts", &[])));
        held.values().next().is_some_and(|table| !table.is_empty())
            && held[held.keys().min().expect("a switch")].values().all(|&port| port != 5)
    });
    assert_eq!(links(&ibsim), (active - 2, 0));
    ibsim.console("ReLink \"leaf-0001\"[5]");
    wait_until("the link is in service again", || links(&ibsim) == (active, 0));

    // Ended by its own process id, it ends in order.
    let pid = libc::pid_t::try_from(running.id()).expect("a process id");
    // SAFETY: kill takes plain numbers; the process is a child of this one that was not waited for yet.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    let mut ended = None;
    wait_until("heddle has ended", || {
        ended = running.try_wait().expect("a child can be asked");
        ended.is_some()
    });
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}: {}", said());
}

#[test]
fn a_recording_replays_and_a_changed_one_is_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ibsim = Ibsim::start(&tree(folder.path()));
    let recording = folder.path().join("up.rec");
    heddle::json(ibsim.heddle(&["up", "--ibsim", "--once", "--json", "--record"]).arg(&recording));
    let replay = heddle::json(heddle::command(["replay", "--json"]).arg(&recording));
    assert_eq!(replay["same"], true, "{replay:#}");
    assert_eq!(replay["report"]["state"], "up", "{replay:#}");

    // Another engine than was used: there is none of that name.
    let mut bytes = fs::read(&recording).expect("a recording");
    let engine = bytes.windows(6).position(|word| word == b"\"auto\"").expect("the configuration's engine");
    bytes[engine + 4] = b'x';
    let changed = folder.path().join("changed.rec");
    fs::write(&changed, &bytes).expect("a changed recording");
    let output = heddle::output(heddle::command(["replay"]).arg(&changed));
    assert_eq!(output.status.code(), Some(1), "{}", heddle::describe(&output));
}

/// MADs of a capture by class, method and attribute, as tshark reads them.
fn captured(file: &Path) -> BTreeMap<(String, String), u64> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-T", "fields"]);
    tshark.args(["-e", "infiniband.mad.method", "-e", "infiniband.mad.attributeid"]);
    let mut counts = BTreeMap::new();
    for line in tools::run(&mut tshark).lines() {
        let mut words = line.split('\t').map(str::to_owned);
        let (Some(method), Some(attribute)) = (words.next(), words.next()) else { continue };
        *counts.entry((method, attribute)).or_default() += 1;
    }
    counts
}

#[test]
fn tshark_reads_what_was_captured() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = folder.path().join("up.pcap");
    let net = tree(folder.path());
    let report = heddle::json(
        heddle::command(["up", "--emulate", "--once", "--json", "--capture"]).arg(&capture).arg(&net),
    );
    let kinds = report["mads"]["kinds"].as_object().expect("MADs by kind");
    let mut sent: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut answered: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, count) in kinds {
        let (method, attribute) = kind.split_once(' ').expect("method and attribute");
        let attribute = match attribute.split(' ').next().expect("a word") {
            "NodeDescription" => "0x0010",
            "NodeInfo" => "0x0011",
            "SwitchInfo" => "0x0012",
            "PortInfo" => "0x0015",
            "P_KeyTable" => "0x0016",
            "LinearForwardingTable" => "0x0019",
            other => panic!("a MAD of a kind that a bring-up does not need: {other}"),
        };
        let method = if method == "Get" { "0x01" } else { "0x02" };
        *sent.entry((method.to_owned(), attribute.to_owned())).or_default() +=
            count["sent"].as_u64().expect("a number");
        *answered.entry(attribute.to_owned()).or_default() += count["answered"].as_u64().expect("a number");
    }
    sent.extend(answered.into_iter().map(|(attribute, count)| (("0x81".to_owned(), attribute), count)));
    assert_eq!(captured(&capture), sent);

    // Nothing that Wireshark marks as malformed, and the routes are there.
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&capture).args(["-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number"]);
    assert_eq!(tools::run(&mut tshark), "");
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&capture).args(["-T", "fields", "-e", "infiniband.smpdirected.initialpath"]);
    assert!(tools::run(&mut tshark).lines().any(|path| path.replace(':', "").starts_with("0001")));
}

#[test]
fn opensm_s_tables_are_judged_sound() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ibsim = Ibsim::start(&tree(folder.path()));
    let mut opensm = ibsim.tool("opensm", &["-o"]);
    opensm.arg("-f").arg(folder.path().join("opensm.log"));
    opensm.env("OSM_CACHE_DIR", folder.path()).env("OSM_TMP_DIR", folder.path());
    heddle::output(&mut opensm);
    let topology = folder.path().join("opensm.ibnetdiscover");
    fs::write(&topology, tools::run(&mut ibsim.tool("ibnetdiscover", &[]))).expect("a topology");
    let lfts = folder.path().join("opensm.lfts");
    let dumped = tools::run(&mut ibsim.tool("dump_lfts", &[]));
    fs::write(&lfts, &dumped).expect("tables");
    let verify = heddle::json(heddle::command(["route", "verify", "--json"]).arg(&topology).arg(&lfts));
    assert_eq!(verify["unreachable"], 0, "{verify:#}");

    // One entry taken out: the answer is no, and the exit code says so.
    let spoiled: Vec<&str> = dumped.lines().collect();
    let entry = spoiled.iter().rposition(|line| line.starts_with("0x")).expect("an entry");
    let spoiled = [&spoiled[..entry], &spoiled[entry + 1..]].concat().join("\n");
    fs::write(&lfts, spoiled).expect("tables");
    let output = heddle::output(heddle::command(["route", "verify"]).arg(&topology).arg(&lfts));
    assert_eq!(output.status.code(), Some(1), "{}", heddle::describe(&output));
}
