//! The reliable multi-packet protocol: an answer of any length in as many MADs as it takes.
//!
//! On hardware the kernel does this for an agent that asks for it; on other wires these functions do. The sender cuts a
//! payload into segments ([`segments`]), the receiver puts them together ([`Assembly`]) and acknowledges. Windows and
//! retries are matters of time and belong to the caller.
//!
//! Facts are those of Linux's `mad_rmpp.c`: every segment carries the 20 bytes of the administration header before its
//! share of data, and the payload length in the first segment counts them for each segment.

use std::fmt;

use super::{DATA, OFFSET};
use crate::Mad;

/// The only version there is.
pub const VERSION: u8 = 1;

/// The MAD is part of a transfer.
pub const FLAG_ACTIVE: u8 = 1;
/// The MAD is the first segment.
pub const FLAG_FIRST: u8 = 2;
/// The MAD is the last segment.
pub const FLAG_LAST: u8 = 4;

/// The response time that says nothing.
const NO_RESPONSE_TIME: u8 = 0x1f << 3;

/// Bytes of each segment that its payload length counts: administration header and data.
const COUNTED: usize = DATA + HEADER;
const HEADER: usize = 20;

/// What an RMPP MAD is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A segment.
    Data = 1,
    /// Up to which segment all have come, and how many more may be sent.
    Acknowledge = 2,
    /// The sender has no room to go on.
    Stop = 3,
    /// The transfer is given up: see the status.
    Abort = 4,
}

/// Why a transfer is given up: the status of a stop or an abort.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(pub u8);

impl Reason {
    /// No room.
    pub const NO_RESOURCES: Self = Self(1);
    /// Took too long in all.
    pub const TOO_LONG: Self = Self(118);
    /// The last segment is not where the payload length has it.
    pub const BAD_LENGTH: Self = Self(119);
    /// A first segment that is not number 1, or the other way round.
    pub const BAD_SEGMENT: Self = Self(120);
    /// No known type.
    pub const BAD_TYPE: Self = Self(121);
    /// The new window ends before the old one.
    pub const WINDOW_TOO_SMALL: Self = Self(122);
    /// A segment beyond the window.
    pub const SEGMENT_TOO_BIG: Self = Self(123);
    /// A status that does not belong there.
    pub const BAD_STATUS: Self = Self(124);
    /// A version that the receiver does not know.
    pub const UNSUPPORTED_VERSION: Self = Self(125);
    /// Too many retries.
    pub const TOO_MANY_RETRIES: Self = Self(126);
    /// Any other.
    pub const UNSPECIFIED: Self = Self(127);
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match *self {
            Self::NO_RESOURCES => "no resources",
            Self::TOO_LONG => "took too long",
            Self::BAD_LENGTH => "last segment and payload length disagree",
            Self::BAD_SEGMENT => "first flag and segment number disagree",
            Self::BAD_TYPE => "bad type",
            Self::WINDOW_TOO_SMALL => "new window is smaller than the old one",
            Self::SEGMENT_TOO_BIG => "segment beyond the window",
            Self::BAD_STATUS => "bad status",
            Self::UNSUPPORTED_VERSION => "unsupported version",
            Self::TOO_MANY_RETRIES => "too many retries",
            Self::UNSPECIFIED => "unspecified",
            Self(code) => return write!(f, "reason {code}"),
        })
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Mad {
    /// Whether the MAD is part of an RMPP transfer.
    pub fn is_rmpp(&self) -> bool {
        self.rmpp_flags() & FLAG_ACTIVE != 0
    }

    /// What kind of RMPP MAD it is; `None` for an unknown type.
    pub fn rmpp_kind(&self) -> Option<Kind> {
        match self.rmpp_type() {
            1 => Some(Kind::Data),
            2 => Some(Kind::Acknowledge),
            3 => Some(Kind::Stop),
            4 => Some(Kind::Abort),
            _ => None,
        }
    }

    fn set_rmpp(&mut self, kind: Kind, flags: u8, status: u8, segment: u32, length: u32) {
        self.set_rmpp_version(VERSION);
        self.set_rmpp_type(kind as u8);
        self.set_rmpp_flags(NO_RESPONSE_TIME | FLAG_ACTIVE | flags);
        self.set_rmpp_status(status);
        self.set_rmpp_segment(segment);
        self.set_rmpp_length(length);
    }
}

