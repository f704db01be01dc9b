//! Evens out the load on links where a tree is not regular.

use fabric::Fabric;

use crate::paths::Paths;
use crate::spread::spread;
use crate::switches::Switches;
use crate::tables::Tables;

/// Tables over `paths` whose links carry about as many paths as each other.
pub fn balanced(fabric: &Fabric, switches: &Switches, paths: &Paths, rank: &[u32]) -> Tables {
    spread(fabric, switches, paths, rank)
}
