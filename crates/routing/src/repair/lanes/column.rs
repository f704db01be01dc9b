//! New ways to one destination on several lanes.
//!
//! Step by step: each step is one entry that changes, and before it is taken, all paths that it moves must fit among the waitings.
//! Steps are written in waves such that every state on the way is one that was looked at: a switch whose way is lost gets a new
//! one only after all that must not follow it there have been led elsewhere.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::channels::{Channels, Waiting};
use super::log::Log;
use crate::repair::column::{Work, turn};
use crate::repair::network::{MOST_HOPS, NONE, Network};
use crate::repair::patch::{PatchEntry, PatchLevel};
use crate::tables::Tables;

/// Ways on from a switch that are tried with others led elsewhere.
const MOST_DETACHED: usize = 8;
/// Detours that are tried from one switch.
const MOST_DETOURS: usize = 64;

/// What steps are taken on.
pub(super) struct Ground<'a> {
    pub network: &'a Network,
    pub tables: &'a Tables,
    pub channels: &'a mut Channels,
    pub log: &'a mut Log,
    /// Waitings that closed a circle, or took too long to look at, in this repair.
    pub refused: FxHashSet<(u32, u32)>,
    /// By row, the part of the fabric that it is in.
    pub parts: &'a [u32],
    /// Paths that get another service level.
    pub levels: Vec<PatchLevel>,
}

/// One destination at hand.
pub(super) struct Column<'a, 'b> {
    ground: &'b mut Ground<'a>,
    work: &'b Work,
    /// Entries that change, in the order in which they were found.
    steps: Vec<PatchEntry>,
    /// The first wave that what comes next may be in.
    wave: u32,
    /// What was counted for the steps, and for which paths: source row, service level, and the end of its waitings. Of several
    /// of one source the last is where its path ends up.
    taken: Vec<Waiting>,
    moved: Vec<Moved>,
}

#[derive(Clone, Copy)]
struct Moved {
    source: u32,
    level: u8,
    end: usize,
}

/// How much may be changed to make a path fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effort {
    /// Nothing: it fits as channels stand.
    None,
    /// The order of channels.
    Order,
    /// The service level of the path.
    Level,
}

/// How far steps have come.
#[derive(Clone, Copy)]
struct Mark {
    steps: usize,
    taken: usize,
    moved: usize,
    wave: u32,
}

/// A neighbour whose way arrives.
#[derive(Clone, Copy)]
struct Way {
    port: u8,
    hops: u32,
    /// The first wave after all changes on it.
    wave: u32,
}

impl<'a, 'b> Column<'a, 'b> {
    pub fn new(ground: &'b mut Ground<'a>, work: &'b Work) -> Self {
        Self { ground, work, steps: Vec::new(), wave: 0, taken: Vec::new(), moved: Vec::new() }
    }

    /// Adds to `entries` what changes: rows of `wanted` go back to their ports, where that fits, and rows without a way get
    /// one. Changes nothing and says no where some row gets none.
    pub fn mend(mut self, wanted: &[(u32, u8)], entries: &mut Vec<PatchEntry>) -> bool {
        let start = self.mark();
        let home = self.work.home;
        if self.entry(home.row) != home.port {
            self.steps.push(PatchEntry { wave: 0, row: home.row, lid: self.work.lid, port: home.port });
        }
        self.put_back(wanted);
        if !self.attach_all() {
            self.undo(start);
            return false;
        }
        self.keep();
        entries.append(&mut self.steps);
        true
    }

    fn mark(&self) -> Mark {
        Mark { steps: self.steps.len(), taken: self.taken.len(), moved: self.moved.len(), wave: self.wave }
    }

    fn undo(&mut self, mark: Mark) {
        self.steps.truncate(mark.steps);
        self.moved.truncate(mark.moved);
        self.wave = mark.wave;
        while self.taken.len() > mark.taken {
            if let Some(waiting) = self.taken.pop() {
                self.ground.channels.release(waiting);
            }
        }
    }

