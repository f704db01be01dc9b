//! The usual case of a repair, for many destinations side by side: one switch has lost its link up, and the first other
//! link serves.
//!
//! Every step of a way waits for memory, so that ways are followed a step each in turn. What fails here is looked at
//! closely, one destination after another, and comes to the same where it need not have failed.

use rustc_hash::FxHashMap;

use super::column::{Column, Work};
use super::network::{MOST_HOPS, NONE};
use crate::tables::Tables;

/// A way that is tried.
struct Try {
    /// Which work it is for.
    work: usize,
    row: u32,
    lid: usize,
    home: (u32, u8),
    in_order: bool,
    at: u32,
    came_down: bool,
}

impl Column<'_> {
    /// For each work the port that will do, where the usual case is all that there is to it.
    pub fn try_first(
        &self,
        tables: &Tables,
        displaced: &FxHashMap<(u32, u32), u8>,
        works: &[Work],
    ) -> Vec<Option<u8>> {
        let mut found = vec![None; works.len()];
        let mut tries: Vec<Try> = Vec::with_capacity(works.len());
        for (number, work) in works.iter().enumerate() {
            let &[row] = &work.rows[..] else { continue };
            let now = tables.row_at(row as usize)[work.lid as usize];
            let usual = row != work.home.row
                && self.network.led_up(row, now)
                && !self.network.serves(row, now)
                && !displaced.contains_key(&(row, work.lid));
            if !usual {
                continue;
            }
            let in_order = work.home.adapter;
            if let Some((port, peer)) = self.first_link(row, work.lid, in_order) {
                found[number] = Some(port);
                tries.push(Try {
                    work: number,
                    row,
                    lid: work.lid as usize,
                    home: (work.home.row, work.home.port),
                    in_order,
                    at: peer,
                    came_down: false,
                });
            }
        }
        for _ in 0..MOST_HOPS {
            tries.retain_mut(|way| {
                let port = tables.row_at(way.at as usize)[way.lid];
                let next = self.network.next(way.at, port);
                if way.at == way.home.0 {
                    if port != way.home.1 {
                        found[way.work] = None;
                    }
                    return false;
                }
                let up = next != NONE && self.is_above(next, way.at);
                if next == NONE || next == way.row || way.in_order && way.came_down && up {
                    found[way.work] = None;
                    return false;
                }
                way.came_down = !up;
                way.at = next;
                true
            });
        }
        tries.iter().for_each(|way| found[way.work] = None);
        found
    }
}
