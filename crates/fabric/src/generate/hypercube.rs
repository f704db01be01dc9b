//! Hypercubes: switches whose numbers differ in one bit are joined.

use ib::{LinkRate, LinkSpeed};
use serde::{Deserialize, Serialize};

use super::{GenerateError, TorusSpec};
use crate::Fabric;

/// A hypercube.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HypercubeSpec {
    /// How many dimensions: two to this many switches.
    pub dimensions: u32,
    /// Hosts of each switch.
    pub hosts: u32,
    /// What every link runs at.
    pub rate: LinkRate,
}

impl Default for HypercubeSpec {
    fn default() -> Self {
        Self { dimensions: 5, hosts: 4, rate: LinkRate::x4(LinkSpeed::Ndr) }
    }
}

impl HypercubeSpec {
    /// Builds it: a torus with two switches along each dimension.
    pub fn build(&self) -> Result<Fabric, GenerateError> {
        if self.dimensions == 0 || self.dimensions > 20 {
            return Err(GenerateError::new(
                format!("a hypercube of {} dimensions cannot be built", self.dimensions),
                "give --dimensions 1 to 20",
            ));
        }
        let dimensions = vec![2; self.dimensions as usize];
        TorusSpec { dimensions, hosts: self.hosts, parallel: 1, rate: self.rate }.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_has_a_neighbour_a_dimension() {
        let fabric = HypercubeSpec { dimensions: 6, hosts: 2, ..Default::default() }.build().unwrap();
        fabric.check_invariants();
        assert_eq!((fabric.switch_count(), fabric.link_count()), (64, 64 * 6 / 2 + 128));
        assert!(fabric.switches().all(|s| fabric.neighbors(s).count() == 8));
    }
}
