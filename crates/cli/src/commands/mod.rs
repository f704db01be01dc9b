//! The commands, a file or folder each.

pub mod client;
pub mod drill;
pub mod fabric;
pub mod manual;
pub mod pool;
pub mod replay;
pub mod route;
pub mod token;
pub mod trace;
pub mod up;
