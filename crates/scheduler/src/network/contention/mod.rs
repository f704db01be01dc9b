//! What jobs put on each link, by the forwarding tables that are programmed.
//!
//! [`Traffic`] says which nodes of a gang send to which and how much; [`Ways`] follows what they send through the tables, link
//! by link, and gives a [`Load`]; [`Loads`] adds up those of all jobs that run. All in whole bytes per second, so that what was
//! added and is taken away again leaves no trace. A [`Contention`] is how full the links of a candidate would be.

mod traffic;
mod ways;

use fabric::PortId;
use serde::Serialize;

pub use traffic::{Pattern, Traffic};
pub use ways::Ways;

/// What one job puts on each link.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// The ports that it sends by, hosts' and switches', ascending, with bytes per second.
    links: Vec<(PortId, u64)>,
    /// Bytes per second for which the tables have no way.
    lost: u64,
}

impl Load {
    /// The ports that the job's packets leave by, ascending, each with bytes per second.
    pub fn links(&self) -> &[(PortId, u64)] {
        &self.links
    }

    /// Bytes per second that find no way to where they are for; 0 wherever the tables are complete.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// What all running jobs put on each link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loads {
    bytes: Vec<u64>,
}

impl Loads {
    /// No load on a fabric with so many port slots.
    pub fn none(port_slots: usize) -> Self {
        Self { bytes: vec![0; port_slots] }
    }

    /// Adds a job.
    pub fn add(&mut self, load: &Load) {
        // Sums wrap, so that taking away is exact whatever was added: 2^64 bytes per second are beyond any link.
        for &(port, bytes) in load.links() {
            self.bytes[port.index()] = self.bytes[port.index()].wrapping_add(bytes);
        }
    }

    /// Takes a job away that was added, with the load that it was added with.
    pub fn remove(&mut self, load: &Load) {
        for &(port, bytes) in load.links() {
            self.bytes[port.index()] = self.bytes[port.index()].wrapping_sub(bytes);
        }
    }

    /// What leaves by a port, bytes per second.
    #[inline]
    pub fn on(&self, port: PortId) -> u64 {
        self.bytes[port.index()]
    }

    /// Whether nothing is on any link.
    pub fn are_none(&self) -> bool {
        self.bytes.iter().all(|&bytes| bytes == 0)
    }
}

/// How full the links that a job would use are, its own load included.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Contention {
    /// The fullest of its links: load by speed; above 1 is more than the link carries.
    pub worst: f64,
    /// That link, by the port that sends; `None` for a job that uses none.
    pub worst_link: Option<PortId>,
    /// The mean over its links.
    pub mean: f64,
    /// How many of its links are to be avoided.
    pub avoided_links: u32,
    /// Bytes per second for which the tables have no way.
    pub lost: u64,
}
