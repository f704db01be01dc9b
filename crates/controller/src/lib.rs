//! The daemon: a subnet manager at a wire, and around it what keeps, shows and serves.
//!
//! [`session`] is the loop around the manager: it waits on a wire, feeds the manager, drains it, counts, records; what can
//! wait it computes `aside`. [`recording`] holds what went in and a digest of what came out, and gives it to the same core
//! again. [`lids`] keeps LIDs across restarts. [`signals`] ends a session in order.
//!
//! The session's thread does nothing else. It tells what it sees through [`feed`] to the `keeper`, which writes the
//! [`journal`] into the [`store`] and keeps the picture ([`view`]) that the [`api`] and the [`metrics`] answer from;
//! [`work`] hosts pool, queue and jobs on a thread of its own. [`access`] says who may do what, [`service`] speaks with
//! systemd; [`daemon`] puts it together.
//!
//! Invariants: nothing is decided here; what a session does follows from what its wire gave and its configuration. No
//! reader holds up the session: it is asked only through [`session::Call`]s, a few at a time.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this crate is a door")]

pub mod access;
pub mod api;
mod aside;
pub mod daemon;
pub mod event;
pub mod feed;
pub mod journal;
mod keeper;
pub mod lids;
pub mod metrics;
mod mischief;
pub mod recording;
pub mod service;
pub mod session;
pub mod signals;
pub mod site;
pub mod store;
pub mod view;
pub mod work;

pub use daemon::Daemon;
pub use recording::{Recorder, replay};
pub use session::{End, Observer, Session, SessionError, Times, Until};
pub use signals::Stop;
