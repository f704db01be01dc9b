//! What OpenSM gave: its tables, read from the files that it dumps, on our own graph of the same cabling.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use fabric::{Fabric, NodeId, formats};
use ib::Lid;
use routing::Tables;

use crate::ibsim::Ibsim;
use crate::opensm;

/// One engine's tables.
pub struct Peer {
    /// The fabric with OpenSM's LIDs of adapters.
    pub fabric: Fabric,
    pub tables: Tables,
    /// The engine that the tables are of: another than asked for where that one refused.
    pub engine: String,
    /// Virtual lanes that the engine itself says its paths need.
    pub lanes: u8,
}

/// Lets OpenSM bring the fabric of `net` up with an engine.
pub fn tables(fabric: &Fabric, net: &Path, engine: &str, folder: &Path) -> anyhow::Result<Peer> {
    let ibsim = Ibsim::start(net, fabric, folder)?;
    let dumps = tempfile::tempdir_in(folder)?;
    let log = opensm::dump(&ibsim, engine, dumps.path())?;
    drop(ibsim);
    let read = |name: &str| -> anyhow::Result<Vec<u8>> {
        std::fs::read(dumps.path().join(name)).with_context(|| format!("OpenSM wrote no {name}"))
    };
    let mut fabric = fabric.clone();
    let list = formats::read("opensm-subnet.lst", &read("opensm-subnet.lst")?)?.fabric;
    take_lids(&mut fabric, &list);
    let tables = read_tables(&String::from_utf8_lossy(&read("opensm.fdbs")?), &fabric)?;
    // What counts is between adapters: some of OpenSM's engines leave switches without paths to each other.
    for node in fabric.switches().collect::<Vec<_>>() {
        fabric.port(node, 0).into_iter().for_each(|port| fabric.set_lid(port, Lid::NONE, 0));
    }
    let said = |after: &str| log.lines().rev().find_map(|line| line.split_once(after)).map(|(_, rest)| rest);
    let used = log.lines().rev().find_map(|line| line.split_once(" tables configured"));
    let used = used.and_then(|(before, _)| before.split_whitespace().next_back());
    let lanes = said("Virtual Lanes needed: ").filter(|_| used == Some("dfsssp"));
    Ok(Peer {
        fabric,
        tables,
        engine: used.unwrap_or(engine).to_owned(),
        lanes: lanes.and_then(|lanes| lanes.trim().parse().ok()).unwrap_or(1),
    })
}

/// Gives every end port the LID that it has in `list`.
fn take_lids(fabric: &mut Fabric, list: &Fabric) {
    let name = |fabric: &Fabric, port| (fabric.guid(fabric.node_of(port)).0, fabric.port_number(port));
    let lids: BTreeMap<(u64, u8), Lid> =
        list.end_ports().map(|port| (name(list, port), list.lid(port))).collect();
    for port in fabric.end_ports().collect::<Vec<_>>() {
        let lid = lids.get(&name(fabric, port)).copied().unwrap_or(Lid::NONE);
        fabric.set_lid(port, lid, 0);
    }
}

/// Reads `opensm.fdbs`: a heading a switch, then lines of `0x0001 : 003  : 02   : yes`.
fn read_tables(text: &str, fabric: &Fabric) -> anyhow::Result<Tables> {
    let switches: BTreeMap<u64, NodeId> = fabric.switches().map(|node| (fabric.guid(node).0, node)).collect();
    let top = fabric.end_ports().map(|port| fabric.lid(port).0).max().unwrap_or(0);
    let mut tables = Tables::empty_up_to(fabric, top);
    let mut at = None;
    for line in text.lines() {
        if let Some((_, guid)) = line.split_once(": Switch 0x") {
            let guid = u64::from_str_radix(guid.trim(), 16)?;
            at = Some(*switches.get(&guid).context("a table of a switch that is not there")?);
        } else if let (Some(node), Some(entry)) = (at, line.strip_prefix("0x")) {
            let mut words = entry.split(':').map(str::trim);
            let lid = words.next().and_then(|word| u32::from_str_radix(word, 16).ok());
            if let (Some(lid), Some(port)) = (lid, words.next().and_then(|word| word.parse().ok())) {
                tables.set(node, lid, port);
            }
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use fabric::NodeKind;
    use ib::Guid;

    use super::*;

    #[test]
    fn a_dump_is_read() {
        let mut fabric = Fabric::new();
        let switch = fabric.add_node(NodeKind::Switch, Guid(0x10), 4, "s");
        fabric.set_lid(fabric.port(switch, 0).unwrap(), Lid(2), 0);
        let text = "dump_ucast_routes: Switch 0x0000000000000010\nLID    : Port : Hops : Optimal\n\
            0x0001 : 003  : 02   : yes\n0x0002 : 000  : 00   : yes\n0x0003 : UNREACHABLE\n";
        let tables = read_tables(text, &fabric).unwrap();
        assert_eq!((tables.get(switch, 1), tables.get(switch, 2)), (3, 0));
        assert_eq!(tables.get(switch, 3), routing::NO_ROUTE);
        assert!(read_tables("dump_ucast_routes: Switch 0x11\n", &fabric).is_err());
    }
}
