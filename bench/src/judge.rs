//! Whether a fabric is up, asked port by port with directed routes, whatever the manager has said of it.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use fabric::{Fabric, NodeId, PortId};
use ib::{AttributeId, Mad, Method, PhysicalState, PortInfo, PortState};

use crate::exchange::{exchange, routes};
use crate::ibsim::Ibsim;

/// Enough under way to keep ibsim busy, few enough for its socket.
const WINDOW: usize = 64;

/// Fails unless both ends of every cable are ACTIVE and every end port has a LID of its own; returns the number of
/// links.
pub fn check_all_active(ibsim: &Ibsim, fabric: &Fabric) -> anyhow::Result<usize> {
    let seat = fabric.hosts().next().context("no host")?;
    let routes = routes(fabric, seat);
    let ports: Vec<PortId> = fabric
        .nodes()
        .flat_map(|node| {
            fabric.port(node, 0).filter(|_| fabric.is_switch(node)).into_iter().chain(fabric.ports(node))
        })
        .filter(|&port| fabric.port_number(port) == 0 || fabric.peer(port).is_some())
        .collect();
    let mut requests = ports.iter().enumerate().filter_map(|(number, &port)| {
        let route = routes[fabric.node_of(port).index()]?;
        let select = u32::from(fabric.port_number(port));
        Some(Mad::directed(Method::GET, AttributeId::PORT_INFO, select, &route, number as u64, 0))
    });
    let (mut wrong, mut lids) = (Vec::new(), BTreeSet::new());
    let mut end_ports = 0;
    let answers = exchange(&mut ibsim.client()?, &mut requests, WINDOW, &mut |number, mad| {
        let Some(&port) = ports.get(number as usize) else { return };
        let info = mad.get::<PortInfo>();
        let cabled = fabric.port_number(port) != 0;
        if cabled && (info.port_state, info.physical_state) != (PortState::ACTIVE, PhysicalState::LINK_UP) {
            wrong.push(format!("{} is {}", fabric.port_label(port), info.port_state));
        }
        if !cabled || !fabric.is_switch(fabric.node_of(port)) {
            end_ports += 1;
            lids.insert(info.lid);
        }
    })?;
    if answers != ports.len() as u64 {
        bail!("{answers} ports of {} could be reached", ports.len());
    }
    if let Some(first) = wrong.first() {
        bail!("{} ends of links are not active, the first: {first}", wrong.len());
    }
    if lids.len() != end_ports || lids.contains(&ib::Lid::NONE) {
        bail!("{end_ports} end ports have {} LIDs", lids.len());
    }
    Ok(fabric.link_count())
}

/// Fails unless the tables that the switches hold lead every end port of `fabric` to every other one, without a loop or a
/// credit loop on one lane.
pub fn check_tables(ibsim: &Ibsim, fabric: &Fabric) -> anyhow::Result<routing::Verification> {
    let seat = fabric.hosts().next().context("no host")?;
    let routes = routes(fabric, seat);
    let mut client = ibsim.client()?;
    let mut fabric = fabric.clone();
    let ends: Vec<PortId> = fabric.end_ports().collect();
    let mut requests = ends.iter().enumerate().filter_map(|(number, &port)| {
        let (node, select) = (fabric.node_of(port), u32::from(fabric.port_number(port)));
        let route = routes[node.index()]?;
        Some(Mad::directed(Method::GET, AttributeId::PORT_INFO, select, &route, number as u64, 0))
    });
    let mut lids = Vec::new();
    exchange(&mut client, &mut requests, WINDOW, &mut |number, mad| {
        lids.extend(ends.get(number as usize).map(|&port| (port, mad.get::<PortInfo>().lid)));
    })?;
    for (port, lid) in lids {
        fabric.set_lid(port, lid, 0);
    }
    let mut tables = routing::Tables::empty(&fabric);
    let switches: Vec<NodeId> = fabric.switches().collect();
    // From the last block on: a row's top is then known from the first block written.
    let blocks: Vec<(NodeId, u32)> = switches
        .iter()
        .flat_map(|&node| (0..tables.blocks()).rev().map(move |block| (node, block)))
        .collect();
    let mut requests = blocks.iter().enumerate().filter_map(|(number, &(node, block))| {
        let route = routes[node.index()]?;
        Some(Mad::directed(
            Method::GET,
            AttributeId::LINEAR_FORWARDING_TABLE,
            block,
            &route,
            number as u64,
            0,
        ))
    });
    exchange(&mut client, &mut requests, WINDOW, &mut |number, mad| {
        if let Some(&(node, block)) = blocks.get(number as usize) {
            tables.set_block(node, block, mad.data());
        }
    })?;
    let proof = routing::verify(&fabric, &tables);
    if !proof.is_clean() {
        bail!("the tables that the switches hold are not sound: {proof:?}");
    }
    Ok(proof)
}

/// How many MADs have left the manager's port, by ibsim's own counter. Those that a manager sends to its own port do
/// not leave it.
pub fn sent_by_manager(ibsim: &Ibsim) -> anyhow::Result<u64> {
    let output = ibsim.place(std::process::Command::new("ibsim-run").args(["perfquery", "-x"])).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .find_map(|line| line.strip_prefix("PortXmitPkts:")?.trim_matches('.').parse().ok())
        .with_context(|| {
            format!("perfquery shows no counter:\n{text}{}", String::from_utf8_lossy(&output.stderr))
        })
}
