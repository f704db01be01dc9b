//! Walks every way that a repair has changed: by the cabling itself, not by what the repair believes of it.

use std::cmp::Reverse;

use fabric::{Fabric, NodeId};
use rayon::prelude::*;

use super::NeedsEngine;
use super::network::{MOST_HOPS, Network};
use super::patch::{Patch, PatchEntry};
use crate::tables::{Tables, lids_of};

/// Fails where a changed entry does not lead to the port that holds its LID, or where an adapter's packets would go up
/// after they came down.
pub(super) fn check(
    fabric: &Fabric,
    tables: &Tables,
    network: &Network,
    patch: &Patch,
) -> Result<(), NeedsEngine> {
    let mut entries: Vec<PatchEntry> = patch.entries().to_vec();
    entries.sort_unstable_by_key(|entry| (entry.lid, entry.row, Reverse(entry.wave)));
    // An entry that changes twice ends as the last wave says.
    entries.dedup_by_key(|entry| (entry.lid, entry.row));
    let columns: Vec<&[PatchEntry]> = entries.chunk_by(|a, b| a.lid == b.lid).collect();
    let wrong = columns.par_iter().find_map_first(|column| {
        let walk = Walk { fabric, tables, network, column };
        column.iter().find(|entry| !walk.arrives(entry.row as usize)).copied()
    });
    match wrong {
        None => Ok(()),
        Some(entry) => Err(NeedsEngine {
            why: format!(
                "the new way from {} to LID {} does not hold",
                fabric.name(tables.switches()[entry.row as usize]),
                entry.lid
            ),
        }),
    }
}

struct Walk<'a> {
    fabric: &'a Fabric,
    tables: &'a Tables,
    network: &'a Network,
    /// What changes for the LID, by row.
    column: &'a [PatchEntry],
}

impl Walk<'_> {
    fn entry(&self, row: usize) -> u8 {
        match self.column.binary_search_by_key(&(row as u32), |entry| entry.row) {
            Ok(place) => self.column[place].port,
            Err(_) => self.tables.row_at(row)[self.column[0].lid as usize],
        }
    }

    /// Whether packets from the switch arrive, and keep to the order where they may be an adapter's.
    fn arrives(&self, row: usize) -> bool {
        let lid = self.column[0].lid;
        let mut node: NodeId = self.tables.switches()[row];
        let (mut at, mut came_down) = (row, false);
        let mut in_order = true;
        for _ in 0..MOST_HOPS {
            let port = self.entry(at);
            let Some(door) = self.fabric.port(node, port) else { return false };
            let end = if port == 0 { door } else { self.fabric.peer(door).unwrap_or(door) };
            if lids_of(self.fabric, end).contains(&lid)
                && (port == 0 || !self.fabric.is_switch(self.fabric.node_of(end)))
            {
                let adapter = port != 0;
                return in_order || !adapter || !self.network.holders[row];
            }
            node = self.fabric.node_of(end);
            let Some(next) = self.tables.row_index(node).filter(|&next| next != at) else { return false };
            let up = self.network.heights[next] > self.network.heights[at];
            in_order &= !(up && came_down);
            came_down = !up;
            at = next;
        }
        false
    }
}
