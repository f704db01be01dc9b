//! Shortest paths on any topology, spread evenly over equal ports. Nothing keeps them free of credit loops: where the
//! verifier finds one, another engine or more lanes are needed.

use fabric::Fabric;

use crate::balance::balanced;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::paths::Paths;
use crate::ranks;
use crate::switches::Switches;
use crate::tables::Tables;

/// The engine `min-hop`.
pub struct MinHop;

impl Engine for MinHop {
    fn name(&self) -> &'static str {
        "min-hop"
    }

    fn route(&self, fabric: &Fabric) -> Result<Tables, RouteError> {
        let switches = Switches::new(fabric);
        switches.check_lids(fabric)?;
        let paths = Paths::shortest(fabric, &switches)?;
        Ok(balanced(fabric, &switches, &paths, &ranks::of(fabric, &switches)))
    }
}
