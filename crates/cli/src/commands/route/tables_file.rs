//! Forwarding tables as text, in the two forms that sites have tools for: what `dump_lfts` prints, and OpenSM's
//! `opensm.fdbs`, which `ibdmchk` reads.

use std::fmt::Write as _;

use clap::ValueEnum;
use fabric::{Fabric, NodeId, NodeKind, PortId};
use routing::{NO_ROUTE, Tables};

use crate::failure::Failure;
use crate::files;

/// A form of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TablesFormat {
    /// What `dump_lfts` prints
    Lfts,
    /// OpenSM's opensm.fdbs
    Fdbs,
}

impl TablesFormat {
    /// The form that a path's ending stands for.
    pub fn from_path_ending(path: &str) -> Self {
        if path.ends_with(".fdbs") { Self::Fdbs } else { Self::Lfts }
    }
}

/// The port that holds each LID.
fn owners(fabric: &Fabric, width: usize) -> Vec<Option<PortId>> {
    let mut owners = vec![None; width];
    for port in fabric.end_ports() {
        for lid in routing::tables::lids_of(fabric, port) {
            if let Some(owner) = owners.get_mut(lid as usize) {
                *owner = Some(port);
            }
        }
    }
    owners
}

/// The switches in an order that does not depend on where the fabric was read from.
fn by_guid(fabric: &Fabric, tables: &Tables) -> Vec<NodeId> {
    let mut switches = tables.switches().to_vec();
    switches.sort_by_key(|&switch| fabric.guid(switch));
    switches
}

/// Writes tables in a form, switches by GUID.
pub fn write(fabric: &Fabric, tables: &Tables, format: TablesFormat) -> String {
    match format {
        TablesFormat::Lfts => write_lfts(fabric, tables),
        TablesFormat::Fdbs => write_fdbs(fabric, tables),
    }
}

fn write_lfts(fabric: &Fabric, tables: &Tables) -> String {
    let owners = owners(fabric, tables.width());
    let about: Vec<Option<String>> = owners
        .iter()
        .map(|owner| {
            let port = (*owner)?;
            let node = fabric.node_of(port);
            let kind = match fabric.kind(node) {
                NodeKind::Switch => "Switch",
                NodeKind::Router => "Router",
                NodeKind::ChannelAdapter | NodeKind::AggregationNode => "Channel Adapter",
            };
            Some(format!("({kind} portguid {}: '{}')", fabric.port_guid(port), fabric.name(node)))
        })
        .collect();
    let mut text = String::new();
    for switch in by_guid(fabric, tables) {
        let lid = fabric.port(switch, 0).map_or(0, |port| fabric.lid(port).0);
        let _ = writeln!(
            text,
            "Unicast lids [0x0-{:#x}] of switch Lid {lid} guid {} ({}):\n  Lid  Out   Destination\n       Port     Info ",
            tables.top_lid(switch),
            fabric.guid(switch),
            fabric.name(switch)
        );
        let mut valid = 0;
        for (lid, &port) in tables.row(switch).iter().enumerate().filter(|&(_, &port)| port != NO_ROUTE) {
            valid += 1;
            let about = about[lid].as_deref().unwrap_or("(unknown node and type)");
            let _ = writeln!(text, "{lid:#06x} {port:03} : {about}");
        }
        let _ = writeln!(text, "{valid} valid lids dumped ");
    }
    text
}

fn write_fdbs(fabric: &Fabric, tables: &Tables) -> String {
    let hops = hops(fabric, tables);
    let known: Vec<usize> = (1..tables.width())
        .filter(|&lid| tables.switches().iter().any(|&switch| tables.row(switch)[lid] != NO_ROUTE))
        .collect();
    let mut text = String::new();
    for switch in by_guid(fabric, tables) {
        let Some(row) = tables.row_index(switch) else { continue };
        let _ = writeln!(
            text,
            "dump_ucast_routes: Switch {}\nLID    : Port : Hops : Optimal",
            fabric.guid(switch)
        );
        for &lid in &known {
            let port = tables.row_at(row)[lid];
            if port == NO_ROUTE {
                let _ = writeln!(text, "0x{lid:04X} : UNREACHABLE");
            } else {
                let _ = writeln!(
                    text,
                    "0x{lid:04X} : {port:03}  : {:02}   : yes",
                    hops[row * tables.width() + lid]
                );
            }
        }
        text.push('\n');
    }
    text
}

