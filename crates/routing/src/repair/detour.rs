//! A way for management's packets where every neighbour's own way comes back: over a neighbour that changes too.
//!
//! Tables send everybody's packets for a switch over few links. When one of those is lost, the switch above it has only
//! neighbours that lead back to it. To turn them all would touch every table of the fabric; one neighbour that goes
//! elsewhere is enough.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::column::{Column, Work};
use super::patch::PatchEntry;
use crate::tables::Tables;

/// Ways that are followed before all is looked at instead.
const MOST_TRIES: usize = 4096;

impl Column<'_> {
    /// Entries of `row`, which has no way on, and of as few others as will do, the last on the way in the first wave; none
    /// where packets of adapters go there, which must keep to the order.
    ///
    /// Whose way arrives without coming by `row` never meets one whose way does not: so nothing that works is touched, and there
    /// is no circle at any time.
    pub(super) fn detour(
        &self,
        tables: &Tables,
        work: &Work,
        done: &[PatchEntry],
        row: u32,
    ) -> Option<Vec<PatchEntry>> {
        if work.home.adapter {
            return None;
        }
        let mut seen = FxHashSet::from_iter([row]);
        // Rows without a way, each with whom it was found from, as a place in this list, and the port there.
        let mut found = vec![(row, 0, 0)];
        let mut waiting = VecDeque::from([0]);
        while let Some(place) = waiting.pop_front() {
            let at = found[place].0;
            for (port, peer) in self.links_in_turn(at, work.lid, false) {
                if !seen.insert(peer) {
                    continue;
                }
                if let Some(wave) = self.follow(tables, work, done, (row, peer), false) {
                    return Some(turned(&found, work.lid, (place, port, wave)));
                }
                // Those that were turned for another row lead somewhere already, and the destination knows its own.
                if peer != work.home.row && done.iter().all(|entry| entry.row != peer) {
                    found.push((peer, place, port));
                    waiting.push_back(found.len() - 1);
                }
                if seen.len() > MOST_TRIES {
                    return None;
                }
            }
        }
        None
    }
}

/// The entries from the last row of a detour back to the first.
fn turned(found: &[(u32, usize, u8)], lid: u32, last: (usize, u8, u32)) -> Vec<PatchEntry> {
    let (mut place, mut port, mut wave) = last;
    let mut entries = Vec::new();
    loop {
        let (row, from, came_by) = found[place];
        entries.push(PatchEntry { wave, row, lid, port });
        if place == 0 {
            return entries;
        }
        (place, port, wave) = (from, came_by, wave + 1);
    }
}
