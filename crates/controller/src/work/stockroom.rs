//! The pool over the live fabric: made from the fabric's hosts or a file, and which of its nodes the fabric has lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use fabric::Fabric;
use fabric::summary::machine;
use ib::Guid;
use pool::calendar::Calendar;
use pool::formats::{Equipment, from_fabric};
use pool::tenants::Tenants;
use pool::{NodeIndex, Pool, Stock};
use routing::Tables;
use scheduler::network::{NodePorts, Topology};
use scheduler::schedule::Scheduler;

use super::board::NodeState;
use crate::view::{Inventory, LinkState};

/// Where the pool comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The fabric's hosts, each with such equipment; where no number of GPUs is given, each has as many as the first host has
    /// ports.
    Fabric {
        /// GPUs of each host.
        gpus_per_host: Option<u16>,
        /// Their model.
        model: String,
    },
    /// A file that was read.
    Pool {
        /// What there is.
        pool: Arc<Pool>,
        /// Who may hold how much.
        tenants: Box<Tenants>,
        /// What the time of the week changes.
        calendar: Option<Box<Calendar>>,
    },
}

/// The pool as it is used.
pub struct Stockroom {
    /// What there is.
    pub pool: Arc<Pool>,
    /// By port of the fabric, the node that it belongs to.
    ports: BTreeMap<(Guid, u8), NodeIndex>,
    /// How many ports each node has.
    port_count: Vec<u32>,
    /// What the pool itself says of each node.
    own: Vec<NodeState>,
}

fn ports_of_first_host(fabric: &Fabric) -> usize {
    let first = fabric.hosts().find_map(|adapter| machine(fabric, adapter));
    let of_first = fabric.hosts().filter(|&adapter| first.is_some() && machine(fabric, adapter) == first);
    of_first.map(|adapter| fabric.neighbors(adapter).count()).sum()
}

impl Stockroom {
    /// The pool of a fabric that is up, and an empty queue over it.
    ///
    /// # Errors
    /// Why there is no pool, for people.
    pub fn open(
        source: &Source,
        queue: &scheduler::schedule::Config,
        fabric: &Arc<Fabric>,
        tables: Option<Arc<Tables>>,
    ) -> Result<(Self, Scheduler), String> {
        let (pool, tenants, calendar): (Arc<Pool>, _, _) = match source {
            Source::Fabric { gpus_per_host, model } => {
                let count = gpus_per_host.map_or_else(|| ports_of_first_host(fabric), usize::from);
                let most = pool::stock::MOST_GPUS_A_NODE;
                let equipment = Equipment {
                    gpus_per_node: count.clamp(1, most) as u16,
                    model: model.clone(),
                    ..Equipment::default()
                };
                let pool = from_fabric("the fabric", fabric, &equipment);
                (Arc::new(pool.map_err(|error| error.to_string())?), Tenants::default(), None)
            }
            Source::Pool { pool, tenants, calendar } => {
                (Arc::clone(pool), (**tenants).clone(), calendar.as_deref().cloned())
            }
        };
        let (ports, _) = NodePorts::bind(fabric, &pool).map_err(|error| error.to_string())?;
        let mut room = Self {
            ports: BTreeMap::new(),
            port_count: vec![0; pool.node_count()],
            own: Vec::with_capacity(pool.node_count()),
            pool: Arc::clone(&pool),
        };
        let stock = Stock::of(&pool).map_err(|error| error.to_string())?;
        for node in pool.nodes() {
            room.own.push(if stock.is_open(node) { NodeState::Open } else { NodeState::Closed });
            for rail in ports.rails(node) {
                let port = (fabric.guid(fabric.node_of(rail.port)), fabric.port_number(rail.port));
                room.ports.insert(port, node);
                room.port_count[node.index()] += 1;
            }
        }
        let network = Topology::with_ports(Arc::clone(fabric), tables, &pool, ports);
        let mut scheduler = Scheduler::new(queue.clone(), stock, tenants, []).with_network(network);
        if let Some(calendar) = calendar {
            scheduler = scheduler.with_calendar(calendar, 0);
        }
        Ok((room, scheduler))
    }

    /// Each node's state by what the fabric has lost of it.
    pub fn states(&self, inventory: &Inventory) -> Vec<NodeState> {
        let mut lost = vec![0_u32; self.port_count.len()];
        for link in inventory.links().iter().filter(|link| link.state != LinkState::Active) {
            for end in link.ends {
                let port = (inventory.node(end.node).guid, end.port);
                if let Some(node) = self.ports.get(&port) {
                    lost[node.index()] += 1;
                }
            }
        }
        let of_node = |(at, lost): (usize, u32)| match lost {
            0 => self.own[at],
            lost if lost >= self.port_count[at] => NodeState::Failed,
            _ => NodeState::Degraded.max(self.own[at]),
        };
        lost.into_iter().enumerate().map(of_node).collect()
    }
}
