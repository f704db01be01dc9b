//! A capture of every MAD as the frame that it is on a cable, for Wireshark.
//!
//! The list of link-layer header types has 247 for InfiniBand, but Wireshark (4.0 at least) does not read it. What it
//! reads are ERF records of the type InfiniBand, link type 197, so each frame has the 16 bytes of such a record's
//! header before it: time in 2^-32 s, type, flags, length of the record, drops, length of the frame.

use std::io::{self, Write};
use std::time::Duration;

use emulator::Emulator;
use ib::{Lid, Packet, Time};

use super::frame::{FRAME_LENGTH, frame};
use crate::{Wire, WireError};

/// pcap with times in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Link type ERF in the list of link-layer header types.
const LINK_TYPE: u32 = 197;
const ERF_INFINIBAND: u8 = 21;
const ERF_VARYING_LENGTH: u8 = 4;
const ERF_HEADER: usize = 16;
const RECORD: usize = ERF_HEADER + FRAME_LENGTH;

/// Writes every packet that passes. What the door gives back as not answered is no frame and is left out.
pub struct Capture<W, O: Write> {
    inner: W,
    out: O,
    /// When the wire's clock read zero, since 1970.
    began: Duration,
    sequence: u32,
    /// The port's own LID, as far as packets that came in have told.
    own: Lid,
}

impl<W: Wire, O: Write> Capture<W, O> {
    /// Around `inner`; the file goes to `out`. `began` is when the wire's clock read zero, since 1970 (zero for a
    /// virtual clock).
    pub fn new(inner: W, mut out: O, began: Duration) -> Result<Self, WireError> {
        let mut header = [0; 24];
        header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&0xffffu32.to_le_bytes());
        header[20..24].copy_from_slice(&LINK_TYPE.to_le_bytes());
        out.write_all(&header).map_err(|error| failed(&error))?;
        Ok(Self { inner, out, began, sequence: 0, own: Lid::NONE })
    }

    fn write(&mut self, time: Time, packet: &Packet) -> Result<(), WireError> {
        let mut record = [0; 16 + RECORD];
        let at = self.began + time.since(Time::ZERO);
        let (seconds, nanoseconds) = (at.as_secs() as u32, at.subsec_nanos());
        record[0..4].copy_from_slice(&seconds.to_le_bytes());
        record[4..8].copy_from_slice(&nanoseconds.to_le_bytes());
        record[8..12].copy_from_slice(&(RECORD as u32).to_le_bytes());
        record[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
        let fraction = (u64::from(nanoseconds) << 32) / 1_000_000_000;
        record[16..24].copy_from_slice(&(u64::from(seconds) << 32 | fraction).to_le_bytes());
        record[24] = ERF_INFINIBAND;
        record[25] = ERF_VARYING_LENGTH;
        record[26..28].copy_from_slice(&(RECORD as u16).to_be_bytes());
        record[30..32].copy_from_slice(&(FRAME_LENGTH as u16).to_be_bytes());
        record[32..].copy_from_slice(&frame(packet, self.sequence));
        self.sequence = self.sequence.wrapping_add(1);
        self.out.write_all(&record).map_err(|error| failed(&error))
    }
}

fn failed(error: &io::Error) -> WireError {
    WireError::system("cannot write the capture", error, "capture", "is the disk full?")
}

impl<W: Wire, O: Write> Wire for Capture<W, O> {
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
        for packet in packets {
            let mut packet = *packet;
            if packet.slid == Lid::NONE {
                packet.slid = self.own;
            }
            self.write(now, &packet)?;
        }
        self.inner.send(packets)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        let before = packets.len();
        let now = self.inner.receive(packets, until)?;
        for packet in &packets[before..] {
            if packet.status != 0 {
                continue;
            }
            let mut packet = *packet;
            match packet.dlid {
                Lid::PERMISSIVE => {}
                Lid::NONE => packet.dlid = self.own,
                own => self.own = own,
            }
            self.write(now, &packet)?;
        }
        Ok(now)
    }
}

impl<W, O: Write> Drop for Capture<W, O> {
    fn drop(&mut self) {
        // A capture that cannot be finished has said so at an earlier packet, or lacks its last ones.
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Echo, echo};
    use super::*;

    #[test]
    fn a_file_has_its_header_and_a_record_for_each_packet() {
        let mut file = Vec::new();
        let began = Duration::new(5, 999_999_999);
        echo(
            &mut Capture::new(Echo { time: Time(2), ..Echo::default() }, &mut file, began).unwrap(),
            3,
            Time(2),
        );
        assert_eq!(file.len(), 24 + 6 * (16 + RECORD));
        assert_eq!(file[..8], [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
        assert_eq!(file[20..24], [197, 0, 0, 0]);
        assert_eq!(file[40..56], [4, 0, 0, 0, 6, 0, 0, 0, 21, 4, 1, 50, 0, 0, 1, 34]);
        assert_eq!(file[24..40], [6, 0, 0, 0, 1, 0, 0, 0, 50, 1, 0, 0, 50, 1, 0, 0]);
    }
}
