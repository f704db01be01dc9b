//! The order of LIDs in which what fails together lies together.
//!
//! A switch of a tree decides by one digit of a host's number which link up its packets take (see [`crate::spread`]). In
//! the usual order, leaf by leaf, the hosts behind one uplink lie scattered: one in each leaf, so that a lost uplink
//! touches every block of 64 LIDs. Sorted by the first digit, then the second and so on, they lie side by side.

use fabric::{Fabric, NodeKind, PortId};

use crate::ranks;
use crate::switches::Switches;

/// The ports of all hosts on switches, in the order in which they should have their LIDs; `None` where the cabling is no
/// tree, and any order will do.
pub fn host_order(fabric: &Fabric) -> Option<Vec<PortId>> {
    let switches = Switches::new(fabric);
    let rank = ranks::of(fabric, &switches);
    if !ranks::is_layered(&switches, &rank) {
        return None;
    }
    let strides = ranks::strides(&switches, &rank);
    let mut hosts: Vec<(u64, PortId)> = Vec::with_capacity(fabric.node_count());
    let is_host = |port: PortId| {
        let kind = fabric.kind(fabric.node_of(port));
        kind != NodeKind::Switch && kind != NodeKind::AggregationNode
    };
    let mut number = 0u32;
    for switch in ranks::tree_order(&switches, &rank) {
        let beyond = fabric.neighbors(switches.node(switch as usize)).map(|(_, peer)| peer);
        for port in beyond.filter(|&peer| is_host(peer)) {
            hosts.push((digits_first(number, &strides), port));
            number += 1;
        }
    }
    hosts.sort_unstable();
    Some(hosts.into_iter().map(|(_, port)| port).collect())
}

/// A number with its digits in the opposite order: the one that the lowest switches decide by counts most.
fn digits_first(number: u32, strides: &[u32]) -> u64 {
    let mut turned = 0u64;
    for pair in strides.windows(2) {
        let base = (pair[1] / pair[0]).max(1);
        turned = turned * u64::from(base) + u64::from(number / pair[0] % base);
    }
    let last = strides.last().copied().unwrap_or(1).max(1);
    turned << 32 | u64::from(number / last)
}

#[cfg(test)]
mod tests {
    use fabric::generate::FatTreeSpec;
    use ib::Lid;

    use super::*;
    use crate::engine::engine_by_name;
    use crate::options::Options;

    /// How many blocks of a leaf's table lead up by one port, at most.
    fn blocks_behind_an_uplink(fabric: &Fabric) -> usize {
        let routes = engine_by_name("fat-tree").unwrap().route(fabric, &Options::default()).unwrap();
        let leaf = fabric.switches().find(|&s| fabric.name(s).starts_with("leaf")).unwrap();
        let row = routes.tables.row(leaf);
        let uplinks = fabric.neighbors(leaf).filter(|&(_, peer)| fabric.is_switch(fabric.node_of(peer)));
        uplinks
            .map(|(port, _)| fabric.port_number(port))
            .map(|port| row.chunks(64).filter(|block| block.contains(&port)).count())
            .max()
            .unwrap()
    }

    #[test]
    fn hosts_behind_one_uplink_lie_side_by_side() {
        let mut fabric = FatTreeSpec { levels: Some(3), radix: 16, ..Default::default() }.build().unwrap();
        let order = host_order(&fabric).unwrap();
        assert_eq!(order.len(), 1024);
        for (place, port) in order.into_iter().enumerate() {
            fabric.set_lid(port, Lid(64 + place as u32), 0);
        }
        assert_eq!(blocks_behind_an_uplink(&fabric), 2);
        let hosts: Vec<_> = fabric.hosts().filter_map(|host| fabric.port(host, 1)).collect();
        for (place, port) in hosts.into_iter().enumerate() {
            fabric.set_lid(port, Lid(64 + place as u32), 0);
        }
        assert_eq!(blocks_behind_an_uplink(&fabric), 16);
    }

    #[test]
    fn digits_are_turned_round() {
        assert_eq!(digits_first(0, &[1, 4, 12]), 0);
        assert_eq!(digits_first(1, &[1, 4, 12]), 3 << 32);
        assert_eq!(digits_first(4, &[1, 4, 12]), 1 << 32);
        assert_eq!(digits_first(12, &[1, 4, 12]), 1);
    }
}
