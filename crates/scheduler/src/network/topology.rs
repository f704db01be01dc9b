//! All that placement knows of the network, joined: groups, tables, what runs, what to keep away from.

use std::sync::Arc;

use fabric::{Fabric, NodeId, PortId};
use pool::{NodeIndex, Pool};
use routing::Tables;
use serde::Serialize;

use super::choose::{Ask, Candidate, Refusal, choose};
use super::contention::{Contention, Load, Loads, Traffic, Ways};
use super::locality::Locality;
use super::ports::NodePorts;

/// A set of nodes that takes a gang, with what the gang would do to the links.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Proposal {
    /// The nodes.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// How full its links would be; `None` where no tables are known.
    pub contention: Option<Contention>,
    /// What it would put on each link: for [`Topology::start`]. Empty where no tables are known.
    #[serde(skip)]
    pub load: Load,
}

/// The network as placement sees it.
#[derive(Clone, Debug)]
pub struct Topology {
    fabric: Arc<Fabric>,
    ports: NodePorts,
    locality: Locality,
    ways: Option<Ways>,
    loads: Loads,
    /// By port: whether its link is to be avoided.
    avoided: Vec<bool>,
}

impl Topology {
    /// Joins a fabric, the tables in force there (`None`: not known), and a pool whose nodes hang on it.
    pub fn new(fabric: Arc<Fabric>, tables: Option<Arc<Tables>>, pool: &Pool) -> Self {
        let ports = NodePorts::of(&fabric, pool);
        Self::with_ports(fabric, tables, pool, ports)
    }

    /// The same where it is known already which ports each node has.
    pub fn with_ports(
        fabric: Arc<Fabric>,
        tables: Option<Arc<Tables>>,
        pool: &Pool,
        ports: NodePorts,
    ) -> Self {
        let locality = Locality::new(&fabric, pool, &ports);
        let loads = Loads::none(fabric.port_slot_count());
        let avoided = vec![false; fabric.port_slot_count()];
        let ways = tables.map(|tables| Ways::new(Arc::clone(&fabric), tables));
        Self { fabric, ports, locality, ways, loads, avoided }
    }

    /// The cabling.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The groups of the nodes.
    pub fn locality(&self) -> &Locality {
        &self.locality
    }

    /// The ports of the nodes.
    pub fn ports(&self) -> &NodePorts {
        &self.ports
    }

    /// What runs, link by link.
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// How full the link at a port is with all that runs, in the direction out of the port: 1 is all that it carries. Nothing
    /// where no tables are known.
    pub fn fullness(&self, port: PortId) -> Option<f64> {
        self.ways.as_ref().map(|ways| self.loads.on(port) as f64 / ways.speed(port))
    }

    /// What all ports of a node carry together, bytes per second; nothing where no tables are known.
    pub fn node_speed(&self, node: NodeIndex) -> Option<f64> {
        let ways = self.ways.as_ref()?;
        Some(self.ports.rails(node).iter().map(|rail| ways.speed(rail.port)).sum())
    }

    /// Takes other tables in force, after a repair. Jobs that run keep the load that they were started with until their load
    /// is taken away and made anew.
    pub fn set_tables(&mut self, tables: Arc<Tables>) {
        self.ways = Some(Ways::new(Arc::clone(&self.fabric), tables));
    }

    /// Says whether to keep away from the link at a port, in both directions.
    pub fn avoid_link(&mut self, port: PortId, avoid: bool) {
        for end in [Some(port), self.fabric.peer(port)].into_iter().flatten() {
            if let Some(avoided) = self.avoided.get_mut(end.index()) {
                *avoided = avoid;
            }
        }
    }

    /// Says whether to keep away from all links of a device of the fabric.
    pub fn avoid_device(&mut self, device: NodeId, avoid: bool) {
        for port in self.fabric.ports(device) {
            self.avoid_link(port, avoid);
        }
    }

    /// Whether the link at a port is to be avoided.
    pub fn is_avoided(&self, port: PortId) -> bool {
        self.avoided[port.index()]
    }

    /// What a gang on these nodes, in the order of ranks, puts on each link; nothing where no tables are known.
    pub fn load(&self, nodes: &[NodeIndex], traffic: &[Traffic]) -> Load {
        self.ways.as_ref().map_or_else(Load::default, |ways| ways.load(&self.ports, nodes, traffic))
    }

    /// How full the links of a load would be beside all that runs; `None` where no tables are known.
    pub fn contention(&self, load: &Load) -> Option<Contention> {
        self.ways.as_ref().map(|ways| ways.contention(load, &self.loads, |port| self.is_avoided(port)))
    }

    /// Counts a job's load from now on.
    pub fn start(&mut self, load: &Load) {
        self.loads.add(load);
    }

    /// Counts it no longer.
    pub fn end(&mut self, load: &Load) {
        self.loads.remove(load);
    }

    /// Proposes sets of nodes for a gang as [`choose`] does, each with what the gang's traffic would do to the links.
    ///
    /// # Errors
    /// Where no set of nodes takes the gang.
    pub fn propose(&self, ask: &Ask, traffic: &[Traffic]) -> Result<Vec<Proposal>, Refusal> {
        let candidates = choose(&self.locality, ask)?;
        Ok(candidates
            .into_iter()
            .map(|candidate| {
                let nodes: Vec<NodeIndex> = candidate.nodes.iter().map(|&(node, _)| node).collect();
                let load = self.load(&nodes, traffic);
                let contention = self.contention(&load);
                Proposal { candidate, contention, load }
            })
            .collect())
    }
}
