//! Attributes as the tools of infiniband-diags print them, so that a log compares with the tool.
//!
//! Formats are those of libibmad's `dump.c`, and `saquery`'s for records of subnet administration: [`dump`] writes a
//! label, dots up to column 33, the value. [`tables`] prints the attributes that are tables. The printers here turn the
//! bits of one field into its value; the field tables of [`crate::attributes`] name them.

pub mod capabilities;
pub mod tables;

use crate::attribute::Fields;
use crate::bits::Field;
use crate::{Gid, LinkWidth, Mtu, NodeType, PhysicalState, PortState};

pub(crate) use capabilities::{capability_mask, capability_mask2};

/// The attribute, a line a field.
pub fn dump(attribute: &impl Fields) -> String {
    let mut text = String::new();
    for (label, value) in attribute.fields() {
        text.push_str(label);
        text.push(':');
        for _ in label.len() + 1..33 {
            text.push('.');
        }
        text.push_str(&value);
        text.push('\n');
    }
    text
}

pub(crate) fn uint(bits: u64, _width: usize) -> String {
    bits.to_string()
}

pub(crate) fn hex(bits: u64, width: usize) -> String {
    format!("{bits:#0digits$x}", digits = 2 + 2 * width.div_ceil(8))
}

/// As `saquery` writes most numbers: no leading zeros, large letters.
pub(crate) fn short_hex(bits: u64, _width: usize) -> String {
    format!("0x{bits:X}")
}

/// As `saquery` writes the numbers of a multicast group.
pub(crate) fn small_hex(bits: u64, _width: usize) -> String {
    format!("{bits:#x}")
}

pub(crate) fn gid(bits: u128, _width: usize) -> String {
    Gid(bits).to_string()
}

/// Keys are for the eyes of managers alone.
pub(crate) fn hidden<T>(_bits: T, _width: usize) -> String {
    "<not displayed>".to_owned()
}

pub(crate) fn node_type(bits: u64, _width: usize) -> String {
    NodeType::from_bits(bits).name().map_or_else(|| format!("?({bits})?"), str::to_owned)
}

fn named(name: Option<&str>, bits: u64) -> String {
    name.map_or_else(|| format!("?({bits})"), str::to_owned)
}

pub(crate) fn port_state(bits: u64, _width: usize) -> String {
    named(PortState::from_bits(bits).name(), bits)
}

pub(crate) fn physical_state(bits: u64, _width: usize) -> String {
    named(PhysicalState::from_bits(bits).name(), bits)
}

/// A state to go to when the link goes down: the tools know sleep and polling only.
pub(crate) fn link_down_state(bits: u64, _width: usize) -> String {
    named(PhysicalState::from_bits(bits).name().filter(|_| bits <= 2), bits)
}

pub(crate) fn width_active(bits: u64, _width: usize) -> String {
    LinkWidth::from_code(bits as u8)
        .map_or_else(|| format!("undefined ({bits})"), |w| format!("{}X", w.lanes()))
}

/// Names of the bits that are set, joined by "or", and after them what no name is known for.
fn set_of(bits: u64, names: &[(u64, &str)]) -> String {
    let known = names.iter().fold(0, |all, (bit, _)| all | bit);
    let mut parts: Vec<String> =
        names.iter().filter(|(bit, _)| bits & bit != 0).map(|&(_, name)| name.to_owned()).collect();
    if bits == 0 || bits & !known != 0 {
        parts.push(format!("undefined ({bits})"));
    }
    parts.join(" or ")
}

const WIDTHS: [(u64, &str); 5] = [(1, "1X"), (2, "4X"), (4, "8X"), (8, "12X"), (16, "2X")];
const SPEEDS: [(u64, &str); 3] = [(1, "2.5 Gbps"), (2, "5.0 Gbps"), (4, "10.0 Gbps")];
const EXTENDED_SPEEDS: [(u64, &str); 4] =
    [(1, "14.0625 Gbps"), (2, "25.78125 Gbps"), (4, "53.125 Gbps"), (8, "106.25 Gbps")];
const EXTENDED_SPEEDS2: [(u64, &str); 1] = [(1, "212.5 Gbps")];

pub(crate) fn width_enabled(bits: u64, _width: usize) -> String {
    set_of(bits, &WIDTHS)
}

