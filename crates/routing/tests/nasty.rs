//! Small nasty fabrics, written down in Heddle's own form, through every engine: each gives tables without a fault, or
//! says what it lacks.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use common::build::with_lids;
use common::oracle::{agree, agree_on_lanes};
use fabric::{Fabric, formats};
use routing::engine::ENGINES;
use routing::{Options, RouteError, engine_by_name, islands, verify_routes};

/// A file of Heddle's own form: switches of 10 ports, adapters of 2; `h` begins the names of hosts, `r` of routers, `a` of
/// aggregation nodes. A link is a line, its rate may follow.
fn native(nodes: &str, links: &str) -> Fabric {
    let mut text = "heddle-fabric = 1\nnodes = [\n".to_owned();
    for name in nodes.split_whitespace() {
        let (kind, ports) = match name.as_bytes()[0] {
            b'h' => ("host", 2),
            b'r' => ("router", 2),
            b'a' => ("aggregation-node", 1),
            _ => ("switch", 10),
        };
        let _ = writeln!(text, "  {{ kind = \"{kind}\", name = \"{name}\", ports = {ports} }},");
    }
    text += "]\nlinks = [\n";
    for link in links.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let _ = writeln!(text, "  \"{link}\",");
    }
    text += "]\n";
    let loaded =
        formats::read("nasty.toml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    with_lids(loaded.fabric)
}

fn corpus() -> Vec<(&'static str, Fabric)> {
    vec![
        ("one idle switch", native("s0", "")),
        ("a host without a cable", native("s0 h0 h1", "s0[1] h0[1]")),
        ("two hosts back to back", native("h0 h1", "h0[1] h1[1]")),
        (
            "a ring of three",
            native(
                "s0 s1 s2 h0 h1 h2",
                "s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s0[2]\n s0[3] h0[1]\n s1[3] h1[1]\n s2[3] h2[1]",
            ),
        ),
        (
            "a ring of six with an idle switch in it and two hosts on one",
            native(
                "s0 s1 s2 s3 s4 s5 h0 h1 h2 h3 h4 h5",
                "s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s3[2]\n s3[1] s4[2]\n s4[1] s5[2]\n s5[1] s0[2]
                 s0[3] h0[1]\n s1[3] h1[1]\n s2[3] h2[1]\n s3[3] h3[1]\n s4[3] h4[1]\n s0[4] h5[1]",
            ),
        ),
        (
            "two rings that share a switch",
            native(
                "s0 s1 s2 s3 s4 h0 h1 h2 h3 h4",
                "s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s0[2]\n s0[3] s3[4]\n s3[3] s4[4]\n s4[3] s0[4]
                 s0[9] h0[1]\n s1[9] h1[1]\n s2[9] h2[1]\n s3[9] h3[1]\n s4[9] h4[1]",
            ),
        ),
        (
            "parallel links of unequal speed",
            native(
                "s0 s1 h0 h1 h2 h3",
                "s0[1] s1[1] 4xEDR\n s0[2] s1[2] 4xHDR\n s0[3] s1[3] 1xSDR\n s0[4] s1[4]
                 s0[5] h0[1] 4xHDR\n s0[6] h1[1] 4xHDR\n s1[5] h2[1] 4xHDR\n s1[6] h3[1] 4xHDR",
            ),
        ),
        (
            "a host on two switches, and on one switch twice",
            native(
                "l0 l1 t h0 h1 h2",
                "l0[1] t[1]\n l1[1] t[2]\n l0[2] h0[1]\n l1[2] h0[2]\n l0[3] h1[1]\n l0[4] h1[2]\n l1[3] h2[1]",
            ),
        ),
        (
            "a leaf with one uplink beside leaves with two",
            native(
                "l0 l1 l2 t0 t1 h0 h1 h2 h3",
                "l0[1] t0[1]\n l0[2] t1[1]\n l1[1] t0[2]\n l1[2] t1[2]\n l2[1] t1[3]
                 l0[3] h0[1]\n l1[3] h1[1]\n l2[3] h2[1]\n l2[4] h3[1]",
            ),
        ),
        (
            "a leaf behind a leaf",
            native(
                "l0 l1 l2 t0 t1 h0 h1 h2",
                "l0[1] t0[1]\n l0[2] t1[1]\n l1[1] t0[2]\n l1[2] t1[2]\n l1[3] l2[3]\n l0[4] h0[1]\n l1[4] h1[1]\n l2[4] h2[1]",
            ),
        ),
        (
            "two islands",
            native(
                "s0 s1 s2 s3 h0 h1 h2 h3",
                "s0[1] s1[1]\n s0[2] h0[1]\n s1[2] h1[1]\n s2[1] s3[1]\n s2[2] h2[1]\n s3[2] h3[1]",
            ),
        ),
        (
            "two islands, one without hosts, and a host in both others",
            native(
                "s0 s1 s2 s3 h0 h1 h2",
                "s0[1] h0[1]\n s1[1] h0[2]\n s0[2] h1[1]\n s1[2] h2[1]\n s2[1] s3[1]",
            ),
        ),
        (
            "a switch without hosts at the end of a chain",
            native("s0 s1 s2 s3 h0 h1", "s0[1] s1[2]\n s1[1] s2[2]\n s2[1] s3[2]\n s0[3] h0[1]\n s1[3] h1[1]"),
        ),
        (
            "a switch cabled to itself twice",
            native(
                "s0 s1 h0 h1",
                "s0[1] s0[2]\n s0[3] s0[4]\n s0[5] s1[5]\n s1[1] s1[2]\n s0[6] h0[1]\n s1[6] h1[1]",
            ),
        ),
        (
            "hosts on every level, a router and aggregation nodes",
            native(
                "l0 l1 t0 t1 h0 h1 h2 r0 a0 a1 a2",
                "l0[1] t0[1]\n l0[2] t1[1]\n l1[1] t0[2]\n l1[2] t1[2]\n l0[3] h0[1]\n l1[3] h1[1]\n t0[3] h2[1]
                 t1[3] r0[1]\n l0[4] a0[1]\n t0[4] a1[1]\n t1[4] a2[1]",
            ),
        ),
        (
            "everybody cabled to everybody",
            native(
                "s0 s1 s2 s3 h0 h1 h2 h3",
                "s0[1] s1[1]\n s0[2] s2[1]\n s0[3] s3[1]\n s1[2] s2[2]\n s1[3] s3[2]\n s2[3] s3[3]
                 s0[9] h0[1]\n s1[9] h1[1]\n s2[9] h2[1]\n s3[9] h3[1]",
            ),
        ),
        (
            "a mesh with a hole and a tail",
            native(
                "s0 s1 s2 s3 s4 s5 s6 h0 h1 h2 h3 h4 h5 h6",
                "s0[1] s1[1]\n s1[2] s2[1]\n s0[2] s3[1]\n s2[2] s4[1]\n s3[2] s5[1]\n s4[2] s5[2]\n s5[3] s6[1]\n s3[3] s6[2]
                 s0[9] h0[1]\n s1[9] h1[1]\n s2[9] h2[1]\n s3[9] h3[1]\n s4[9] h4[1]\n s5[9] h5[1]\n s6[9] h6[1]",
            ),
        ),
    ]
}

