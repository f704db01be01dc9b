//! New ways to one destination: the column of the tables that belongs to its LID.
//!
//! Three passes over the switches. Upwards, from the lowest: who has lost the way down takes another one down. Downwards,
//! from the highest: who cannot go down goes up to one that has a way. Who is left holds no adapters, or the repair is
//! impossible: it sends what management sends over a neighbour that has a way.

use rustc_hash::FxHashMap;

use super::network::{Home, MOST_HOPS, NONE, Network};
use super::patch::PatchEntry;
use super::waves::Waves;
use crate::tables::{NO_ROUTE, Tables};

/// One destination that is touched.
pub(super) struct Work {
    pub lid: u32,
    pub home: Home,
    /// The rows whose entries lead to a lost link or stand elsewhere than the engine put them.
    pub rows: Vec<u32>,
    /// Whether no adapter's packets come by the only one of them, where that is known.
    pub free: Option<bool>,
}

/// Who reaches the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Only the switches that were touched have other ways.
    Local,
    /// Every switch that was looked at.
    All,
    /// Some switches are not cabled to it.
    Some,
}

/// No way on keeps to the order.
pub(super) struct Stuck;

/// How a switch stands to the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// No way is known.
    None,
    /// Down all the way.
    Down,
    /// Up, then down.
    Up,
    /// Against the order, over a neighbour: for management alone.
    Around,
}

/// What there is for one switch.
enum Found {
    /// No way.
    None,
    /// Its entry leads there already.
    Stays,
    /// Its entry leads there, but not as the engine wanted it: that may come with another switch's way.
    Waits,
    /// Another port, in this wave.
    Port(u8, u32),
}

/// Memory to repair columns in, one after another.
pub(super) struct Column<'a> {
    pub(super) network: &'a Network,
    old: Vec<u8>,
    new: Vec<u8>,
    next: Vec<u32>,
    way: Vec<Way>,
    /// Rows that must look for a way down: they may have got one.
    look: Vec<bool>,
    waves: Waves,
}

impl<'a> Column<'a> {
    pub fn new(network: &'a Network) -> Self {
        let rows = network.rows();
        Self {
            network,
            old: vec![NO_ROUTE; rows],
            new: vec![NO_ROUTE; rows],
            next: vec![NONE; rows],
            way: vec![Way::None; rows],
            look: vec![false; rows],
            waves: Waves::new(rows),
        }
    }

    /// Adds to `entries` what changes for the destination.
    pub fn repair(
        &mut self,
        tables: &Tables,
        displaced: &FxHashMap<(u32, u32), u8>,
        work: &Work,
        entries: &mut Vec<PatchEntry>,
    ) -> Result<Reach, Stuck> {
        let local = work.rows.iter().all(|&row| self.is_local(tables, displaced, work, row));
        if local && self.repair_locally(tables, displaced, work, entries) {
            return Ok(Reach::Local);
        }
        self.repair_whole(tables, displaced, work, entries)
    }

    /// Whether a new way on from this switch is all that there is to find: its packets climbed and go on climbing, or only
    /// management's come by, so that nobody else's way has to change.
    fn is_local(
        &self,
        tables: &Tables,
        displaced: &FxHashMap<(u32, u32), u8>,
        work: &Work,
        row: u32,
    ) -> bool {
        if row == work.home.row {
            return false;
        }
        let port = tables.row_at(row as usize)[work.lid as usize];
        let wanted = displaced.get(&(row, work.lid)).copied().unwrap_or(port);
        let climbs = self.network.led_up(row, port) && self.network.led_up(row, wanted);
        climbs || self.is_free(tables, work, row)
    }

