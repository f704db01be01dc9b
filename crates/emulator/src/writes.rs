//! Which blocks of forwarding tables were written when: kept for those who ask, until they fetch them.

use fabric::NodeId;
use ib::{BLOCK_LIDS, Time};

use crate::Emulator;

/// A block of a switch's linear forwarding table as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableWrite {
    /// When the switch took it.
    pub at: Time,
    /// The switch.
    pub switch: NodeId,
    /// Which block: it holds the LIDs from 64 times this on.
    pub block: u32,
    /// The ports by LID.
    pub entries: [u8; BLOCK_LIDS],
}

/// What was written since it was last fetched.
#[derive(Default)]
pub(crate) struct Writes {
    kept: bool,
    since: Vec<TableWrite>,
}

impl Emulator {
    /// Keeps what is written to forwarding tables from now on, or stops to.
    pub fn keep_table_writes(&mut self, keep: bool) {
        self.writes = Writes { kept: keep, since: Vec::new() };
    }

    /// Moves what was written since the last time to the end of `writes`, in the order in which switches took it.
    pub fn take_table_writes(&mut self, writes: &mut Vec<TableWrite>) {
        writes.append(&mut self.writes.since);
    }

    pub(crate) fn note_write(&mut self, switch: NodeId, block: u32, entries: &[u8]) {
        if self.writes.kept
            && let Ok(entries) = entries.try_into()
        {
            self.writes.since.push(TableWrite { at: self.now, switch, block, entries });
        }
    }
}