/// How many segments a payload of `length` bytes takes: one at the least.
pub const fn segment_count(length: usize) -> usize {
    if length == 0 { 1 } else { length.div_ceil(DATA) }
}

/// Segment `number`, from 1 on, of a payload; `header` is the answer's MAD with no data. `None` beyond the last one.
pub fn segment(header: &Mad, payload: &[u8], number: u32) -> Option<Mad> {
    let count = segment_count(payload.len()) as u32;
    if number == 0 || number > count {
        return None;
    }
    let start = (number - 1) as usize * DATA;
    let data = &payload[start..payload.len().min(start + DATA)];
    let first = if number == 1 { FLAG_FIRST } else { 0 };
    let last = if number == count { FLAG_LAST } else { 0 };
    // The first segment tells the length of all, the last one its own.
    let length = match (number, number == count) {
        (1, _) => payload.len() + HEADER * count as usize,
        (_, true) => data.len() + HEADER,
        _ => 0,
    };
    let mut mad = *header;
    mad.set_rmpp(Kind::Data, first | last, 0, number, length as u32);
    mad.0[OFFSET..].fill(0);
    mad.0[OFFSET..OFFSET + data.len()].copy_from_slice(data);
    Some(mad)
}

/// Every segment of a payload.
pub fn segments(header: &Mad, payload: &[u8]) -> impl Iterator<Item = Mad> {
    (1..=segment_count(payload.len()) as u32).filter_map(|number| segment(header, payload, number))
}

/// The answer to a segment: all up to `segment` have come, up to `window_last` may be sent.
pub fn acknowledge(segment: &Mad, number: u32, window_last: u32) -> Mad {
    let mut mad = *segment;
    mad.0[36..].fill(0);
    mad.set_rmpp(Kind::Acknowledge, 0, 0, number, window_last);
    mad
}

/// The MAD that gives a transfer up.
pub fn abort(segment: &Mad, reason: Reason) -> Mad {
    let mut mad = *segment;
    mad.0[36..].fill(0);
    mad.set_rmpp(Kind::Abort, 0, reason.0, 0, 0);
    mad
}

/// What a segment did to an assembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// More are to come; all up to this number are here.
    Waiting(u32),
    /// All are here: take the payload.
    Complete(u32),
}

/// A payload that is being put together. Segments out of order are dropped: the acknowledgement makes the sender
/// repeat them.
#[derive(Clone, Debug)]
pub struct Assembly {
    payload: Vec<u8>,
    received: u32,
    limit: usize,
    complete: bool,
}

impl Assembly {
    /// An empty one that takes no more than `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self { payload: Vec::new(), received: 0, limit, complete: false }
    }

    /// Takes a segment in.
    pub fn accept(&mut self, mad: &Mad) -> Result<Progress, Reason> {
        let flags = mad.rmpp_flags();
        let number = mad.rmpp_segment();
        if mad.rmpp_version() != VERSION {
            return Err(Reason::UNSUPPORTED_VERSION);
        }
        if mad.rmpp_kind() != Some(Kind::Data) {
            return Err(Reason::BAD_TYPE);
        }
        if (number == 1) != (flags & FLAG_FIRST != 0) || number == 0 {
            return Err(Reason::BAD_SEGMENT);
        }
        if self.complete || number != self.received + 1 {
            return Ok(self.progress());
        }
        let data = if flags & FLAG_LAST != 0 { last_data(mad, number)? } else { DATA };
        if self.payload.len() + data > self.limit {
            return Err(Reason::NO_RESOURCES);
        }
        self.payload.extend_from_slice(&mad.0[OFFSET..OFFSET + data]);
        self.received = number;
        self.complete = flags & FLAG_LAST != 0;
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        if self.complete { Progress::Complete(self.received) } else { Progress::Waiting(self.received) }
    }

    /// What has come so far; the whole payload once it is complete.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

