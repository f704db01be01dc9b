//! What a user may ask of any engine.

use fabric::{NodeId, PortId};

/// Wishes that engines heed. The default asks for nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Switches that stand at the top of the order that `up-down` and `fat-tree` climb, and at which paths of
    /// `down-up` may end; none: found.
    pub roots: Vec<NodeId>,
    /// Most data lanes that the hardware gives, 1 to 15.
    pub most_lanes: u8,
    /// Hosts' ports whose traffic is spread evenly; none: all. Other hosts are reached by any path.
    pub compute_nodes: Vec<PortId>,
    /// Hosts' ports that are reached by any path, or count by their weight where they have one.
    pub io_nodes: Vec<PortId>,
    /// Hosts' ports that send and receive more than others, with how many times as much: storage and the like.
    pub weights: Vec<(PortId, u32)>,
    /// Choose among equal ports by chance, from this seed, instead of in turn. Engines for several lanes do not: their choice
    /// keeps credit loops apart.
    pub scatter: Option<u64>,
    /// Switches' ports that paths keep away from wherever another way is left.
    pub avoid: Vec<PortId>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            most_lanes: 8,
            compute_nodes: Vec::new(),
            io_nodes: Vec::new(),
            weights: Vec::new(),
            scatter: None,
            avoid: Vec::new(),
        }
    }
}
