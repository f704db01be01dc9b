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

    /// Judges the tables after each of some writes, on the cabling as it stands now; what is wrong, where something is.
    pub fn judge(&mut self, emulator: &Emulator, writes: &[TableWrite]) -> Result<(), String> {
        let mut fabric = emulator.fabric().clone();
        for port in emulator.fabric().end_ports() {
            let info = emulator.port_info(port);
            fabric.set_lid(port, info.lid, info.lmc);
        }
        for write in writes {
            self.take(write);
            let tables = tables_of(emulator, &fabric, |node| &self.held[node.index()]);
            if let Some(wrong) = said_of_circles(&verify(&fabric, &tables)) {
                return Err(format!(
                    "block {} written to {} at {}: {wrong}",
                    write.block,
                    fabric.name(write.switch),
                    write.at
                ));
            }
        }
        Ok(())
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