/// Sets of widths that the standard does not list are marked.
pub(crate) fn width_supported(bits: u64, _width: usize) -> String {
    let listed = matches!(bits, 1 | 3 | 7 | 11 | 15 | 17 | 19 | 23 | 27 | 31) || bits >> 5 != 0;
    set_of(bits, &WIDTHS) + if listed { "" } else { " (IBA extension)" }
}

fn one_of(bits: u64, names: &[(u64, &str)]) -> String {
    let name = names.iter().find(|(code, _)| *code == bits);
    name.map_or_else(|| format!("undefined ({bits})"), |&(_, name)| name.to_owned())
}

pub(crate) fn speed_active(bits: u64, _width: usize) -> String {
    if bits == 0 { "Extended speed".to_owned() } else { one_of(bits, &SPEEDS) }
}

pub(crate) fn speed_set(bits: u64, _width: usize) -> String {
    let listed = matches!(bits, 1 | 3 | 5 | 7) || bits >> 3 != 0;
    set_of(bits, &SPEEDS) + if listed { "" } else { " (IBA extension)" }
}

pub(crate) fn speed_extended_active(bits: u64, _width: usize) -> String {
    if bits == 0 { "No Extended Speed".to_owned() } else { one_of(bits, &EXTENDED_SPEEDS) }
}

pub(crate) fn speed_extended_supported(bits: u64, _width: usize) -> String {
    if bits == 0 { "0".to_owned() } else { set_of(bits, &EXTENDED_SPEEDS) }
}

/// 30 turns the extended speeds off.
pub(crate) fn speed_extended_enabled(bits: u64, width: usize) -> String {
    match bits {
        30 => "Extended link speeds disabled".to_owned(),
        _ => speed_extended_supported(bits, width),
    }
}

/// XDR and beyond: older tools do not know these fields, so they are left out where nothing is set.
pub(crate) fn speed_extended2(bits: u64, _width: usize) -> String {
    if bits == 0 { String::new() } else { set_of(bits, &EXTENDED_SPEEDS2) }
}

pub(crate) fn mtu(bits: u64, _width: usize) -> String {
    Mtu(bits as u8).bytes().map_or_else(|| format!("?({bits})"), |bytes| bytes.to_string())
}

/// How many virtual lanes a port has.
pub(crate) fn virtual_lanes(bits: u64, _width: usize) -> String {
    let names = [(1, "VL0"), (2, "VL0-1"), (3, "VL0-3"), (4, "VL0-7"), (5, "VL0-14")];
    named(names.iter().find(|(code, _)| *code == bits).map(|&(_, name)| name), bits)
}

/// How many virtual lanes are in use.
pub(crate) fn operational_lanes(bits: u64, width: usize) -> String {
    if bits == 0 { "No change".to_owned() } else { virtual_lanes(bits, width) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What libibmad prints for the same bits.
    #[test]
    fn codes_print_as_libibmad_prints_them() {
        assert_eq!(node_type(9, 8), "?(9)?");
        assert_eq!((port_state(4, 4), port_state(9, 4)), ("Active".to_owned(), "?(9)".to_owned()));
        assert_eq!((link_down_state(2, 4), link_down_state(5, 4)), ("Polling".to_owned(), "?(5)".to_owned()));
        assert_eq!((width_active(16, 8), width_active(3, 8)), ("2X".to_owned(), "undefined (3)".to_owned()));
        assert_eq!(width_supported(3, 8), "1X or 4X");
        assert_eq!(width_supported(2, 8), "4X (IBA extension)");
        assert_eq!(width_supported(0, 8), "undefined (0) (IBA extension)");
        assert_eq!(width_enabled(33, 8), "1X or undefined (33)");
        assert_eq!(speed_set(6, 4), "5.0 Gbps or 10.0 Gbps (IBA extension)");
        assert_eq!(speed_set(8, 4), "undefined (8)");
        assert_eq!(speed_set(15, 4), "2.5 Gbps or 5.0 Gbps or 10.0 Gbps or undefined (15)");
        assert_eq!(speed_extended_active(8, 4), "106.25 Gbps");
        assert_eq!(speed_extended_enabled(30, 5), "Extended link speeds disabled");
        assert_eq!(speed_extended_enabled(16, 5), "undefined (16)");
        assert_eq!((mtu(5, 4), mtu(0, 4)), ("4096".to_owned(), "?(0)".to_owned()));
        assert_eq!(
            (virtual_lanes(0, 4), operational_lanes(0, 4)),
            ("?(0)".to_owned(), "No change".to_owned())
        );
        assert_eq!(hex(5, 27), "0x00000005");
    }
}
