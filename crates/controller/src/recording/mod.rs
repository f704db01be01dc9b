//! A recording of a session: all that went into the subnet manager, with times, and a digest of all that came out.
//!
//! The same core fed with it gives the same outputs, so a fault in the field arrives as a file.
//!
//! ```text
//! "HEDDLE-RECORDING 1\n"
//! u32 length, so many bytes of JSON: the manager's configuration, the time at which it began
//! records: u8 kind, u64 time in nanoseconds, then by kind
//!   1 packet   u32 dlid, slid, destination and source queue pair, status; 256 bytes of MAD
//!   2 tick     -
//!   3 sweep    -
//!   4 work     -           (the manager was let compute)
//!   5 drain    u32 packets sent, u32 events, u64 digest of them
//!   6 end      -           (the session ended in order)
//!   7 task     -           (the manager handed out what can be computed beside it)
//!   8 solved   -           (it was given what came of that)
//! ```
//!
//! Numbers are little-endian. A recording may be cut off anywhere: it is read as far as it is whole.

mod digest;
mod read;
mod replay;
mod write;

pub use digest::Digest;
pub use read::{ReadError, Reader, Record};
pub use replay::{Difference, Replayed, replay};
pub use write::Recorder;

use ib::Time;
use serde::{Deserialize, Serialize};

pub(crate) const MAGIC: &[u8; 19] = b"HEDDLE-RECORDING 1\n";

/// What a recording begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of Heddle that wrote it.
    pub version: String,
    /// The door's name, for people.
    pub door: String,
    /// When the manager began, on the door's clock.
    pub began: Time,
    /// The manager's configuration.
    pub config: subnet::Config,
}

/// What came out of the manager at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drained {
    /// Packets sent.
    pub packets: u32,
    /// Events said.
    pub events: u32,
    /// Over all of them, in order.
    pub digest: u64,
}

pub(crate) mod kind {
    pub const PACKET: u8 = 1;
    pub const TICK: u8 = 2;
    pub const SWEEP: u8 = 3;
    pub const WORK: u8 = 4;
    pub const DRAIN: u8 = 5;
    pub const END: u8 = 6;
    pub const TASK: u8 = 7;
    pub const SOLVED: u8 = 8;
}
