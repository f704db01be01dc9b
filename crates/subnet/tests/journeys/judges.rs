//! What must hold when a fabric is up, read from the devices themselves and from nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use emulator::Emulator;
use fabric::{Fabric, NodeId, PortId};
use ib::{Guid, Lid, PortState};
use routing::{Lanes, Routes, Tables, Verification, verify_routes};

use crate::world::World;

/// What the manager at `own` can manage: the nodes that it reaches, nodes of `without` taken out, and the links that
/// it can ask about. Adapters pass nothing on, so a link between two of them is seen only where one is its own.
pub struct Island {
    pub nodes: Vec<NodeId>,
    pub links: Vec<(PortId, PortId)>,
}

impl Island {
    pub fn new(fabric: &Fabric, own: PortId, without: &[NodeId]) -> Self {
        let mut seen = vec![false; fabric.node_count()];
        let home = fabric.node_of(own);
        seen[home.index()] = true;
        let mut left = vec![home];
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        while let Some(node) = left.pop() {
            nodes.push(node);
            for (port, peer) in fabric.neighbors(node) {
                let beyond = fabric.node_of(peer);
                if !fabric.is_switch(node) && port != own || without.contains(&beyond) {
                    continue;
                }
                links.push((port.min(peer), port.max(peer)));
                if !std::mem::replace(&mut seen[beyond.index()], true) {
                    left.push(beyond);
                }
            }
        }
        nodes.sort();
        links.sort();
        links.dedup();
        Self { nodes, links }
    }
}

fn own_port(world: &World) -> PortId {
    let (node, number) = world.seats[0].at;
    world.emulator.fabric().port(node, number).unwrap()
}

/// What the verifier says of the LIDs and tables that the devices hold, links that are not in service taken out.
/// Lanes too are what the devices hold, with the service levels that path records name.
fn verify_lanes(
    emulator: &Emulator,
    without: &[NodeId],
    service_level: impl Fn(Guid, u32) -> u8,
) -> Verification {
    let mut fabric = emulator.fabric().clone();
    let out = |end: PortId| {
        emulator.port_info(end).port_state != PortState::ACTIVE || without.contains(&fabric.node_of(end))
    };
    let out_of_service: Vec<PortId> =
        fabric.links().filter(|&(a, b)| out(a) || out(b)).map(|(a, _)| a).collect();
    for port in out_of_service {
        fabric.disconnect(port);
    }
    let mut top = 0;
    for port in fabric.end_ports().collect::<Vec<_>>() {
        let info = emulator.port_info(port);
        if without.contains(&fabric.node_of(port)) {
            continue;
        }
        top = top.max(info.lid.0);
        fabric.set_lid(port, info.lid, info.lmc);
    }
    let mut tables = Tables::empty_up_to(&fabric, top);
    for switch in fabric.switches() {
        let used = emulator.switch_info(switch).linear_fdb_top.0.min(top);
        for (lid, &port) in emulator.forwarding_table(switch).iter().enumerate().take(used as usize + 1) {
            tables.set(switch, lid as u32, port);
        }
    }
    let level = |node, lid| service_level(fabric.guid(node), lid);
    let mapping = |node, in_port, out_port| emulator.lane_mapping(node, in_port, out_port).unwrap().0;
    let lanes = Lanes::of_devices(&fabric, &tables, level, mapping).unwrap();
    every_lane_is_served(emulator, &fabric, lanes.count());
    verify_routes(&fabric, &Routes { tables, heights: None, lanes })
}

/// The service level of every pair, by the GUID of the switch that its packets enter at and the LID that they are for.
pub type ServiceLevels = BTreeMap<(Guid, u32), u8>;

/// Those that the manager names now.
pub fn service_levels(world: &World) -> ServiceLevels {
    let manager = world.manager();
    let fabric = manager.fabric();
    let top = fabric.end_ports().map(|port| fabric.lid(port).0).max().unwrap_or(0);
    let of_switch = |node| {
        let guid = fabric.guid(node);
        (1..=top).filter_map(move |lid| Some(((guid, lid), manager.service_level(guid, Lid(lid))?)))
    };
    fabric.switches().flat_map(of_switch).collect()
}

/// What switches hold at this moment lets no packet run in a circle and no links wait for each other in one: with the service
/// levels of `before`, or with those of now.
pub fn closes_no_loop(world: &World, before: &ServiceLevels) {
    let now = service_levels(world);
    let judged = [before, &now].map(|levels| {
        let level = |guid, lid| levels.get(&(guid, lid)).copied().unwrap_or(0);
        let proof = verify_lanes(&world.emulator, &[], level);
        (proof.loops, proof.credit_loops)
    });
    assert!(judged.contains(&(0, 0)), "{judged:?} at {:?}", world.now());
}

