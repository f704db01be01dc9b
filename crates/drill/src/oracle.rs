//! Whether what the devices hold is right, read from the devices and from nowhere else.

use std::collections::BTreeMap;

use emulator::Emulator;
use fabric::{Fabric, NodeId, PortId};
use ib::{Lid, PortState};
use routing::{Lanes, NO_ROUTE, Routes, Tables, Verification, verify_routes};
use subnet::SubnetManager;

/// How many parts of a fabric that is cut are named.
const NAMED: usize = 3;

/// What a manager at a port can reach: nodes, and links that it can ask about. Adapters pass nothing on.
pub(crate) struct Island {
    is_in: Vec<bool>,
    links: Vec<(PortId, PortId)>,
}

impl Island {
    /// All that `own` reaches.
    pub fn new(fabric: &Fabric, own: PortId) -> Self {
        let home = fabric.node_of(own);
        let mut is_in = vec![false; fabric.node_count()];
        is_in[home.index()] = true;
        let (mut left, mut links) = (vec![home], Vec::new());
        while let Some(node) = left.pop() {
            for (port, peer) in fabric.neighbors(node) {
                if !fabric.is_switch(node) && port != own {
                    continue;
                }
                let beyond = fabric.node_of(peer);
                // A link between two switches is met from both ends.
                if port < peer || !fabric.is_switch(beyond) {
                    links.push((port, peer));
                }
                if !std::mem::replace(&mut is_in[beyond.index()], true) {
                    left.push(beyond);
                }
            }
        }
        Self { is_in, links }
    }
}

/// Judges what devices hold.
pub(crate) struct Oracle {
    own: PortId,
    /// The LID that each port had when it was seen last: it keeps it.
    lids: BTreeMap<PortId, Lid>,
}

impl Oracle {
    /// For a manager at this port.
    pub fn new(own: PortId) -> Self {
        Self { own, lids: BTreeMap::new() }
    }

    /// Judges the manager's part of the fabric as it stands now; what is wrong, where something is. Lanes are those that
    /// switches give to the service levels that the manager names for each pair.
    pub fn judge(&mut self, emulator: &Emulator, manager: &SubnetManager) -> Result<(), String> {
        let fabric = emulator.fabric();
        let island = Island::new(fabric, self.own);
        for &(a, b) in &island.links {
            for port in [a, b] {
                let state = emulator.port_info(port).port_state;
                if state != PortState::ACTIVE {
                    return Err(format!("{} is {state}", fabric.port_label(port)));
                }
            }
        }
        let mut judged = fabric.clone();
        let ends: Vec<PortId> = fabric.end_ports().collect();
        let own_lid = emulator.port_info(self.own).lid;
        let mut taken: BTreeMap<Lid, PortId> = BTreeMap::new();
        for &port in &ends {
            judged.set_lid(port, Lid::NONE, 0);
        }
        let asked = island.links.iter().flat_map(|&(a, b)| [a, b]);
        let adapters = asked.filter(|&port| !fabric.is_switch(fabric.node_of(port)));
        let switches = fabric.switches().filter(|node| island.is_in[node.index()]);
        for port in switches.filter_map(|node| fabric.port(node, 0)).chain(adapters) {
            let info = emulator.port_info(port);
            let label = fabric.port_label(port);
            if info.lid == Lid::NONE {
                return Err(format!("{label} has no LID"));
            }
            if info.sm_lid != own_lid {
                return Err(format!("{label} takes LID {} for the manager's", info.sm_lid));
            }
            if let Some(other) = taken.insert(info.lid, port).filter(|&other| other != port) {
                return Err(format!("{label} and {} have one LID, {}", fabric.port_label(other), info.lid));
            }
            let before = *self.lids.entry(port).or_insert(info.lid);
            if before != info.lid {
                return Err(format!("{label} has LID {} and had {before}", info.lid));
            }
            judged.set_lid(port, info.lid, info.lmc);
        }
        let held = tables_of(emulator, &judged, |node| emulator.forwarding_table(node));
        let lanes = lanes_of(emulator, &judged, &held, manager)?;
        match said(&verify_routes(&judged, &Routes { tables: held, heights: None, lanes })) {
            None => Ok(()),
            Some(wrong) => Err(wrong),
        }
    }

