//! Why no set of nodes does: which want is in the way, by how much, and whether it will ever be otherwise.

use std::fmt;

use pool::{NodeIndex, Pool};
use serde::Serialize;

use crate::network::locality::Level;

/// A gang that no set of nodes takes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Refusal {
    /// Required wants that together are in the way; none: there is too little room at all.
    pub wants: Vec<Level>,
    /// Members asked for.
    pub asked: u64,
    /// The most that one group of those wants takes.
    pub largest: u64,
    /// A node of that group; `None` where no group takes any.
    pub largest_at: Option<NodeIndex>,
    /// Whether the group would be too small even if it were empty.
    pub never: bool,
}

impl Refusal {
    /// The refusal in words, with names.
    pub fn describe(&self, pool: &Pool) -> String {
        match self.largest_at {
            Some(node) if !self.wants.is_empty() => format!("{self} (that of {})", pool.node_name(node)),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asked, largest) = (self.asked, self.largest);
        let room = if self.never { "could take, empty," } else { "has room for" };
        if self.wants.is_empty() {
            return write!(f, "{asked} members are asked for, and the whole pool {room} {largest}");
        }
        let names: Vec<&str> = self.wants.iter().map(|want| want.phrase()).collect();
        write!(
            f,
            "{asked} members are required in one {}, and the largest {room} {largest}",
            names.join(" and one ")
        )
    }
}

impl std::error::Error for Refusal {}
