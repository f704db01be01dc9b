//! The fabric that a replay's nodes hang on: read, routed, its hosts bound to the nodes, and what gangs are taken to send.

use std::sync::Arc;

use clap::Args;
use pool::{NodeIndex, Pool};
use scheduler::network::{Bound, Level, NodePorts, Pattern, Topology, Traffic};
use serde::Serialize;

use crate::commands::route;
use crate::failure::Failure;

/// What part of a node's ports a ring of all-reduces takes where nothing else is said.
const BUSY: f64 = 0.5;

/// Options for the network.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub struct Network {
    /// The fabric that the nodes hang on, a topology file of any readable format: gangs are placed by hops and by what the
    /// routes would bear, and how they lie is reported. Nodes are bound to its hosts by name; where no name is the same, in the
    /// order of the hosts' names
    #[arg(long, value_name = "FILE")]
    fabric: Option<String>,
    /// Routing engine for the fabric, as of heddle route
    #[arg(long, value_name = "NAME", default_value = "auto", requires = "fabric")]
    engine: String,
    /// What the parts of a gang send each other: ring, halving-doubling, tree, all-to-all or pipeline
    #[arg(long, value_name = "PATTERN", default_value = "ring", requires = "fabric", value_parser = pattern)]
    collective: Pattern,
    /// Data that each node of a gang brings into it, in Gbit/s over time [default: such that a large ring fills half of a node's
    /// ports]
    #[arg(long, value_name = "GBPS", requires = "fabric")]
    collective_gbps: Option<f64>,
}

fn pattern(name: &str) -> Result<Pattern, String> {
    let names = Pattern::ALL.map(Pattern::name).join(", ");
    Pattern::from_name(name).ok_or_else(|| format!("no pattern is called so: give one of {names}"))
}

/// A fabric with the nodes on it.
pub struct Site {
    /// The network, with nothing running.
    pub topology: Topology,
    /// What gangs send.
    pub traffic: Traffic,
    /// For people and programs.
    pub described: Described,
}

/// What is known of the network.
#[derive(Serialize)]
pub struct Described {
    /// The file.
    pub file: String,
    /// What the cabling is; nothing where the engine was named.
    pub topology: Option<String>,
    /// What routed it.
    pub engine: String,
    /// How nodes came to hosts: `by-name` or `in-order`.
    pub bound: &'static str,
    /// Nodes that the fabric does not show.
    pub nodes_outside: usize,
    /// Leaf groups that have nodes.
    pub leaves: usize,
    /// Pods that have nodes.
    pub pods: usize,
    /// What gangs send each other.
    pub collective: Pattern,
    /// Data that each node brings into it, Gbit/s.
    pub collective_gbps: f64,
}

impl Network {
    /// Reads and routes the fabric and binds the nodes of a pool, which was read from `nodes`; nothing without `--fabric`.
    pub fn read(&self, pool: &Pool, nodes: &str) -> Result<Option<Site>, Failure> {
        let Some(file) = &self.fabric else { return Ok(None) };
        if let Some(gbps) = self.collective_gbps.filter(|gbps| !(0.0..=1e6).contains(gbps)) {
            return Err(Failure::new(
                format!("{gbps} Gbit/s"),
                "--collective-gbps",
                "give a number from 0 to a million",
            ));
        }
        let routed = route::routed(file, &self.engine)?;
        let (ports, bound) = NodePorts::bind(&routed.fabric, pool).map_err(|error| {
            let help = format!(
                "give a fabric with a host for each node of {nodes}, or nodes that are called as its hosts"
            );
            Failure::new(error.to_string(), file, help)
        })?;
        let (fabric, tables) = (Arc::new(routed.fabric), Arc::new(routed.routes.tables));
        let topology = Topology::with_ports(fabric, Some(tables), pool, ports);
        // Each node of a ring sends up to twice the data that it brings.
        let gbps = self.collective_gbps.unwrap_or_else(|| median_gbps(&topology, pool) * BUSY / 2.0);
        let inside: Vec<NodeIndex> =
            pool.nodes().filter(|&node| topology.locality().is_inside(node)).collect();
        let groups = |level| {
            let mut groups: Vec<u32> =
                inside.iter().map(|&node| topology.locality().group(level, node)).collect();
            groups.sort_unstable();
            groups.dedup();
            groups.len()
        };
        let described = Described {
            file: file.clone(),
            topology: routed.topology,
            engine: routed.engine,
            bound: if bound == Bound::InOrder { "in-order" } else { "by-name" },
            nodes_outside: match bound {
                Bound::ByName { outside } => outside,
                Bound::InOrder => 0,
            },
            leaves: groups(Level::Leaf),
            pods: groups(Level::Pod),
            collective: self.collective,
            collective_gbps: gbps,
        };
        let bytes_per_second = (gbps * 1e9 / 8.0).round() as u64;
        let traffic = Traffic { pattern: self.collective, bytes_per_second };
        Ok(Some(Site { topology, traffic, described }))
    }
}

/// What the ports of a node carry, in the median over the nodes that have any, Gbit/s.
fn median_gbps(topology: &Topology, pool: &Pool) -> f64 {
    let speed = |node: NodeIndex| topology.node_speed(node).filter(|&speed| speed > 0.0);
    let mut speeds: Vec<f64> = pool.nodes().filter_map(speed).collect();
    speeds.sort_unstable_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).map_or(0.0, |speed| speed * 8.0 / 1e9)
}
