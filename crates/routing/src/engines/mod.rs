//! The engines, one file each.

use fabric::Fabric;

use crate::balance::balanced;
use crate::options::Options;
use crate::paths::Paths;
use crate::scatter::scattered;
use crate::spread::spread;
use crate::switches::Switches;
use crate::tables::Tables;

pub mod down_up;
pub mod dragonfly_plus;
pub mod fat_tree;
pub mod from_tables;
pub mod layered;
pub mod min_hop;
pub mod nue;
pub mod torus;
pub mod up_down;

pub use down_up::DownUp;
pub use dragonfly_plus::DragonflyPlus;
pub use fat_tree::FatTree;
pub use from_tables::FromTables;
pub use layered::Layered;
pub use min_hop::MinHop;
pub use nue::Nue;
pub use torus::Torus;
pub use up_down::UpDown;

/// Tables over `paths`: evened out, or drawn by lot where that was asked for.
pub(crate) fn tables_over(
    fabric: &Fabric,
    switches: &Switches,
    paths: &Paths,
    rank: &[u32],
    options: &Options,
) -> Tables {
    match options.scatter {
        Some(seed) => scattered(fabric, switches, paths, spread(fabric, switches, paths, rank), seed),
        None => balanced(fabric, switches, paths, rank),
    }
}
