//! Virtual lanes: which service level each path's packets bear, and the lane that each switch gives them.

/// The lanes of all paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lanes {
    count: u8,
}

impl Lanes {
    /// All paths on lane 0.
    pub fn one() -> Self {
        Self { count: 1 }
    }

    /// How many data lanes the paths take, 1 to 15.
    pub fn count(&self) -> u8 {
        self.count
    }
}
