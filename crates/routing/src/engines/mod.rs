//! The engines, one file each.

pub mod fat_tree;
pub mod layered;
pub mod min_hop;
pub mod nue;
pub mod torus;
pub mod up_down;

pub use fat_tree::FatTree;
pub use layered::Layered;
pub use min_hop::MinHop;
pub use nue::Nue;
pub use torus::Torus;
pub use up_down::UpDown;
