//! A line of text for every packet that passes.

use std::io::Write;

use emulator::Emulator;
use ib::{Packet, Time};

use crate::{Wire, WireError};

/// Writes a line a packet: time, direction, what the MAD says.
pub struct Trace<W, O> {
    inner: W,
    out: O,
}

impl<W: Wire, O: Write> Trace<W, O> {
    /// Around `inner`; lines go to `out`.
    pub fn new(inner: W, out: O) -> Self {
        Self { inner, out }
    }

    fn write(&mut self, time: Time, direction: &str, packets: &[Packet]) -> Result<(), WireError> {
        for Packet { dlid, slid, status, mad, .. } in packets {
            let given_back = if *status == 0 { String::new() } else { format!(" given back with {status}") };
            writeln!(self.out, "{time} {direction} {slid} to {dlid} {mad:?}{given_back}").map_err(
                |error| WireError::system("cannot write the trace", &error, "trace", "is the disk full?"),
            )?;
        }
        Ok(())
    }
}

impl<W: Wire, O: Write> Wire for Trace<W, O> {
    fn now(&mut self) -> Time {
        self.inner.now()
    }

    fn has_virtual_clock(&self) -> bool {
        self.inner.has_virtual_clock()
    }

    fn emulated(&mut self) -> Option<&mut Emulator> {
        self.inner.emulated()
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        let now = self.inner.now();
        self.write(now, "out", packets)?;
        self.inner.send(packets)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        let before = packets.len();
        let now = self.inner.receive(packets, until)?;
        self.write(now, "in ", &packets[before..])?;
        Ok(now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Echo, echo};
    use super::*;

    #[test]
    fn every_packet_has_its_line() {
        let mut text = Vec::new();
        echo(&mut Trace::new(Echo::default(), &mut text), 1, Time(1_500));
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text,
            "0.000000000 s out 65535 to 65535 SubnDirected Get NodeInfo modifier 0x0 tid 0x0 status 0x0000 (ok) route 0 out at hop 0\n\
             0.000000000 s in  65535 to 65535 SubnDirected Get NodeInfo modifier 0x0 tid 0x0 status 0x0000 (ok) route 0 out at hop 0\n"
        );
    }
}
