//! Repairs tables whose paths take several virtual lanes.
//!
//! A new way will do where what its packets wait for, lane by lane as the switches on it have them, closes no circle with all
//! else that waits: all paths between adapters as they are, as they are going to be, and as they may be in between. That is
//! known from an order of all channels that every waiting follows ([`channels`]); it is kept as entries change.
//!
//! Hosts know the service level of each path, and bear it until they ask again. So a pair keeps its level wherever some way
//! suits it. Where none does, it moves to one that suits: the pair had no way, so that nothing that works is touched, and
//! its hosts are told to ask again, as they are when an engine gives all pairs new levels. What switches make of levels
//! never changes, and no repair takes a lane more. Where nothing suits, all is the engine's work.
//!
//! Links that the engine did not know have no lanes yet: they are the engine's work too.

mod channels;
mod column;
mod log;
mod proof;

use fabric::Fabric;
use rustc_hash::FxHashSet;

use super::NeedsEngine;
use super::column::Work;
use super::network::{NONE, Network};
use super::patch::{Patch, PatchLevel};
use crate::lanes::Lanes;
use crate::tables::{NO_ROUTE, Tables};
use channels::Channels;
use column::{Column, Ground};
use log::Log;

/// Waitings that searches for circles may look at in one repair: bounds its time to about a second.
const LOOKS: u64 = 50_000_000;

/// What is kept of lanes from repair to repair.
pub(super) struct LaneKeeper {
    channels: Channels,
    log: Log,
}

impl LaneKeeper {
    /// None where lanes and ports are too many to count what waits for what.
    pub fn new(fabric: &Fabric, tables: &Tables, lanes: &Lanes, network: &Network) -> Option<Self> {
        Some(Self { channels: Channels::new(fabric, tables, lanes, network)?, log: Log::default() })
    }

    /// The last repair is written to the end.
    pub fn settle(&mut self) {
        self.log.settle(&mut self.channels);
    }

    /// What earlier repairs left undone counts as it stands.
    pub fn reconcile(&mut self, tables: &Tables) -> Result<(), NeedsEngine> {
        if self.log.reconcile(&mut self.channels, tables) {
            return Ok(());
        }
        Err(NeedsEngine { why: "what is written waits in a circle".to_owned() })
    }

    /// Fails where a port that came back leads elsewhere than the engine knew.
    pub fn knows(&self, network: &Network, back: &[(u32, u8)]) -> Result<(), NeedsEngine> {
        let known = |&(row, port): &(u32, u8)| self.channels.led_to(row, port) == network.next(row, port);
        if back.iter().all(known) {
            return Ok(());
        }
        Err(NeedsEngine { why: "a link is new, and no lanes are given to it".to_owned() })
    }

    /// The entries that give every switch a way again to all that it is cabled to, on the lanes that there are. `wanted`: the
    /// port that the engine chose for a row and LID, where it stands elsewhere.
    pub fn repair(
        &mut self,
        fabric: &Fabric,
        tables: &Tables,
        network: &Network,
        works: &[Work],
        wanted: impl Fn(u32, u32) -> Option<u8>,
    ) -> Result<Patch, NeedsEngine> {
        self.channels.allow(LOOKS);
        let parts = parts(network);
        let mut ground = Ground {
            network,
            tables,
            channels: &mut self.channels,
            log: &mut self.log,
            refused: FxHashSet::default(),
            parts: &parts,
            levels: Vec::new(),
        };
        let mut entries = Vec::new();
        for work in works {
            let held = tables.row_at(work.home.row as usize)[work.lid as usize];
            if held != work.home.port
                && (held == NO_ROUTE || network.last_led_to(work.home.row, held) != NONE)
            {
                return Err(NeedsEngine {
                    why: format!("LID {} is at another switch than before", work.lid),
                });
            }
            let wanted: Vec<(u32, u8)> = work
                .rows
                .iter()
                .filter_map(|&row| Some((row, wanted(row, work.lid)?)))
                .filter(|&(row, port)| row != work.home.row && network.serves(row, port))
                .collect();
            let mended = Column::new(&mut ground, work).mend(&wanted, &mut entries) || {
                // What was refused while other ways were tried may fit by now.
                ground.refused.clear();
                Column::new(&mut ground, work).mend(&wanted, &mut entries)
            };
            if !mended {
                let name = |row: u32| fabric.name(tables.switches()[row as usize]);
                let why = format!(
                    "no way on from {} to LID {} closes no circle on any of the lanes",
                    work.rows.first().map_or("a switch", |&row| name(row)),
                    work.lid
                );
                return Err(NeedsEngine { why });
            }
        }
        let levels = ground.levels;
        for &PatchLevel { row, lid, level } in &levels {
            self.channels.lanes.set_service_level(row as usize, lid, level);
        }
        Ok(Patch::with_levels(entries, levels))
    }

    /// Proves the lanes of the repair that was found last.
    pub fn prove(&self, fabric: &Fabric, tables: &Tables, patch: &Patch) -> Result<(), NeedsEngine> {
        proof::prove(fabric, tables, patch.entries(), &self.channels, &self.log)
    }
}

/// For every row the first of those that it is cabled to.
fn parts(network: &Network) -> Vec<u32> {
    let mut parts = vec![NONE; network.rows()];
    for first in 0..network.rows() as u32 {
        if parts[first as usize] != NONE {
            continue;
        }
        parts[first as usize] = first;
        let mut met = vec![first];
        while let Some(row) = met.pop() {
            for (_, peer) in network.links(row) {
                if std::mem::replace(&mut parts[peer as usize], first) == NONE {
                    met.push(peer);
                }
            }
        }
    }
    parts
}
