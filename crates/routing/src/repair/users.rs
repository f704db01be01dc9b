//! Whether adapters' packets come by a switch, for many destinations at once.
//!
//! Packets of adapters climb and then descend. So those that come by a switch come from the switches below the switches
//! above it, and only these are asked, each for all destinations in one go: a table's row lies together in memory.

use rayon::prelude::*;

use super::column::Work;
use super::network::{MOST_HOPS, NONE, Network};
use crate::tables::Tables;

/// For fewer destinations than this a walk for each is quicker.
const FEW: usize = 4;
/// Rows that are asked at a time.
const ROWS: usize = 128;

/// Finds out, for works of one row that many have, whether no adapter's packets come by it.
pub(super) fn look_for_users(network: &Network, tables: &Tables, works: &mut [Work]) {
    let mut asked: Vec<(u32, usize)> = Vec::new();
    for (number, work) in works.iter().enumerate() {
        if let [row] = work.rows[..] {
            let climbs = network.led_up(row, tables.row_at(row as usize)[work.lid as usize]);
            if work.home.adapter && work.home.row != row && !climbs && !network.holders[row as usize] {
                asked.push((row, number));
            }
        }
    }
    asked.sort_unstable();
    for asked in asked.chunk_by(|a, b| a.0 == b.0).filter(|asked| asked.len() >= FEW) {
        let row = asked[0].0;
        let from = upstream(network, row);
        let is_upstream = |peer: u32| peer == row || from.is_in[peer as usize];
        let lids: Vec<(u32, u32)> =
            asked.iter().map(|&(_, number)| (works[number].lid, works[number].home.row)).collect();
        let users = from.holders.par_chunks(ROWS).map(|holders| {
            let mut used = vec![false; lids.len()];
            for &holder in holders {
                let entries = tables.row_at(holder as usize);
                for (used, &(lid, home)) in used.iter_mut().zip(&lids) {
                    let next = network.next(holder, entries[lid as usize]);
                    if !*used && next != NONE && is_upstream(next) {
                        *used = comes_by(network, tables, row, next, lid, home);
                    }
                }
            }
            used
        });
        let none = || vec![false; lids.len()];
        let used = users.reduce(none, |a, b| a.into_iter().zip(b).map(|(a, b)| a || b).collect());
        for (&(_, number), used) in asked.iter().zip(used) {
            works[number].free = Some(!used);
        }
    }
}

/// Rows whose packets may come by another one.
struct Upstream {
    is_in: Vec<bool>,
    /// Those with adapters.
    holders: Vec<u32>,
}

/// Who may come by a row in order: those above it, and all below them.
fn upstream(network: &Network, row: u32) -> Upstream {
    let mut is_in = vec![false; network.rows()];
    let above = |a: u32, b: u32| network.heights[a as usize] > network.heights[b as usize];
    let mut spread = |found: &mut Vec<u32>, up: bool| {
        let mut at = 0;
        while let Some(&from) = found.get(at) {
            at += 1;
            for (_, peer) in network.links(from).filter(|&(_, peer)| above(peer, from) == up) {
                if !std::mem::replace(&mut is_in[peer as usize], true) {
                    found.push(peer);
                }
            }
        }
    };
    let mut found = vec![row];
    spread(&mut found, true);
    spread(&mut found, false);
    let holders = found.into_iter().filter(|&row| network.holders[row as usize]).collect();
    Upstream { is_in, holders }
}

/// Whether packets for a LID that are at `at` come by `row` before they leave the switches.
fn comes_by(network: &Network, tables: &Tables, row: u32, mut at: u32, lid: u32, home: u32) -> bool {
    for _ in 0..MOST_HOPS {
        if at == row {
            return true;
        }
        let next = network.next(at, tables.row_at(at as usize)[lid as usize]);
        if at == home || next == NONE {
            return false;
        }
        at = next;
    }
    // In a circle: whoever looks closely finds what to do.
    true
}
