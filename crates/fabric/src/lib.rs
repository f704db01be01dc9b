//! What is cabled to what.
//!
//! [`Fabric`] is the one graph that every part of Heddle speaks of: nodes, ports and links in flat arrays with typed
//! indices. It is read from a file ([`formats`]), built by a generator ([`generate`]) or filled in by discovery.
//! [`check`] finds what is wrong with the cabling as it stands; [`summary`] says what it is.
//!
//! Invariants: a cable has two ends and both name each other ([`Fabric::check_invariants`]); a port number never
//! moves within its node; nothing here opens a file, reads a clock or draws chance that is not a seed.

pub mod check;
pub mod compare;
pub mod formats;
pub mod generate;
pub mod graph;
pub mod index;
pub mod levels;
pub mod summary;

pub use graph::{ConnectError, Fabric, NodeKind};
pub use index::{NodeId, PortId};
