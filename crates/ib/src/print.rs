//! Attributes as the tools of infiniband-diags print them, so that a log compares with the tool.
//!
//! Formats are those of libibmad's `dump.c`: a label, dots up to column 33, the value.

use crate::attribute::Fields;
use crate::bits::Field;
use crate::{LinkWidth, Mtu, NodeType, PhysicalState, PortState};

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

pub(crate) fn hidden(_bits: u64, _width: usize) -> String {
    "<not displayed>".to_owned()
}

pub(crate) fn node_type(bits: u64, _width: usize) -> String {
    NodeType::from_bits(bits).name().unwrap_or("?(unknown)?").to_owned()
}

pub(crate) fn port_state(bits: u64, _width: usize) -> String {
    match PortState::from_bits(bits) {
        PortState::INITIALIZE => "Initialize".to_owned(),
        state => state.name().unwrap_or("?").to_owned(),
    }
}

pub(crate) fn physical_state(bits: u64, _width: usize) -> String {
    PhysicalState::from_bits(bits).name().unwrap_or("?").to_owned()
}

pub(crate) fn width_active(bits: u64, _width: usize) -> String {
    LinkWidth::from_code(bits as u8)
        .map_or_else(|| format!("undefined ({bits})"), |w| format!("{}X", w.lanes()))
}

fn set_of(bits: u64, names: &[(u64, &str)]) -> Option<String> {
    let known = names.iter().fold(0, |all, (bit, _)| all | bit);
    if bits == 0 || bits & !known != 0 {
        return None;
    }
    let present: Vec<&str> = names.iter().filter(|(bit, _)| bits & bit != 0).map(|&(_, name)| name).collect();
    Some(present.join(" or "))
}

pub(crate) fn width_set(bits: u64, _width: usize) -> String {
    set_of(bits, &[(1, "1X"), (2, "4X"), (4, "8X"), (8, "12X"), (16, "2X")])
        .unwrap_or_else(|| format!("undefined ({bits})"))
}

pub(crate) fn speed_active(bits: u64, _width: usize) -> String {
    match bits {
        0 => "Extended speed".to_owned(),
        1 => "2.5 Gbps".to_owned(),
        2 => "5.0 Gbps".to_owned(),
        4 => "10.0 Gbps".to_owned(),
        _ => format!("undefined ({bits})"),
    }
}

pub(crate) fn speed_set(bits: u64, _width: usize) -> String {
    set_of(bits, &[(1, "2.5 Gbps"), (2, "5.0 Gbps"), (4, "10.0 Gbps")])
        .unwrap_or_else(|| format!("undefined ({bits})"))
}

pub(crate) fn speed_extended_active(bits: u64, _width: usize) -> String {
    match bits {
        0 => "No Extended Speed".to_owned(),
        1 => "14.0625 Gbps".to_owned(),
        2 => "25.78125 Gbps".to_owned(),
        4 => "53.125 Gbps".to_owned(),
        8 => "106.25 Gbps".to_owned(),
        _ => format!("undefined ({bits})"),
    }
}

pub(crate) fn speed_extended_set(bits: u64, _width: usize) -> String {
    set_of(bits, &[(1, "14.0625 Gbps"), (2, "25.78125 Gbps"), (4, "53.125 Gbps"), (8, "106.25 Gbps")])
        .unwrap_or_else(|| bits.to_string())
}

pub(crate) fn mtu(bits: u64, _width: usize) -> String {
    Mtu(bits as u8).bytes().map_or_else(|| format!("? ({bits})"), |bytes| bytes.to_string())
}

pub(crate) fn virtual_lanes(bits: u64, _width: usize) -> String {
    match bits {
        0 => "No change".to_owned(),
        1 => "VL0".to_owned(),
        2 => "VL0-1".to_owned(),
        3 => "VL0-3".to_owned(),
        4 => "VL0-7".to_owned(),
        5 => "VL0-14".to_owned(),
        _ => format!("? ({bits})"),
    }
}
