//! Which ports of the fabric each node of the pool sends by.
//!
//! A node's rails are its ports in the order of its GPUs: rail `n` is the port beside the first GPU that has not one
//! of the rails before. Where no GPU says what it sits beside, they are the ports of the adapters that have the node's
//! name, in the order of their names. A port without a cable keeps its rail's number, so that one lost cable does not
//! move the others; it is left out.
//!
//! A pool of another cluster has other names than the fabric's hosts. [`NodePorts::bind`] then takes hosts in the order of
//! their names (numbers in them count by their value) for nodes in the order of the pool.

use std::collections::BTreeMap;

use fabric::summary::machine;
use fabric::{Fabric, NodeId, NodeKind, PortId};
use pool::formats::adapter_order;
use pool::{Attachment, NodeIndex, Pool};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A cabled port that a node sends by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rail {
    /// Which of the node's rails it is, from 0.
    pub number: u16,
    /// The port.
    pub port: PortId,
    /// The switch that it is cabled to.
    pub leaf: NodeId,
}

/// The rails of every node of a pool.
#[derive(Clone, Debug)]
pub struct NodePorts {
    /// First rail of each node, with one more entry than there are nodes.
    first: Vec<u32>,
    rails: Vec<Rail>,
}

/// The fabric's host adapters by what attachments call them.
struct Adapters<'a> {
    fabric: &'a Fabric,
    by_guid: FxHashMap<u64, NodeId>,
    by_machine: BTreeMap<&'a str, Vec<NodeId>>,
}

/// How nodes came to their hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// By their names, or by the ports that their GPUs are said to sit beside.
    ByName {
        /// Nodes that the fabric does not show: gangs on them are placed as if they were far from all others.
        outside: usize,
    },
    /// In order, for the fabric shows no node of the pool.
    InOrder,
}

/// The fabric has fewer hosts than the pool has nodes, and shows none of them by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the fabric has {hosts} hosts with a cable, and none of the {nodes} nodes is one of them by name")]
pub struct TooFewHosts {
    /// Nodes of the pool.
    pub nodes: usize,
    /// Hosts with a name and a cable to a switch.
    pub hosts: usize,
}

impl<'a> Adapters<'a> {
    fn of(fabric: &'a Fabric) -> Self {
        let mut by_guid = FxHashMap::default();
        let mut by_machine: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for adapter in fabric.hosts() {
            by_guid.entry(fabric.guid(adapter).0).or_insert(adapter);
            if let Some(machine) = machine(fabric, adapter) {
                by_machine.entry(machine).or_default().push(adapter);
            }
        }
        for adapters in by_machine.values_mut() {
            adapters.sort_by_key(|&adapter| adapter_order(fabric.name(adapter)));
        }
        Self { fabric, by_guid, by_machine }
    }

    /// The adapters of a node, in the order of their names.
    fn of_node(&self, node: &str) -> &[NodeId] {
        self.by_machine.get(node).map_or(&[], Vec::as_slice)
    }

    /// Hosts with a cable to a switch, in the order of their names.
    fn hosts_in_order(&self) -> Vec<&'a str> {
        let is_cabled = |&adapter: &NodeId| {
            self.fabric.neighbors(adapter).any(|(_, peer)| self.fabric.is_switch(self.fabric.node_of(peer)))
        };
        let mut hosts: Vec<&str> = self
            .by_machine
            .iter()
            .filter(|(_, adapters)| adapters.iter().any(is_cabled))
            .map(|(&host, _)| host)
            .collect();
        hosts.sort_by_cached_key(|host| adapter_order(host));
        hosts
    }

    /// The ports that an attachment names: one by GUID, all of an adapter by name.
    fn attached(&self, node: &str, attachment: &Attachment) -> Vec<PortId> {
        match attachment {
            Attachment::Port { guid, port } => {
                let adapter = self.by_guid.get(&guid.0).copied();
                adapter.and_then(|adapter| self.fabric.port(adapter, *port)).into_iter().collect()
            }
            Attachment::Adapter(name) => {
                let has_name =
                    |adapter: NodeId| self.fabric.name(adapter).split_whitespace().nth(1) == Some(name);
                let found = self.of_node(node).iter().find(|&&adapter| has_name(adapter));
                found.map_or_else(Vec::new, |&adapter| self.fabric.ports(adapter).collect())
            }
        }
    }
}

impl NodePorts {
    /// Finds the ports of every node of `pool` in `fabric`.
    pub fn of(fabric: &Fabric, pool: &Pool) -> Self {
        Self::with_hosts(fabric, pool, &Adapters::of(fabric), |node| pool.node_name(node))
    }

    /// Finds the ports of every node of `pool` in `fabric`, or, where it shows none of them, gives each node a host in order.
    ///
    /// # Errors
    /// Where it shows none and has too few hosts.
    pub fn bind(fabric: &Fabric, pool: &Pool) -> Result<(Self, Bound), TooFewHosts> {
        let adapters = Adapters::of(fabric);
        let found = Self::with_hosts(fabric, pool, &adapters, |node| pool.node_name(node));
        let nodes = pool.node_count();
        if found.rail_count() > 0 || nodes == 0 {
            let outside = pool.nodes().filter(|&node| found.rails(node).is_empty()).count();
            return Ok((found, Bound::ByName { outside }));
        }
        let hosts = adapters.hosts_in_order();
        if hosts.len() < nodes {
            return Err(TooFewHosts { nodes, hosts: hosts.len() });
        }
        Ok((Self::with_hosts(fabric, pool, &adapters, |node| hosts[node.index()]), Bound::InOrder))
    }

    /// Finds the ports of every node where `host` says which host it is.
    fn with_hosts<'a>(
        fabric: &Fabric,
        pool: &Pool,
        adapters: &Adapters<'_>,
        host: impl Fn(NodeIndex) -> &'a str,
    ) -> Self {
        let (mut first, mut rails) = (vec![0], Vec::with_capacity(pool.gpu_count()));
        let mut own: Vec<PortId> = Vec::new();
        for node in pool.nodes() {
            let name = host(node);
            own.clear();
            for attachment in pool.gpus_of(node).filter_map(|gpu| pool.attachment(gpu)) {
                for port in adapters.attached(name, attachment) {
                    if !own.contains(&port) {
                        own.push(port);
                    }
                }
            }
            if own.is_empty() {
                own.extend(adapters.of_node(name).iter().flat_map(|&adapter| fabric.ports(adapter)));
            }
            for (number, &port) in own.iter().enumerate() {
                let leaf = fabric.peer(port).map(|peer| fabric.node_of(peer));
                if let Some(leaf) = leaf.filter(|&leaf| fabric.kind(leaf) == NodeKind::Switch) {
                    rails.push(Rail { number: number as u16, port, leaf });
                }
            }
            first.push(rails.len() as u32);
        }
        Self { first, rails }
    }

    /// How many nodes.
    pub fn node_count(&self) -> usize {
        self.first.len() - 1
    }

    /// The rails of a node, by their numbers; none for a node that the fabric does not show.
    #[inline]
    pub fn rails(&self, node: NodeIndex) -> &[Rail] {
        &self.rails[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    /// How many rails all nodes have.
    pub fn rail_count(&self) -> usize {
        self.rails.len()
    }
}
