//! Fabrics made to measure: one file a kind, each a `Spec` whose `build` gives the cabled fabric.
//!
//! The same spec gives the same fabric, GUIDs and names included, on any machine.

mod dragonfly_plus;
mod fat_tree;
mod hypercube;
mod naming;
mod random_regular;
mod superpod;
mod torus;

pub use dragonfly_plus::DragonflyPlusSpec;
pub use fat_tree::FatTreeSpec;
pub use hypercube::HypercubeSpec;
pub use random_regular::RandomRegularSpec;
pub use superpod::{Generation, SuperpodSpec};
pub use torus::TorusSpec;

/// Why a fabric cannot be built as asked, and what would mend it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem}: {mend}")]
pub struct GenerateError {
    /// What cannot be.
    pub problem: String,
    /// What would mend it.
    pub mend: String,
}

impl GenerateError {
    fn new(problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { problem: problem.into(), mend: mend.into() }
    }
}

/// The most ports that a switch can have: port numbers are bytes, 0 is the switch itself, 255 stands for no route.
const MOST_PORTS: u64 = 254;

/// The most nodes that a generated fabric may have: beyond it a spec is a slip of the finger.
const MOST_NODES: u64 = 1 << 20;

fn bounded_nodes(nodes: u64) -> Result<(), GenerateError> {
    if nodes > MOST_NODES {
        return Err(GenerateError::new(
            format!("{nodes} nodes are more than the {MOST_NODES} that one fabric may have"),
            "ask for a smaller fabric",
        ));
    }
    Ok(())
}

fn bounded_ports(what: &str, ports: u64) -> Result<u8, GenerateError> {
    match u8::try_from(ports) {
        Ok(ports) if u64::from(ports) <= MOST_PORTS => Ok(ports),
        _ => Err(GenerateError::new(
            format!("{what} would need {ports} ports, and a switch has at most {MOST_PORTS}"),
            "ask for fewer hosts or links a switch",
        )),
    }
}