    /// The parts that a cut fabric has beside the manager's, by what they hold; empty where nothing with power is cut
    /// off.
    pub fn parts_cut_off(&self, emulator: &Emulator) -> Option<String> {
        let fabric = emulator.fabric();
        let island = Island::new(fabric, self.own);
        let islands = routing::islands(fabric);
        let mut parts: BTreeMap<u32, (u32, NodeId)> = BTreeMap::new();
        for node in fabric.nodes() {
            if !island.is_in[node.index()] && !emulator.is_off(node) {
                parts.entry(islands.of_node[node.index()]).or_insert((0, node)).0 += 1;
            }
        }
        let mut parts: Vec<(u32, NodeId)> = parts.into_values().collect();
        parts.sort_by_key(|&(size, node)| (std::cmp::Reverse(size), node));
        let count = parts.len();
        let mut named: Vec<String> = parts
            .into_iter()
            .take(NAMED)
            .map(|(size, node)| match size {
                1 => fabric.name(node).to_owned(),
                _ => format!("{size} nodes with {}", fabric.name(node)),
            })
            .collect();
        if count > NAMED {
            named.push(format!("{} more", count - NAMED));
        }
        (count > 0).then(|| named.join(", "))
    }
}

/// Tables of what every switch holds, as far as its top says that it uses them.
pub(crate) fn tables_of<'a>(
    emulator: &Emulator,
    fabric: &Fabric,
    held: impl Fn(NodeId) -> &'a [u8] + Sync,
) -> Tables {
    Tables::filled(fabric, routing::tables::top_lid(fabric), |_, node, row| {
        row.fill(NO_ROUTE);
        let table = held(node);
        let used = emulator.switch_info(node).linear_fdb_top.0 as usize + 1;
        let used = used.min(table.len()).min(row.len());
        row[..used].copy_from_slice(&table[..used]);
    })
}

/// The lanes of what every switch holds, with the service levels that the manager names.
pub(crate) fn lanes_of(
    emulator: &Emulator,
    fabric: &Fabric,
    held: &Tables,
    manager: &SubnetManager,
) -> Result<Lanes, String> {
    if manager.lanes() == 1 {
        // What closes no circle of links closes none of lanes.
        return Ok(Lanes::one());
    }
    let level = |node, lid| manager.service_level(fabric.guid(node), Lid(lid)).unwrap_or(0);
    let mapping = |node, in_port, out_port| {
        emulator.lane_mapping(node, in_port, out_port).map_or([0; 16], |mapping| mapping.0)
    };
    let lanes = Lanes::of_devices(fabric, held, level, mapping)?;
    let between = |port| {
        fabric
            .peer(port)
            .is_some_and(|peer| [port, peer].into_iter().all(|end| fabric.is_switch(fabric.node_of(end))))
    };
    let runs = |port| ib::virtual_lanes(emulator.port_info(port).operational_vls);
    let short = fabric.links().flat_map(|(a, b)| [a, b]).filter(|&port| between(port));
    match short.into_iter().find(|&port| runs(port) < lanes.count()) {
        Some(port) => {
            Err(format!("{} runs {} lanes of {}", fabric.port_label(port), runs(port), lanes.count()))
        }
        None => Ok(lanes),
    }
}

