//! Tables that come from elsewhere, as an engine: those that OpenSM dumped, or a person wrote.
//!
//! A destination that they do not reach from every switch of its part is routed by `min-hop` instead, all of its
//! entries together, so that the two never mix on a path.

use fabric::Fabric;

use super::min_hop::MinHop;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::parts;
use crate::routes::Routes;
use crate::switches::{Destination, Switches};
use crate::tables::{NO_ROUTE, Tables};

/// The engine `file`.
pub struct FromTables {
    tables: Tables,
}

impl FromTables {
    /// Takes these tables, whose switches are those of the fabric to route.
    pub fn new(tables: Tables) -> Self {
        Self { tables }
    }

    /// Whether a LID of a destination on `target` is reached from every switch of its part.
    fn arrives(&self, lids: &Lookup, target: usize, destination: &Destination, lid: u32) -> bool {
        const UNKNOWN: u8 = 0;
        const ON_PATH: u8 = 1;
        const GOOD: u8 = 2;
        let mut state = vec![UNKNOWN; lids.peer.len()];
        let mut path = Vec::new();
        for start in (0..state.len()).filter(|&switch| lids.part[switch] == lids.part[target]) {
            let mut at = start;
            while state[at] == UNKNOWN {
                state[at] = ON_PATH;
                path.push(at);
                let port = self.tables.get(lids.switches.node(at), lid);
                if at == target && port == destination.port {
                    state[at] = GOOD;
                    break;
                }
                match lids.peer[at].get(usize::from(port)) {
                    Some(&next) if next != u32::MAX => at = next as usize,
                    _ => return false,
                }
            }
            if state[at] == ON_PATH {
                return false;
            }
            path.drain(..).for_each(|switch| state[switch] = GOOD);
        }
        true
    }
}

/// What is behind the ports of the switches, and which switches hang together.
struct Lookup<'a> {
    switches: &'a Switches,
    part: Vec<u32>,
    peer: Vec<Vec<u32>>,
}

impl Engine for FromTables {
    fn name(&self) -> &'static str {
        "file"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::new(fabric);
        let Routes { mut tables, .. } = MinHop.route(fabric, options)?;
        let peers = |switch: usize| {
            let links = switches.links(switch);
            let mut peers = vec![u32::MAX; links.last().map_or(1, |link| usize::from(link.port) + 1)];
            links.iter().for_each(|link| peers[usize::from(link.port)] = link.peer);
            peers
        };
        let peer = (0..switches.len()).map(peers).collect();
        let lookup = Lookup { switches: &switches, part: parts(&switches), peer };
        for target in 0..switches.len() {
            for destination in switches.destinations(target) {
                for lid in destination.lids.clone() {
                    if self.arrives(&lookup, target, destination, lid) {
                        self.copy(&lookup, target, lid, &mut tables);
                    }
                }
            }
        }
        Ok(Routes::on_one_lane(tables, None))
    }
}

impl FromTables {
    fn copy(&self, lookup: &Lookup, target: usize, lid: u32, tables: &mut Tables) {
        for switch in 0..lookup.peer.len() {
            let inside = lookup.part[switch] == lookup.part[target];
            let node = lookup.switches.node(switch);
            tables.set(node, lid, if inside { self.tables.get(node, lid) } else { NO_ROUTE });
        }
    }
}
