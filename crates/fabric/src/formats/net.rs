//! Reads the form that `ibnetdiscover` prints and that ibsim loads.
//!
//! A record is a header and a line a cabled port, after lines that tell numbers of the node:
//!
//! ```text
//! vendid=0x2c9
//! devid=0xd2f0
//! sysimgguid=0x2c5eab0300b87b40
//! switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)
//! Switch  65 "S-2c5eab0300b87b40"    # "leaf one" enhanced port 0 lid 73 lmc 0
//! [1]  "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)    # "host one" lid 647 4xNDR
//! ```
//!
//! The same grammar holds for both, so one reader serves: blanks and tabs may be lost, comments and blank lines
//! missing, other text (a terminal's banner, a tool's error messages) may stand around. Where a net file gives no
//! GUID, nodes get those that ibsim itself counts out, so that the fabric is the one that ibsim will serve.

use std::borrow::Cow;

use ib::{Guid, LinkRate, LinkSpeed, LinkWidth};

use super::assemble::{Assembly, MAX_PORTS};
use super::comment::Comment;
use super::lines::{Cursor, numbered, tidy};
use super::parts::{End, Fact, Handle, Key, Mention, Record};
use super::{Format, FormatError, Loaded, NoteKind};
use crate::NodeKind;

/// The kind and the GUID in an identifier like `S-0002c90300a1b2c3`.
pub fn guid_in_id(id: &str) -> Option<(NodeKind, Guid)> {
    let (letter, guid) = id.split_once('-')?;
    let kind = match letter {
        "S" => NodeKind::Switch,
        "H" => NodeKind::ChannelAdapter,
        "R" => NodeKind::Router,
        _ => return None,
    };
    guid.parse().ok().map(|guid| (kind, guid))
}

fn letter_of(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Switch => b'S',
        NodeKind::Router => b'R',
        NodeKind::ChannelAdapter | NodeKind::AggregationNode => b'H',
    }
}

fn header_kind(cursor: &mut Cursor<'_>) -> Option<NodeKind> {
    const WORDS: [(&str, NodeKind); 6] = [
        ("Switch", NodeKind::Switch),
        ("Hca", NodeKind::ChannelAdapter),
        ("Ca", NodeKind::ChannelAdapter),
        ("CA", NodeKind::ChannelAdapter),
        ("Router", NodeKind::Router),
        ("Rt", NodeKind::Router),
    ];
    WORDS.into_iter().find(|(word, _)| cursor.take(word)).map(|(_, kind)| kind)
}

/// Whether a line begins a node's record.
pub fn is_header(line: &str) -> bool {
    let mut cursor = Cursor::new(line);
    if header_kind(&mut cursor).is_none() {
        return false;
    }
    cursor.skip_blanks();
    let digits = cursor.take_while(|byte| byte.is_ascii_digit());
    cursor.skip_blanks();
    !digits.is_empty() && cursor.peek() == Some(b'"')
}

/// What stands before a header about the node that follows.
#[derive(Clone, Copy, Default)]
struct Pending {
    vendor_id: u32,
    device_id: u16,
    system_guid: Option<Guid>,
    guid: Option<Guid>,
    port_guid: Option<Guid>,
}

struct Reader<'a> {
    file: &'a str,
    format: Format,
    assembly: Assembly<'a>,
    pending: Pending,
    current: Option<(Handle, NodeKind)>,
    module: &'a str,
    /// The GUIDs that ibsim gives to the next switch, adapter and router that come without one.
    next_guid: [u64; 3],
    width: Option<LinkWidth>,
    speed: Option<LinkSpeed>,
    skipped: u32,
    first_skipped: u32,
    /// The node that the tool ran at, as its first lines say, and the line.
    initiator: Option<(Guid, u32)>,
}

/// Reads a net file or the output of `ibnetdiscover`.
pub fn read(name: &str, text: &str, format: Format) -> Result<Loaded, FormatError> {
    let mut reader = Reader {
        file: name,
        format,
        assembly: Assembly::new(name),
        pending: Pending::default(),
        current: None,
        module: "",
        next_guid: [0x20_0000, 0x10_0000, 0x30_0000],
        width: None,
        speed: None,
        skipped: 0,
        first_skipped: 0,
        initiator: None,
    };
    for (number, line) in numbered(text) {
        reader.line(number, line)?;
    }
    if reader.skipped > 0 {
        let message = format!("{} lines that are no topology are left out", reader.skipped);
        reader.assembly.note(reader.first_skipped, NoteKind::Skipped, message);
    }
    if reader.assembly.is_empty() {
        return Err(FormatError::whole(
            name,
            "no line describes a node".to_owned(),
            "a node's record begins with Switch, Ca, Hca or Rt, its number of ports and its name in quotes",
        ));
    }
    reader.refuse_without_initiator()?;
    reader.assembly.finish(format)
}

