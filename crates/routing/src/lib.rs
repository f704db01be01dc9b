//! From a fabric to forwarding tables, and the proof that they are right.
//!
//! [`engines`] compute [`Routes`] (tables, lanes) for a [`fabric::Fabric`] whose ports hold their LIDs; [`auto`](auto::auto) picks the
//! engine by the topology it recognises. [`verify`](verify::verify) judges any tables, ours or foreign ones: every
//! pair reachable, no forwarding loop, no credit loop, with a witness for what is wrong. [`quality`] counts the paths
//! on each link, and says what no tables could beat; [`Tables::changed_blocks`] is what a subnet manager has to write. [`islands()`] names the parts of a
//! fabric that is not connected.
//!
//! Under the engines lie [`switches`] (the switches alone, densely numbered, with what hangs on them), [`paths`] (the
//! hops that a path may take next, for all pairs of switches) and [`spread`] (which of them each destination takes).
//!
//! Invariants: tables depend on the fabric alone, never on the number of threads; an engine gives tables that the
//! verifier finds complete, or an error that names a pair; only `min-hop` may give credit loops.

mod acyclic;
pub mod adaptive;
pub mod auto;
pub mod balance;
mod chance;
pub mod difference;
pub mod engine;
pub mod engines;
pub mod error;
pub mod islands;
pub mod lanes;
pub mod layout;
mod links;
pub mod options;
pub mod paths;
pub mod quality;
pub mod ranks;
pub mod repair;
pub mod routes;
pub mod scatter;
pub mod spread;
pub mod switches;
pub mod tables;
pub mod verify;

pub use adaptive::{AdaptiveGroups, adaptive_groups};
pub use auto::{Choice, auto};
pub use difference::{AffectedPairs, ChangedSwitch, Difference, difference};
pub use engine::{Engine, engine_by_name};
pub use error::RouteError;
pub use islands::{Islands, islands};
pub use lanes::{Lanes, MOST_LANES};
pub use options::Options;
pub use quality::{
    Bounds, LinkLoad, PermutationLoad, ShiftLoad, bounds, link_load, permutation_load, shift_load,
};
pub use repair::{NeedsEngine, Old, Patch, PatchEntry, PatchLevel, Repairer, transition};
pub use routes::Routes;
pub use tables::{BLOCK, ChangedBlock, NO_ROUTE, Tables};
pub use verify::{CreditLoop, Hops, UnreachablePair, Verification, verify, verify_routes};
