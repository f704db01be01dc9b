//! Repairs tables after a change of the cabling: only the entries that it touched, proven by themselves, in an order of
//! writing that never closes a loop.
//!
//! It rests on the order that the paths climb by ([`Routes::heights`]): every path between adapters goes to higher
//! switches first, then to lower ones, and a switch that reaches a destination by going down alone always does.
//! Whatever keeps to it cannot close a credit loop with anything else that does. So a repair is made destination by
//! destination, without a look at the rest: [`column`] finds new ways that keep to the order, [`waves`] says what has to
//! be written before what, [`check`] walks every changed path by itself.
//!
//! Where no way keeps to the order although there is a cable, or too much would change, [`NeedsEngine`] says so:
//! then the engine computes all anew.
//!
//! Tables on several lanes have no such order. There [`lanes`] keeps account of which lane of which link waits for which.
//!
//! Entries that a repair moved away from the port that the engine chose are remembered, and go back as soon as that port
//! serves again: after a link has come back, tables are what they were.

mod check;
mod column;
mod detour;
mod fresh;
mod lanes;
mod network;
mod patch;
mod transition;
mod tries;
mod users;
mod waves;

use std::sync::atomic::{AtomicBool, Ordering};

use fabric::{Fabric, NodeId};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::islands;
use crate::routes::Routes;
use crate::tables::{NO_ROUTE, Tables, lids_of};
use column::{Column, Reach, Stuck, Work};
use lanes::LaneKeeper;
use network::Network;
pub use patch::{Patch, PatchEntry, PatchLevel};
pub use transition::{Old, transition};

/// Entries that a repair looks at before the engine is the quicker way: about a second's work.
const MOST_LOOKS: usize = 200_000_000;

/// Destinations that are looked at side by side.
const ABREAST: usize = 32;

/// The repair cannot keep to the order, or would be slower than the engine: compute all anew.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a repair will not do: {why}")]
pub struct NeedsEngine {
    /// What stands in the way.
    pub why: String,
}

/// What is kept from repair to repair.
pub struct Repairer {
    network: Network,
    /// What waits for what, where paths take several lanes.
    lanes: Option<LaneKeeper>,
    /// The port that the engine chose, for each row and LID that a repair has moved away from it.
    displaced: FxHashMap<(u32, u32), u8>,
    /// Ports, by row, whose links went since the last repair was written.
    lost: Vec<(u32, u8)>,
    /// Ports, by row, whose links went earlier: entries of switches that were cut off may still lead there.
    gone: Vec<(u32, u8)>,
    /// LIDs that some switch was not cabled to when they were last looked at: looked at again when something comes back.
    cut: FxHashSet<u32>,
    /// LIDs that every switch reaches once the repair at hand is written.
    mended: Vec<u32>,
    /// Ports, by row, that serve again but are not used yet.
    back: Vec<(u32, u8)>,
    /// LIDs whose ports are cabled to another switch, or another port of it, than entries say.
    moved: Vec<u32>,
    /// Rows of switches that are new, or were away when the engine chose: their entries are still to be found.
    fresh: Vec<u32>,
    /// Whether an adapter has come back.
    hosts_back: bool,
    /// Why no repair will do from now on.
    beyond: Option<String>,
}

impl Repairer {
    /// Takes the cabling and the order of `routes` as they are, where there is an order or paths take several lanes.
    pub fn new(fabric: &Fabric, routes: &Routes) -> Option<Self> {
        let several = routes.lanes.count() > 1;
        // Lanes keep to no order of switches: any will do.
        let any = || (0..routes.tables.switches().len() as u32).collect();
        let heights = routes.heights.clone().filter(|_| !several).or_else(|| several.then(any))?;
        if heights.len() != routes.tables.switches().len() {
            return None;
        }
        let apart = islands::islands(fabric);
        let first = fabric.switches().next();
        let together =
            fabric.switches().all(|switch| first.is_some_and(|first| apart.together(first, switch)));
        let lids = fabric.end_ports().flat_map(|port| lids_of(fabric, port));
        let rows = routes.tables.switches().iter().enumerate();
        let fresh =
            rows.filter(|&(_, &switch)| routes.tables.top_lid(switch) == 0).map(|(row, _)| row as u32);
        let network = Network::new(fabric, &routes.tables, &heights);
        let lanes = match several {
            true => Some(LaneKeeper::new(fabric, &routes.tables, &routes.lanes, &network)?),
            false => None,
        };
        Some(Self {
            network,
            lanes,
            displaced: FxHashMap::default(),
            lost: Vec::new(),
            gone: Vec::new(),
            cut: lids.filter(|_| !together).collect(),
            mended: Vec::new(),
            hosts_back: false,
            beyond: None,
            back: Vec::new(),
            moved: Vec::new(),
            fresh: fresh.collect(),
        })
    }

