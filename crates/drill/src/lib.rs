//! Failures on purpose: from a seed, one after another, on an emulated fabric that the real subnet manager keeps up.
//!
//! [`Drill`] brings a fabric up under a virtual clock, lets a failure happen, waits until the manager has healed it,
//! and has the oracle judge what the switches really hold. How long that took, how many blocks of tables were written
//! and how many MADs were sent is in the [`Outcome`].
//!
//! | file | holds |
//! | --- | --- |
//! | `kind` | the kinds of failures |
//! | `plan` | what breaks and what is mended, step by step, from the seed and the cabling alone |
//! | `world` | the manager and the emulated fabric under one clock |
//! | `weather` | what happens to MADs at the manager's port: lost, late, twice, traps muted |
//! | `oracle` | whether what the devices hold is right |
//! | `transient` | the same after every single write: no loop, no credit loop on the way |
//! | `drill` | one step after another, measured and judged |
//! | `outcome` | what came of it, in figures |
//!
//! Invariants: the plan depends on nothing but the seed, the cabling and the kinds asked for, so that a failing step
//! can be had again; with compute time left out ([`Config::clock`]), so does the whole drill, bit by bit.

mod chance;
mod config;
mod drill;
mod error;
mod kind;
mod oracle;
mod outcome;
mod plan;
mod transient;
mod weather;
mod world;

pub use config::{Clock, Config};
pub use drill::{Drill, Ear};
pub use error::DrillError;
pub use kind::Kind;
pub use outcome::{Figures, KindFigures, Outcome, Record};
pub use plan::{Plan, Step};
pub use weather::Weather;
