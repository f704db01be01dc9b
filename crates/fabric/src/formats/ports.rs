//! Reads what `ibnetdiscover -p` prints: a line a port, with its neighbour where it has one.
//!
//! ```text
//! SW  2052 35 0x506b4b03005c2740 4x EDR - CA  1432  1 0x506b4b0300cc02a6 ( 'leaf' - 'host HCA-1' )
//! SW  2052 37 0x506b4b03005c2740 4x ???                                    'leaf'
//! ```
//!
//! The list gives port GUIDs only. A switch's is its node's; an adapter's ports have one each, so every adapter port
//! counts as a node of its own. A node has as many ports as the highest number that is named.

use std::borrow::Cow;

use ib::Guid;

use super::assemble::{Assembly, MAX_PORTS};
use super::lines::{Cursor, numbered};
use super::parts::{End, Fact, Handle, Key, Record};
use super::{Format, FormatError, Loaded, NoteKind, comment};
use crate::NodeKind;

struct Port {
    kind: NodeKind,
    lid: u32,
    port: u32,
    guid: Guid,
}

fn kind_of(word: &str) -> Option<NodeKind> {
    match word {
        "SW" => Some(NodeKind::Switch),
        "CA" => Some(NodeKind::ChannelAdapter),
        "RT" => Some(NodeKind::Router),
        _ => None,
    }
}

fn port(cursor: &mut Cursor<'_>) -> Option<Port> {
    let kind = kind_of(cursor.word())?;
    let lid = cursor.word().parse().ok()?;
    let port = cursor.word().parse().ok()?;
    let guid = cursor.word();
    let guid = guid.starts_with("0x").then(|| guid.parse().ok())??;
    Some(Port { kind, lid, port, guid })
}

/// Whether a line is one of such a list.
pub fn is_port_line(line: &str) -> bool {
    port(&mut Cursor::new(line)).is_some()
}

/// Reads a list of ports.
pub fn read(name: &str, text: &str) -> Result<Loaded, FormatError> {
    let mut assembly = Assembly::new(name);
    let mut skipped = 0;
    let mut first_skipped = 0;
    for (number, line) in numbered(text) {
        let mut cursor = Cursor::new(line);
        let Some(here) = port(&mut cursor) else {
            if !line.trim().is_empty() {
                skipped += 1;
                first_skipped = if skipped == 1 { number } else { first_skipped };
            }
            continue;
        };
        let column = cursor.column();
        let mut words = Cursor::new(cursor.rest());
        let (width, speed) = (words.word(), words.word());
        let rate = comment::rate_in(&format!("{width} {speed}"));
        words.skip_blanks();
        if !words.take("- ") {
            let name = unquote(words.rest());
            state(&mut assembly, &here, name, number)?;
            continue;
        }
        let there = port(&mut words).ok_or_else(|| {
            let what = "the neighbour is not whole".to_owned();
            let mend = "it needs kind, LID, port and GUID; the file may be cut off here";
            FormatError::at(name, number, column, what, mend)
        })?;
        let (name_here, name_there) = names(words.rest()).ok_or_else(|| {
            let what = "the names of the two ends are not whole".to_owned();
            let mend = "they stand as ( 'one' - 'other' ); the file may be cut off here";
            FormatError::at(name, number, column, what, mend)
        })?;
        let node = state(&mut assembly, &here, name_here, number)?;
        let peer = state(&mut assembly, &there, name_there, number)?;
        assembly.end(End {
            node,
            port: here.port,
            peer,
            peer_port: there.port,
            rate,
            line: number,
            column: 1,
        })?;
    }
    if skipped > 0 {
        let message = format!("{skipped} lines that are no ports are left out");
        assembly.note(first_skipped, NoteKind::Skipped, message);
    }
    assembly.finish(Format::PortList)
}

fn state<'a>(
    assembly: &mut Assembly<'a>,
    at: &Port,
    name: &'a str,
    line: u32,
) -> Result<Handle, FormatError> {
    let letter = if at.kind == NodeKind::Switch { b'S' } else { b'H' };
    let key = Key::Guid(letter, at.guid.0);
    let node = match assembly.described(key) {
        Some(node) => node,
        None => assembly.describe(
            key,
            Record {
                kind: at.kind,
                guid: at.guid,
                system_guid: None,
                vendor_id: 0,
                device_id: 0,
                ports: 0,
                name: Cow::Borrowed(name),
                enhanced_port_zero: false,
            },
            line,
        )?,
    };
    if (1..=MAX_PORTS).contains(&at.port) {
        assembly.grow(node, at.port as u8);
    }
    let port = if at.kind == NodeKind::Switch { 0 } else { at.port.min(MAX_PORTS) as u8 };
    assembly.fact(Fact { node, port, guid: None, lid: Some(at.lid), lmc: 0, line, hearsay: false });
    Ok(node)
}

/// `( 'one' - 'other' )`.
fn names(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix("( ")?.strip_suffix(" )")?;
    let (one, other) = inner.split_once("' - '").or_else(|| inner.split_once(" - "))?;
    Some((one.strip_prefix('\'').unwrap_or(one), other.strip_suffix('\'').unwrap_or(other)))
}

fn unquote(text: &str) -> &str {
    let text = text.trim_matches([' ', '\t', '\r']);
    text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text)
}