impl<'a> Reader<'a> {
    fn error(&self, line: u32, column: u32, what: String, mend: &str) -> FormatError {
        FormatError::at(self.file, line, column, what, mend)
    }

    fn line(&mut self, number: u32, line: &'a str) -> Result<(), FormatError> {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        let rest = cursor.rest();
        match rest.as_bytes() {
            [] => Ok(()),
            [b'#', ..] => {
                if let Some(rest) = rest.strip_prefix("# Initiated from node ") {
                    let guid = rest.split(' ').next().unwrap_or("").parse().ok();
                    self.initiator = guid.map(|guid| (guid, number));
                }
                Ok(())
            }
            [b'[', digit, ..] if digit.is_ascii_digit() => self.port(number, cursor),
            [b'@', ..] if self.format == Format::IbsimNet => Err(self.error(
                number,
                cursor.column(),
                "an alias for a port".to_owned(),
                "name the neighbours themselves: Heddle reads no aliases",
            )),
            _ if is_header(rest) => self.header(number, cursor),
            _ => self.setting(number, rest),
        }
    }

    /// The tool prints the node that it ran at too, as a rule at the very end: without it the file is not whole.
    fn refuse_without_initiator(&self) -> Result<(), FormatError> {
        let Some((guid, line)) = self.initiator else { return Ok(()) };
        let known = [b'H', b'S', b'R']
            .iter()
            .any(|&letter| self.assembly.described(Key::Guid(letter, guid.0)).is_some());
        if known {
            return Ok(());
        }
        Err(self.error(
            line,
            1,
            format!("the tool ran at node {guid}, which has no record: the file is cut off"),
            "print the whole fabric again, or take this line out if the file is meant to be a part",
        ))
    }

    fn setting(&mut self, number: u32, line: &'a str) -> Result<(), FormatError> {
        const GUIDS: [(&str, usize); 4] = [("switchguid", 0), ("caguid", 1), ("hcaguids", 1), ("rtguid", 2)];
        let word_end = line.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(line.len());
        let (word, value) = line.split_at(word_end);
        let value = tidy(value);
        let assigned = value.strip_prefix('=').map(tidy);
        if let (Some(&(_, kind)), Some(value)) = (GUIDS.iter().find(|(name, _)| *name == word), assigned) {
            let (guid, port_guid) = value.split_once('(').unwrap_or((value, ""));
            let guid = self.guid(number, guid)?;
            self.begin();
            self.pending.guid = Some(guid);
            self.next_guid[kind] = guid.0;
            let port_guid = tidy(port_guid.split(')').next().unwrap_or(""));
            if !port_guid.is_empty() {
                self.pending.port_guid = Some(self.guid(number, port_guid)?);
            }
            return Ok(());
        }
        match (word, assigned) {
            ("vendid", Some(value)) => {
                self.begin();
                self.pending.vendor_id = self.integer(number, value)?;
            }
            ("devid", Some(value)) => {
                self.begin();
                let device = self.integer(number, value)?;
                self.pending.device_id = u16::try_from(device).map_err(|_| {
                    self.error(number, 1, format!("device {device:#x}"), "device numbers have 16 bits")
                })?;
            }
            ("sysimgguid", Some(value)) => {
                self.begin();
                let guid = value.split(['\t', ' ', '#']).next().unwrap_or("");
                self.pending.system_guid = Some(self.guid(number, guid)?);
            }
            ("width", Some(value)) if self.format == Format::IbsimNet => {
                self.width = width_of(self.integer(number, value)?);
            }
            ("speed", Some(value)) if self.format == Format::IbsimNet => {
                self.speed = speed_of(self.integer(number, value)?);
            }
            ("module", _) if self.format == Format::IbsimNet => {
                self.module = line.split('"').nth(1).unwrap_or("");
            }
            ("include", _) if self.format == Format::IbsimNet => {
                return Err(self.error(
                    number,
                    1,
                    "this file includes another".to_owned(),
                    "give one file that holds all: put the other's text in the place of this line",
                ));
            }
            _ => {
                if self.skipped == 0 {
                    self.first_skipped = number;
                }
                self.skipped += 1;
            }
        }
        Ok(())
    }

