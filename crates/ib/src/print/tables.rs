//! The attributes that are tables, line by line as `smpquery` prints them.

use std::fmt::Write;

use crate::{GuidInfo, NodeDescription, PKeyTable, SlToVlMapping, VlArbitration};

/// As `smpquery nodedesc`: dots up to column 44.
pub fn node_description(description: &NodeDescription) -> String {
    format!("{:.<44}{}\n", "Node Description:", description.text())
}

/// One block of partition keys, eight a line, as `smpquery pkeys` prints it.
pub fn p_keys(table: &PKeyTable, block: u16) -> String {
    let mut text = String::new();
    for (line, keys) in table.0.chunks(8).enumerate() {
        let _ = write!(text, "{:4}:", usize::from(block) * 32 + line * 8);
        for key in keys {
            let _ = write!(text, " {:#06x}", key.0);
        }
        text.push('\n');
    }
    text
}

/// One block of GUIDs, two a line, as `smpquery guidinfo` prints it.
pub fn guids(table: &GuidInfo, block: u8) -> String {
    let mut text = String::new();
    for (line, pair) in table.0.chunks(2).enumerate() {
        let _ = writeln!(text, "{:4}: {} {}", usize::from(block) * 8 + line * 2, pair[0], pair[1]);
    }
    text
}

/// The lane of each service level, as one line of `smpquery sl2vl` ends.
pub fn lanes(table: &SlToVlMapping) -> String {
    table.0.iter().fold("|".to_owned(), |mut text, lane| {
        let _ = write!(text, "{lane:2}|");
        text
    })
}

/// The first `entries` turns of an arbitration table, two lines, as `smpquery vlarb` prints them.
pub fn arbitration(table: &VlArbitration, entries: usize) -> String {
    let entries = &table.0[..entries.min(table.0.len())];
    let line = |head: &str, values: &mut dyn Iterator<Item = u8>| {
        values.fold(format!("{head}|"), |mut text, value| {
            let _ = write!(text, "0x{value:<2X}|");
            text
        })
    };
    let lanes = line("VL    : ", &mut entries.iter().map(|entry| entry.lane));
    let weights = line("WEIGHT: ", &mut entries.iter().map(|entry| entry.weight));
    format!("{lanes}\n{weights}\n")
}
