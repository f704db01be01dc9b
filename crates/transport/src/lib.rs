//! Doors to a fabric, all behind one trait: MADs go out in batches, come in in batches, and time comes with them.
//!
//! - [`Memory`]: an emulated fabric under its own virtual clock;
//! - [`Ibsim`]: the sockets of a running ibsim;
//! - [`Umad`]: the kernel's umad device, by the libc calls that ibsim's preload library replaces too.
//!
//! Over any of them go the [`sleeve`]s: loss, delay, duplicates, garbage, a capture that Wireshark opens, a trace.
//! Each sleeve is a wire itself, so they stack in any order.
//!
//! Invariants: no door allocates for a packet; what a sleeve does by chance depends on its seed and on the packets
//! alone; a door that is dropped leaves its fabric (ibsim is told so, the IsSM bit is cleared).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this crate is the doors")]

pub mod clock;
pub mod error;
pub mod ibsim;
pub mod memory;
pub mod sleeve;
pub mod umad;
pub mod wire;

pub use clock::Clock;
pub use error::WireError;
pub use ibsim::Ibsim;
pub use memory::Memory;
pub use umad::Umad;
pub use wire::Wire;
