//! Virtual lanes on ibsim: what smpquery reads of the switches and saquery hears of the administrator is proven together.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use end_to_end::heddle;
use end_to_end::ibsim::Ibsim;
use end_to_end::tools;
use fabric::{Fabric, PortId};
use routing::{Lanes, Routes, Tables, verify_routes};

/// A manager that goes on; dropped, it is ended.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The mapping for each port in towards a port of the switch with this LID, as smpquery reads it.
fn mappings(ibsim: &Ibsim, lid: u32, out: u8) -> BTreeMap<u8, [u8; 16]> {
    let text = tools::run(&mut ibsim.tool("smpquery", &["sl2vl", &lid.to_string(), &out.to_string()]));
    let rows = text.lines().filter_map(|line| line.strip_prefix("ports: in"));
    rows.map(|row| {
        let (ports, lanes) = row.split_once(':').expect("ports, then lanes");
        let in_port = ports.split(',').next().expect("a port in").trim().parse().expect("a port in");
        let lanes: Vec<u8> = lanes.split('|').filter_map(|lane| lane.trim().parse().ok()).collect();
        (in_port, lanes.try_into().expect("16 service levels"))
    })
    .collect()
}

/// The service level that the administrator names, asked with saquery at a host's node. None while nobody answers.
fn service_level(ibsim: &Ibsim, node: &str, from: u32, to: u32) -> Option<u8> {
    let arguments = ["-p", "--slid", &from.to_string(), "--dlid", &to.to_string()];
    let output = heddle::output(&mut ibsim.tool_at(node, "saquery", &arguments));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |key: &str| {
        let rows = || text.lines().filter_map(|line| line.trim().strip_prefix(key));
        Some(rows().find_map(|row| row.strip_prefix('.'))?.trim_start_matches('.').to_owned())
    };
    let echoed = (value("slid")?.parse(), value("dlid")?.parse());
    assert_eq!(echoed, (Ok(from), Ok(to)), "{text}");
    assert_eq!(value("pkey").as_deref(), Some("0xFFFF"), "{text}");
    u8::from_str_radix(value("sl")?.trim_start_matches("0x"), 16).ok()
}

/// The switch that a host's port is cabled to.
fn entry(fabric: &Fabric, port: PortId) -> fabric::NodeId {
    fabric.node_of(fabric.peer(port).expect("a cabled host"))
}

fn judge(engine: &str, dimensions: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let net = folder.path().join("torus.net");
    heddle::text(
        heddle::command(["fabric", "generate", "torus", "--dimensions", dimensions, "-o"]).arg(&net),
    );
    let ibsim = Ibsim::start(&net);
    let topology = ibsim.folder().join("heddle.ibnetdiscover");
    let up = ["up", "--ibsim", "--engine", engine];
    let report = heddle::json(ibsim.heddle(&up).args(["--once", "--json", "--save-fabric"]).arg(&topology));
    let lanes = report["virtual_lanes"].as_u64().expect("a number of lanes");
    assert!(lanes > 1, "{report:#}");
    let again = heddle::json(ibsim.heddle(&up).args(["--once", "--json"]));
    assert_eq!(again["mads"]["set"], 0, "a second bring-up writes: {again:#}");
    let _running = Running(
        ibsim
            .heddle(&up)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("heddle runs"),
    );

    let text = fs::read_to_string(&topology).expect("a saved fabric");
    let fabric = fabric::formats::read("heddle.ibnetdiscover", text.as_bytes()).expect("our own file").fabric;
    let held = tools::forwarding(&tools::run(&mut ibsim.tool("dump_lfts", &[])));
    let top = fabric.end_ports().map(|port| fabric.lid(port).0).max().expect("some LID");
    let mut tables = Tables::empty_up_to(&fabric, top);
    for switch in fabric.switches() {
        for (&lid, &port) in &held[&fabric.guid(switch).0] {
            tables.set(switch, lid, port);
        }
    }

    let mut mapped = BTreeMap::new();
    for switch in fabric.switches() {
        let lid = fabric.lid(fabric.port(switch, 0).expect("port 0")).0;
        for (port, _) in fabric.neighbors(switch) {
            let out = fabric.port_number(port);
            let rows = mappings(&ibsim, lid, out);
            mapped.extend(rows.into_iter().map(|(in_port, lanes)| ((switch, in_port, out), lanes)));
        }
    }

    // The first host's node is the manager's neighbour; any but the manager's own will do to ask at.
    let hosts: Vec<PortId> =
        fabric.end_ports().filter(|&port| !fabric.is_switch(fabric.node_of(port))).collect();
    let asks_at = fabric.name(fabric.node_of(hosts[1])).to_owned();
    let limit = Instant::now() + Duration::from_secs(60);
    let (first, last) = (fabric.lid(hosts[0]).0, fabric.lid(hosts[hosts.len() - 1]).0);
    while service_level(&ibsim, &asks_at, first, last).is_none() {
        assert!(Instant::now() < limit, "nobody answers saquery");
    }
    let mut levels = BTreeMap::new();
    for &from in &hosts {
        // Credit loops are a matter of the paths between adapters.
        for &to in hosts.iter().filter(|&&to| to != from) {
            let (slid, dlid) = (fabric.lid(from).0, fabric.lid(to).0);
            let level = service_level(&ibsim, &asks_at, slid, dlid).expect("a path record");
            levels.insert((entry(&fabric, from), dlid), level);
        }
    }
    assert!(levels.values().any(|&level| level > 0), "all paths bear service level 0");

    let level = |switch, lid| levels.get(&(switch, lid)).copied().unwrap_or(0);
    let lanes =
        Lanes::of_devices(&fabric, &tables, level, |switch, in_port, out| mapped[&(switch, in_port, out)])
            .expect("no lane drops");
    let proof = verify_routes(&fabric, &Routes { tables, heights: None, lanes });
    assert!(proof.is_clean(), "{proof:#?}");
    println!("{engine}: {} pairs of service levels judged", levels.len());
}

#[test]
fn a_ring_on_two_lanes_is_what_the_tools_read() {
    judge("torus", "5");
    judge("layered", "6");
}

#[test]
fn a_torus_on_two_lanes_is_what_the_tools_read() {
    judge("torus", "4x3");
}