    /// Whether no adapter's packets for the destination come by a switch: then any way that arrives will do.
    fn is_free(&self, tables: &Tables, work: &Work, row: u32) -> bool {
        let network = self.network;
        if !work.home.adapter {
            return true;
        }
        if let Some(free) = work.free {
            return free;
        }
        if network.holders[row as usize] {
            return false;
        }
        let mut waiting = vec![row];
        while let Some(at) = waiting.pop() {
            for (_, peer) in network.links(at) {
                let port = tables.row_at(peer as usize)[work.lid as usize];
                if network.next(peer, port) != at || peer == work.home.row || peer == row {
                    continue;
                }
                if network.holders[peer as usize] {
                    return false;
                }
                waiting.push(peer);
                // Tables that run in a circle are not walked for ever.
                if waiting.len() > network.rows() {
                    return false;
                }
            }
        }
        true
    }

    /// Another way from each touched switch, one switch after the other; says whether all found one. Packets of adapters go
    /// on upwards; to a switch, where only management goes, any way will do that arrives.
    fn repair_locally(
        &mut self,
        tables: &Tables,
        displaced: &FxHashMap<(u32, u32), u8>,
        work: &Work,
        entries: &mut Vec<PatchEntry>,
    ) -> bool {
        let before = entries.len();
        let mut rows = work.rows.clone();
        rows.sort_by_key(|&row| std::cmp::Reverse(self.network.heights[row as usize]));
        // A switch may have to wait for another one's new way.
        while !rows.is_empty() {
            let left = rows.len();
            let mut stuck = false;
            rows.retain(|&row| {
                // Another row's detour leads by here: it has its way.
                if entries[before..].iter().any(|entry| entry.row == row) {
                    return false;
                }
                let wanted = displaced.get(&(row, work.lid)).copied();
                match self.find_way(tables, work, &entries[before..], row, wanted) {
                    Found::None => match self.detour(tables, work, &entries[before..], row) {
                        Some(detour) => {
                            entries.extend(detour);
                            false
                        }
                        None => {
                            stuck = true;
                            true
                        }
                    },
                    Found::Stays => false,
                    Found::Waits => true,
                    Found::Port(port, wave) => {
                        entries.push(PatchEntry { wave, row, lid: work.lid, port });
                        false
                    }
                }
            });
            if rows.len() == left {
                // Who only waits for what the engine wanted stays as it is.
                if stuck {
                    entries.truncate(before);
                }
                return !stuck;
            }
        }
        true
    }

    /// The way on from one switch, with what is `done` to this column: where the engine wanted it, else where it is, else
    /// over another link.
    fn find_way(
        &self,
        tables: &Tables,
        work: &Work,
        done: &[PatchEntry],
        row: u32,
        wanted: Option<u8>,
    ) -> Found {
        let network = self.network;
        let now = tables.row_at(row as usize)[work.lid as usize];
        let climbs = network.led_up(row, now) && wanted.is_none_or(|wanted| network.led_up(row, wanted));
        let free = !climbs || !work.home.adapter;
        let fits = |peer: u32| free || self.is_above(peer, row);
        let leads = |port: u8| {
            let peer = network.next(row, port);
            let wave =
                (peer != NONE && fits(peer)).then(|| self.follow(tables, work, done, (row, peer), !free));
            wave.flatten().map(|wave| (port, wave))
        };
        if let Some((port, wave)) = wanted.filter(|&wanted| wanted != now).and_then(leads) {
            return Found::Port(port, wave);
        }
        if leads(now).is_some() {
            return if wanted.is_none_or(|wanted| wanted == now) { Found::Stays } else { Found::Waits };
        }
        let found = self.links_in_turn(row, work.lid, !free).map(|(port, _)| port).find_map(leads);
        found.map_or(Found::None, |(port, wave)| Found::Port(port, wave))
    }

