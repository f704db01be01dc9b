//! What every door to a fabric can do.

use emulator::Emulator;
use ib::{Packet, Time};

use crate::WireError;

/// A door to a fabric, opened at one port.
///
/// A request's transaction number has 32 bits: the upper half belongs to the door, as it belongs to the kernel on a
/// umad device. A door fills it or leaves it alone, and gives answers back with the number that the request had.
pub trait Wire {
    /// The time on this door's clock, real or virtual.
    fn now(&mut self) -> Time;

    /// Whether time passes only while the wire waits: then what is computed takes none.
    fn has_virtual_clock(&self) -> bool;

    /// Sends every packet, in order. Where the fabric takes no more for now, the door waits.
    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError>;

    /// Waits until something comes in or the clock reaches `until` (`None`: as long as it takes), adds all that has
    /// come to `packets`, and returns the time. It may return early with nothing, after a signal for example.
    ///
    /// Under a virtual clock and with nothing on its way, `None` returns at once.
    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError>;

    /// The emulated fabric behind the door, to look into or to break; nothing where the fabric is real.
    fn emulated(&mut self) -> Option<&mut Emulator> {
        None
    }
}

impl<W: Wire + ?Sized> Wire for Box<W> {
    fn now(&mut self) -> Time {
        (**self).now()
    }

    fn has_virtual_clock(&self) -> bool {
        (**self).has_virtual_clock()
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        (**self).send(packets)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        (**self).receive(packets, until)
    }

    fn emulated(&mut self) -> Option<&mut Emulator> {
        (**self).emulated()
    }
}

impl<W: Wire + ?Sized> Wire for &mut W {
    fn now(&mut self) -> Time {
        (**self).now()
    }

    fn has_virtual_clock(&self) -> bool {
        (**self).has_virtual_clock()
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        (**self).send(packets)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        (**self).receive(packets, until)
    }

    fn emulated(&mut self) -> Option<&mut Emulator> {
        (**self).emulated()
    }
}
