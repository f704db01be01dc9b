//! What can be wrong with a door, in three parts: what, where, and what would mend it.

use std::fmt;
use std::io;

/// Why a door cannot be opened or has stopped working.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WireError {
    /// What is wrong.
    pub problem: String,
    /// Which file, socket, device or port.
    pub place: String,
    /// What would mend it.
    pub mend: String,
}

impl WireError {
    /// An error from its three parts.
    pub fn new(problem: impl Into<String>, place: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { problem: problem.into(), place: place.into(), mend: mend.into() }
    }

    /// An error of the system at `place`.
    pub(crate) fn system(doing: &str, error: &io::Error, place: impl Into<String>, mend: &str) -> Self {
        Self::new(format!("{doing}: {error}"), place, mend)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.problem, self.place, self.mend)
    }
}

impl std::error::Error for WireError {}
