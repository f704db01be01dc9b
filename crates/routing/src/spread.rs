//! Which of the allowed links each destination takes.
//!
//! Destinations are numbered along the tree, and each rank decides by its own digit of the number (d-mod-k: Zahavi,
//! 2010). All switches of a rank then send one destination the same way, so that in a full tree every link down
//! carries one destination alone and any shift of all hosts meets no contention. Where a link is missing, its
//! destinations go round the others.

use fabric::Fabric;
use rayon::prelude::*;

use crate::paths::{Candidates, NO_PATH, Paths, distinct_peers, parts};
use crate::ranks;
use crate::switches::{SwitchLink, Switches};
use crate::tables::{NO_ROUTE, Tables};

/// Tables over `paths`, with switches' ranks deciding by digits. Pairs of switches without a path, of which no host's
/// traffic needs any, are joined over a neighbour that has one, for management alone.
pub fn spread(fabric: &Fabric, switches: &Switches, paths: &Paths, rank: &[u32]) -> Tables {
    let numbering = Numbering::new(switches, rank);
    let strides = ranks::strides(switches, rank);
    let detours = Detours::find(switches, paths);
    Tables::filled(fabric, switches.top_lid(), |row, _, entries| {
        entries.fill(NO_ROUTE);
        let stride = strides[rank[row] as usize];
        Row::new(switches, paths, rank, row, stride).fill(&numbering, &detours, entries);
    })
}

/// The number of each destination, by which switches decide.
struct Numbering {
    /// Switches with destinations, in the order of the numbers.
    order: Vec<u32>,
    /// The number of the first host on each switch: those on one switch are consecutive.
    first: Vec<u32>,
}

impl Numbering {
    fn new(switches: &Switches, rank: &[u32]) -> Self {
        let order = ranks::tree_order(switches, rank);
        let mut first = vec![0; switches.len()];
        let mut number = 0;
        for &switch in &order {
            first[switch as usize] = number;
            number += switches.destinations(switch as usize).iter().filter(|to| to.host).count() as u32;
        }
        Self { order, first }
    }
}

/// One switch's row in the making.
struct Row<'a> {
    switches: &'a Switches,
    paths: &'a Paths,
    switch: usize,
    /// The links: those down by switch and port, then those up by round: the first link to every switch above, the
    /// second, and so on.
    links: Vec<SwitchLink>,
    /// How many of them lead down.
    down: usize,
    /// What the links up would be were none missing: the place in `links`, or none.
    wanted: Vec<Option<u8>>,
    stride: u32,
}

impl<'a> Row<'a> {
    fn new(switches: &'a Switches, paths: &'a Paths, rank: &[u32], switch: usize, stride: u32) -> Self {
        let (mut up, mut links): (Vec<SwitchLink>, Vec<SwitchLink>) =
            switches.links(switch).iter().partition(|link| rank[link.peer as usize] > rank[switch]);
        links.sort_by_key(|link| (link.peer, link.port));
        let down = links.len();
        up.sort_by_key(|link| (link.peer, link.port));
        let up = rounds(&up);
        let wanted = wanted_links(switches, rank, switch, &up, down);
        links.extend(up.iter().map(|&(_, link)| link));
        Self { switches, paths, switch, links, down, wanted, stride }
    }

    fn fill(&self, numbering: &Numbering, detours: &Detours, entries: &mut [u8]) {
        let peers: Vec<u32> = self.links.iter().map(|link| link.peer).collect();
        let mut candidates = Candidates::default();
        self.paths.candidates(self.switch, &peers, &mut candidates);
        let up = self.links.len() - self.down;
        let whole = self.wanted.len() == up;
        let mut allowed = Vec::new();
        for (turn, &target) in numbering.order.iter().enumerate() {
            let target = target as usize;
            if target == self.switch {
                self.fill_own(entries);
                continue;
            }
            let first = numbering.first[target];
            let (count, low) = (usize::from(candidates.count[target]), usize::from(candidates.first[target]));
            let in_a_row = count > 0 && usize::from(candidates.last[target]) - low + 1 == count;
            if count == 1 {
                self.fill_one(target, self.links[low].port, entries);
            } else if in_a_row && (low < self.down || (whole && count == up)) {
                self.fill_round(target, first, turn, &self.links[low..low + count], entries);
            } else if count > 0 {
                self.gather_allowed(target, &mut allowed);
                self.fill_some(target, first, turn, &allowed, entries);
            } else if let Some(port) = detours.next(self.switches, self.paths, self.switch, target, turn) {
                self.fill_one(target, port, entries);
            }
        }
    }