    /// Notes for every path that was moved what it waits for in the end and what before.
    fn keep(&mut self) {
        let lid = self.work.lid;
        let mut met = FxHashSet::default();
        let mut end = self.taken.len();
        for place in (0..self.moved.len()).rev() {
            let Moved { source, level, .. } = self.moved[place];
            let start = if place == 0 { 0 } else { self.moved[place - 1].end };
            let waitings = &self.taken[start..end];
            end = start;
            if !met.insert(source) {
                self.ground.log.before.extend_from_slice(waitings);
                continue;
            }
            self.ground.log.last.extend_from_slice(waitings);
            self.ground.log.pairs.push((source, lid));
            if level != self.ground.channels.lanes.service_level(source as usize, lid) {
                self.ground.levels.push(PatchLevel { row: source, lid, level });
            }
            let (tables, log) = (self.ground.tables, &mut self.ground.log.before);
            let held = |row: u32| tables.row_at(row as usize)[lid as usize];
            self.ground.channels.trace(source, lid, held, |waiting| log.push(waiting));
        }
    }

    fn entry(&self, row: u32) -> u8 {
        let step = self.steps.iter().rev().find(|step| step.row == row);
        step.map_or_else(|| self.ground.tables.row_at(row as usize)[self.work.lid as usize], |step| step.port)
    }

    /// Whether a row's entry leads to a link that is lost.
    fn is_dead(&self, row: u32) -> bool {
        row != self.work.home.row && self.ground.network.next(row, self.entry(row)) == NONE
    }

    /// Follows the entries from a row that `from` sends to: how it arrives, where it does without coming by `from`.
    fn follow(&self, from: u32, port: u8) -> Option<Way> {
        let network = self.ground.network;
        let mut at = network.next(from, port);
        let (mut hops, mut wave) = (1, self.wave);
        for _ in 0..MOST_HOPS {
            if at == from || at == NONE {
                return None;
            }
            if let Some(step) = self.steps.iter().rev().find(|step| step.row == at) {
                wave = wave.max(step.wave + 1);
            }
            let out = self.entry(at);
            if at == self.work.home.row {
                return (out == self.work.home.port).then_some(Way { port, hops, wave });
            }
            at = network.next(at, out);
            hops += 1;
        }
        None
    }

    /// The ways on from a row, the shortest first; of equal ones which comes first differs from destination to destination.
    fn ways(&self, row: u32) -> Vec<Way> {
        let links = self.ground.network.links(row);
        let mut ways: Vec<Way> = links.filter_map(|(port, _)| self.follow(row, port)).collect();
        let count = ways.len().max(1);
        ways.rotate_left(turn(self.work.lid, row) % count);
        ways.sort_by_key(|way| way.hops);
        ways
    }

    /// A row and all whose entries lead to it, the nearest first.
    fn users(&self, row: u32) -> Vec<u32> {
        let mut users = vec![row];
        let mut at = 0;
        while let Some(&to) = users.get(at) {
            at += 1;
            for (peer, port) in self.ground.channels.around(to) {
                // Paths meet nobody twice; what does not arrive may run in a circle.
                if peer != self.work.home.row && self.entry(peer) == port && !users.contains(&peer) {
                    users.push(peer);
                }
            }
        }
        users
    }

    /// Takes the path from a row's adapters as the entries are; changes nothing and says no where it does not fit.
    fn take(&mut self, source: u32, effort: Effort) -> bool {
        let known = self.moved.iter().rev().find(|moved| moved.source == source).map(|moved| moved.level);
        let lanes = &self.ground.channels.lanes;
        let own = known.unwrap_or_else(|| lanes.service_level(source as usize, self.work.lid));
        let levels = lanes.levels();
        if self.take_on(source, own, self.steps.len(), effort) {
            return true;
        }
        effort == Effort::Level && (0..levels).any(|level| level != own && self.move_to(source, level))
    }

    /// Takes the path on another service level: that is in force from the beginning, so it must fit at every step.
    fn move_to(&mut self, source: u32, level: u8) -> bool {
        let mark = self.mark();
        let fits = (0..=self.steps.len()).all(|step| self.take_on(source, level, step, Effort::Level));
        if !fits {
            self.undo(mark);
        }
        fits
    }

