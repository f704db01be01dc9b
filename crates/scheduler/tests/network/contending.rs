//! What jobs put on links, against a plain walk of every pair's way.

use std::collections::BTreeMap;
use std::sync::Arc;

use fabric::PortId;
use pool::NodeIndex;
use proptest::prelude::*;
use routing::Tables;
use scheduler::network::{Ask, Load, Loads, Pattern, Topology, Traffic, Ways};

use crate::build::{Site, degraded, joined, routed, site, small, superpod, with_domains};

/// The ports that packets leave by from one end port to another; `None` where they do not arrive.
fn walked(site: &Site, tables: &Tables, from: PortId, to: PortId) -> Option<Vec<PortId>> {
    let mut ports = vec![from];
    let mut at = site.fabric.peer(from)?;
    while at != to {
        let number = tables.get(site.fabric.node_of(at), site.fabric.lid(to).0);
        let out = site.fabric.port(site.fabric.node_of(at), number)?;
        ports.push(out);
        at = site.fabric.peer(out)?;
        if ports.len() > 100 {
            return None;
        }
    }
    Some(ports)
}

/// Loads and lost bytes by walking the way of every pair of ranks on every rail by itself.
fn plain(
    site: &Site,
    tables: &Tables,
    gang: &[NodeIndex],
    traffic: &[Traffic],
) -> (BTreeMap<PortId, u64>, u64) {
    let (mut links, mut lost) = (BTreeMap::new(), 0);
    for collective in traffic {
        collective.each_pair(gang.len() as u32, |from, to, bytes| {
            let [out, into] = [from, to].map(|rank| site.ports.rails(gang[rank as usize]));
            let mut rails: Vec<(PortId, PortId)> = Vec::new();
            for a in out {
                rails.extend(into.iter().filter(|b| b.number == a.number).map(|b| (a.port, b.port)));
            }
            if rails.is_empty() {
                rails.extend(out.iter().zip(into).map(|(a, b)| (a.port, b.port)));
            }
            if rails.is_empty() {
                lost += bytes;
            }
            let count = rails.len() as u64;
            for (at, (a, b)) in rails.into_iter().enumerate() {
                let bytes = bytes / count + u64::from((at as u64) < bytes % count);
                if bytes == 0 {
                    continue;
                }
                match walked(site, tables, a, b) {
                    Some(way) => way.into_iter().for_each(|port| *links.entry(port).or_default() += bytes),
                    None => {
                        *links.entry(a).or_default() += bytes;
                        lost += bytes;
                    }
                }
            }
        });
    }
    (links, lost)
}

/// The load of a gang equals that of plain walks; returns it.
pub fn check_against_plain_walks(
    site: &Site,
    tables: &Tables,
    gang: &[NodeIndex],
    traffic: &[Traffic],
) -> Load {
    let ways = Ways::new(Arc::new(site.fabric.clone()), Arc::new(tables.clone()));
    let load = ways.load(&site.ports, gang, traffic);
    let (links, lost) = plain(site, tables, gang, traffic);
    assert_eq!(load.links().iter().copied().collect::<BTreeMap<_, _>>(), links);
    assert_eq!(load.links().len(), links.len(), "a port comes twice");
    assert_eq!(load.lost(), lost);
    load
}

#[test]
fn rings_in_rank_order_leave_a_unit_once_a_rail() {
    let site = site(superpod(2));
    let tables = routed(&site.fabric).unwrap();
    let gang: Vec<NodeIndex> = site.locality.order().collect();
    let traffic = [Traffic { pattern: Pattern::Ring, bytes_per_second: 8 * 64_000_000 }];
    let load = check_against_plain_walks(&site, &tables, &gang, &traffic);
    let between = |&&(port, _): &&(PortId, u64)| {
        let peer = site.fabric.peer(port).unwrap();
        [port, peer].iter().all(|&port| site.fabric.is_switch(site.fabric.node_of(port)))
    };
    // Two units, each left once on each of 8 rails: up to a spine and down again.
    let used: Vec<u64> = load.links().iter().filter(between).map(|&(_, bytes)| bytes).collect();
    assert_eq!(used, [64_000_000 * 2 * 63 / 64; 2 * 8 * 2]);
    // Every node sends and receives by all its rails.
    assert_eq!(load.links().len(), 32 + 64 * 8 * 2);
    assert_eq!(load.lost(), 0);
}

