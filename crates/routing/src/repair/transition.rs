//! From one set of tables to another that climbs by the same order, without breaking a pair that works.

use fabric::Fabric;
use rayon::prelude::*;

use super::column::{Column, Stuck};
use super::network::Network;
use super::patch::{Patch, PatchEntry};
use crate::tables::Tables;

/// More changes than this are not put in order: memory would grow beyond that of the tables.
const MOST_CHANGES: usize = 50_000_000;

/// What is known of the tables that a transition begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Old {
    /// Their paths climb by the same order as the new ones.
    InOrder,
    /// They may do whatever they like: where they do not keep to the order, there is no transition.
    Unknown,
}

/// What to write, in waves, to turn `old` into `new`, where both have the same switches and LIDs and their paths climb by the
/// same `heights`. None where they have not, or too much differs, or as soon as `stop` says that nobody wants it any more.
pub fn transition(
    fabric: &Fabric,
    heights: &[u32],
    old: &Tables,
    new: &Tables,
    known: Old,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Patch> {
    if old.switches() != new.switches() || old.width() != new.width() || heights.len() != new.switches().len()
    {
        return None;
    }
    let mut differs = vec![0u32; new.width()];
    for row in 0..heights.len() {
        if stop() {
            return None;
        }
        for ((differs, old), new) in differs.iter_mut().zip(old.row_at(row)).zip(new.row_at(row)) {
            *differs += u32::from(old != new);
        }
    }
    if differs.iter().map(|&rows| rows as usize).sum::<usize>() > MOST_CHANGES {
        return None;
    }
    let network = Network::new(fabric, new, heights);
    if known == Old::Unknown {
        let homes = (0..new.width() as u32).map(|lid| (lid, network.home(fabric, new, lid)));
        let homes: Vec<_> = homes.filter_map(|(lid, home)| Some((lid, home?))).collect();
        let wrong = homes.par_chunks(64).any(|homes| {
            let mut column = Column::new(&network);
            homes.iter().any(|&(lid, home)| !column.keeps_order(old, lid, home))
        });
        if wrong {
            return None;
        }
    }
    let lids: Vec<u32> = (0..new.width() as u32).filter(|&lid| differs[lid as usize] > 0).collect();
    let entries: Result<Vec<Vec<PatchEntry>>, Stuck> = lids
        .par_chunks(16)
        .map_init(
            || Column::new(&network),
            |column, lids| {
                let mut entries = Vec::new();
                for &lid in lids {
                    if stop() {
                        return Err(Stuck);
                    }
                    let home = network.home(fabric, new, lid);
                    column.replace(old, new, lid, home, &mut entries)?;
                }
                Ok(entries)
            },
        )
        .collect();
    Some(Patch::new(entries.ok()?.into_iter().flatten().collect()))
}