    /// Whether paths take several lanes: then switches that are new, or came back without their lanes, are the engine's work.
    pub fn has_lanes(&self) -> bool {
        self.lanes.is_some()
    }

    /// How many entries stand elsewhere than where the engine put them.
    pub fn displaced(&self) -> usize {
        self.displaced.len()
    }

    /// Links between each row's switch and the nearest of `starts`, over the cabling as the last repair saw it; `u32::MAX`
    /// where none is reached.
    pub fn distances(&self, starts: impl IntoIterator<Item = usize>) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.network.rows()];
        let mut met: Vec<u32> = Vec::with_capacity(distance.len());
        for start in starts {
            if std::mem::replace(&mut distance[start], 0) != 0 {
                met.push(start as u32);
            }
        }
        let mut at = 0;
        while let Some(&row) = met.get(at) {
            at += 1;
            let beyond = distance[row as usize] + 1;
            for (_, peer) in self.network.links(row) {
                if distance[peer as usize] == u32::MAX {
                    distance[peer as usize] = beyond;
                    met.push(peer);
                }
            }
        }
        distance
    }

    /// What to change in `tables` now that the cabling at the switches `changed` is as `fabric` says. `tables` are
    /// what the switches hold; what an earlier repair left undone is part of this one.
    pub fn repair(
        &mut self,
        fabric: &Fabric,
        tables: &Tables,
        changed: &[NodeId],
    ) -> Result<Patch, NeedsEngine> {
        for &node in changed {
            if let Some(row) = tables.row_index(node) {
                let holder = self.network.holders[row];
                let (lost, back, hosts_back) = self.network.refresh(fabric, tables, row);
                self.hosts_back |= hosts_back;
                let fresh = self.fresh.contains(&(row as u32));
                if self.network.holders[row] && !holder && !fresh {
                    self.beyond = Some(format!("{} has its first adapter", fabric.name(node)));
                }
                self.lost.extend(lost);
                self.back.extend(back);
                if fresh {
                    self.network.take_own(fabric, node);
                    let own = fabric.port(node, 0).into_iter().flat_map(|port| lids_of(fabric, port));
                    self.moved.extend(own.filter(|&lid| tables.get(node, lid) != 0));
                }
                match self.network.moved_to(fabric, tables, row) {
                    Ok(moved) => self.moved.extend(moved),
                    Err(needs) => self.beyond = Some(needs.why),
                }
            }
        }
        if let Some(why) = &self.beyond {
            return Err(NeedsEngine { why: why.clone() });
        }
        let network = &self.network;
        // A port that came back after it was lost, or was lost again, counts as it is now.
        self.lost.retain(|&(row, port)| !network.serves(row, port));
        self.gone.retain(|&(row, port)| !network.serves(row, port));
        self.back.retain(|&(row, port)| network.serves(row, port));
        let (mut works, mut cut) = self.works(fabric, tables);
        if self.lanes.is_some() {
            return self.repair_on_lanes(fabric, tables, &works);
        }
        let looks: usize =
            works.iter().map(|work| if self.may_be_whole(tables, work) { network.rows() } else { 16 }).sum();
        if looks > MOST_LOOKS {
            return Err(NeedsEngine { why: format!("{} destinations would be looked at anew", works.len()) });
        }
        users::look_for_users(network, tables, &mut works);
        let stuck = AtomicBool::new(false);
        let found: Vec<(Vec<PatchEntry>, Vec<u32>, Vec<u32>)> = works
            .par_chunks(ABREAST)
            .map_init(
                || Column::new(network),
                |column, works| {
                    let (mut entries, mut cut, mut mended) = (Vec::new(), Vec::new(), Vec::new());
                    let tried = column.try_first(tables, &self.displaced, works);
                    for (work, tried) in works.iter().zip(tried) {
                        if let Some(port) = tried {
                            entries.push(PatchEntry { wave: 0, row: work.rows[0], lid: work.lid, port });
                            continue;
                        }
                        if stuck.load(Ordering::Relaxed) {
                            break;
                        }
                        match column.repair(tables, &self.displaced, work, &mut entries) {
                            Ok(Reach::Local) => {}
                            Ok(Reach::All) => mended.push(work.lid),
                            Ok(Reach::Some) => cut.push(work.lid),
                            Err(Stuck) => stuck.store(true, Ordering::Relaxed),
                        }
                    }
                    (entries, cut, mended)
                },
            )
            .collect();
        if stuck.into_inner() {
            return Err(NeedsEngine {
                why: "some adapters are cabled together, but no path between them keeps to the order"
                    .to_owned(),
            });
        }
        let (mut entries, mut all_mended) = (Vec::new(), Vec::new());
        for (more, unreached, mended) in found {
            entries.extend(more);
            cut.extend(unreached);
            all_mended.extend(mended);
        }
        if !self.fresh.is_empty() {
            let (filled, away) = self.fill_fresh(fabric, tables, &entries)?;
            entries.extend(filled);
            cut.extend(away);
        }
        let patch = Patch::new(entries);
        check::check(fabric, tables, network, &patch, true)?;
        self.mended = all_mended;
        self.cut.extend(cut);
        Ok(patch)
    }

    /// The same where paths take several lanes.
    fn repair_on_lanes(
        &mut self,
        fabric: &Fabric,
        tables: &Tables,
        works: &[Work],
    ) -> Result<Patch, NeedsEngine> {
        let Some(keeper) = &mut self.lanes else { return Ok(Patch::default()) };
        if !self.fresh.is_empty() {
            return Err(NeedsEngine { why: "a new switch has no lanes yet".to_owned() });
        }
        keeper.knows(&self.network, &self.back)?;
        keeper.reconcile(tables)?;
        let displaced = &self.displaced;
        let wanted = |row, lid| displaced.get(&(row, lid)).copied();
        let patch = keeper.repair(fabric, tables, &self.network, works, wanted)?;
        let proven = keeper.prove(fabric, tables, &patch);
        let proven = proven.and_then(|()| check::check(fabric, tables, &self.network, &patch, false));
        if let Err(needs) = &proven {
            // What was found is not what is there.
            self.beyond = Some(needs.why.clone());
        }
        proven.map(|()| patch)
    }

    /// Everything of `patch` that is in `tables` now was written: remembers what stands elsewhere than the engine put
    /// it. Call it before `tables` change.
    pub fn displace(&mut self, tables: &Tables, entries: &[PatchEntry]) {
        for entry in entries {
            let before = tables.row_at(entry.row as usize)[entry.lid as usize];
            // What had no way before was not chosen by the engine.
            if before == NO_ROUTE {
                continue;
            }
            let wanted = *self.displaced.entry((entry.row, entry.lid)).or_insert(before);
            if wanted == entry.port {
                self.displaced.remove(&(entry.row, entry.lid));
            }
        }
    }

    /// The last repair is written to the end.
    pub fn settle(&mut self) {
        if let Some(keeper) = &mut self.lanes {
            keeper.settle();
        }
        self.gone.append(&mut self.lost);
        self.back.clear();
        self.hosts_back = false;
        self.moved.clear();
        // One without a cable has no ways yet.
        let network = &self.network;
        self.fresh.retain(|&row| !network.is_cabled(row));
        for lid in self.mended.drain(..) {
            self.cut.remove(&lid);
        }
    }

    /// Which destinations are touched, and where; and LIDs that nothing is cabled to.
    fn works(&self, fabric: &Fabric, tables: &Tables) -> (Vec<Work>, Vec<u32>) {
        let network = &self.network;
        let mut touched: Vec<(u32, u32)> = Vec::new();
        let again = self.hosts_back || !self.back.is_empty();
        let gone: &[(u32, u8)] = if again { &self.gone } else { &[] };
        for &(row, port) in self.lost.iter().chain(gone).filter(|&&(row, _)| network.is_cabled(row)) {
            let entries = tables.row_at(row as usize).iter().enumerate();
            touched.extend(entries.filter(|&(_, &entry)| entry == port).map(|(lid, _)| (lid as u32, row)));
        }
        // Ports by row that serve again: few, so that a look through them is quicker than any map.
        if !self.back.is_empty() {
            let again =
                self.displaced.iter().filter(|&(&(row, _), &wanted)| self.back.contains(&(row, wanted)));
            touched.extend(again.map(|(&(row, lid), _)| (lid, row)));
        }
        let mut away = Vec::new();
        let cut = self.cut.iter().filter(|_| again);
        for &lid in self.moved.iter().chain(cut) {
            match network.home(fabric, tables, lid) {
                Some(home) => touched.push((lid, home.row)),
                None => away.push(lid),
            }
        }
        touched.sort_unstable();
        touched.dedup();
        if !self.displaced.is_empty() {
            // Whatever stands elsewhere than it should in a column that is looked at may go back.
            let lids: FxHashSet<u32> = touched.iter().map(|&(lid, _)| lid).collect();
            let others = self.displaced.keys().filter(|(_, lid)| lids.contains(lid));
            touched.extend(others.map(|&(row, lid)| (lid, row)));
            touched.sort_unstable();
            touched.dedup();
        }
        let mut cut = away;
        let works = touched
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|touched| {
                let lid = touched[0].0;
                let Some(home) = network.home(fabric, tables, lid) else {
                    cut.push(lid);
                    return None;
                };
                let rows: Vec<u32> = touched.iter().map(|&(_, row)| row).collect();
                Some(Work { lid, home, rows, free: None })
            })
            .collect();
        (works, cut)
    }

    /// Whether every switch may have to be looked at for a destination.
    fn may_be_whole(&self, tables: &Tables, work: &Work) -> bool {
        let up = |&row: &u32| self.network.led_up(row, tables.row_at(row as usize)[work.lid as usize]);
        work.home.adapter && !work.rows.iter().all(up)
    }
}