#[test]
fn contention_counts_what_runs_and_what_to_avoid() {
    let site = site(superpod(2));
    let tables = Arc::new(routed(&site.fabric).unwrap());
    let mut topology = Topology::new(Arc::new(site.fabric.clone()), Some(tables), &site.pool);
    let capacity = vec![1; 64];
    let ask = |members| Ask { capacity: &capacity, members, wants: &[], most: 2 };
    // 8 rails of 50 GB/s: a pipeline of 100 GB/s fills a quarter of each.
    let traffic = [Traffic { pattern: Pattern::Pipeline, bytes_per_second: 100_000_000_000 }];
    let first = topology.propose(&ask(8), &traffic).unwrap().remove(0);
    let alone = first.contention.unwrap();
    assert_eq!((alone.worst, alone.avoided_links, alone.lost), (0.5, 0, 0));
    topology.start(&first.load);
    let beside = topology.contention(&first.load).unwrap();
    assert_eq!((beside.worst, beside.mean), (2.0 * alone.worst, 2.0 * alone.mean));
    let port = topology.ports().rails(first.candidate.nodes[0].0)[3].port;
    topology.avoid_link(port, true);
    // The link is used in both directions.
    assert_eq!(topology.contention(&first.load).unwrap().avoided_links, 2);
    topology.avoid_link(port, false);
    let leaf = topology.ports().rails(first.candidate.nodes[0].0)[3].leaf;
    topology.avoid_device(leaf, true);
    assert_eq!(topology.contention(&first.load).unwrap().avoided_links, 16);
    topology.end(&first.load);
    assert!(topology.loads().are_none());
    let bare = Topology::new(Arc::new(site.fabric.clone()), None, &site.pool);
    let proposal = bare.propose(&ask(8), &traffic).unwrap().remove(0);
    assert_eq!((proposal.candidate, proposal.contention), (first.candidate, None));
}

fn any_traffic() -> impl Strategy<Value = Vec<Traffic>> {
    let one = (0usize..5, 0u64..1 << 40);
    let one = one.prop_map(|(at, bytes_per_second)| Traffic { pattern: Pattern::ALL[at], bytes_per_second });
    prop::collection::vec(one, 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn loads_are_those_of_plain_walks_and_leave_no_trace(
        (kind, lost, seed) in (0usize..8, 0u32..12, any::<u64>()),
        gangs in prop::collection::vec((prop::collection::vec(0usize..60, 0..12), any_traffic()), 1..5),
    ) {
        // Hosts with one port, and with eight of which some are lost.
        let fabric = degraded(if kind < 7 { small(kind) } else { superpod(1) }, lost, seed);
        let pool = with_domains(&fabric, 1, 0);
        let site = joined(fabric, pool);
        let Some(tables) = routed(&site.fabric) else { return Ok(()) };
        let mut loads = Loads::none(site.fabric.port_slot_count());
        let mut running = Vec::new();
        for (members, traffic) in gangs {
            let mut gang: Vec<NodeIndex> = Vec::new();
            for at in members {
                let node = NodeIndex((at % site.pool.node_count()) as u32);
                if !gang.contains(&node) {
                    gang.push(node);
                }
            }
            let load = check_against_plain_walks(&site, &tables, &gang, &traffic);
            loads.add(&load);
            running.push(load);
        }
        for port in site.fabric.links().flat_map(|(one, other)| [one, other]) {
            let own = running.iter().flat_map(|load| load.links()).filter(|&&(link, _)| link == port);
            prop_assert_eq!(loads.on(port), own.map(|&(_, bytes)| bytes).sum::<u64>());
        }
        // In another order than they came.
        running.rotate_left(1);
        running.iter().for_each(|load| loads.remove(load));
        prop_assert!(loads.are_none());
    }
}
