//! A fabric brought up by Heddle on ibsim, judged by the tools that every site has.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::heddle;
use end_to_end::ibsim::Ibsim;
use end_to_end::shared::shared;
use end_to_end::tools;

/// What one bring-up left behind for the judges.
struct BroughtUp {
    ibsim: Ibsim,
    topology: PathBuf,
    forwarding: PathBuf,
    subnet_list: PathBuf,
    report: serde_json::Value,
}

fn bring_up(net: &Path) -> BroughtUp {
    let ibsim = Ibsim::start(net);
    let save = |name: &str| ibsim.folder().join(name);
    let (topology, forwarding, subnet_list) =
        (save("heddle.ibnetdiscover"), save("heddle.lfts"), save("opensm-subnet.lst"));
    let report = heddle::json(ibsim.heddle(&["up", "--ibsim", "--once", "--json"]).args([
        "--save-fabric".as_ref(),
        topology.as_os_str(),
        "--save-fabric".as_ref(),
        subnet_list.as_os_str(),
        "--save-tables".as_ref(),
        forwarding.as_os_str(),
    ]));
    BroughtUp { ibsim, topology, forwarding, subnet_list, report }
}

/// Everything that must hold whatever the fabric.
fn judge(net: &Path) -> BroughtUp {
    let up = bring_up(net);
    let report = &up.report;
    assert_eq!(report["state"], "up", "{report:#}");
    for fault in ["unreachable", "loops", "credit_loops"] {
        assert_eq!(report["verify"][fault], 0, "{report:#}");
    }

    // The topology is the one that the real tool finds, line by line.
    let real = tools::run(&mut up.ibsim.tool("ibnetdiscover", &[]));
    let ours = fs::read_to_string(&up.topology).expect("a saved fabric");
    let (real_lines, our_lines) = (tools::sorted_topology(&real), tools::sorted_topology(&ours));
    let differ = real_lines.iter().zip(&our_lines).find(|(a, b)| a != b);
    assert_eq!(differ, None, "the first line that differs: ibnetdiscover's, ours");
    assert_eq!(real_lines.len(), our_lines.len());

    // Every link is active at both ends.
    let links = report["links"].as_u64().expect("a number of links") as usize;
    let states = tools::link_states(&tools::run(&mut up.ibsim.tool("iblinkinfo", &[])));
    assert_eq!(states, (2 * links, 0), "(ends active, ends in another state)");

    // The switches hold the tables that Heddle says it wrote.
    let held = tools::forwarding(&tools::run(&mut up.ibsim.tool("dump_lfts", &[])));
    let said = tools::forwarding(&fs::read_to_string(&up.forwarding).expect("saved tables"));
    assert_eq!(held.len() as u64, report["switches"].as_u64().expect("a number of switches"));
    assert!(held == said, "dump_lfts reads other tables than Heddle says it wrote");
    up
}

/// `ibtracert` between pairs of hosts follows the ports that our tables name.
fn trace(up: &BroughtUp, pairs: usize) {
    let text = fs::read_to_string(&up.topology).expect("a saved fabric");
    let loaded = fabric::formats::read("heddle.ibnetdiscover", text.as_bytes()).expect("our own file");
    let fabric = &loaded.fabric;
    let tables = tools::forwarding(&fs::read_to_string(&up.forwarding).expect("saved tables"));
    let ends: Vec<_> = fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))).collect();
    assert!(ends.len() > 1, "two hosts are needed for a path");
    // A fixed stride that visits near and far pairs alike.
    for k in 0..pairs {
        let (from, to) = (ends[k * 7919 % ends.len()], ends[(k * 104_729 + ends.len() / 2) % ends.len()]);
        if from == to {
            continue;
        }
        let (source, target) = (fabric.lid(from).0, fabric.lid(to).0);
        let mut expected = vec![fabric.port_number(from)];
        let mut at = fabric.node_of(fabric.peer(from).expect("a cabled host"));
        while fabric.is_switch(at) {
            let out = tables[&fabric.guid(at).0][&target];
            expected.push(out);
            at = fabric.node_of(fabric.peer(fabric.port(at, out).expect("a port")).expect("a cabled port"));
            assert!(expected.len() < 64, "a forwarding loop towards LID {target}");
        }
        let mut tracert = up.ibsim.tool("ibtracert", &[&source.to_string(), &target.to_string()]);
        assert_eq!(tools::traced_ports(&tools::run(&mut tracert)), expected, "LID {source} to LID {target}");
    }
}

