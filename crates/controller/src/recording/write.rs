//! Writing a recording while the session runs.

use std::io::{self, Write};

use ib::{Packet, Time};
use subnet::Input;

use super::{Drained, Header, MAGIC, kind};

/// Writes a recording.
pub struct Recorder<O: Write> {
    out: O,
}

impl<O: Write> Recorder<O> {
    /// Begins a recording.
    pub fn new(mut out: O, header: &Header) -> io::Result<Self> {
        let header = serde_json::to_vec(header).map_err(io::Error::other)?;
        out.write_all(MAGIC)?;
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        Ok(Self { out })
    }

    fn plain(&mut self, kind: u8, time: Time) -> io::Result<()> {
        let mut record = [kind; 9];
        record[1..].copy_from_slice(&time.0.to_le_bytes());
        self.out.write_all(&record)
    }

    /// What goes in.
    pub fn input(&mut self, time: Time, input: &Input<'_>) -> io::Result<()> {
        match input {
            Input::Packet(packet) => self.packet(time, packet),
            Input::Tick => self.plain(kind::TICK, time),
            Input::Sweep => self.plain(kind::SWEEP, time),
        }
    }

    fn packet(&mut self, time: Time, packet: &Packet) -> io::Result<()> {
        let Packet { dlid, slid, dest_qp, source_qp, status, mad } = packet;
        let mut record = [kind::PACKET; 9 + 20 + 256];
        record[1..9].copy_from_slice(&time.0.to_le_bytes());
        for (at, number) in [dlid.0, slid.0, *dest_qp, *source_qp, *status].into_iter().enumerate() {
            record[9 + 4 * at..13 + 4 * at].copy_from_slice(&number.to_le_bytes());
        }
        record[29..].copy_from_slice(&mad.0);
        self.out.write_all(&record)
    }

    /// The manager is let compute.
    pub fn work(&mut self, time: Time) -> io::Result<()> {
        self.plain(kind::WORK, time)
    }

    /// The manager hands out what can be computed beside it.
    pub fn task(&mut self, time: Time) -> io::Result<()> {
        self.plain(kind::TASK, time)
    }

    /// The manager is given what came of that.
    pub fn solved(&mut self, time: Time) -> io::Result<()> {
        self.plain(kind::SOLVED, time)
    }

    /// What came out.
    pub fn drain(&mut self, time: Time, drained: Drained) -> io::Result<()> {
        let mut record = [kind::DRAIN; 25];
        record[1..9].copy_from_slice(&time.0.to_le_bytes());
        record[9..13].copy_from_slice(&drained.packets.to_le_bytes());
        record[13..17].copy_from_slice(&drained.events.to_le_bytes());
        record[17..].copy_from_slice(&drained.digest.to_le_bytes());
        self.out.write_all(&record)
    }

    /// The session ends in order.
    pub fn end(&mut self, time: Time) -> io::Result<()> {
        self.plain(kind::END, time)?;
        self.out.flush()
    }
}