/// How many bytes of data the last segment holds.
fn last_data(mad: &Mad, number: u32) -> Result<usize, Reason> {
    let length = mad.rmpp_length() as usize;
    // A first segment that is also the last may leave its length open.
    if number == 1 && length == 0 {
        return Ok(DATA);
    }
    if (HEADER..=COUNTED).contains(&length) { Ok(length - HEADER) } else { Err(Reason::BAD_LENGTH) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttributeId, Method};
    use proptest::prelude::*;

    fn header() -> Mad {
        let mut mad = Mad::administration(Method::GET_TABLE_RESP, AttributeId::NODE_RECORD, 77);
        mad.set_attribute_offset(14);
        mad
    }

    #[test]
    fn the_length_counts_the_header_of_each_segment() {
        let all: Vec<Mad> = segments(&header(), &[7; 450]).collect();
        let lengths: Vec<u32> = all.iter().map(Mad::rmpp_length).collect();
        assert_eq!(lengths, [450 + 60, 0, 50 + 20]);
        let flags: Vec<u8> = all.iter().map(|mad| mad.rmpp_flags() & 7).collect();
        assert_eq!(flags, [FLAG_ACTIVE | FLAG_FIRST, FLAG_ACTIVE, FLAG_ACTIVE | FLAG_LAST]);
        assert!(all.iter().all(|mad| mad.attribute_offset() == 14 && mad.is_rmpp() && mad.tid() == 77));
        assert_eq!(segment(&header(), &[7; 450], 4), None);
    }

    #[test]
    fn loss_and_repetition_change_nothing() {
        let payload: Vec<u8> = (0..900u32).map(|i| i as u8).collect();
        let all: Vec<Mad> = segments(&header(), &payload).collect();
        let mut assembly = Assembly::new(10_000);
        for at in [2, 0, 0, 2, 1, 2, 1, 3] {
            assert!(matches!(assembly.accept(&all[at]), Ok(Progress::Waiting(_))));
        }
        assert_eq!(assembly.accept(&all[4]), Ok(Progress::Complete(5)));
        assert_eq!(assembly.payload(), payload);
        assert_eq!(assembly.accept(&all[1]), Ok(Progress::Complete(5)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let all: Vec<Mad> = segments(&header(), &[1; 900]).collect();
        let mut small = Assembly::new(300);
        assert_eq!(small.accept(&all[0]), Ok(Progress::Waiting(1)));
        assert_eq!(small.accept(&all[1]), Err(Reason::NO_RESOURCES));
        let mut wrong = all[1];
        wrong.set_rmpp_flags(FLAG_ACTIVE | FLAG_FIRST);
        assert_eq!(Assembly::new(300).accept(&wrong), Err(Reason::BAD_SEGMENT));
        assert_eq!(Assembly::new(300).accept(&acknowledge(&all[0], 1, 8)), Err(Reason::BAD_TYPE));
        let given_up = abort(&all[0], Reason::NO_RESOURCES);
        assert_eq!(
            (given_up.rmpp_kind(), Reason(given_up.rmpp_status())),
            (Some(Kind::Abort), Reason::NO_RESOURCES)
        );
    }

    proptest! {
        #[test]
        fn any_payload_arrives(payload in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let mut assembly = Assembly::new(3000);
            let count = segment_count(payload.len()) as u32;
            for (mad, number) in segments(&header(), &payload).zip(1..) {
                let expected = if number == count { Progress::Complete(number) } else { Progress::Waiting(number) };
                prop_assert_eq!(assembly.accept(&mad), Ok(expected));
            }
            prop_assert_eq!(assembly.payload(), &payload[..]);
        }

        #[test]
        fn garbage_never_panics(mads in proptest::collection::vec(proptest::array::uniform32(any::<u8>()), 1..20)) {
            let mut assembly = Assembly::new(1000);
            for bytes in mads {
                let mut mad = header();
                mad.0[24..56].copy_from_slice(&bytes);
                let _ = assembly.accept(&mad);
                mad.set_rmpp_version(VERSION);
                mad.set_rmpp_type(1);
                let _ = assembly.accept(&mad);
                prop_assert!(assembly.payload().len() <= 1000);
            }
        }
    }
}
