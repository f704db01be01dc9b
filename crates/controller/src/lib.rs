//! The door around the subnet manager: it waits on a wire, feeds the manager, drains it, counts, records.
//!
//! [`session`] is the loop; what it can let wait it computes `aside`. [`recording`] holds what went in and a digest of what came out, and gives it to the same core
//! again. [`lids`] keeps LIDs across restarts. [`signals`] ends a session in order.
//!
//! Invariant: nothing is decided here; what a session does follows from what its wire gave and its configuration.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this crate is a door")]

mod aside;
pub mod lids;
pub mod recording;
pub mod session;
pub mod signals;
pub mod store;

pub use recording::{Recorder, replay};
pub use session::{End, Observer, Session, SessionError, Times, Until};
pub use signals::Stop;
