//! What a repair changes: entries, each in the wave that it may be written in.

use crate::tables::{BLOCK, ChangedBlock, Tables};

/// One entry that changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PatchEntry {
    /// Everything of a wave may be written in any order, once all waves before it are written.
    pub wave: u32,
    /// The row of the tables.
    pub row: u32,
    /// The LID.
    pub lid: u32,
    /// The port that packets leave by from now on.
    pub port: u8,
}

/// A path whose packets bear another service level from now on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PatchLevel {
    /// The row of the switch that they enter the fabric at.
    pub row: u32,
    /// The LID that they are for.
    pub lid: u32,
    /// The service level.
    pub level: u8,
}

/// Entries that change, by wave, row and LID.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Patch {
    entries: Vec<PatchEntry>,
    levels: Vec<PatchLevel>,
}

impl Patch {
    /// Entries in waves. One may change twice, in different waves.
    pub fn new(entries: Vec<PatchEntry>) -> Self {
        Self::with_levels(entries, Vec::new())
    }

    /// The same with service levels, which are to be named before the first wave is written: every state from then on is
    /// one that was proven with them.
    pub fn with_levels(mut entries: Vec<PatchEntry>, mut levels: Vec<PatchLevel>) -> Self {
        entries.sort_unstable();
        levels.sort_unstable();
        Self { entries, levels }
    }

    /// Paths that get another service level, by row and LID. Hosts there must ask for them anew.
    pub fn levels(&self) -> &[PatchLevel] {
        &self.levels
    }

    /// All entries, by wave, row and LID.
    pub fn entries(&self) -> &[PatchEntry] {
        &self.entries
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries of each wave, first to last.
    pub fn waves(&self) -> impl Iterator<Item = &[PatchEntry]> {
        self.entries.chunk_by(|a, b| a.wave == b.wave)
    }

    /// How many blocks are written in all: a block with entries of several waves is written once in each.
    pub fn block_count(&self) -> usize {
        self.entries.chunk_by(|a, b| (a.wave, a.row, block_of(a)) == (b.wave, b.row, block_of(b))).count()
    }

    /// How many different blocks change: what any way of writing these tables takes at least.
    pub fn least_blocks(&self) -> usize {
        let mut blocks: Vec<(u32, u32)> =
            self.entries.iter().map(|entry| (entry.row, block_of(entry))).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.len()
    }

    /// Changes `tables` as some entries say; the blocks that have to be written for it, by row and block.
    pub fn apply(tables: &mut Tables, entries: &[PatchEntry]) -> Vec<ChangedBlock> {
        let mut blocks = Vec::new();
        for entry in entries {
            let switch = tables.switches()[entry.row as usize];
            tables.set(switch, entry.lid, entry.port);
            let block = ChangedBlock { switch, block: block_of(entry) };
            if blocks.last() != Some(&block) {
                blocks.push(block);
            }
        }
        blocks
    }
}

fn block_of(entry: &PatchEntry) -> u32 {
    entry.lid / BLOCK as u32
}
