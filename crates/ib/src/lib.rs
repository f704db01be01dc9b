//! InfiniBand as values: parse and print only, no I/O, no clock.
//!
//! From the wire upwards: [`bits`] reads and writes fields of any width at any bit position; [`attributes`] are the
//! contents that a subnet manager and a performance manager meet, one file each; [`sa`] holds those of the subnet
//! administrator, and its long answers; [`Mad`] is the
//! 256 bytes that carry them, read and written in place; [`Packet`] is a MAD with its addressing. Around them stand
//! the plain values: [`Guid`], [`Lid`], [`LinkRate`], [`DirectedRoute`], [`Time`]. [`mod@print`] writes attributes as
//! the tools of infiniband-diags do.
//!
//! Invariants: parsing is total (any bytes give a value, unknown codes are kept), so nothing here panics on input;
//! emitting what was parsed gives the same bytes but for reserved ones, which become 0. Bit positions are those of
//! libibmad's `fields.c` and of `ib_types.h` of OpenSM.

pub mod attribute;
pub mod attributes;
pub mod bits;
pub mod codes;
pub mod gid;
pub mod guid;
pub mod lid;
pub mod link;
pub mod mad;
pub mod packet;
pub mod print;
pub mod route;
pub mod sa;
pub mod time;
pub mod wide;

pub use attribute::Attribute;
pub use attributes::*;
pub use codes::{AttributeId, ManagementClass, Method, NodeType, PhysicalState, PortState, Status};
pub use gid::Gid;
pub use guid::Guid;
pub use lid::Lid;
pub use link::{LinkRate, LinkSpeed, LinkWidth, Mtu, virtual_lanes};
pub use mad::Mad;
pub use packet::Packet;
pub use route::DirectedRoute;
pub use time::Time;