    /// A new record begins: what was said for the last one no longer holds.
    fn begin(&mut self) {
        if self.current.take().is_some() {
            self.pending = Pending::default();
        }
    }

    fn guid(&self, number: u32, text: &str) -> Result<Guid, FormatError> {
        tidy(text).parse().map_err(|error: ib::guid::ParseGuidError| {
            self.error(number, 1, error.to_string(), "mend the number, or take out the line")
        })
    }

    fn integer(&self, number: u32, text: &str) -> Result<u32, FormatError> {
        let digits = text.split(['\t', ' ', '#']).next().unwrap_or("");
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        parsed.map_err(|_| {
            self.error(number, 1, format!("\"{digits}\" is no number"), "write it as 712 or as 0x2c8")
        })
    }

    fn key(&self, id: &'a str) -> (Key<'a>, Option<(NodeKind, Guid)>) {
        let named = guid_in_id(id);
        match named {
            Some((kind, guid)) => (Key::Guid(letter_of(kind), guid.0), named),
            None => match id.split_once('#') {
                Some((module, id)) => (Key::Text(module, id), None),
                None => (Key::Text(self.module, id), None),
            },
        }
    }

    fn header(&mut self, number: u32, mut cursor: Cursor<'a>) -> Result<(), FormatError> {
        self.begin();
        let kind = header_kind(&mut cursor).unwrap_or(NodeKind::Switch);
        cursor.skip_blanks();
        let column = cursor.column();
        let ports = match cursor.number() {
            Some(ports @ 1..=MAX_PORTS) => ports as u8,
            _ => {
                return Err(self.error(
                    number,
                    column,
                    "a number of ports that no node has".to_owned(),
                    "a node has 1 to 254 external ports",
                ));
            }
        };
        cursor.skip_blanks();
        cursor.take("\"");
        let id = cursor.until('"').ok_or_else(|| {
            let what = "the node's name has no closing quote".to_owned();
            self.error(number, cursor.column(), what, "close it; the file may be cut off here")
        })?;
        let (key, named) = self.key(id);
        let comment = Comment::of_header(cursor.rest());
        let name = match (comment.name, named) {
            (Some(name), _) => Cow::Borrowed(name),
            (None, Some(_)) => Cow::Borrowed(""),
            (None, None) if self.module.is_empty() => Cow::Borrowed(id),
            (None, None) => Cow::Owned(format!("{}#{id}", self.module)),
        };
        let pending = std::mem::take(&mut self.pending);
        let counter = match kind {
            NodeKind::Switch => 0,
            NodeKind::Router => 2,
            NodeKind::ChannelAdapter | NodeKind::AggregationNode => 1,
        };
        let guid = match (pending.guid, named) {
            (None, Some((_, guid))) => guid,
            _ => {
                let guid = Guid(self.next_guid[counter]);
                let step = if kind == NodeKind::Switch { 1 } else { u64::from(ports) + 1 };
                self.next_guid[counter] = guid.0.wrapping_add(step);
                guid
            }
        };
        let record = Record {
            kind,
            guid,
            system_guid: pending.system_guid,
            vendor_id: pending.vendor_id,
            device_id: pending.device_id,
            ports,
            name,
            enhanced_port_zero: comment.enhanced,
        };
        let node = self.assembly.describe(key, record, number)?;
        self.current = Some((node, kind));
        let fact = |port, guid, lid, lmc| Fact { node, port, guid, lid, lmc, line: number, hearsay: false };
        if kind == NodeKind::Switch {
            self.assembly.fact(fact(0, pending.port_guid, comment.lid, comment.lmc));
        } else if self.format == Format::IbsimNet {
            for port in 1..=ports {
                let own = Guid(guid.0.wrapping_add(u64::from(port)));
                self.assembly.fact(Fact { hearsay: true, ..fact(port, Some(own), None, 0) });
            }
        }
        Ok(())
    }

