//! Reading a recording, as far as it is whole.

use ib::{Lid, Mad, Packet, Time};

use super::{Drained, Header, MAGIC, kind};

/// Why bytes are no recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// They do not begin as one.
    #[error("this is no recording of heddle up --record")]
    NoRecording,
    /// The configuration cannot be read.
    #[error("the recording's configuration cannot be read: {0}")]
    Header(String),
    /// A record of an unknown kind.
    #[error("record {number} (byte {at}) is of the unknown kind {kind}")]
    Kind {
        /// Its number, from 1.
        number: u64,
        /// Where it begins.
        at: usize,
        /// The kind's number.
        kind: u8,
    },
}

/// One record.
#[allow(clippy::large_enum_variant, reason = "one at a time, and most are packets")]
#[derive(Clone, Copy, Debug)]
pub enum Record {
    /// A packet came.
    Packet(Packet),
    /// Time had passed.
    Tick,
    /// A sweep was asked for.
    Sweep,
    /// The manager was let compute.
    Work,
    /// The manager handed out what can be computed beside it.
    Task,
    /// It was given what came of that.
    Solved,
    /// What came out.
    Drain(Drained),
    /// The session ended in order.
    End,
}

/// Goes through a recording.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    header: Header,
    bytes: &'a [u8],
    at: usize,
    number: u64,
}

impl<'a> Reader<'a> {
    /// Reads what the recording begins with.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ReadError::NoRecording)?;
        let (length, rest) =
            rest.split_first_chunk().ok_or_else(|| ReadError::Header("it is cut off".into()))?;
        let length = u32::from_le_bytes(*length) as usize;
        let text = rest.get(..length).ok_or_else(|| ReadError::Header("it is cut off".into()))?;
        let header = serde_json::from_slice(text).map_err(|error| ReadError::Header(error.to_string()))?;
        Ok(Self { header, bytes, at: MAGIC.len() + 4 + length, number: 0 })
    }

    /// What the recording begins with.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The number of the record that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes at the end that are no whole record.
    pub fn left_over(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next record with its time; `None` at the end, or where the recording is cut off.
    pub fn next_record(&mut self) -> Result<Option<(Time, Record)>, ReadError> {
        let rest = &self.bytes[self.at..];
        let Some((&kind, body)) = rest.split_first() else { return Ok(None) };
        let length = match kind {
            kind::PACKET => 8 + 20 + 256,
            kind::DRAIN => 8 + 16,
            kind::TICK | kind::SWEEP | kind::WORK | kind::END | kind::TASK | kind::SOLVED => 8,
            kind => return Err(ReadError::Kind { number: self.number + 1, at: self.at, kind }),
        };
        let Some(body) = body.get(..length) else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let record = match kind {
            kind::PACKET => {
                let mut mad = Mad::default();
                mad.0.copy_from_slice(&body[28..]);
                Record::Packet(Packet {
                    dlid: Lid(word(8)),
                    slid: Lid(word(12)),
                    dest_qp: word(16),
                    source_qp: word(20),
                    status: word(24),
                    mad,
                })
            }
            kind::DRAIN => Record::Drain(Drained { packets: word(8), events: word(12), digest: long(16) }),
            kind::TICK => Record::Tick,
            kind::SWEEP => Record::Sweep,
            kind::WORK => Record::Work,
            kind::TASK => Record::Task,
            kind::SOLVED => Record::Solved,
            _ => Record::End,
        };
        self.at += 1 + length;
        self.number += 1;
        Ok(Some((Time(long(0)), record)))
    }
}
