//! OpenSM's `opensm-subnet.lst`: a line a cabled port, with both ends whole.
//!
//! ```text
//! { SW Ports:24 SystemGUID:… NodeGUID:… PortGUID:… VenID:0002C9 DevID:C738 Rev:000000A0 {leaf} LID:0002 PN:05 } { CA … } PHY=4x LOG=ACT SPD=14
//! ```
//!
//! Numbers are hexadecimal, the port counts too. OpenSM writes the device number of the second end shifted by 16
//! bits, older versions write 0 in places, and some leave out `SPD`. The layout is that of its `osm_dump.c`.

use std::borrow::Cow;
use std::fmt::Write as _;

use ib::{Guid, LinkRate, LinkSpeed, LinkWidth};

use super::assemble::{Assembly, MAX_PORTS};
use super::lines::{Cursor, numbered};
use super::parts::{End, Fact, Handle, Key, Record};
use super::{Format, FormatError, Loaded, NoteKind};
use crate::{Fabric, NodeKind, PortId};

struct Side<'a> {
    kind: NodeKind,
    ports: u32,
    system_guid: u64,
    node_guid: u64,
    port_guid: u64,
    vendor_id: u32,
    device_id: u16,
    name: &'a str,
    lid: u32,
    port: u32,
}

/// `Label:HEX`.
fn hex(cursor: &mut Cursor<'_>, label: &str) -> Option<u64> {
    cursor.skip_blanks();
    if !cursor.take(label) {
        return None;
    }
    u64::from_str_radix(cursor.take_while(|byte| byte.is_ascii_hexdigit()), 16).ok()
}

fn side<'a>(cursor: &mut Cursor<'a>) -> Option<Side<'a>> {
    cursor.skip_blanks();
    if !cursor.take("{") {
        return None;
    }
    let kind = match cursor.word().split('-').next()? {
        "SW" => NodeKind::Switch,
        "CA" => NodeKind::ChannelAdapter,
        "Rt" | "RT" => NodeKind::Router,
        _ => return None,
    };
    let ports = u32::try_from(hex(cursor, "Ports:")?).ok()?;
    let system_guid = hex(cursor, "SystemGUID:")?;
    let node_guid = hex(cursor, "NodeGUID:")?;
    let port_guid = hex(cursor, "PortGUID:")?;
    let vendor_id = u32::try_from(hex(cursor, "VenID:")?).ok()?;
    let device = u32::try_from(hex(cursor, "DevID:")?).ok()?;
    let device_id = if device > 0xffff { (device >> 16) as u16 } else { device as u16 };
    hex(cursor, "Rev:")?;
    cursor.skip_blanks();
    if !cursor.take("{") {
        return None;
    }
    // A name may hold braces of its own, so its end is the one before the LID.
    let rest = cursor.rest();
    let end = rest.find("} LID:")?;
    let name = &rest[..end];
    cursor.take(name);
    cursor.take("}");
    let lid = hex(cursor, "LID:")? as u32;
    let port = hex(cursor, "PN:")? as u32;
    cursor.skip_blanks();
    cursor.take("}").then_some(Side {
        kind,
        ports,
        system_guid,
        node_guid,
        port_guid,
        vendor_id,
        device_id,
        name,
        lid,
        port,
    })
}

const SPEEDS: [(&str, LinkSpeed); 9] = [
    ("2.5", LinkSpeed::Sdr),
    ("5", LinkSpeed::Ddr),
    ("10", LinkSpeed::Qdr),
    ("FDR10", LinkSpeed::Fdr10),
    ("14", LinkSpeed::Fdr),
    ("25", LinkSpeed::Edr),
    ("50", LinkSpeed::Hdr),
    ("100", LinkSpeed::Ndr),
    ("200", LinkSpeed::Xdr),
];

