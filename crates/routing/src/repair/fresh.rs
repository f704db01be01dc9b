//! Switches that are new: rows of the tables that have no entries yet.
//!
//! A new switch with adapters stands below all others in the order, one without above them: either way no path between
//! the others has to change for it. What others send to it and to its adapters is a repair like any other; what is here finds
//! the ways from it.

use std::cmp::Reverse;

use fabric::{Fabric, NodeId};
use rayon::prelude::*;

use super::column::{Column, Stuck, Work};
use super::patch::PatchEntry;
use super::{ABREAST, NeedsEngine, Repairer};
use crate::tables::{NO_ROUTE, Tables};

/// Entries found, and LIDs that some row has no way to.
type Filled = (Vec<PatchEntry>, Vec<u32>);

impl Repairer {
    /// Takes in the switches that `tables` have more than before, and new LIDs: nothing is cabled to them yet. `low` are
    /// those that adapters are going to be cabled to. The order that the paths climb by from now on.
    pub fn grow(&mut self, fabric: &Fabric, tables: &Tables, low: &[NodeId]) -> Vec<u32> {
        let known = self.network.rows();
        self.network.grow(fabric, tables, low);
        self.fresh.extend(known as u32..self.network.rows() as u32);
        self.network.heights.clone()
    }

    /// The entries of new switches, for whatever LID they have none and `done` has none for them; and LIDs that they are not
    /// cabled to now.
    pub(super) fn fill_fresh(
        &self,
        fabric: &Fabric,
        tables: &Tables,
        done: &[PatchEntry],
    ) -> Result<Filled, NeedsEngine> {
        let network = &self.network;
        let mut done = done.to_vec();
        // Of an entry that changes twice, the last wave counts.
        done.sort_unstable_by_key(|entry| (entry.lid, Reverse(entry.wave)));
        let mut rows: Vec<u32> = self.fresh.iter().copied().filter(|&row| network.is_cabled(row)).collect();
        rows.sort_by_key(|&row| Reverse(network.heights[row as usize]));
        let lids: Vec<u32> = (0..tables.width() as u32).collect();
        let filled: Result<Vec<Filled>, Stuck> = lids
            .par_chunks(ABREAST)
            .map_init(
                || Column::new(network),
                |column, lids| {
                    let (mut entries, mut away) = (Vec::new(), Vec::new());
                    for &lid in lids {
                        let Some(home) = network.home(fabric, tables, lid) else {
                            away.extend(network.is_owned(lid).then_some(lid));
                            continue;
                        };
                        let first = done.partition_point(|entry| entry.lid < lid);
                        let count = done[first..].partition_point(|entry| entry.lid == lid);
                        let done = &done[first..first + count];
                        let lacks = |&row: &u32| {
                            row != home.row
                                && tables.row_at(row as usize)[lid as usize] == NO_ROUTE
                                && done.iter().all(|entry| entry.row != row)
                        };
                        let rows = rows.iter().copied().filter(lacks).collect();
                        let work = Work { lid, home, rows, free: None };
                        if !column.fill(tables, &work, done, &mut entries)? {
                            away.push(lid);
                        }
                    }
                    Ok((entries, away))
                },
            )
            .collect();
        let stuck = |_| NeedsEngine { why: "no path from a new switch keeps to the order".to_owned() };
        let (entries, away): (Vec<_>, Vec<_>) = filled.map_err(stuck)?.into_iter().unzip();
        Ok((entries.concat(), away.concat()))
    }
}

impl Column<'_> {
    /// Finds an entry for each of the destination's rows, none of which has one; the highest come first. Says whether all
    /// have one.
    fn fill(
        &self,
        tables: &Tables,
        work: &Work,
        done: &[PatchEntry],
        entries: &mut Vec<PatchEntry>,
    ) -> Result<bool, Stuck> {
        let mut known = done.to_vec();
        let mut left = work.rows.clone();
        loop {
            let before = left.len();
            left.retain(|&row| {
                let Some((port, wave)) = self.first_way(tables, work, &known, row) else { return true };
                let entry = PatchEntry { wave, row, lid: work.lid, port };
                known.push(entry);
                entries.push(entry);
                false
            });
            if left.is_empty() || left.len() == before {
                break;
            }
        }
        let lost = |&row: &u32| work.home.adapter && self.network.holders[row as usize];
        if left.iter().any(lost) { Err(Stuck) } else { Ok(left.is_empty()) }
    }

    /// A way from a switch that has none: down all the way, else up; where nobody's packets have to keep to the order, over
    /// any neighbour.
    fn first_way(&self, tables: &Tables, work: &Work, known: &[PatchEntry], row: u32) -> Option<(u8, u32)> {
        let keeps = work.home.adapter;
        let over = |down: bool, in_order: bool| {
            let mut links = self.links_in_turn(row, work.lid, false);
            links.find_map(|(port, peer)| {
                if in_order && self.is_above(peer, row) == down {
                    return None;
                }
                let wave = self.follow_on(tables, work, known, (row, peer), in_order, down)?;
                Some((port, wave))
            })
        };
        let free = || if keeps && self.network.holders[row as usize] { None } else { over(false, false) };
        if keeps { over(true, true).or_else(|| over(false, true)).or_else(free) } else { free() }
    }
}
