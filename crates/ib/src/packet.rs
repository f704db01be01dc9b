//! A MAD with its addressing, as it crosses a door between a manager and a fabric.

use crate::{Lid, Mad};

/// One MAD with where it goes to and comes from.
///
/// The same value serves both directions: on the way out the `dest` fields say where to; on the way in `slid` and
/// `source_qp` say who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Destination LID; [`Lid::PERMISSIVE`] marks a directed-route MAD.
    pub dlid: Lid,
    /// Source LID; [`Lid::NONE`] on the way out lets the door fill in the port's own.
    pub slid: Lid,
    /// Destination queue pair: 0 for subnet management, 1 for all other management.
    pub dest_qp: u32,
    /// Source queue pair.
    pub source_qp: u32,
    /// 0, or on the way in the error number with which the door gives a request back that it could not deliver
    /// (110: no answer came in time). `mad` is then that request.
    pub status: u32,
    /// The 256 bytes.
    pub mad: Mad,
}

impl Packet {
    /// The status with which a door gives back a request that was not answered in time (`ETIMEDOUT`).
    pub const TIMED_OUT: u32 = 110;

    /// A directed-route MAD on its way out.
    #[inline]
    pub fn directed(mad: Mad) -> Self {
        Self { dlid: Lid::PERMISSIVE, slid: Lid::PERMISSIVE, dest_qp: 0, source_qp: 0, status: 0, mad }
    }

    /// A MAD on its way back to whom this packet came from.
    #[inline]
    pub fn reply(&self, mad: Mad) -> Self {
        Self {
            dlid: self.slid,
            slid: self.dlid,
            dest_qp: self.source_qp,
            source_qp: self.dest_qp,
            status: 0,
            mad,
        }
    }

    /// A subnet management MAD to a LID on its way out.
    #[inline]
    pub fn to_lid(dlid: Lid, mad: Mad) -> Self {
        Self { dlid, slid: Lid::NONE, dest_qp: 0, source_qp: 0, status: 0, mad }
    }
}
