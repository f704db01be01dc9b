//! Fabrics for tests.

use fabric::generate::{
    DragonflyPlusSpec, FatTreeSpec, HypercubeSpec, RandomRegularSpec, SuperpodSpec, TorusSpec,
};
use fabric::{Fabric, NodeId, NodeKind};
use ib::{Guid, Lid};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Gives every end port a LID, in the order of the nodes.
pub fn with_lids(fabric: Fabric) -> Fabric {
    with_lmc(fabric, 0)
}

/// The same, each port with 2^`lmc` LIDs.
pub fn with_lmc(mut fabric: Fabric, lmc: u8) -> Fabric {
    let ports: Vec<_> = fabric.end_ports().collect();
    for (i, port) in ports.into_iter().enumerate() {
        fabric.set_lid(port, Lid((i as u32 + 1) << lmc), lmc);
    }
    fabric
}

/// A fabric from lines of `name[port] name[port]`. Names that begin with `h` are hosts, with `a` aggregation nodes, all
/// others switches of 8 ports.
pub fn drawn(cables: &str) -> Fabric {
    let mut fabric = Fabric::new();
    let mut nodes: Vec<(String, NodeId)> = Vec::new();
    let mut node = |fabric: &mut Fabric, name: &str| {
        if let Some((_, node)) = nodes.iter().find(|(known, _)| known == name) {
            return *node;
        }
        let (kind, ports) = match name.as_bytes()[0] {
            b'h' => (NodeKind::ChannelAdapter, 2),
            b'a' => (NodeKind::AggregationNode, 1),
            _ => (NodeKind::Switch, 8),
        };
        let added = fabric.add_node(kind, Guid(nodes.len() as u64 + 1), ports, name);
        nodes.push((name.to_owned(), added));
        added
    };
    for line in cables.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let ends: Vec<(NodeId, u8)> = line
            .split_whitespace()
            .map(|end| {
                let (name, port) = end.trim_end_matches(']').split_once('[').unwrap_or((end, "1"));
                (node(&mut fabric, name), port.parse().unwrap())
            })
            .collect();
        if let [one, other] = ends[..] {
            fabric.connect(one, other, None).unwrap();
        }
    }
    with_lids(fabric)
}

pub fn fat_tree(levels: u8, radix: u8, taper: f64, parallel: Vec<u8>, hosts: Option<u32>) -> Option<Fabric> {
    let spec = FatTreeSpec {
        levels: Some(levels),
        radix,
        taper: vec![taper],
        parallel,
        hosts,
        ..Default::default()
    };
    spec.build().ok().map(with_lids)
}

/// Trees of many shapes, every one small.
pub fn trees() -> Vec<(String, Fabric)> {
    let mut trees = Vec::new();
    for levels in [2, 3] {
        for radix in [4, 8, 12] {
            for taper in [1.0, 3.0] {
                for parallel in [vec![], vec![2], vec![1, 2]] {
                    for share in [None, Some(3)] {
                        let full = (u32::from(radix) / 2).pow(u32::from(levels)) * 2;
                        let hosts = share.map(|share| full / share + 1);
                        if full > 500 {
                            continue;
                        }
                        if let Some(fabric) = fat_tree(levels, radix, taper, parallel.clone(), hosts) {
                            let name =
                                format!("{levels} levels of {radix}, taper {taper}, {parallel:?}, {hosts:?}");
                            trees.push((name, fabric));
                        }
                    }
                }
            }
        }
    }
    assert!(trees.len() > 20, "only {} trees", trees.len());
    trees
}

/// Small fabrics of every kind that the generators make.
pub fn small(kind: usize) -> Fabric {
    let rate = FatTreeSpec::default().rate;
    let built = match kind % 8 {
        0 => FatTreeSpec { levels: Some(2), radix: 6, ..Default::default() }.build(),
        1 => FatTreeSpec { levels: Some(3), radix: 4, ..Default::default() }.build(),
        2 => FatTreeSpec { levels: Some(2), radix: 9, taper: vec![2.0], ..Default::default() }.build(),
        3 => TorusSpec { dimensions: vec![4, 3], hosts: 1, parallel: 1, rate }.build(),
        4 => HypercubeSpec { dimensions: 3, hosts: 2, ..Default::default() }.build(),
        5 => RandomRegularSpec { switches: 10, degree: 3, hosts: 2, seed: kind as u64, ..Default::default() }
            .build(),
        6 => DragonflyPlusSpec {
            groups: 3,
            leaves: 2,
            spines: 2,
            hosts: 2,
            global_links: 2,
            ..Default::default()
        }
        .build(),
        _ => TorusSpec { dimensions: vec![5], hosts: 2, parallel: 2, rate }.build(),
    };
    with_lids(built.unwrap())
}

pub fn superpod(units: u32) -> Fabric {
    with_lids(SuperpodSpec { units, ..Default::default() }.build().unwrap())
}

/// Takes away about `per_cent` of the cables between switches, and one switch's cables now and then.
pub fn degraded(mut fabric: Fabric, per_cent: u32, seed: u64) -> Fabric {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let between: Vec<_> = fabric
        .links()
        .filter(|&(a, b)| fabric.is_switch(fabric.node_of(a)) && fabric.is_switch(fabric.node_of(b)))
        .collect();
    for (port, _) in between {
        if chance.next_u32() % 100 < per_cent {
            fabric.disconnect(port);
        }
    }
    let switches: Vec<_> = fabric.switches().collect();
    if per_cent > 0 && !switches.is_empty() && chance.next_u32() % 4 == 0 {
        let lost = switches[chance.next_u32() as usize % switches.len()];
        for port in fabric.ports(lost) {
            fabric.disconnect(port);
        }
    }
    with_lids(fabric)
}

/// Switches, hosts and aggregation nodes cabled at random: anything at all.
pub fn random(seed: u64) -> Fabric {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = |below: u32| chance.next_u32() % below;
    let mut fabric = Fabric::new();
    let switches = draw(7);
    let others = draw(10);
    for i in 0..switches {
        fabric.add_node(NodeKind::Switch, Guid(u64::from(i) + 1), 1 + draw(7) as u8, &format!("s{i}"));
    }
    for i in 0..others {
        let kind =
            [NodeKind::ChannelAdapter, NodeKind::ChannelAdapter, NodeKind::Router, NodeKind::AggregationNode];
        let kind = kind[draw(4) as usize];
        fabric.add_node(kind, Guid(u64::from(i) + 100), 1 + draw(2) as u8, &format!("n{i}"));
    }
    let nodes = switches + others;
    for _ in 0..if nodes == 0 { 0 } else { 3 * nodes } {
        // Half of the cables join switches, so that there is something to route.
        let ends = if draw(2) == 0 && switches > 0 { switches } else { nodes };
        let (a, b) = (NodeId(draw(ends)), NodeId(draw(nodes)));
        let (a_port, b_port) = (1 + draw(7) as u8, 1 + draw(7) as u8);
        let _ = fabric.connect((a, a_port), (b, b_port), None);
    }
    with_lids(fabric)
}
