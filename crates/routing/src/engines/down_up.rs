//! Down, then up: `up-down` with the order turned over, for fabrics that hang the other way, as OpenSM's `dnup`.
//!
//! The roots are where paths begin and end: hosts hang at the top, paths go down from there and up again. No path goes
//! down after it went up, so they close no credit loop on one lane. Not every cabling has such a path for all pairs:
//! two hosts below the same switch need one below both.

use fabric::Fabric;

use super::fat_tree::{detour_sum, first_missing};
use super::tables_over;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::Paths;
use crate::ranks;
use crate::routes::Routes;
use crate::switches::Switches;

/// The engine `down-up`.
pub struct DownUp;

impl Engine for DownUp {
    fn name(&self) -> &'static str {
        "down-up"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        switches.check_lids(fabric)?;
        // Paths climb away from the roots and descend towards them: with the roots on top that is down, then up.
        let rated = depths(&switches, options).into_iter().map(|depth| {
            let paths = Paths::up_down(&switches, &depth);
            (detour_sum(&switches, &paths), paths, depth)
        });
        let Some((sum, paths, depth)) = rated.min_by_key(|&(sum, ..)| sum) else {
            return Ok(Routes::on_one_lane(crate::tables::Tables::empty(fabric), None));
        };
        if sum.missing > 0 {
            let (from, to) = first_missing(&switches, &paths).unwrap_or((0, 0));
            return Err(RouteError::NoPath {
                engine: self.name(),
                from: fabric.name(switches.node(from)).to_owned(),
                to: fabric.name(switches.node(to)).to_owned(),
                why: "no switch lies below both; give other roots, or take 'up-down', which routes any cabling",
            });
        }
        let tables = tables_over(fabric, &switches, &paths, &depth, options);
        Ok(Routes::on_one_lane(tables, paths.heights().map(<[u32]>::to_vec)))
    }
}

/// How far each switch lies below the top, for each top that is tried: the roots that were given, else switches that
/// hold hosts, all of them or those with the most.
fn depths(switches: &Switches, options: &Options) -> Vec<Vec<u32>> {
    if switches.is_empty() {
        return Vec::new();
    }
    let roots: Vec<u32> =
        options.roots.iter().filter_map(|&root| switches.index_of(root)).map(|root| root as u32).collect();
    if !roots.is_empty() {
        return vec![ranks::distances(switches, roots)];
    }
    let most_hosts = (0..switches.len()).map(|switch| switches.hosts(switch)).max().unwrap_or(0);
    let least = [1, most_hosts.div_ceil(4), most_hosts.div_ceil(2)];
    least.into_iter().map(|least| ranks::levels(switches, least)).collect()
}