/// Reads the list.
pub fn read(name: &str, text: &str) -> Result<Loaded, FormatError> {
    let mut assembly = Assembly::new(name);
    let (mut skipped, mut first_skipped) = (0, 0);
    for (number, line) in numbered(text) {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        if cursor.peek() != Some(b'{') {
            if !line.is_empty() && !line.starts_with('#') {
                skipped += 1;
                first_skipped = if skipped == 1 { number } else { first_skipped };
            }
            continue;
        }
        let (first, second) = (side(&mut cursor), side(&mut cursor));
        let (Some(first), Some(second)) = (first, second) else {
            return Err(FormatError::at(
                name,
                number,
                cursor.column(),
                "a line that is not whole".to_owned(),
                "both ends need all fields from kind to PN; the file may be cut off here",
            ));
        };
        let (mut width, mut speed, mut down) = (None, None, false);
        for word in cursor.rest().split([' ', '\t']) {
            match word.split_once('=') {
                Some(("PHY", value)) => {
                    let lanes = value.strip_suffix('x').and_then(|lanes| lanes.parse::<u8>().ok());
                    width = LinkWidth::ALL.into_iter().find(|width| Some(width.lanes()) == lanes);
                }
                Some(("SPD", value)) => {
                    speed = SPEEDS.into_iter().find(|&(text, _)| text == value).map(|(_, speed)| speed);
                }
                Some(("LOG", value)) => down = value == "DWN",
                _ => {}
            }
        }
        let rate = width.zip(speed).map(|(width, speed)| LinkRate { width, speed });
        let node = state(&mut assembly, name, &first, number)?;
        let peer = state(&mut assembly, name, &second, number)?;
        if down {
            assembly.note(number, NoteKind::Skipped, "a cable whose link is down is left out".to_owned());
            continue;
        }
        // One line tells both ends; whether the other end has a line too makes no difference.
        let end = End { node, port: first.port, peer, peer_port: second.port, rate, line: number, column: 1 };
        assembly.end(end)?;
        let (port, peer_port) = (second.port, first.port);
        assembly.end(End { node: peer, port, peer: node, peer_port, ..end })?;
    }
    if skipped > 0 {
        let message = format!("{skipped} lines that are no cables are left out");
        assembly.note(first_skipped, NoteKind::Skipped, message);
    }
    assembly.finish(Format::SubnetList)
}

fn state<'a>(
    assembly: &mut Assembly<'a>,
    file: &str,
    side: &Side<'a>,
    line: u32,
) -> Result<Handle, FormatError> {
    if side.ports == 0 || side.ports > MAX_PORTS {
        let what = format!("{} ports", side.ports);
        return Err(FormatError::at(file, line, 1, what, "a node has 1 to 254 external ports"));
    }
    let key = Key::Guid(if side.kind == NodeKind::Switch { b'S' } else { b'H' }, side.node_guid);
    let record = Record {
        kind: side.kind,
        guid: Guid(side.node_guid),
        system_guid: Some(Guid(side.system_guid)),
        vendor_id: side.vendor_id,
        device_id: side.device_id,
        ports: side.ports as u8,
        name: Cow::Borrowed(side.name),
        enhanced_port_zero: false,
    };
    let node = match assembly.described(key) {
        None => assembly.describe(key, record, line)?,
        Some(node) => {
            let same = assembly.record_mut(node).is_none_or(|there| {
                if there.device_id == 0 {
                    there.device_id = record.device_id;
                }
                let there_says = Record { device_id: record.device_id, ..there.clone() };
                there_says == record
            });
            if !same {
                // Says in which words the two differ.
                assembly.describe(key, record, line)?;
            }
            node
        }
    };
    let (port, guid) = match side.kind {
        NodeKind::Switch => (0, None),
        _ => (side.port.min(MAX_PORTS) as u8, Some(Guid(side.port_guid))),
    };
    assembly.fact(Fact { node, port, guid, lid: Some(side.lid), lmc: 0, line, hearsay: false });
    Ok(node)
}

/// Writes the list as OpenSM does: each cable from both its ends. Speeds faster than those that OpenSM names get the
/// signalling rate of a lane too (50, 100, 200).
///
/// # Errors
/// Where a name holds a line end or LIDs need more than 16 bits.
pub fn write(fabric: &Fabric) -> Result<String, FormatError> {
    let mut text = String::with_capacity(fabric.link_count() * 600);
    for node in fabric.nodes() {
        super::ibsim::check_writable(fabric, node, Format::SubnetList)?;
        for (port, peer) in fabric.neighbors(node) {
            write_side(&mut text, fabric, port);
            text.push(' ');
            write_side(&mut text, fabric, peer);
            let (phy, spd) = match fabric.rate(port) {
                Some(rate) => {
                    let spd = SPEEDS.into_iter().find(|&(_, speed)| speed == rate.speed);
                    (rate.width.lanes(), spd.map_or("??", |(text, _)| text))
                }
                None => (4, "??"),
            };
            let _ = writeln!(text, " PHY={phy}x LOG=ACT SPD={spd}");
        }
    }
    Ok(text)
}

fn write_side(text: &mut String, fabric: &Fabric, port: PortId) {
    let node = fabric.node_of(port);
    let kind = match fabric.kind(node) {
        NodeKind::Switch => "SW",
        NodeKind::Router => "Rt",
        NodeKind::ChannelAdapter | NodeKind::AggregationNode => "CA",
    };
    let own = if fabric.is_switch(node) { fabric.port(node, 0).unwrap_or(port) } else { port };
    let _ = write!(
        text,
        "{{ {kind} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:{:06X} DevID:{:04X} \
         Rev:00000000 {{{}}} LID:{:04X} PN:{:02X} }}",
        fabric.port_count(node),
        fabric.system_guid(node).0,
        fabric.guid(node).0,
        fabric.port_guid(port).0,
        fabric.vendor_id(node),
        fabric.device_id(node),
        fabric.name(node),
        fabric.lid(own).0,
        fabric.port_number(port),
    );
}
