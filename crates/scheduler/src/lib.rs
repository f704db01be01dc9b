//! Jobs and the pool to placements, and the replay of traces that shows what a policy is worth.
//!
//! Deterministic: the same inputs give the same placements on any machine.

pub mod forecast;
pub mod job;
pub mod network;
pub mod placement;
pub mod policy;
mod random;
pub mod replay;
pub mod schedule;
pub mod simulate;
pub mod trace;
pub mod workloads;
