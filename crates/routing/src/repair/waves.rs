//! What must be written before what, in one column.
//!
//! An entry may be written when the whole new way behind it stands; and one that led down and now leads up only when
//! nobody above sends down to it any more. Then every mixture of old and new entries on the way keeps to the order: a
//! packet that has come down meets only entries that lead down. So there is never a forwarding loop, nor a credit loop,
//! and a pair that works keeps working: its packets follow old entries, all of which work, until they meet a new one,
//! behind which the way is whole.
//!
//! Entries that go around, against the order, come last: when no packet of an adapter meets them any more. One of them that
//! led down to a switch that now leads up drops packets from the beginning until then: they did not arrive anyway.

use super::column::Way;
use super::network::{NONE, Network};
use crate::tables::NO_ROUTE;

const UNCHANGED: u32 = u32::MAX;

/// Whether a row led down to the end until now, or to where a link was lost: adapters' packets may come by it.
fn came_down(network: &Network, old: &[u8], row: u32) -> bool {
    let mut at = row;
    loop {
        let port = old[at as usize];
        if network.led_up(at, port) {
            return false;
        }
        match network.next(at, port) {
            NONE => return true,
            next => at = next,
        }
    }
}

pub(super) struct Waves {
    /// The first wave that an entry which uses this row may be in.
    after: Vec<u32>,
    /// The first wave that the row's entry may be in, for the sake of those above.
    least: Vec<u32>,
}

impl Waves {
    pub fn new(rows: usize) -> Self {
        Self { after: vec![UNCHANGED; rows], least: vec![0; rows] }
    }

    /// Calls `give` with row, new port and wave of each entry that changes.
    pub fn order(
        &mut self,
        network: &Network,
        old: &[u8],
        new: &[u8],
        next: &[u32],
        way: &[Way],
        mut give: impl FnMut(u32, u8, u32),
    ) {
        self.after.fill(UNCHANGED);
        self.least.fill(0);
        for &row in network.ascending.iter().filter(|&&row| way[row as usize] == Way::Around) {
            let before = network.next(row, old[row as usize]);
            let led_down = before != NONE && network.heights[before as usize] < network.heights[row as usize];
            let turns = || way[before as usize] == Way::Up && !network.led_up(before, old[before as usize]);
            if led_down && turns() && came_down(network, old, row) {
                give(row, NO_ROUTE, 0);
                (self.least[before as usize], self.least[row as usize]) = (1, 1);
            }
        }
        let up = network.ascending.iter().filter(|&&row| way[row as usize] == Way::Down);
        let down = network.ascending.iter().rev().filter(|&&row| way[row as usize] == Way::Up);
        let mut last = 0;
        // Each row comes after the one that it leads to.
        for &row in up.chain(down) {
            let at = row as usize;
            let behind = if next[at] == NONE { 0 } else { self.after[next[at] as usize] };
            debug_assert_ne!(behind, UNCHANGED);
            if old[at] == new[at] {
                self.after[at] = behind;
                continue;
            }
            let wave = behind.max(self.least[at]);
            self.after[at] = wave + 1;
            last = last.max(wave + 1);
            give(row, new[at], wave);
            // Who was below on the way until now must wait where it turns upwards.
            let before = network.next(row, old[at]);
            if before != NONE && network.heights[before as usize] < network.heights[at] {
                let least = &mut self.least[before as usize];
                *least = (*least).max(wave + 1);
            }
        }
        let mut around: Vec<u32> =
            network.ascending.iter().copied().filter(|&row| way[row as usize] == Way::Around).collect();
        while !around.is_empty() {
            let before = around.len();
            around.retain(|&row| {
                let at = row as usize;
                let behind = self.after[next[at] as usize];
                if behind == UNCHANGED {
                    return true;
                }
                self.after[at] = behind;
                if old[at] != new[at] || self.least[at] > 0 {
                    let wave = behind.max(last).max(self.least[at]);
                    self.after[at] = wave + 1;
                    give(row, new[at], wave);
                }
                false
            });
            debug_assert!(around.len() < before);
            if around.len() == before {
                break;
            }
        }
    }
}
