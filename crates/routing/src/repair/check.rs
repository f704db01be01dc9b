//! Walks every way that a repair has changed: by the cabling itself, not by what the repair believes of it.
//!
//! Each step of a walk waits for memory: a table's row is long, and the next one is elsewhere. So walks for destinations of which
//! little changes go side by side, each a step in turn; where much changes for one destination, what was walked once is
//! remembered.

use std::cmp::Reverse;

use fabric::{Fabric, NodeId};
use rayon::prelude::*;

use super::NeedsEngine;
use super::network::{MOST_HOPS, Network};
use super::patch::{Patch, PatchEntry};
use crate::tables::{Tables, lids_of};

/// Columns with more changes than this are walked with a memory.
const FEW: usize = 4;
/// Walks that go side by side.
const ABREAST: usize = 32;

/// Fails where a changed entry does not lead to the port that holds its LID, or where an adapter's packets would go up
/// after they came down and there is an `order` to keep to.
pub(super) fn check(
    fabric: &Fabric,
    tables: &Tables,
    network: &Network,
    patch: &Patch,
    order: bool,
) -> Result<(), NeedsEngine> {
    let mut entries: Vec<PatchEntry> = patch.entries().to_vec();
    entries.sort_unstable_by_key(|entry| (entry.lid, entry.row, Reverse(entry.wave)));
    // An entry that changes twice ends as the last wave says.
    entries.dedup_by_key(|entry| (entry.lid, entry.row));
    let ground = Ground { fabric, tables, network, order };
    let (small, large): (Vec<&[PatchEntry]>, Vec<&[PatchEntry]>) =
        entries.chunk_by(|a, b| a.lid == b.lid).partition(|column| column.len() <= FEW);
    let few: Vec<(&[PatchEntry], PatchEntry)> =
        small.into_iter().flat_map(|column| column.iter().map(move |&entry| (column, entry))).collect();
    let wrong = few.par_chunks(ABREAST).find_map_first(|walks| ground.walk_abreast(walks)).or_else(|| {
        let memory = || Memory { known: vec![(0, End::default()); network.rows()], column: 0 };
        let wrong = large.par_iter().map_init(memory, |memory, column| ground.walk_all(memory, column));
        wrong.find_map_first(|wrong| wrong)
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

/// What walks go over.
struct Ground<'a> {
    fabric: &'a Fabric,
    tables: &'a Tables,
    network: &'a Network,
    /// Whether adapters' packets have to keep to the order of switches.
    order: bool,
}

/// How packets from a switch end that arrive.
#[derive(Clone, Copy, Default)]
struct End {
    /// Whether they never go up after they came down.
    in_order: bool,
    /// Whether their first step is up.
    climbs: bool,
    /// Whether an adapter has the LID.
    adapter: bool,
}

/// One step of a walk.
enum Step {
    /// On to a switch by its row; whether that is up.
    On(usize, bool),
    /// It is there; whether an adapter has the LID.
    Arrived(bool),
    Lost,
}

/// How packets end by row, as far as it is known for one column.
struct Memory {
    known: Vec<(u32, End)>,
    /// Which column it is known for.
    column: u32,
}

impl Ground<'_> {
    /// The step from a switch, with what changes for the column's LID.
    fn step(&self, column: &[PatchEntry], at: usize) -> Step {
        let lid = column[0].lid;
        let port = match column.binary_search_by_key(&(at as u32), |entry| entry.row) {
            Ok(place) => column[place].port,
            Err(_) => self.tables.row_at(at)[lid as usize],
        };
        let node: NodeId = self.tables.switches()[at];
        let Some(door) = self.fabric.port(node, port) else { return Step::Lost };
        let end = if port == 0 { door } else { self.fabric.peer(door).unwrap_or(door) };
        let beyond = self.fabric.node_of(end);
        if (port == 0 || !self.fabric.is_switch(beyond)) && lids_of(self.fabric, end).contains(&lid) {
            return Step::Arrived(port != 0);
        }
        match self.tables.row_index(beyond).filter(|&next| next != at) {
            Some(next) => Step::On(next, self.network.heights[next] > self.network.heights[at]),
            None => Step::Lost,
        }
    }

    /// The first of these walks that does not arrive, or goes against the order where it may be an adapter's.
    fn walk_abreast(&self, walks: &[(&[PatchEntry], PatchEntry)]) -> Option<PatchEntry> {
        // Where each is, whether it came down, whether it kept to the order.
        let mut under_way: Vec<_> =
            walks.iter().map(|(column, entry)| (*column, *entry, entry.row as usize, false, true)).collect();
        for _ in 0..MOST_HOPS {
            let mut wrong = None;
            under_way.retain_mut(|(column, entry, at, came_down, in_order)| match self.step(column, *at) {
                Step::On(next, up) => {
                    *in_order &= !(up && *came_down);
                    *came_down = !up;
                    *at = next;
                    true
                }
                Step::Arrived(adapter) => {
                    if self.order && adapter && !*in_order && self.network.holders[entry.row as usize] {
                        wrong.get_or_insert(*entry);
                    }
                    false
                }
                Step::Lost => {
                    wrong.get_or_insert(*entry);
                    false
                }
            });
            if wrong.is_some() || under_way.is_empty() {
                return wrong;
            }
        }
        under_way.first().map(|&(_, entry, ..)| entry)
    }

    /// The same for all of one column.
    fn walk_all(&self, memory: &mut Memory, column: &[PatchEntry]) -> Option<PatchEntry> {
        memory.column += 1;
        let mut way: Vec<(usize, bool)> = Vec::new();
        column.iter().copied().find(|entry| {
            way.clear();
            let mut at = entry.row as usize;
            let mut end = loop {
                let (column_known, end) = memory.known[at];
                if column_known == memory.column {
                    break end;
                }
                match self.step(column, at) {
                    Step::On(next, up) if way.len() < MOST_HOPS => {
                        way.push((at, up));
                        at = next;
                    }
                    Step::Arrived(adapter) => break End { in_order: true, climbs: false, adapter },
                    Step::On(..) | Step::Lost => return true,
                }
            };
            for &(row, up) in way.iter().rev() {
                end = End { in_order: end.in_order && (up || !end.climbs), climbs: up, ..end };
                memory.known[row] = (memory.column, end);
            }
            self.order && end.adapter && !end.in_order && self.network.holders[entry.row as usize]
        })
    }
}
