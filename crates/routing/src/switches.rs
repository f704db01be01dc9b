//! The switches of a fabric alone, numbered densely in the order of their nodes, with what hangs on each: the view
//! that engines and verifier walk over. It is derived from the [`Fabric`] and never changed.

use std::ops::Range;

use fabric::{Fabric, NodeId, NodeKind, PortId};

use crate::error::RouteError;
use crate::options::Options;
use crate::paths::parts;
use crate::tables::lids_of;

const NONE: u32 = u32::MAX;

/// A cable from one switch to another, as seen from one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchLink {
    /// The other switch, by its dense number.
    pub peer: u32,
    /// The port on this switch.
    pub port: u8,
    /// The port on the other switch.
    pub peer_port: u8,
    /// What a path on it counts as where loads are evened out: 1, or by [`Switches::by_speed`] the more the slower it is.
    pub slowness: u16,
}

/// A port that holds LIDs, on the switch that delivers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The port's LIDs.
    pub lids: Range<u32>,
    /// The switch's port that leads to it; 0 for the switch itself.
    pub port: u8,
    /// Whether jobs' traffic goes there: it does to hosts and routers, not to switches and their aggregation nodes.
    pub host: bool,
    /// How many hosts' traffic it counts as; 0 where it is no host.
    pub weight: u32,
}

/// All switches of one fabric.
#[derive(Clone, Debug)]
pub struct Switches {
    nodes: Vec<NodeId>,
    index_of: Vec<u32>,
    first_link: Vec<u32>,
    links: Vec<SwitchLink>,
    first_destination: Vec<u32>,
    destinations: Vec<Destination>,
    hosts: Vec<u32>,
    adapters: Vec<u32>,
}

impl Switches {
    /// Numbers the switches of `fabric`. A cable from a switch to itself leads nowhere and is left out.
    pub fn new(fabric: &Fabric) -> Self {
        Self::weighted(fabric, |_| 1)
    }

    /// The same as a user wishes to see it: hosts count by their weight, those that any path may reach as no hosts, and
    /// links to avoid are left out as long as the parts of the fabric hang together without them.
    pub fn with_options(fabric: &Fabric, options: &Options) -> Self {
        let weights = weights(fabric, options);
        let mut all = Self::weighted(fabric, |port| weights.get(port.index()).copied().unwrap_or(1));
        all.avoid(fabric, &options.avoid);
        all
    }

    fn weighted(fabric: &Fabric, weight: impl Fn(PortId) -> u32) -> Self {
        let nodes: Vec<NodeId> = fabric.switches().collect();
        let mut index_of = vec![NONE; fabric.node_count()];
        for (index, node) in nodes.iter().enumerate() {
            index_of[node.index()] = index as u32;
        }
        let mut all = Self {
            index_of,
            first_link: vec![0],
            links: Vec::with_capacity(2 * fabric.link_count()),
            first_destination: vec![0],
            destinations: Vec::with_capacity(fabric.node_count()),
            hosts: Vec::with_capacity(nodes.len()),
            adapters: Vec::with_capacity(nodes.len()),
            nodes: Vec::new(),
        };
        for &node in &nodes {
            all.add(fabric, node, &weight);
        }
        all.nodes = nodes;
        all
    }

    fn add(&mut self, fabric: &Fabric, node: NodeId, weight: impl Fn(PortId) -> u32) {
        let (mut hosts, mut adapters) = (0, 0);
        if let Some(own) = fabric.port(node, 0) {
            self.add_destination(Destination { lids: lids_of(fabric, own), port: 0, host: false, weight: 0 });
        }
        for (port, peer) in fabric.neighbors(node) {
            let (number, next) = (fabric.port_number(port), fabric.node_of(peer));
            if fabric.is_switch(next) {
                if next != node {
                    let (peer, peer_port) = (self.index_of[next.index()], fabric.port_number(peer));
                    self.links.push(SwitchLink { peer, port: number, peer_port, slowness: 1 });
                }
                continue;
            }
            let weight = if fabric.kind(next) == NodeKind::AggregationNode { 0 } else { weight(peer) };
            hosts += weight;
            adapters += 1;
            self.add_destination(Destination {
                lids: lids_of(fabric, peer),
                port: number,
                host: weight > 0,
                weight,
            });
        }
        self.first_link.push(self.links.len() as u32);
        self.first_destination.push(self.destinations.len() as u32);
        self.hosts.push(hosts);
        self.adapters.push(adapters);
    }

    /// The same with links' real speeds: a path counts as 100 on the fastest link between switches, and on one whose rate
    /// is not known; as 200 on one at half that speed. Where all run alike nothing changes.
    pub fn by_speed(mut self, fabric: &Fabric) -> Self {
        let mut rates: Vec<Option<f64>> = Vec::with_capacity(self.links.len());
        for switch in 0..self.len() {
            let rate = |link: &SwitchLink| {
                fabric.port(self.nodes[switch], link.port).and_then(|port| fabric.rate(port))
            };
            rates.extend(self.links(switch).iter().map(|link| rate(link).map(ib::LinkRate::gbps)));
        }
        let fastest = rates.iter().flatten().copied().fold(0.0, f64::max);
        if rates.iter().flatten().any(|&rate| rate < fastest) {
            for (link, rate) in self.links.iter_mut().zip(rates) {
                let times = rate.map_or(1.0, |rate| fastest / rate);
                link.slowness = (100.0 * times).round().min(f64::from(u16::MAX)) as u16;
            }
        }
        self
    }