/// How many links lie between each switch and each LID on the tables' path; 0 where the path does not end.
fn hops(fabric: &Fabric, tables: &Tables) -> Vec<u8> {
    let (rows, width) = (tables.switches().len(), tables.width());
    let mut hops = vec![0u8; rows * width];
    let mut path = Vec::new();
    for lid in 1..width {
        for start in 0..rows {
            let mut row = start;
            // Follow the path until the rest of it is known.
            let mut rest = loop {
                if hops[row * width + lid] > 0 {
                    break Some(hops[row * width + lid]);
                }
                match next(fabric, tables, row, lid) {
                    Next::Row(next) if path.len() < 64 => path.push(std::mem::replace(&mut row, next)),
                    Next::Arrived => {
                        path.push(row);
                        break Some(0);
                    }
                    Next::Here => break Some(0),
                    Next::Row(_) | Next::Nowhere => break None,
                }
            };
            // Then count back.
            while let Some(row) = path.pop() {
                rest = rest.map(|hops| hops + 1);
                hops[row * width + lid] = rest.unwrap_or(0);
            }
        }
    }
    hops
}

enum Next {
    Row(usize),
    Arrived,
    Here,
    Nowhere,
}

fn next(fabric: &Fabric, tables: &Tables, row: usize, lid: usize) -> Next {
    let switch = tables.switches()[row];
    let port = tables.row_at(row)[lid];
    match port {
        0 => return Next::Here,
        NO_ROUTE => return Next::Nowhere,
        _ => {}
    }
    let Some(peer) = fabric.port(switch, port).and_then(|port| fabric.peer(port)) else {
        return Next::Nowhere;
    };
    match tables.row_index(fabric.node_of(peer)) {
        Some(row) => Next::Row(row),
        None => Next::Arrived,
    }
}

/// Reads a file of either form onto a fabric's switches.
pub fn load(path: &str, fabric: &Fabric) -> Result<Tables, Failure> {
    if fabric.end_ports().all(|port| fabric.lid(port) == ib::Lid::NONE) {
        let help = "give a topology file with LIDs: ibnetdiscover output, opensm-subnet.lst, `heddle up --save-fabric`";
        return Err(Failure::new("no port of the fabric has a LID that tables could lead to", path, help));
    }
    read(path, &String::from_utf8_lossy(&files::read(path)?), fabric)
}

fn read(name: &str, text: &str, fabric: &Fabric) -> Result<Tables, Failure> {
    let switches: std::collections::BTreeMap<u64, NodeId> =
        fabric.switches().map(|switch| (fabric.guid(switch).0, switch)).collect();
    let place = |line: usize| format!("{name}:{}", line + 1);
    let mut entries: Vec<(NodeId, u32, u8)> = Vec::new();
    let (mut at, mut top) = (None, 0);
    for (number, line) in text.lines().enumerate() {
        let guid = line.split_once(" guid 0x").or_else(|| line.split_once(": Switch 0x"));
        if let Some((_, rest)) = guid {
            let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default();
            let guid = u64::from_str_radix(digits, 16).unwrap_or_default();
            at = Some(*switches.get(&guid).ok_or_else(|| {
                let what = format!("the fabric has no switch 0x{digits}");
                Failure::new(what, place(number), "give the topology file of the same fabric")
            })?);
        } else if let Some(entry) = line.strip_prefix("0x") {
            let mut words = entry.split([' ', ':']).filter(|word| !word.is_empty());
            let lid = words.next().and_then(|word| u32::from_str_radix(word, 16).ok());
            let port = words.next();
            if port == Some("UNREACHABLE") {
                continue;
            }
            let (Some(lid), Some(port)) = (lid, port.and_then(|word| word.parse().ok())) else {
                let help = "a line reads `0x0001 003 : …` (dump_lfts) or `0x0001 : 003  : …` (opensm.fdbs)";
                return Err(Failure::new("this is no table entry", place(number), help));
            };
            let Some(switch) = at.filter(|_| lid <= ib::Lid::WIDE_UNICAST_MAX.0) else {
                let what = "an entry before any switch, or with a LID that no port can have";
                return Err(Failure::new(what, place(number), "was the beginning of the file cut off?"));
            };
            entries.push((switch, lid, port));
            top = top.max(lid);
        }
    }
    if entries.is_empty() {
        let help =
            "give what `dump_lfts` printed, OpenSM's opensm.fdbs, or what `heddle route compute -o` wrote";
        return Err(Failure::new("there are no forwarding tables in it", name, help));
    }
    let mut tables = Tables::empty_up_to(fabric, top);
    for (switch, lid, port) in entries {
        tables.set(switch, lid, port);
    }
    Ok(tables)
}