/// What is wrong with tables, where something is.
pub(crate) fn said(proof: &Verification) -> Option<String> {
    let mut wrong = Vec::new();
    if proof.unreachable > 0 {
        let pair = proof.first_unreachable.as_ref();
        let pair = pair.map_or_else(String::new, |pair| {
            format!(" (from {} to {}, LID {})", pair.from, pair.to, pair.lid)
        });
        wrong.push(format!("{} of {} pairs have no path{pair}", proof.unreachable, proof.pairs));
    }
    wrong.extend(said_of_circles(proof));
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// Loops and credit loops, where there are any.
pub(crate) fn said_of_circles(proof: &Verification) -> Option<String> {
    let mut wrong = Vec::new();
    if let Some(circle) = &proof.first_loop {
        wrong.push(format!("packets for LID {} run in a circle: {}", circle.lid, circle.ports.join(" -> ")));
    }
    if let Some(circle) = &proof.witness {
        wrong.push(format!("a credit loop: {}", circle.ports.join(" -> ")));
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use emulator::Fault;
    use fabric::generate::FatTreeSpec;

    use super::*;
    use crate::config::Config;
    use crate::world::World;

    fn tree() -> Fabric {
        FatTreeSpec { levels: Some(2), radix: 4, ..FatTreeSpec::default() }.build().unwrap()
    }

    /// A fabric that is up, and an oracle that has found it so.
    fn up(fabric: &Fabric) -> (World, Oracle) {
        let host = fabric.hosts().next().unwrap();
        let mut world = World::new(fabric, (host, 1), &Config::default()).unwrap();
        let limit = world.now() + Duration::from_secs(100);
        while !world.is_quiet() {
            world.turn(limit);
        }
        let mut oracle = Oracle::new(fabric.port(host, 1).unwrap());
        assert_eq!(oracle.judge(&world.emulator, &world.manager), Ok(()));
        assert_eq!(oracle.parts_cut_off(&world.emulator), None);
        (world, oracle)
    }

    fn node(fabric: &Fabric, name: &str) -> NodeId {
        fabric.nodes().find(|&node| fabric.name(node).starts_with(name)).unwrap()
    }

    #[test]
    fn what_nobody_has_healed_is_wrong() {
        let fabric = tree();
        let broken = |faults: &[Fault]| {
            let (mut world, mut oracle) = up(&fabric);
            faults.iter().for_each(|&fault| world.emulator.apply(fault));
            world.emulator.advance(world.now() + Duration::from_secs(1));
            (
                oracle.judge(&world.emulator, &world.manager).unwrap_err(),
                oracle.parts_cut_off(&world.emulator),
            )
        };
        let spine = node(&fabric, "spine-0001");
        let (wrong, cut) = broken(&[Fault::Unlink { node: spine, port: 2 }]);
        assert!(wrong.contains("have no path (from "), "{wrong}");
        assert_eq!(cut, None);
        let (wrong, _) =
            broken(&[Fault::Unlink { node: spine, port: 2 }, Fault::Relink { node: spine, port: 2 }]);
        assert!(wrong.ends_with("is Initialize"), "{wrong}");
        let other = fabric.hosts().nth(3).unwrap();
        let (wrong, _) = broken(&[Fault::Lid { node: other, port: 1, lid: Lid(900) }]);
        assert!(wrong.contains("has LID 900 and had"), "{wrong}");
        let (wrong, _) = broken(&[Fault::Lid { node: other, port: 1, lid: Lid::NONE }]);
        assert!(wrong.contains("has no LID"), "{wrong}");
    }

    #[test]
    fn parts_that_are_cut_off_are_named_and_not_judged() {
        let fabric = tree();
        let (mut world, mut oracle) = up(&fabric);
        let leaf = node(&fabric, "leaf-0003");
        for (port, peer) in fabric.neighbors(leaf).collect::<Vec<_>>() {
            if fabric.is_switch(fabric.node_of(peer)) {
                world.emulator.apply(Fault::Unlink { node: leaf, port: fabric.port_number(port) });
            }
        }
        let cut = oracle.parts_cut_off(&world.emulator).unwrap();
        assert!(cut.starts_with("3 nodes with "), "{cut}");
        // Tables that still lead to the lost leaf harm nobody in the manager's part.
        assert_eq!(oracle.judge(&world.emulator, &world.manager), Ok(()));
        // A host without power is gone, not cut off.
        let host = fabric.hosts().nth(7).unwrap();
        world.emulator.apply(Fault::PowerOff { node: host });
        assert_eq!(oracle.parts_cut_off(&world.emulator), Some(cut));
    }
}