    /// Leaves out links at these ports, but for those that join what nothing else joins.
    fn avoid(&mut self, fabric: &Fabric, ports: &[PortId]) {
        if ports.is_empty() {
            return;
        }
        let mut avoided = vec![false; fabric.port_slot_count()];
        for port in ports.iter().flat_map(|&port| [Some(port), fabric.peer(port)]).flatten() {
            avoided[port.index()] = true;
        }
        let is_avoided = |node: NodeId, link: &SwitchLink| {
            fabric.port(node, link.port).is_some_and(|port| avoided[port.index()])
        };
        let mut kept = self.with_links(|switch, link| !is_avoided(self.nodes[switch], link));
        let mut part = parts(&kept);
        let mut needed: Vec<(usize, SwitchLink)> = Vec::new();
        for switch in 0..self.len() {
            for link in self.links(switch).iter().filter(|link| is_avoided(self.nodes[switch], link)) {
                let (own, other) = (part[switch], part[link.peer as usize]);
                if own != other {
                    part.iter_mut().filter(|part| **part == other).for_each(|part| *part = own);
                    needed.push((switch, *link));
                }
            }
        }
        if !needed.is_empty() {
            let is_needed = |switch: usize, link: &SwitchLink| {
                needed.iter().any(|&(from, cable)| {
                    (from, cable.port) == (switch, link.port)
                        || (cable.peer as usize, cable.peer_port) == (switch, link.port)
                })
            };
            kept = self
                .with_links(|switch, link| !is_avoided(self.nodes[switch], link) || is_needed(switch, link));
        }
        *self = kept;
    }

    /// The same switches with some of their links.
    fn with_links(&self, keep: impl Fn(usize, &SwitchLink) -> bool) -> Self {
        let (mut first_link, mut links) = (vec![0], Vec::with_capacity(self.links.len()));
        for switch in 0..self.len() {
            links.extend(self.links(switch).iter().filter(|link| keep(switch, link)));
            first_link.push(links.len() as u32);
        }
        Self { first_link, links, ..self.clone() }
    }

    fn add_destination(&mut self, destination: Destination) {
        if !destination.lids.is_empty() {
            self.destinations.push(destination);
        }
    }

    /// How many switches.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no switch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of a switch.
    #[inline]
    pub fn node(&self, switch: usize) -> NodeId {
        self.nodes[switch]
    }

    /// The switch's number of a node; `None` for a node that is no switch.
    #[inline]
    pub fn index_of(&self, node: NodeId) -> Option<usize> {
        Some(self.index_of[node.index()]).filter(|&index| index != NONE).map(|index| index as usize)
    }

    /// The cables to other switches, by port number.
    #[inline]
    pub fn links(&self, switch: usize) -> &[SwitchLink] {
        &self.links[self.first_link[switch] as usize..self.first_link[switch + 1] as usize]
    }

    /// What this switch delivers to, by port number, itself first.
    #[inline]
    pub fn destinations(&self, switch: usize) -> &[Destination] {
        &self.destinations
            [self.first_destination[switch] as usize..self.first_destination[switch + 1] as usize]
    }

    /// How many ports of hosts (routers included) hang on the switch, with and without a LID, each by its weight.
    #[inline]
    pub fn hosts(&self, switch: usize) -> u32 {
        self.hosts[switch]
    }

    /// How many ports of adapters of every kind hang on the switch: hosts, routers and aggregation nodes. All of them
    /// send packets that wait for buffers.
    #[inline]
    pub fn adapters(&self, switch: usize) -> u32 {
        self.adapters[switch]
    }

    /// All destinations on all switches.
    #[inline]
    pub fn destination_count(&self) -> usize {
        self.destinations.len()
    }

    /// The largest LID of a destination, 0 where there is none.
    pub fn top_lid(&self) -> u32 {
        self.destinations.iter().map(|destination| destination.lids.end - 1).max().unwrap_or(0)
    }

    /// Fails where two ports hold the same LID.
    pub fn check_lids(&self, fabric: &Fabric) -> Result<(), RouteError> {
        let mut owner = vec![NONE; self.top_lid() as usize + 1];
        for switch in 0..self.len() {
            for destination in self.destinations(switch) {
                let Some(port) = self.end_port(fabric, switch, destination) else { continue };
                for lid in destination.lids.clone() {
                    let first = std::mem::replace(&mut owner[lid as usize], port.0);
                    if first != NONE {
                        return Err(RouteError::DuplicateLid {
                            lid: ib::Lid(lid),
                            first: fabric.port_label(PortId(first)),
                            second: fabric.port_label(port),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// The port that holds a destination's LIDs.
    pub fn end_port(&self, fabric: &Fabric, switch: usize, destination: &Destination) -> Option<PortId> {
        let port = fabric.port(self.nodes[switch], destination.port)?;
        if destination.port == 0 { Some(port) } else { fabric.peer(port) }
    }
}

/// The weight of each port, by its number; empty where all count once.
fn weights(fabric: &Fabric, options: &Options) -> Vec<u32> {
    if options.weights.is_empty() && options.compute_nodes.is_empty() && options.io_nodes.is_empty() {
        return Vec::new();
    }
    let others = u32::from(options.compute_nodes.is_empty());
    let mut weights = vec![others; fabric.port_slot_count()];
    let mut set = |port: PortId, weight| {
        if let Some(own) = weights.get_mut(port.index()) {
            *own = weight;
        }
    };
    options.compute_nodes.iter().for_each(|&port| set(port, 1));
    options.io_nodes.iter().for_each(|&port| set(port, 0));
    options.weights.iter().for_each(|&(port, weight)| set(port, weight));
    weights
}