    fn fill_own(&self, entries: &mut [u8]) {
        for destination in self.switches.destinations(self.switch) {
            entries[destination.lids.start as usize..destination.lids.end as usize].fill(destination.port);
        }
    }

    fn fill_one(&self, target: usize, port: u8, entries: &mut [u8]) {
        for destination in self.switches.destinations(target) {
            entries[destination.lids.start as usize..destination.lids.end as usize].fill(port);
        }
    }

    /// All of `links` in turn, by this rank's digit of the number.
    fn fill_round(&self, target: usize, first: u32, turn: usize, links: &[SwitchLink], entries: &mut [u8]) {
        let mut digit = Digit::new(first, self.stride, links.len());
        let mut other = turn;
        for destination in self.switches.destinations(target) {
            let place = if destination.host { digit.take() } else { next_other(&mut other, links.len()) };
            let mut place = place;
            for lid in destination.lids.clone() {
                entries[lid as usize] = links[place].port;
                place = if place + 1 == links.len() { 0 } else { place + 1 };
            }
        }
    }

    fn gather_allowed(&self, target: usize, allowed: &mut Vec<u8>) {
        let cost = self.paths.row(self.switch)[target];
        allowed.clear();
        allowed.extend((0..self.links.len() as u8).filter(|&place| {
            let peer = self.links[usize::from(place)].peer as usize;
            self.paths.allows(self.switch, cost, peer, self.paths.row(peer)[target])
        }));
    }

    /// The link that would serve were none missing, where it is allowed; else the allowed ones in turn.
    fn fill_some(&self, target: usize, first: u32, turn: usize, allowed: &[u8], entries: &mut [u8]) {
        let mut number = first;
        let mut other = turn;
        for destination in self.switches.destinations(target) {
            let place = if destination.host {
                let digit = (number / self.stride) as usize;
                number += 1;
                self.preferred(digit, allowed)
            } else {
                next_other(&mut other, allowed.len())
            };
            for (step, lid) in destination.lids.clone().enumerate() {
                let place = allowed[(place + step) % allowed.len()];
                entries[lid as usize] = self.links[usize::from(place)].port;
            }
        }
    }

    /// The place in `allowed` for a digit.
    fn preferred(&self, digit: usize, allowed: &[u8]) -> usize {
        if self.wanted.is_empty() {
            return digit % allowed.len();
        }
        let wanted = self.wanted[digit % self.wanted.len()];
        wanted
            .and_then(|wanted| allowed.binary_search(&wanted).ok())
            .unwrap_or((digit / self.wanted.len()) % allowed.len())
    }
}

/// Links up in rounds, each with its round.
fn rounds(up: &[SwitchLink]) -> Vec<(u32, SwitchLink)> {
    let mut rounds: Vec<(u32, SwitchLink)> = Vec::with_capacity(up.len());
    for (place, &link) in up.iter().enumerate() {
        let again = place > 0 && up[place - 1].peer == link.peer;
        let round = if again { rounds[place - 1].0 + 1 } else { 0 };
        rounds.push((round, link));
    }
    rounds.sort_by_key(|&(round, link)| (round, link.peer, link.port));
    rounds
}

/// Which links up a switch would have were it like the switches beside it (those below the same ones): its own, and
/// gaps where it lacks one of theirs.
fn wanted_links(
    switches: &Switches,
    rank: &[u32],
    switch: usize,
    up: &[(u32, SwitchLink)],
    down: usize,
) -> Vec<Option<u8>> {
    let own = |place: usize| Some((down + place) as u8);
    let mut wanted: Vec<(u32, u32)> = up.iter().map(|&(round, link)| (round, link.peer)).collect();
    let beside = distinct_peers(switches, switch)
        .filter(|&peer| rank[peer] > rank[switch])
        .flat_map(|parent| distinct_peers(switches, parent))
        .filter(|&peer| rank[peer] == rank[switch]);
    let width = |switch: usize| {
        switches.links(switch).iter().filter(|link| rank[link.peer as usize] > rank[switch]).count()
    };
    let mut last = usize::MAX;
    for other in beside {
        if other == switch || other == last || width(other) <= up.len() {
            continue;
        }
        last = other;
        let mut theirs: Vec<SwitchLink> = switches
            .links(other)
            .iter()
            .filter(|link| rank[link.peer as usize] > rank[other])
            .copied()
            .collect();
        theirs.sort_by_key(|link| (link.peer, link.port));
        wanted.extend(rounds(&theirs).iter().map(|&(round, link)| (round, link.peer)));
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.len() > 2 * up.len() {
            // Not alike at all.
            return (0..up.len()).map(own).collect();
        }
    }
    let place = |entry: &(u32, u32)| up.iter().position(|&(round, link)| (round, link.peer) == *entry);
    wanted.iter().map(|entry| place(entry).and_then(own)).collect()
}