/// ibdmchk finds all paths and no credit loop in the files that Heddle writes.
fn check_with_ibdmchk(up: &BroughtUp) {
    let fdbs = up.ibsim.folder().join("opensm.fdbs");
    heddle::text(
        heddle::command(["route", "convert"]).arg(&up.subnet_list).arg(&up.forwarding).arg("-o").arg(&fdbs),
    );
    // It wants a file of multicast tables, and there is no multicast yet.
    let multicast = up.ibsim.folder().join("opensm.mcfdbs");
    fs::write(&multicast, "").expect("an empty file");
    let mut ibdmchk = std::process::Command::new("ibdmchk");
    ibdmchk.arg("-s").arg(&up.subnet_list).arg("-f").arg(&fdbs).arg("-m").arg(&multicast);
    ibdmchk.current_dir(up.ibsim.folder());
    let output = heddle::output(&mut ibdmchk);
    let said = heddle::describe(&output);
    assert!(said.contains("no credit loops found"), "{said}");
    assert!(!said.contains("-E-"), "{said}");
}

/// OpenSM, started afterwards, keeps every LID.
fn opensm_keeps_the_lids(up: &BroughtUp) {
    let before = tools::lids(&tools::run(&mut up.ibsim.tool("ibnetdiscover", &[])));
    let folder = up.ibsim.folder();
    let log = folder.join("opensm.log");
    let mut opensm = up.ibsim.tool("opensm", &["-o", "-f", log.to_str().expect("a plain path")]);
    opensm.env("OSM_CACHE_DIR", &folder).env("OSM_TMP_DIR", &folder);
    let said = heddle::describe(&heddle::output(&mut opensm));
    assert!(fs::read_to_string(&log).unwrap_or_default().contains("SUBNET UP"), "{said}");
    let after = tools::lids(&tools::run(&mut up.ibsim.tool("ibnetdiscover", &[])));
    assert!(!before.is_empty());
    assert_eq!(before, after, "OpenSM gave out other LIDs");
}

fn generated(kind: &[&str], folder: &Path) -> PathBuf {
    let file = folder.join("generated.net");
    heddle::text(heddle::command(["fabric", "generate"]).args(kind).arg("-o").arg(&file));
    file
}

#[test]
fn the_stock_examples_come_up() {
    let examples = Path::new("/usr/share/doc/ibsim-utils/net-examples");
    for name in ["net", "net.1", "net.2sw2path", "net.2sw2path4hca", "net.2sw2path4hca2port"] {
        let up = judge(&examples.join(name));
        trace(&up, 6);
        opensm_keeps_the_lids(&up);
        println!("{name}: {} links", up.report["links"]);
    }
}

#[test]
fn a_fat_tree_comes_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let net = generated(&["fat-tree", "--levels", "3", "--radix", "12"], folder.path());
    let up = judge(&net);
    assert_eq!(up.report["hosts"], 432);
    trace(&up, 24);
    check_with_ibdmchk(&up);
    opensm_keeps_the_lids(&up);
}

#[test]
fn a_tapered_tree_comes_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let net = generated(&["fat-tree", "--levels", "2", "--radix", "36", "--taper", "2"], folder.path());
    let up = judge(&net);
    trace(&up, 12);
    check_with_ibdmchk(&up);
}

#[test]
fn real_fabrics_come_up() {
    for name in ["edr-96", "fdr10-edr-2", "ndr-40-rail", "hdr-160-storage"] {
        let Some(file) = shared(&format!("fabrics/{name}.ibnetdiscover")) else { return };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let net = folder.path().join("real.net");
        heddle::text(heddle::command(["fabric", "convert"]).arg(&file).arg(&net));
        let up = judge(&net);
        trace(&up, 12);
        check_with_ibdmchk(&up);
        opensm_keeps_the_lids(&up);
    }
}
