//! What the tools of infiniband-diags, ibutils and OpenSM print, taken apart far enough to compare.

use std::collections::BTreeMap;
use std::process::Command;

use crate::heddle;

/// Runs a tool that must end well; returns its standard output.
pub fn run(command: &mut Command) -> String {
    heddle::text(command)
}

/// The lines of an `ibnetdiscover` file that say something, in one order.
pub fn sorted_topology(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// LID of every end port by port GUID, from `ibnetdiscover` text: a switch's by its node GUID, an adapter's by the
/// GUID of the cabled port.
pub fn lids(text: &str) -> BTreeMap<u64, u32> {
    let loaded = fabric::formats::read("lids.ibnetdiscover", text.as_bytes()).expect("ibnetdiscover text");
    let fabric = &loaded.fabric;
    fabric.end_ports().map(|port| (fabric.port_guid(port).0, fabric.lid(port).0)).collect()
}

/// Forwarding tables by switch GUID: `lid -> out port`.
pub type Forwarding = BTreeMap<u64, BTreeMap<u32, u8>>;

/// Reads what `dump_lfts` prints, and what Heddle writes in that form.
pub fn forwarding(text: &str) -> Forwarding {
    let mut tables = Forwarding::new();
    let mut switch = None;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once(" guid 0x") {
            let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            switch = u64::from_str_radix(&digits, 16).ok();
        } else if let (Some(guid), Some(entry)) = (switch, line.strip_prefix("0x")) {
            let mut words = entry.split_whitespace();
            let (Some(lid), Some(port)) = (words.next(), words.next()) else { continue };
            if let (Ok(lid), Ok(port)) = (u32::from_str_radix(lid, 16), port.parse()) {
                tables.entry(guid).or_default().insert(lid, port);
            }
        }
    }
    tables
}

/// States of all cabled ports as `iblinkinfo` shows them: how many ends are `Active`, how many are in another state.
pub fn link_states(text: &str) -> (usize, usize) {
    let cabled = text.lines().filter(|line| line.contains("==>") && !line.contains("Down/"));
    cabled.fold((0, 0), |(active, other), line| {
        if line.contains("Active/  LinkUp") { (active + 1, other) } else { (active, other + 1) }
    })
}

/// The ports that a path leaves by, from `ibtracert` text: of the source adapter first, then of each switch.
pub fn traced_ports(text: &str) -> Vec<u8> {
    text.lines()
        .filter_map(|line| line.strip_prefix('['))
        .filter_map(|line| line.split_once(']')?.0.trim().parse().ok())
        .collect()
}
