//! Judges tables the slow and plain way: every path walked from its start, every circle found by closure.

use std::collections::{BTreeMap, BTreeSet};

use fabric::{Fabric, NodeId, NodeKind, PortId};
use routing::{Lanes, Routes, Tables};

/// What the oracle finds.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    pub pairs: u64,
    pub unreachable: u64,
    pub loops: u64,
    pub credit_loops: u64,
    pub hop_max: u32,
    pub hop_mean: f64,
    /// Ordered pairs of channels one of which waits for the other.
    pub waits: BTreeSet<(Channel, Channel)>,
}

/// A lane of a link, by its sending port.
pub type Channel = (PortId, u8);

fn lids(fabric: &Fabric, port: PortId) -> std::ops::Range<u32> {
    let base = fabric.lid(port).0;
    if base == 0 { 0..0 } else { base..base + (1 << fabric.lmc(port)) }
}

/// The switches passed and the sending ports from a source on, and the port that the packet ends at, if any.
fn walk(fabric: &Fabric, tables: &Tables, from: PortId, lid: u32) -> (u32, Vec<PortId>, Option<PortId>) {
    let mut sent = Vec::new();
    let mut passed = 0;
    let mut node = fabric.node_of(from);
    if !fabric.is_switch(node) {
        let Some(peer) = fabric.peer(from) else { return (0, sent, None) };
        node = fabric.node_of(peer);
        if !fabric.is_switch(node) {
            return (0, sent, Some(peer));
        }
    }
    for _ in 0..fabric.node_count() + 2 {
        passed += 1;
        let out = tables.get(node, lid);
        if out == 0 {
            return (passed, sent, fabric.port(node, 0));
        }
        let Some(port) = fabric.port(node, out) else { return (passed, sent, None) };
        let Some(peer) = fabric.peer(port) else { return (passed, sent, None) };
        node = fabric.node_of(peer);
        if !fabric.is_switch(node) {
            return (passed, sent, Some(peer));
        }
        sent.push(port);
    }
    (passed, sent, None)
}

fn is_host(fabric: &Fabric, port: PortId) -> bool {
    matches!(fabric.kind(fabric.node_of(port)), NodeKind::ChannelAdapter | NodeKind::Router)
}

pub fn judge(fabric: &Fabric, tables: &Tables, lanes: &Lanes) -> Verdict {
    let mut verdict = Verdict::default();
    let ends: Vec<PortId> = fabric.end_ports().filter(|&port| !lids(fabric, port).is_empty()).collect();
    let (mut hop_sum, mut hop_pairs) = (0u64, 0u64);
    for &to in &ends {
        for lid in lids(fabric, to) {
            verdict.loops += loops(fabric, tables, to, lid);
        }
        for &from in ends.iter().filter(|&&from| from != to) {
            verdict.pairs += 1;
            let mut all = true;
            for lid in lids(fabric, to) {
                let (passed, sent, end) = walk(fabric, tables, from, lid);
                all &= end == Some(to);
                let switch = |port| fabric.is_switch(fabric.node_of(port));
                if !switch(from) && !switch(to) {
                    let row = |port| tables.row_index(fabric.node_of(port)).unwrap_or(usize::MAX);
                    let level = fabric.peer(from).map_or(0, |door| lanes.service_level(row(door), lid));
                    let lane = |(before, port): (&PortId, &PortId)| {
                        let came_in = fabric.port_number(fabric.peer(*before).unwrap());
                        (*port, lanes.lane(row(*port), came_in, fabric.port_number(*port), level))
                    };
                    let channels: Vec<Channel> = [from].iter().chain(&sent).zip(&sent).map(lane).collect();
                    for pair in channels.windows(2) {
                        verdict.waits.insert((pair[0], pair[1]));
                    }
                }
                if !is_host(fabric, from) || !is_host(fabric, to) {
                    continue;
                }
                if end == Some(to) && passed > 0 {
                    hop_sum += u64::from(passed);
                    hop_pairs += 1;
                    verdict.hop_max = verdict.hop_max.max(passed);
                }
            }
            verdict.unreachable += u64::from(!all);
        }
    }
    verdict.hop_mean = if hop_pairs == 0 { 0.0 } else { hop_sum as f64 / hop_pairs as f64 };
    verdict.credit_loops = knots(&verdict.waits);
    verdict
}

