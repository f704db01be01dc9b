//! What placement knows of the fabric: groups, ways, choices, loads; against plain counting.
// A test's own door to its data, and to the person who runs it.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

mod build;
mod choosing;
mod contending;
mod grouping;
mod real;
