//! What the tests share: fabrics in a few words, and an oracle that walks every path by itself.
#![allow(dead_code)]

pub mod build;
pub mod changes;
pub mod oracle;

use fabric::Fabric;
use routing::{Choice, Options, RouteError, Tables};

/// The tables of the engine that suits a fabric on one lane, without other wishes.
pub fn auto(fabric: &Fabric) -> Result<(Tables, Choice), RouteError> {
    routing::auto(fabric, &Options { most_lanes: 1, ..Options::default() })
        .map(|(routes, choice)| (routes.tables, choice))
}