    /// Takes the path on a service level with the first `steps` taken.
    fn take_on(&mut self, source: u32, level: u8, steps: usize, effort: Effort) -> bool {
        let mark = self.taken.len();
        let mut waitings = Vec::new();
        let (lid, steps) = (self.work.lid, &self.steps[..steps]);
        let ground = &mut *self.ground;
        let tables = ground.tables;
        let entry = |row: u32| {
            let step = steps.iter().rev().find(|step| step.row == row);
            step.map_or_else(|| tables.row_at(row as usize)[lid as usize], |step| step.port)
        };
        ground.channels.trace_on(source, level, entry, |waiting| waitings.push(waiting));
        for waiting in waitings {
            let known = ground.channels.is_in_order(waiting);
            let edge = (waiting.from, waiting.to);
            let may = known || effort > Effort::None && !ground.refused.contains(&edge);
            if may && ground.channels.take(waiting) {
                self.taken.push(waiting);
                continue;
            }
            if may {
                ground.refused.insert(edge);
            }
            for waiting in self.taken.drain(mark..).rev() {
                ground.channels.release(waiting);
            }
            return false;
        }
        self.moved.push(Moved { source, level, end: self.taken.len() });
        true
    }

    /// Whether packets from the row's adapters for the destination must fit.
    fn counts(&self, row: u32) -> bool {
        self.work.home.adapter && row != self.work.home.row && self.ground.network.holders[row as usize]
    }

    /// Turns one entry, if all that come by fit on their new way; else changes nothing and gives those that do not, the first
    /// alone unless `all` are asked for.
    fn step(&mut self, row: u32, way: Way, users: &[u32], effort: Effort, all: bool) -> Result<(), Vec<u32>> {
        let mark = self.mark();
        self.steps.push(PatchEntry { wave: way.wave, row, lid: self.work.lid, port: way.port });
        let mut misfits = Vec::new();
        for &user in users.iter().filter(|&&user| self.counts(user)).collect::<Vec<_>>() {
            if !self.take(user, effort) {
                misfits.push(user);
                if !all {
                    break;
                }
            }
        }
        if misfits.is_empty() {
            return Ok(());
        }
        self.undo(mark);
        Err(misfits)
    }

    /// Puts rows back to the ports that they were at, each when all behind it is: until one does not fit.
    fn put_back(&mut self, wanted: &[(u32, u8)]) {
        let mut left: Vec<(u32, u8)> =
            wanted.iter().copied().filter(|&(row, port)| self.entry(row) != port).collect();
        while !left.is_empty() {
            let next = left.iter().position(|&(row, port)| {
                let way = self.follow(row, port);
                way.is_some() && !self.comes_by(row, port, &left)
            });
            let Some((row, port)) = next.map(|place| left.swap_remove(place)) else { return };
            let Some(way) = self.follow(row, port) else { return };
            let users = self.users(row);
            // What works keeps its level.
            let effort = if self.is_dead(row) { Effort::Level } else { Effort::Order };
            if self.step(row, way, &users, effort, false).is_err() {
                return;
            }
            self.wave = self.last_wave() + 1;
        }
    }

    /// Whether the way from a row over a port comes by one of some others.
    fn comes_by(&self, row: u32, port: u8, others: &[(u32, u8)]) -> bool {
        let mut at = self.ground.network.next(row, port);
        for _ in 0..MOST_HOPS {
            if at == NONE || at == self.work.home.row {
                return false;
            }
            if others.iter().any(|&(other, _)| other == at) {
                return true;
            }
            at = self.ground.network.next(at, self.entry(at));
        }
        true
    }

    fn last_wave(&self) -> u32 {
        self.steps.iter().map(|step| step.wave).max().unwrap_or(0)
    }

