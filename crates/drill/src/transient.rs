//! What switches hold on the way from tables to tables: after every single write, no packet may run in a circle and no
//! links may wait for each other in one.

use emulator::{Emulator, TableWrite};
use fabric::NodeId;
use routing::verify;

use crate::oracle::{said_of_circles, tables_of};

/// Follows what switches hold, write by write.
pub(crate) struct Transients {
    held: Vec<Vec<u8>>,
}

impl Transients {
    /// From what switches hold now.
    pub fn new(emulator: &Emulator) -> Self {
        let held = |node| emulator.forwarding_table(node).to_vec();
        Self { held: emulator.fabric().nodes().map(held).collect() }
    }

    /// Judges the tables after each of some writes, on the cabling as it stands now; what is wrong first, where
    /// something is.
    pub fn judge(&mut self, emulator: &Emulator, writes: &[TableWrite]) -> Result<(), String> {
        let mut fabric = emulator.fabric().clone();
        for port in emulator.fabric().end_ports() {
            let info = emulator.port_info(port);
            fabric.set_lid(port, info.lid, info.lmc);
        }
        let mut first = Ok(());
        for write in writes {
            self.take(write);
            if first.is_err() {
                continue;
            }
            let tables = tables_of(emulator, &fabric, |node| &self.held[node.index()]);
            if let Some(wrong) = said_of_circles(&verify(&fabric, &tables)) {
                first = Err(format!(
                    "block {} written to {} at {}: {wrong}",
                    write.block,
                    fabric.name(write.switch),
                    write.at
                ));
            }
        }
        first
    }

    /// A switch that lost its power holds nothing.
    pub fn forget_what_is_off(&mut self, emulator: &Emulator) {
        for node in emulator.fabric().nodes().filter(|&node| emulator.is_off(node)) {
            self.forget(node);
        }
    }

    fn forget(&mut self, node: NodeId) {
        self.held[node.index()].clear();
    }

    fn take(&mut self, write: &TableWrite) {
        let table = &mut self.held[write.switch.index()];
        let start = write.block as usize * write.entries.len();
        let end = start + write.entries.len();
        if table.len() < end {
            table.resize(end, ib::NO_ROUTE);
        }
        table[start..end].copy_from_slice(&write.entries);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fabric::generate::FatTreeSpec;
    use ib::Time;

    use super::*;
    use crate::config::Config;
    use crate::world::World;

    #[test]
    fn a_loop_that_is_gone_with_the_next_write_is_seen() {
        let fabric = FatTreeSpec { levels: Some(2), radix: 4, ..FatTreeSpec::default() }.build().unwrap();
        let host = fabric.hosts().next().unwrap();
        let mut world = World::new(&fabric, (host, 1), &Config::default()).unwrap();
        let limit = world.now() + Duration::from_secs(100);
        while !world.is_quiet() {
            world.turn(limit);
        }
        let mut transients = Transients::new(&world.emulator);
        // A leaf far from the manager's host, and the port by which a spine sends what is for that host down to it.
        let leaf = fabric.switches().find(|&node| fabric.name(node) == "leaf-0004").unwrap();
        let (up, down) = fabric
            .neighbors(leaf)
            .find(|&(_, peer)| fabric.is_switch(fabric.node_of(peer)))
            .map(|(port, peer)| (fabric.port_number(port), peer))
            .unwrap();
        let lid = world.emulator.port_info(fabric.port(host, 1).unwrap()).lid.0;
        let write = |switch: NodeId, port: u8| {
            let block = lid / 64;
            let held = &world.emulator.forwarding_table(switch)[block as usize * 64..];
            let mut entries: [u8; 64] = held[..64].try_into().unwrap();
            entries[lid as usize % 64] = port;
            TableWrite { at: Time(1), switch, block, entries }
        };
        let spine = fabric.node_of(down);
        let sound = [write(leaf, up)];
        assert_eq!(transients.judge(&world.emulator, &sound), Ok(()));
        let back = fabric.port_number(down);
        let right = world.emulator.forwarding_table(spine)[lid as usize];
        let wrong =
            transients.judge(&world.emulator, &[write(spine, back), write(spine, right)]).unwrap_err();
        assert!(wrong.contains("run in a circle") && wrong.contains(fabric.name(spine)), "{wrong}");
        assert_eq!(transients.judge(&world.emulator, &sound), Ok(()), "it is gone again");
    }
}