    fn port(&mut self, number: u32, mut cursor: Cursor<'a>) -> Result<(), FormatError> {
        let column = cursor.column();
        let Some((node, kind)) = self.current else {
            return Err(self.error(
                number,
                column,
                "a port without a node".to_owned(),
                "a line like Switch 36 \"name\" must stand above it",
            ));
        };
        cursor.take("[");
        let port = cursor.number();
        cursor.until(']');
        skip_external(&mut cursor);
        let own_guid = parenthesis(&mut cursor);
        cursor.skip_blanks();
        let (Some(port), true) = (port, cursor.take("\"")) else {
            return Err(self.error(
                number,
                cursor.column(),
                "a port that names no neighbour".to_owned(),
                "write [port] \"neighbour\"[its port]; the file may be cut off here",
            ));
        };
        let id = cursor.until('"').ok_or_else(|| {
            let what = "the neighbour's name has no closing quote".to_owned();
            self.error(number, cursor.column(), what, "close it; the file may be cut off here")
        })?;
        cursor.skip_blanks();
        // ibsim takes port 1 where none is given.
        let mut peer_port = 1;
        if cursor.take("[") {
            peer_port = cursor.number().filter(|_| cursor.peek() == Some(b']')).ok_or_else(|| {
                let what = "the neighbour's port is no number".to_owned();
                self.error(number, cursor.column(), what, "write it as [1]; the file may be cut off here")
            })?;
            cursor.take("]");
            skip_external(&mut cursor);
        }
        cursor.skip_blanks();
        let peer_guid = parenthesis(&mut cursor);
        let (options, comment) = match cursor.rest().split_once('#') {
            Some((options, comment)) => (options, Comment::of_port(comment)),
            None => (cursor.rest(), Comment::default()),
        };
        let (key, named) = self.key(id);
        let peer = self.assembly.refer(key, number, || {
            let (kind, guid) = named?;
            Some(Mention { kind, guid, name: Cow::Borrowed(comment.name.unwrap_or("")) })
        });
        let rate = comment.rate.or_else(|| self.rate_of_options(options));
        self.assembly.end(End { node, port, peer, peer_port, rate, line: number, column })?;
        if kind != NodeKind::Switch {
            let (lid, lmc) = (comment.lid, comment.lmc);
            let port = port as u8;
            self.assembly.fact(Fact { node, port, guid: own_guid, lid, lmc, line: number, hearsay: false });
        }
        if let Some((peer_kind, _)) = named {
            let port = if peer_kind == NodeKind::Switch { 0 } else { peer_port as u8 };
            let lid = comment.peer_lid;
            self.assembly.fact(Fact {
                node: peer,
                port,
                guid: peer_guid,
                lid,
                lmc: 0,
                line: number,
                hearsay: true,
            });
        }
        Ok(())
    }

    fn rate_of_options(&self, options: &str) -> Option<LinkRate> {
        let (mut width, mut speed) = (self.width, self.speed);
        for option in options.split([' ', '\t']) {
            let Some((name, value)) = option.split_once('=') else { continue };
            let Ok(value) = value.parse::<u32>() else { continue };
            match name {
                "w" => width = width_of(value),
                "s" => speed = speed_of(value),
                _ => {}
            }
        }
        if width.is_none() && speed.is_none() {
            return None;
        }
        Some(LinkRate { width: width.unwrap_or(LinkWidth::X4), speed: speed.unwrap_or(LinkSpeed::Sdr) })
    }
}

/// The widest of the widths that a net file enables (a set of bits: 1, 4, 8, 12 lanes).
fn width_of(bits: u32) -> Option<LinkWidth> {
    [(8, LinkWidth::X12), (4, LinkWidth::X8), (2, LinkWidth::X4), (1, LinkWidth::X1)]
        .into_iter()
        .find(|&(bit, _)| bits & bit != 0)
        .map(|(_, width)| width)
}

/// The fastest of the speeds that a net file enables.
fn speed_of(bits: u32) -> Option<LinkSpeed> {
    [(4, LinkSpeed::Qdr), (2, LinkSpeed::Ddr), (1, LinkSpeed::Sdr)]
        .into_iter()
        .find(|&(bit, _)| bits & bit != 0)
        .map(|(_, speed)| speed)
}

/// `[ext 12]`: the number on the chassis, which `ibnetdiscover -g` adds.
fn skip_external(cursor: &mut Cursor<'_>) {
    if cursor.take("[ext ") {
        cursor.until(']');
    }
}

fn parenthesis(cursor: &mut Cursor<'_>) -> Option<Guid> {
    if !cursor.take("(") {
        return None;
    }
    cursor.until(')').and_then(|text| tidy(text).parse().ok())
}
