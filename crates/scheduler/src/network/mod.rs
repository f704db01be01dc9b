//! What placement knows of the fabric, as values: who is near whom, and what each link bears.
//!
//! [`ports`] binds nodes to ports of the fabric. [`locality`] groups nodes at every level, one inside the other, in one
//! order, so that every group is a range; [`hops`] says how far groups are from each other, [`spread`] how far a
//! placement is strewn. [`choose`] proposes sets of nodes for a gang. [`contention`] follows what a gang sends through the
//! programmed tables. [`Topology`] joins all of it, and keeps what runs and what to avoid.
//!
//! Absent: what is free and who may take it. Free capacity comes as an argument, one number a node.

pub mod choose;
pub mod contention;
mod homes;
pub mod hops;
pub mod locality;
pub mod ports;
mod sets;
pub mod spread;
pub mod topology;

pub use choose::{Ask, Candidate, Refusal, Want, can_ever, choose};
pub use contention::{Contention, Load, Loads, Pattern, Traffic, Ways};
pub use hops::Hops;
pub use locality::{Level, Locality};
pub use ports::{Bound, NodePorts, Rail, TooFewHosts};
pub use spread::Spread;
pub use topology::{Proposal, Topology};