fn next_other(turn: &mut usize, choices: usize) -> usize {
    let place = *turn % choices;
    *turn += 1;
    place
}

/// Counts `number / stride mod base` for consecutive numbers without dividing.
struct Digit {
    rest: u32,
    stride: u32,
    place: usize,
    base: usize,
}

impl Digit {
    fn new(number: u32, stride: u32, base: usize) -> Self {
        Self { rest: number % stride, stride, place: (number / stride) as usize % base, base }
    }

    #[inline]
    fn take(&mut self) -> usize {
        let place = self.place;
        self.rest += 1;
        if self.rest == self.stride {
            self.rest = 0;
            self.place = if place + 1 == self.base { 0 } else { place + 1 };
        }
        place
    }
}

/// Ways on for pairs of switches without an allowed path.
struct Detours {
    /// (switch, target, port) for switches none of whose neighbours has a path either, sorted.
    far: Vec<(u32, u32, u8)>,
}

impl Detours {
    fn find(switches: &Switches, paths: &Paths) -> Self {
        if !paths.is_up_down() {
            return Self { far: Vec::new() };
        }
        let part = parts(switches);
        let count = switches.len();
        let mut targets: Vec<u32> = (0..count)
            .into_par_iter()
            .flat_map_iter(|switch| {
                let mut best = paths.row(switch).to_vec();
                for peer in distinct_peers(switches, switch) {
                    best.iter_mut().zip(paths.row(peer)).for_each(|(best, &cost)| *best = (*best).min(cost));
                }
                let part = &part;
                let stuck =
                    move |&(target, cost): &(usize, u8)| cost == NO_PATH && part[target] == part[switch];
                best.into_iter().enumerate().filter(stuck).map(|(target, _)| target as u32)
            })
            .collect();
        targets.par_sort_unstable();
        targets.dedup();
        let mut far: Vec<(u32, u32, u8)> =
            targets.par_iter().flat_map_iter(|&target| detours_to(switches, paths, target)).collect();
        far.par_sort_unstable();
        Self { far }
    }

    /// The port towards a neighbour that has a path, or is nearer to one that has.
    fn next(
        &self,
        switches: &Switches,
        paths: &Paths,
        switch: usize,
        target: usize,
        turn: usize,
    ) -> Option<u8> {
        if !paths.is_up_down() {
            return None;
        }
        let links = switches.links(switch);
        let hops = |link: &SwitchLink| paths.hops(paths.row(link.peer as usize)[target]);
        let Some(best) = links.iter().filter_map(hops).min() else {
            let key = (switch as u32, target as u32);
            let place = self.far.binary_search_by_key(&key, |&(switch, target, _)| (switch, target));
            return place.ok().map(|place| self.far[place].2);
        };
        let count = links.iter().filter(|link| hops(link) == Some(best)).count();
        links.iter().filter(|link| hops(link) == Some(best)).nth(turn % count).map(|link| link.port)
    }
}

/// Next ports for switches two or more hops from any that has a path to `target`.
fn detours_to(switches: &Switches, paths: &Paths, target: u32) -> Vec<(u32, u32, u8)> {
    let column = |switch: usize| paths.row(switch)[target as usize];
    let mut met: Vec<u32> =
        (0..switches.len() as u32).filter(|&switch| column(switch as usize) != NO_PATH).collect();
    let mut seen = vec![false; switches.len()];
    met.iter().for_each(|&switch| seen[switch as usize] = true);
    let direct = met.len();
    let (mut place, mut far) = (0, Vec::new());
    while let Some(&switch) = met.get(place) {
        for link in switches.links(switch as usize) {
            if !std::mem::replace(&mut seen[link.peer as usize], true) {
                met.push(link.peer);
                if place >= direct {
                    far.push((link.peer, target, link.peer_port));
                }
            }
        }
        place += 1;
    }
    far
}