/// Ordered pairs of end ports that no cabling joins.
fn separated(fabric: &Fabric) -> u64 {
    let parts = islands(fabric);
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for port in fabric.end_ports() {
        let node = fabric.node_of(port);
        let at = if fabric.is_switch(node) { node } else { fabric.node_of(fabric.peer(port).unwrap()) };
        *ends.entry(parts.of_node[at.index()]).or_default() += 1;
    }
    let all: u64 = ends.values().sum();
    ends.values().map(|&inside| inside * (all - inside)).sum()
}

#[test]
fn every_engine_routes_them_or_says_what_it_lacks() {
    let mut routed: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, fabric) in corpus() {
        for &engine in ENGINES {
            let routes = match engine_by_name(engine).unwrap().route(&fabric, &Options::default()) {
                Ok(routes) => routes,
                Err(RouteError::NoPath { .. } | RouteError::OtherTopology { .. }) => continue,
                Err(error) => panic!("{name}: {engine}: {error}"),
            };
            *routed.entry(engine).or_default() += 1;
            let found = if routes.lanes.count() == 1 {
                agree(&fabric, &routes.tables)
            } else {
                agree_on_lanes(&fabric, &routes)
            };
            let wanted = (separated(&fabric), 0);
            assert_eq!((found.unreachable, found.loops), wanted, "{name}: {engine}: {found:?}");
            assert!(found.credit_loops == 0 || engine == "min-hop", "{name}: {engine}: {found:?}");
        }
    }
    // Engines for any cabling leave none out; the others take what is theirs.
    let all = corpus().len();
    for engine in ["layered", "min-hop", "nue", "up-down"] {
        assert_eq!(routed[engine], all, "{engine}");
    }
    assert!(routed["fat-tree"] * 2 > all, "{routed:?}");
}

#[test]
fn auto_routes_all_of_them_without_a_credit_loop() {
    for (name, fabric) in corpus() {
        for most_lanes in [1, 8] {
            let options = Options { most_lanes, ..Options::default() };
            let (routes, choice) =
                routing::auto(&fabric, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            let found = verify_routes(&fabric, &routes);
            assert!(routes.lanes.count() <= most_lanes, "{name}: {choice}");
            let found = (found.unreachable, found.loops, found.credit_loops);
            assert_eq!(found, (separated(&fabric), 0, 0), "{name}: {choice}");
        }
    }
}
