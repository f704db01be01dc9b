//! How well tables use the links: the figures that people compare routings by.
//!
//! A *load* is a number of paths on one direction of a link between switches. It is counted for three kinds of
//! traffic: every host's port to every other ([`load`]), each shift of all hosts ([`shifts`]), random permutations
//! ([`permutations`]). [`bounds`] says what no routing can beat on the same cabling.
//!
//! Only a port's base LID counts, and only paths that arrive.

pub mod bounds;
pub mod load;
mod paths;
pub mod permutations;
pub mod shifts;

pub use bounds::{Bounds, bounds};
pub use load::{LinkLoad, link_load};
pub use permutations::{PermutationLoad, permutation_load};
pub use shifts::{ShiftLoad, shift_load};
