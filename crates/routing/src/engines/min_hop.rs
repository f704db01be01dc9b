//! Shortest paths on any topology, spread over equal ports so that each link carries as many as its speed allows for.
//! Nothing keeps them free of credit loops: where the verifier finds one, another engine or more lanes are needed.

use fabric::Fabric;

use super::tables_over;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::Paths;
use crate::ranks;
use crate::routes::Routes;
use crate::switches::Switches;

/// The engine `min-hop`.
pub struct MinHop;

impl Engine for MinHop {
    fn name(&self) -> &'static str {
        "min-hop"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options).by_speed(fabric);
        switches.check_lids(fabric)?;
        let paths = Paths::shortest(fabric, &switches)?;
        let tables = tables_over(fabric, &switches, &paths, &ranks::of(fabric, &switches), options);
        Ok(Routes::on_one_lane(tables, None))
    }
}