    /// Finds a way for each row that has none; who has to wait for another one's comes later.
    fn attach_all(&mut self) -> bool {
        let here = self.ground.parts[self.work.home.row as usize];
        let rows = self.work.rows.iter().copied();
        let mut dead: Vec<u32> =
            rows.filter(|&row| self.ground.parts[row as usize] == here && self.is_dead(row)).collect();
        // Whom most come by is hardest to place: it has the first choice.
        dead.sort_by_key(|&row| Reverse(self.users(row).len()));
        while !dead.is_empty() {
            let before = dead.len();
            let mut left = Vec::new();
            for row in dead {
                if self.is_dead(row) && !self.attach(row) {
                    left.push(row);
                }
            }
            if left.len() == before {
                return false;
            }
            dead = left;
        }
        true
    }

    /// Finds a way for one row: straight over a neighbour; with some of those that come by led elsewhere; both with other
    /// service levels; over a neighbour that has lost its way as well and finds another one.
    fn attach(&mut self, row: u32) -> bool {
        let (users, ways) = (self.users(row), self.ways(row));
        let straight = |this: &mut Self, effort: Effort| {
            ways.iter().any(|&way| this.step(row, way, &users, effort, false).is_ok())
        };
        let detached = |this: &mut Self, effort: Effort| {
            ways.iter().take(MOST_DETACHED).any(|&way| this.attach_without(row, way, &users, effort))
        };
        straight(self, Effort::None)
            || straight(self, Effort::Order)
            || detached(self, Effort::Order)
            || straight(self, Effort::Level)
            || detached(self, Effort::Level)
            || self.attach_beyond(row)
    }

    /// Leads those elsewhere that do not fit on a way, the farthest first, then takes it.
    fn attach_without(&mut self, row: u32, way: Way, users: &[u32], effort: Effort) -> bool {
        let Err(misfits) = self.step(row, way, users, effort, true) else { return true };
        if misfits.contains(&row) {
            return false;
        }
        let mark = self.mark();
        for &misfit in misfits.iter().rev() {
            if !self.step_aside(misfit, effort) {
                self.undo(mark);
                return false;
            }
        }
        let users = self.users(row);
        let way = Way { wave: way.wave.max(self.wave), ..way };
        if self.step(row, way, &users, effort, false).is_err() {
            self.undo(mark);
            return false;
        }
        self.wave = self.last_wave() + 1;
        true
    }

    /// Takes the first way on from a row on which all that come by fit.
    fn step_aside(&mut self, row: u32, most: Effort) -> bool {
        let (users, ways) = (self.users(row), self.ways(row));
        let found = [Effort::Order, Effort::Level]
            .into_iter()
            .filter(|&effort| effort <= most)
            .any(|effort| ways.iter().any(|&way| self.step(row, way, &users, effort, false).is_ok()));
        self.wave = self.last_wave() + 1;
        found
    }

    /// Goes over others that have no way either to one that has a neighbour with a way.
    fn attach_beyond(&mut self, row: u32) -> bool {
        let mut seen = FxHashSet::from_iter([row]);
        // Rows without a way, each with whom it was found from, as a place in this list, and the port there.
        let mut found: Vec<(u32, usize, u8)> = vec![(row, 0, 0)];
        let (mut waiting, mut tries) = (VecDeque::from([0]), 0);
        while let Some(place) = waiting.pop_front() {
            let at = found[place].0;
            if place > 0 {
                let mark = self.mark();
                if self.step_aside(at, Effort::Level) && self.chain(&found, place) {
                    return true;
                }
                self.undo(mark);
                tries += 1;
                if tries == MOST_DETOURS {
                    return false;
                }
            }
            let links: Vec<(u8, u32)> = self.ground.network.links(at).collect();
            for (port, peer) in links {
                if peer != self.work.home.row && seen.insert(peer) && self.follow(at, port).is_none() {
                    found.push((peer, place, port));
                    waiting.push_back(found.len() - 1);
                }
            }
        }
        false
    }

    /// Turns each row from the last one's finder back to the first towards the one found from it.
    fn chain(&mut self, found: &[(u32, usize, u8)], mut place: usize) -> bool {
        while place > 0 {
            let (_, from, port) = found[place];
            let row = found[from].0;
            let users = self.users(row);
            let Some(way) = self.follow(row, port) else { return false };
            if self.step(row, way, &users, Effort::Level, false).is_err() {
                return false;
            }
            self.wave = self.last_wave() + 1;
            place = from;
        }
        true
    }
}