/// Circles of switches that packets for one LID run in. A packet that its owner's switch delivers runs no further.
fn loops(fabric: &Fabric, tables: &Tables, to: PortId, lid: u32) -> u64 {
    let next = |node: NodeId| {
        let port = fabric.port(node, tables.get(node, lid))?;
        let delivered =
            if fabric.is_switch(fabric.node_of(to)) { port == to } else { fabric.peer(port) == Some(to) };
        let next = fabric.node_of(fabric.peer(port)?);
        (!delivered && fabric.is_switch(next)).then_some(next)
    };
    let mut circles = BTreeSet::new();
    for start in fabric.switches() {
        // After as many steps as there are switches a packet that still runs is on its circle.
        let mut at = Some(start);
        for _ in 0..fabric.switch_count() {
            at = at.and_then(next);
        }
        if let Some(on) = at {
            let mut smallest = on;
            let mut at = next(on);
            while let Some(node) = at.filter(|&node| node != on) {
                smallest = smallest.min(node);
                at = next(node);
            }
            circles.insert(smallest);
        }
    }
    circles.len() as u64
}

/// Strongly connected parts that hold a circle, from the closure of the relation.
fn knots(waits: &BTreeSet<(Channel, Channel)>) -> u64 {
    let mut number = BTreeMap::new();
    for &(a, b) in waits {
        for port in [a, b] {
            let next = number.len();
            number.entry(port).or_insert(next);
        }
    }
    let count = number.len();
    let mut reach = vec![false; count * count];
    for (a, b) in waits {
        reach[number[a] * count + number[b]] = true;
    }
    for via in 0..count {
        for from in 0..count {
            if reach[from * count + via] {
                for to in 0..count {
                    reach[from * count + to] |= reach[via * count + to];
                }
            }
        }
    }
    let both = |a: usize, b: usize| reach[a * count + b] && reach[b * count + a];
    let first = |a: usize| both(a, a) && (0..a).all(|b| !both(a, b));
    (0..count).filter(|&a| first(a)).count() as u64
}

/// Compares the verifier with the oracle, the witnesses included.
pub fn agree(fabric: &Fabric, tables: &Tables) -> routing::Verification {
    agree_on(fabric, tables, &Lanes::one(), routing::verify(fabric, tables))
}

/// The same for tables with lanes.
pub fn agree_on_lanes(fabric: &Fabric, routes: &Routes) -> routing::Verification {
    agree_on(fabric, &routes.tables, &routes.lanes, routing::verify_routes(fabric, routes))
}

fn agree_on(
    fabric: &Fabric,
    tables: &Tables,
    lanes: &Lanes,
    found: routing::Verification,
) -> routing::Verification {
    let truth = judge(fabric, tables, lanes);
    assert_eq!((found.pairs, found.unreachable), (truth.pairs, truth.unreachable), "pairs, unreachable");
    assert_eq!((found.loops, found.credit_loops), (truth.loops, truth.credit_loops), "loops, credit loops");
    assert_eq!(found.hops.max, truth.hop_max);
    assert!((found.hops.mean - truth.hop_mean).abs() < 1e-9);
    assert_eq!(found.first_unreachable.is_some(), truth.unreachable > 0);
    assert_eq!(found.first_loop.is_some(), truth.loops > 0);
    assert_eq!(found.witness.is_some(), truth.credit_loops > 0);
    if let Some(witness) = &found.witness {
        let label = |(port, lane)| (fabric.port_label(port), lane);
        let named: BTreeSet<_> = truth.waits.iter().map(|&(a, b)| (label(a), label(b))).collect();
        let at = |i: usize| {
            let i = i % witness.ports.len();
            (witness.ports[i].clone(), witness.lanes.get(i).copied().unwrap_or(0))
        };
        for i in 0..witness.ports.len() {
            assert!(named.contains(&(at(i), at(i + 1))), "{:?} does not wait for {:?}", at(i), at(i + 1));
        }
        assert_eq!(witness.lanes.len(), if lanes.count() > 1 { witness.ports.len() } else { 0 });
        assert_eq!(Some(witness.ports.len()), shortest(&truth.waits), "the shortest circle");
    }
    if let Some(pair) = &found.first_unreachable {
        let port = |label: &str| fabric.end_ports().find(|&port| fabric.port_label(port) == label).unwrap();
        let (_, _, end) = walk(fabric, tables, port(&pair.from), pair.lid);
        assert_ne!(end, Some(port(&pair.to)));
    }
    found
}

/// The length of the shortest circle, by a search from every channel.
fn shortest(waits: &BTreeSet<(Channel, Channel)>) -> Option<usize> {
    let mut next: BTreeMap<Channel, Vec<Channel>> = BTreeMap::new();
    for &(a, b) in waits {
        next.entry(a).or_default().push(b);
    }
    let from = |start: Channel| {
        let (mut seen, mut layer) = (BTreeSet::new(), vec![start]);
        for length in 1.. {
            let after = layer.iter().flat_map(|channel| next.get(channel).into_iter().flatten());
            let after: Vec<Channel> = after.copied().filter(|&channel| seen.insert(channel)).collect();
            if after.contains(&start) {
                return Some(length);
            }
            if after.is_empty() {
                break;
            }
            layer = after;
        }
        None
    };
    next.keys().filter_map(|&start| from(start)).min()
}