/// Every port between switches runs at least so many lanes.
fn every_lane_is_served(emulator: &Emulator, fabric: &Fabric, lanes: u8) {
    for (a, b) in fabric.links() {
        let between = [a, b].into_iter().all(|end| fabric.is_switch(fabric.node_of(end)));
        for port in [a, b].into_iter().filter(|_| between) {
            let runs = ib::virtual_lanes(emulator.port_info(port).operational_vls);
            assert!(runs >= lanes, "{} runs {runs} lanes of {lanes}", fabric.port_label(port));
        }
    }
}

/// The first manager's whole island is in service: addresses, sizes, states, tables.
pub fn is_up(world: &World) {
    is_up_without(world, &[]);
}

/// The same, but for nodes that could not be brought up. Their ends of links are not looked at.
pub fn is_up_without(world: &World, without: &[NodeId]) {
    let emulator = &world.emulator;
    let fabric = emulator.fabric();
    let own = own_port(world);
    let own_lid = emulator.port_info(own).lid;
    let island = Island::new(fabric, own, without);
    let mut lids: BTreeMap<Lid, PortId> = BTreeMap::new();
    let mut check_lid = |port: PortId| {
        let info = emulator.port_info(port);
        let label = fabric.port_label(port);
        assert_ne!(info.lid, Lid::NONE, "{label} has no LID");
        assert_eq!(info.sm_lid, own_lid, "{label} knows another manager");
        assert_eq!(info.lmc, 0, "{label}");
        let other = lids.insert(info.lid, port).map(|other| fabric.port_label(other));
        assert_eq!(other, None, "{label} has the same LID {}", info.lid);
    };
    for &node in island.nodes.iter().filter(|&&node| fabric.is_switch(node)) {
        check_lid(fabric.port(node, 0).unwrap());
        let info = emulator.switch_info(node);
        assert!(!info.state_change, "{} still says that something changed", fabric.name(node));
        assert_eq!(info.life_time_value, 18, "{}", fabric.name(node));
    }
    for &(a, b) in &island.links {
        for (port, peer) in [(a, b), (b, a)] {
            let (info, other) = (emulator.port_info(port), emulator.port_info(peer));
            let label = fabric.port_label(port);
            assert_eq!(info.port_state, PortState::ACTIVE, "{label}");
            assert_eq!(info.neighbor_mtu.0, info.mtu_cap.0.min(other.mtu_cap.0), "{label}");
            assert_eq!(info.operational_vls, info.vl_cap.min(other.vl_cap), "{label}");
            if !fabric.is_switch(fabric.node_of(port)) {
                check_lid(port);
            }
        }
    }
    let manager = world.manager();
    let level = |guid, lid| manager.service_level(guid, Lid(lid)).unwrap_or(0);
    let proof = verify_lanes(emulator, without, level);
    assert!(proof.is_clean(), "{proof:#?}");
    let ends = lids.len() as u64;
    assert!(proof.pairs >= ends * (ends - 1), "{} of {ends} ends", proof.pairs);
    world.manager().fabric().check_invariants();
}

/// The manager's picture is the fabric: nodes, names, kinds, GUIDs, cables, rates, LIDs.
pub fn is_the_fabric(world: &World) {
    let (found, real) = (world.manager().fabric(), world.emulator.fabric());
    let island = Island::new(real, own_port(world), &[]);
    let nodes = |fabric: &Fabric, nodes: &[NodeId]| -> BTreeSet<_> {
        nodes
            .iter()
            .map(|&node| {
                let identity = (fabric.guid(node), fabric.system_guid(node), fabric.port_count(node));
                let device = (fabric.kind(node), fabric.vendor_id(node), fabric.device_id(node));
                (identity, device, fabric.name(node).to_owned())
            })
            .collect()
    };
    let all: Vec<NodeId> = found.nodes().collect();
    assert_eq!(all.len(), island.nodes.len());
    assert_eq!(nodes(found, &all), nodes(real, &island.nodes));
    let cables = |fabric: &Fabric, links: &mut dyn Iterator<Item = (PortId, PortId)>| -> BTreeSet<_> {
        let end = |port| (fabric.guid(fabric.node_of(port)), fabric.port_number(port));
        let rate = |port| fabric.rate(port).map(|rate| rate.to_string());
        links.map(|(a, b)| (end(a).min(end(b)), end(a).max(end(b)), rate(a))).collect()
    };
    let found_cables = cables(found, &mut found.links());
    let real_cables = cables(real, &mut island.links.iter().copied());
    let differ: Vec<_> = found_cables.symmetric_difference(&real_cables).collect();
    assert!(differ.is_empty(), "{differ:?}\n{:#?}", world.manager().report());
    for port in found.end_ports() {
        let node = real.nodes().find(|&node| real.guid(node) == found.guid(found.node_of(port))).unwrap();
        let there = real.port(node, found.port_number(port)).unwrap();
        assert_eq!(world.emulator.port_info(there).lid, found.lid(port), "{}", found.port_label(port));
    }
}
