//! What a user may ask of any engine.

use fabric::{NodeId, PortId};

/// Wishes that engines heed. The default asks for nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Switches that stand at the top of the order that `up-down`, `down-up` and `fat-tree` climb; none: found.
    pub roots: Vec<NodeId>,
    /// Most data lanes that the hardware gives, 1 to 15.
    pub most_lanes: u8,
    /// Hosts' ports that send and receive more than others, with how many times as much: storage and the like.
    pub weights: Vec<(PortId, u32)>,
    /// Choose among equal ports by chance, from this seed, instead of in turn.
    pub scatter: Option<u64>,
    /// Switches' ports that paths keep away from wherever another way is left.
    pub avoid: Vec<PortId>,
}

impl Default for Options {
    fn default() -> Self {
        Self { roots: Vec::new(), most_lanes: 8, weights: Vec::new(), scatter: None, avoid: Vec::new() }
    }
}