    /// A row's links, or those that lead up alone; the first differs from destination to destination and from row to row.
    pub(super) fn links_in_turn(&self, row: u32, lid: u32, up: bool) -> impl Iterator<Item = (u8, u32)> + '_ {
        let fitting =
            move || self.network.links(row).filter(move |&(_, peer)| !up || self.is_above(peer, row));
        let start = turn(lid, row) % fitting().count().max(1);
        fitting().skip(start).chain(fitting().take(start))
    }

    /// The first of them.
    pub(super) fn first_link(&self, row: u32, lid: u32, up: bool) -> Option<(u8, u32)> {
        self.links_in_turn(row, lid, up).next()
    }

    pub(super) fn is_above(&self, a: u32, b: u32) -> bool {
        self.network.heights[a as usize] > self.network.heights[b as usize]
    }

    /// Follows the tables, with what is `done` to this column, from a switch that `row` sends to; the wave after all changes on
    /// the way, or none where the way does not arrive, comes by `row` again, or goes against the order where it must keep to it.
    pub(super) fn follow(
        &self,
        tables: &Tables,
        work: &Work,
        done: &[PatchEntry],
        (row, from): (u32, u32),
        in_order: bool,
    ) -> Option<u32> {
        self.follow_on(tables, work, done, (row, from), in_order, false)
    }

    /// The same; where packets have come `down` to `from`, they must go on down to keep to the order.
    pub(super) fn follow_on(
        &self,
        tables: &Tables,
        work: &Work,
        done: &[PatchEntry],
        (row, from): (u32, u32),
        in_order: bool,
        mut down: bool,
    ) -> Option<u32> {
        let (mut at, mut wave) = (from, 0);
        for _ in 0..MOST_HOPS {
            if at == row {
                return None;
            }
            let change = done.iter().find(|entry| entry.row == at);
            wave = change.map_or(wave, |entry| wave.max(entry.wave + 1));
            let port =
                change.map_or_else(|| tables.row_at(at as usize)[work.lid as usize], |entry| entry.port);
            if at == work.home.row {
                return (port == work.home.port).then_some(wave);
            }
            let next = self.network.next(at, port);
            if next == NONE || (in_order && down && self.is_above(next, at)) {
                return None;
            }
            down = self.is_above(at, next);
            at = next;
        }
        None
    }

    fn repair_whole(
        &mut self,
        tables: &Tables,
        displaced: &FxHashMap<(u32, u32), u8>,
        work: &Work,
        entries: &mut Vec<PatchEntry>,
    ) -> Result<Reach, Stuck> {
        let network = self.network;
        for row in 0..network.rows() {
            let port = tables.row_at(row)[work.lid as usize];
            self.old[row] = port;
            self.next[row] = network.next(row as u32, port);
        }
        self.new.copy_from_slice(&self.old);
        self.way.fill(Way::None);
        self.look.fill(false);
        let home = work.home;
        self.way[home.row as usize] = Way::Down;
        self.set(home.row, home.port, NONE);
        for &row in &work.rows {
            self.look[row as usize] = true;
            let wanted = displaced.get(&(row, work.lid)).copied().unwrap_or(NO_ROUTE);
            let next = network.next(row, wanted);
            if row != home.row && next != NONE {
                self.set(row, wanted, next);
            }
        }
        self.go_down(work.lid);
        self.go_up(work.lid);
        let reach = self.go_around(work)?;
        self.waves.order(network, &self.old, &self.new, &self.next, &self.way, |row, port, wave| {
            entries.push(PatchEntry { wave, row, lid: work.lid, port });
        });
        Ok(reach)
    }

    /// Adds to `entries` what turns the column of `old` into that of `new`. Fails where packets of an adapter would go against
    /// the order in `new`.
    pub fn replace(
        &mut self,
        old: &Tables,
        new: &Tables,
        lid: u32,
        home: Option<Home>,
        entries: &mut Vec<PatchEntry>,
    ) -> Result<(), Stuck> {
        let network = self.network;
        for row in 0..network.rows() {
            self.old[row] = old.row_at(row)[lid as usize];
            let port = new.row_at(row)[lid as usize];
            self.set(row as u32, port, network.next(row as u32, port));
        }
        self.classify(home);
        if home.is_some_and(|home| home.adapter) && self.goes_around() {
            return Err(Stuck);
        }
        let mut last = 0;
        self.waves.order(network, &self.old, &self.new, &self.next, &self.way, |row, port, wave| {
            last = last.max(wave + 1);
            entries.push(PatchEntry { wave, row, lid, port });
        });
        // Entries that lead nowhere any more come when nobody's way needs them.
        for row in 0..network.rows() {
            if self.way[row] == Way::None && self.old[row] != self.new[row] {
                entries.push(PatchEntry { wave: last, row: row as u32, lid, port: self.new[row] });
            }
        }
        Ok(())
    }

    /// Whether adapters' packets for a LID keep to the order in any tables, as far as they get.
    pub fn keeps_order(&mut self, tables: &Tables, lid: u32, home: Home) -> bool {
        let network = self.network;
        if !home.adapter {
            return true;
        }
        for row in 0..network.rows() {
            let port = tables.row_at(row)[lid as usize];
            self.set(row as u32, port, network.next(row as u32, port));
        }
        // By every switch that adapters' packets reach: highest first it is known whether they come down to it.
        self.look.fill(false);
        let mut came_down = std::mem::take(&mut self.look);
        let mut sound = true;
        let mut carries: Vec<bool> = network.holders.clone();
        for &row in &network.ascending {
            self.pass_on(row, &mut carries, &mut came_down, true);
        }
        for &row in network.ascending.iter().rev() {
            sound &= self.pass_on(row, &mut carries, &mut came_down, false);
        }
        self.look = came_down;
        sound
    }

    /// Passes a switch's packets on, upwards or downwards; says whether none goes up that came down.
    fn pass_on(&self, row: u32, carries: &mut [bool], came_down: &mut [bool], upwards: bool) -> bool {
        let next = self.next[row as usize];
        if next == NONE || !carries[row as usize] {
            return true;
        }
        let up = self.is_above(next, row);
        if up == upwards {
            carries[next as usize] = true;
            came_down[next as usize] |= !up;
        }
        upwards || !up || !came_down[row as usize]
    }

    /// Finds out how every switch stands to the destination by the entries in `new`.
    fn classify(&mut self, home: Option<Home>) {
        let network = self.network;
        self.way.fill(Way::None);
        if let Some(home) = home.filter(|home| self.new[home.row as usize] == home.port) {
            self.way[home.row as usize] = Way::Down;
            self.next[home.row as usize] = NONE;
        }
        for &row in &network.ascending {
            let next = self.next[row as usize];
            if next != NONE && self.is_down(row, next) {
                self.way[row as usize] = Way::Down;
            }
        }
        for &row in network.ascending.iter().rev() {
            let next = self.next[row as usize];
            let waits = self.way[row as usize] == Way::None;
            if waits && next != NONE && self.is_above(next, row) && self.way[next as usize] != Way::None {
                self.way[row as usize] = Way::Up;
            }
        }
        let mut left: Vec<u32> =
            network.ascending.iter().copied().filter(|&row| self.way[row as usize] == Way::None).collect();
        loop {
            let before = left.len();
            left.retain(|&row| {
                let next = self.next[row as usize];
                let found = next != NONE && self.way[next as usize] != Way::None;
                if found {
                    self.way[row as usize] = Way::Around;
                }
                !found
            });
            if left.len() == before {
                break;
            }
        }
    }

    /// Whether an adapter's packets would go around, against the order.
    fn goes_around(&self) -> bool {
        let holders = self.network.holders.iter().zip(&self.way);
        holders.into_iter().any(|(&holder, &way)| holder && way == Way::Around)
    }

    fn set(&mut self, row: u32, port: u8, next: u32) {
        self.new[row as usize] = port;
        self.next[row as usize] = next;
    }

    /// From the lowest: who can go down does.
    fn go_down(&mut self, lid: u32) {
        let network = self.network;
        for &row in &network.ascending {
            let at = row as usize;
            if self.way[at] == Way::Down {
                self.look_above(row);
                continue;
            }
            // What the engine wanted, else what is there.
            let held = network.next(row, self.old[at]);
            for (port, next) in [(self.new[at], self.next[at]), (self.old[at], held)] {
                if self.way[at] == Way::None && next != NONE && self.is_down(row, next) {
                    self.set(row, port, next);
                    self.way[at] = Way::Down;
                }
            }
            let lost = held == NONE || self.is_above(row, held);
            if self.way[at] == Way::None && (self.look[at] || lost) {
                let found = self.choose(row, lid, |this, next| this.is_down(row, next));
                if let Some((port, next)) = found {
                    self.set(row, port, next);
                    self.way[at] = Way::Down;
                }
            }
            if self.way[at] == Way::Down && (held == NONE || !self.is_above(row, held)) {
                self.look_above(row);
            }
        }
    }

    /// Whether a row reaches the destination by going down to `next`.
    fn is_down(&self, row: u32, next: u32) -> bool {
        self.is_above(row, next) && self.way[next as usize] == Way::Down
    }

    /// A row has got a way down that it lacked: those above may have got one too.
    fn look_above(&mut self, row: u32) {
        let network = self.network;
        for (_, peer) in network.links(row) {
            if self.is_above(peer, row) {
                self.look[peer as usize] = true;
            }
        }
    }

    /// From the highest: who cannot go down goes up.
    fn go_up(&mut self, lid: u32) {
        let network = self.network;
        for &row in network.ascending.iter().rev() {
            let at = row as usize;
            if self.way[at] != Way::None {
                continue;
            }
            let held = network.next(row, self.old[at]);
            let fits = |this: &Self, next: u32| {
                next != NONE && this.is_above(next, row) && this.way[next as usize] != Way::None
            };
            let kept = [(self.new[at], self.next[at]), (self.old[at], held)];
            let kept = kept.into_iter().find(|&(_, next)| fits(self, next));
            if let Some((port, next)) = kept.or_else(|| self.choose(row, lid, fits)) {
                self.set(row, port, next);
                self.way[at] = Way::Up;
            }
        }
    }

    /// Who is left goes over a neighbour, the nearest to one with a way first.
    fn go_around(&mut self, work: &Work) -> Result<Reach, Stuck> {
        let network = self.network;
        let mut left: Vec<u32> =
            network.ascending.iter().copied().filter(|&row| self.way[row as usize] == Way::None).collect();
        let mut stuck = Vec::new();
        if work.home.adapter {
            stuck.extend(left.iter().copied().filter(|&row| network.holders[row as usize]));
        }
        while !left.is_empty() {
            let mut found = Vec::new();
            for &row in &left {
                let fits = |this: &Self, next: u32| next != NONE && this.way[next as usize] != Way::None;
                let at = row as usize;
                let held = network.next(row, self.old[at]);
                let kept = [(self.new[at], self.next[at]), (self.old[at], held)];
                let kept = kept.into_iter().find(|&(_, next)| fits(self, next));
                if let Some((port, next)) = kept.or_else(|| self.choose(row, work.lid, fits)) {
                    found.push((row, port, next));
                }
            }
            if found.is_empty() {
                break;
            }
            for (row, port, next) in found {
                self.set(row, port, next);
                self.way[row as usize] = Way::Around;
            }
            left.retain(|&row| self.way[row as usize] == Way::None);
        }
        let reach = if left.is_empty() { Reach::All } else { Reach::Some };
        for row in left {
            // Not cabled to the destination at all: the entry stays as it is.
            self.set(row, self.old[row as usize], NONE);
        }
        let breaks = |&row: &u32| self.way[row as usize] == Way::Around;
        if stuck.iter().any(breaks) { Err(Stuck) } else { Ok(reach) }
    }

    /// One of a row's links that `fits`: which, differs from destination to destination and from row to row.
    fn choose(&self, row: u32, lid: u32, fits: impl Fn(&Self, u32) -> bool) -> Option<(u8, u32)> {
        let fitting = || self.network.links(row).filter(|&(_, next)| fits(self, next));
        let count = fitting().count();
        fitting().nth(turn(lid, row) % count.max(1))
    }
}

/// Spreads what must go round: neighbouring destinations and neighbouring switches take different ways.
pub(super) fn turn(lid: u32, row: u32) -> usize {
    // Fibonacci hashing of both, so that no stride of LIDs or rows meets the number of links.
    let mixed = (u64::from(lid) << 32 | u64::from(row)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize
}
