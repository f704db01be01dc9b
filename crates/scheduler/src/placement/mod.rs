//! Where a part of a job could go: nodes that are alike are one candidate, and each candidate is scored once.
//!
//! `cluster` groups the nodes by what they have left, `mix` is the workload that placements are judged by, `best` keeps the
//! candidates of every class of demand in order of score, `within` is for demands that ask where on a node.

pub mod best;
pub mod cluster;
pub mod mix;
pub mod within;

use pool::stock::Demand;

pub use best::{Best, Score, Scored};
pub use cluster::{Cluster, State};
pub use mix::Mix;

/// A class of demand: parts of jobs that want the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassIndex(pub u32);

/// The classes of demand of a workload, each once, in the order in which they first come.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    demands: Vec<Demand>,
    of: rustc_hash::FxHashMap<Demand, ClassIndex>,
}

impl Classes {
    /// The class of a demand.
    pub fn class(&mut self, demand: &Demand) -> ClassIndex {
        *self.of.entry(*demand).or_insert_with(|| {
            self.demands.push(*demand);
            ClassIndex(self.demands.len() as u32 - 1)
        })
    }

    /// All classes, by their index.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }
}
