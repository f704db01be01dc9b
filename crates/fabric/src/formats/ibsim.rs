//! Writes a net file that ibsim loads and serves: same nodes, GUIDs, cables.
//!
//! Nodes are called by their names where those tell them apart, so that ibsim's console and `SIM_HOST` take them;
//! else by kind and GUID, with the name as comment. ibsim links run at 4x SDR unless told otherwise, and at QDR at
//! most: widths and speeds up to QDR are told to it by `w=` and `s=`, any other rate stands in the comment alone. ibsim
//! gives port N of an adapter the GUID of its node plus N; another GUID stands in parentheses, which it passes over.

use std::fmt::Write as _;

use ib::{Guid, LinkRate, LinkSpeed, LinkWidth};
use rustc_hash::FxHashSet;

use super::{Format, FormatError, ibnetdiscover};
use crate::{Fabric, NodeId, PortId};

/// The first line, by which a reader tells it from the output of `ibnetdiscover`, whose identifiers it may use.
pub const MARK: &str = "# ibsim net file";

/// The longest identifier that ibsim keeps apart from others.
const MAX_ID: usize = 60;

/// The fabric as ibsim loads it.
///
/// # Errors
/// Where a name holds a line end or LIDs need more than 16 bits.
pub fn write(fabric: &Fabric) -> Result<String, FormatError> {
    let names = names_are_ids(fabric);
    let mut text = String::with_capacity(fabric.node_count() * 160 + fabric.link_count() * 110);
    let _ = writeln!(text, "{MARK}, written by Heddle");
    for node in fabric.nodes() {
        check_writable(fabric, node, Format::IbsimNet)?;
        ibnetdiscover::write_numbers(&mut text, fabric, node);
        let word = ibnetdiscover::header_word(fabric, node);
        let _ = write!(text, "{word}\t{} \"", fabric.port_count(node));
        push_id(&mut text, fabric, node, names);
        let _ = write!(text, "\"\t# \"{}\"", fabric.name(node));
        if fabric.is_switch(node) {
            ibnetdiscover::write_port_zero(&mut text, fabric, node);
        }
        text.push('\n');
        for (port, peer) in fabric.neighbors(node) {
            write_port(&mut text, fabric, port, peer, names);
        }
    }
    Ok(text)
}

fn push_id(text: &mut String, fabric: &Fabric, node: NodeId, names: bool) {
    if names {
        text.push_str(fabric.name(node));
    } else {
        ibnetdiscover::push_id(text, fabric, node);
    }
}

/// Whether names alone tell all nodes apart, in characters that ibsim does not reserve.
fn names_are_ids(fabric: &Fabric) -> bool {
    let mut seen = FxHashSet::default();
    fabric.nodes().all(|node| {
        let name = fabric.name(node);
        !name.is_empty()
            && name.len() <= MAX_ID
            && name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
            && !name.contains(['"', '#', '@', '=', '[', ']'])
            && super::net::guid_in_id(name).is_none()
            && seen.insert(name)
    })
}

fn write_port(text: &mut String, fabric: &Fabric, port: PortId, peer: PortId, names: bool) {
    let node = fabric.node_of(port);
    let number = fabric.port_number(port);
    let switch = fabric.is_switch(node);
    let _ = write!(text, "[{number}]");
    let counted = Guid(fabric.guid(node).0.wrapping_add(u64::from(number)));
    if !switch && fabric.port_guid(port) != counted {
        let _ = write!(text, "({:x})", fabric.port_guid(port).0);
    }
    text.push_str("\t\"");
    push_id(text, fabric, fabric.node_of(peer), names);
    let _ = write!(text, "\"[{}]", fabric.port_number(peer));
    let rate = fabric.rate(port);
    if let Some(rate) = rate {
        write_options(text, rate);
    }
    let (lid, lmc) = (fabric.lid(port), fabric.lmc(port));
    if rate.is_some() || !switch {
        text.push_str("\t#");
    }
    if !switch {
        let _ = write!(text, " lid {lid} lmc {lmc}");
    }
    if let Some(rate) = rate {
        let _ = write!(text, " {rate}");
    }
    text.push('\n');
}

fn write_options(text: &mut String, rate: LinkRate) {
    let width = match rate.width {
        LinkWidth::X1 => " w=1",
        LinkWidth::X8 => " w=4",
        LinkWidth::X12 => " w=8",
        LinkWidth::X2 | LinkWidth::X4 => "",
    };
    let speed = match rate.speed {
        LinkSpeed::Ddr => " s=3",
        LinkSpeed::Qdr => " s=7",
        _ => "",
    };
    text.push_str(width);
    text.push_str(speed);
}

/// Whether line formats can hold a node.
pub(super) fn check_writable(fabric: &Fabric, node: NodeId, format: Format) -> Result<(), FormatError> {
    let refuse = |what: String| {
        let mend = "write toml, which holds it";
        Err(FormatError::whole("", format!("{format} cannot hold this fabric: {what}"), mend))
    };
    let name = fabric.name(node);
    if name.contains(['\n', '\r']) {
        return refuse(format!("the name of node {} has a line end in it", fabric.guid(node)));
    }
    if fabric.port_count(node) == 0 {
        return refuse(format!("\"{name}\" has no ports"));
    }
    let first = fabric.port(node, 0).into_iter().chain(fabric.ports(node));
    match first.map(|port| fabric.lid(port)).find(|lid| lid.0 > 0xffff) {
        Some(lid) => refuse(format!("\"{name}\" has LID {lid}, and the format's tools take 16 bits")),
        None => Ok(()),
    }
}
