//! What a routing engine is, and the engines by name.

use fabric::Fabric;

use crate::engines::{DownUp, DragonflyPlus, FatTree, Layered, MinHop, Nue, Torus, UpDown};
use crate::error::RouteError;
use crate::options::Options;
use crate::routes::Routes;

/// A way to compute forwarding tables.
pub trait Engine: Sync {
    /// The name that a user asks for it by.
    fn name(&self) -> &'static str;

    /// Routes to all LIDs that the ports of `fabric` hold, on every switch.
    ///
    /// Where the fabric is not connected, each part is routed by itself; LIDs of other parts have no route.
    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError>;
}

/// The names that [`engine_by_name`] knows. `auto` is no engine but a choice: [`crate::auto()`]; `file` comes with its
/// tables: [`crate::engines::FromTables`].
pub const ENGINES: &[&str] =
    &["fat-tree", "layered", "min-hop", "nue", "torus", "dragonfly-plus", "up-down", "down-up"];

/// The engine with this name, as it stands without options.
pub fn engine_by_name(name: &str) -> Result<Box<dyn Engine>, RouteError> {
    match name {
        "dragonfly-plus" => Ok(Box::new(DragonflyPlus)),
        "fat-tree" => Ok(Box::new(FatTree)),
        "layered" => Ok(Box::new(Layered)),
        "min-hop" => Ok(Box::new(MinHop)),
        "nue" => Ok(Box::new(Nue)),
        "torus" => Ok(Box::new(Torus)),
        "up-down" => Ok(Box::new(UpDown)),
        "down-up" => Ok(Box::new(DownUp)),
        _ => Err(RouteError::UnknownEngine { name: name.to_owned(), known: ENGINES }),
    }
}
