//! Which of the allowed links each destination takes.
//!
//! Destinations are numbered along the tree, and each rank decides by its own digit of the number (d-mod-k: Zahavi,
//! 2010). All switches of a rank then send one destination the same way, so that in a full tree every link down
//! carries one destination alone and any shift of all hosts meets no contention. Where a link is missing, its
//! destinations go round the others.

use std::ops::Range;

use fabric::Fabric;
use rayon::prelude::*;

use crate::paths::{Candidates, NO_PATH, Paths, distinct_peers};
use crate::ranks;
use crate::switches::{Destination, SwitchLink, Switches};
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
        Row::new(switches, paths, rank, &numbering, row, stride).fill(&detours, entries);
    })
}

/// The number of each destination, by which switches decide.
struct Numbering {
    /// Switches with destinations, in the order of the numbers.
    order: Vec<u32>,
    /// The number of the first host on each switch: those on one switch are consecutive.
    first: Vec<u32>,
    /// The hosts' LIDs on each switch where they are consecutive too, one a host; else empty.
    run: Vec<Range<u32>>,
    /// Links up of each switch.
    width: Vec<u32>,
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
        let above = |switch: usize, link: &&SwitchLink| rank[link.peer as usize] > rank[switch];
        let all = 0..switches.len();
        let width = all
            .clone()
            .map(|s| switches.links(s).iter().filter(|link| above(s, link)).count() as u32)
            .collect();
        Self { order, first, run: all.map(|switch| run(switches, switch)).collect(), width }
    }
}

fn run(switches: &Switches, switch: usize) -> Range<u32> {
    let mut run = 0..0;
    for host in switches.destinations(switch).iter().filter(|to| to.host) {
        if run.is_empty() {
            run = host.lids.start..host.lids.start;
        }
        if host.lids != (run.end..run.end + 1) {
            return 0..0;
        }
        run.end += 1;
    }
    run
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
    /// The place of this switch among those below its first parent.
    sibling: usize,
    numbering: &'a Numbering,
    /// The ports of all links up, over and over.
    up_ports: Vec<u8>,
}

impl<'a> Row<'a> {
    fn new(
        switches: &'a Switches,
        paths: &'a Paths,
        rank: &[u32],
        numbering: &'a Numbering,
        switch: usize,
        stride: u32,
    ) -> Self {
        let (mut up, mut links): (Vec<SwitchLink>, Vec<SwitchLink>) =
            switches.links(switch).iter().partition(|link| rank[link.peer as usize] > rank[switch]);
        links.sort_by_key(|link| (link.peer, link.port));
        let down = links.len();
        up.sort_by_key(|link| (link.peer, link.port));
        let up = rounds(&up);
        let wanted = wanted_links(switches, rank, numbering, switch, &up, down);
        links.extend(up.iter().map(|&(_, link)| link));
        // Long enough for a switch full of hosts from any place on.
        let up_ports =
            links[down..].iter().map(|link| link.port).cycle().take(up.len().min(1) * 512).collect();
        let sibling = links.get(down).map_or(0, |link| {
            let parent = link.peer as usize;
            let below = distinct_peers(switches, parent).filter(|&peer| rank[peer] < rank[parent]);
            below.take_while(|&peer| peer != switch).count()
        });
        Self { switches, paths, switch, links, down, wanted, stride, sibling, numbering, up_ports }
    }

    fn fill(&self, detours: &Detours, entries: &mut [u8]) {
        let peers: Vec<u32> = self.links.iter().map(|link| link.peer).collect();
        let mut candidates = Candidates::default();
        self.paths.candidates(self.switch, &peers, &mut candidates);
        let mut around = Candidates::default();
        detours.candidates(self.switch, &peers, &mut around);
        let up = self.links.len() - self.down;
        let whole = self.wanted.len() == up;
        let mut allowed = Vec::new();
        for (turn, &target) in self.numbering.order.iter().enumerate() {
            let target = target as usize;
            if target == self.switch {
                self.fill_own(entries);
                continue;
            }
            let (count, low) = (usize::from(candidates.count[target]), usize::from(candidates.first[target]));
            let in_a_row = count > 0 && usize::from(candidates.last[target]) - low + 1 == count;
            if count == 1 {
                self.fill_one(target, self.links[low].port, entries);
            } else if in_a_row && (low < self.down || (whole && count == up)) {
                self.fill_round(target, turn, low..low + count, entries);
            } else if count > 0 {
                self.gather_allowed(target, &mut allowed);
                self.fill_some(target, turn, &allowed, entries);
            } else if around.count.get(target).is_some_and(|&count| count > 0) {
                // Any of them will do: taking turns among those in a row is enough to spread management.
                let (first, last) = (usize::from(around.first[target]), usize::from(around.last[target]));
                let in_a_row = last - first + 1 == usize::from(around.count[target]);
                let place = if in_a_row { first + turn % (last - first + 1) } else { first };
                self.fill_one(target, self.links[place].port, entries);
            }
        }
    }

    fn fill_own(&self, entries: &mut [u8]) {
        for destination in self.switches.destinations(self.switch) {
            entries[destination.lids.start as usize..destination.lids.end as usize].fill(destination.port);
        }
    }

    fn fill_one(&self, target: usize, port: u8, entries: &mut [u8]) {
        let run = &self.numbering.run[target];
        entries[run.start as usize..run.end as usize].fill(port);
        for destination in self.apart(target) {
            entries[destination.lids.start as usize..destination.lids.end as usize].fill(port);
        }
    }

    /// The destinations on a switch that are in no run of LIDs.
    fn apart(&self, target: usize) -> impl Iterator<Item = &'a Destination> + use<'a> {
        let all = self.numbering.run[target].is_empty();
        self.switches.destinations(target).iter().filter(move |destination| all || !destination.host)
    }

    /// The links of `range` in turn, by this rank's digit of the number.
    fn fill_round(&self, target: usize, turn: usize, range: Range<usize>, entries: &mut [u8]) {
        let mut digit = Digit::new(self.numbering.first[target], self.stride, range.len());
        let links = &self.links[range.clone()];
        let run = &self.numbering.run[target];
        let run = &mut entries[run.start as usize..run.end as usize];
        let all_up = range.start == self.down && range.end == self.links.len();
        let ports = &self.up_ports[if all_up { digit.place } else { 0 }..];
        if all_up && self.stride == 1 && run.len() <= ports.len() {
            run.copy_from_slice(&ports[..run.len()]);
        } else {
            digit.fill(run, links);
        }
        let mut other = turn;
        for destination in self.apart(target) {
            let mut place = if destination.host { digit.take() } else { next_other(&mut other, links.len()) };
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
    fn fill_some(&self, target: usize, turn: usize, allowed: &[u8], entries: &mut [u8]) {
        let mut number = self.numbering.first[target];
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

    /// The place in `allowed` for a digit. A destination whose link is missing goes round another way from each of the
    /// switches side by side, or else all of its paths would double the load of one link.
    fn preferred(&self, digit: usize, allowed: &[u8]) -> usize {
        if self.wanted.is_empty() {
            return digit % allowed.len();
        }
        let turn = digit % self.wanted.len();
        let wanted = self.wanted[turn];
        wanted
            .and_then(|wanted| allowed.binary_search(&wanted).ok())
            .unwrap_or((digit / self.wanted.len() + turn + self.sibling) % allowed.len())
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
    numbering: &Numbering,
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
    let mut last = usize::MAX;
    for other in beside {
        if other == switch || other == last || numbering.width[other] as usize <= up.len() {
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

    /// The ports of `links` for as many numbers as there are entries.
    fn fill(&mut self, mut entries: &mut [u8], links: &[SwitchLink]) {
        while !entries.is_empty() {
            let same = entries.len().min((self.stride - self.rest) as usize);
            let (now, later) = entries.split_at_mut(same);
            now.fill(links[self.place].port);
            entries = later;
            self.rest += same as u32;
            if self.rest == self.stride {
                self.rest = 0;
                self.place = if self.place + 1 == self.base { 0 } else { self.place + 1 };
            }
        }
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

/// Ways on for pairs of switches without an allowed path: over neighbours that have one, or are nearer to one that has.
struct Detours {
    switches: usize,
    /// Hops from each switch (rows) for each target to the nearest switch with a path; empty where all have paths.
    hops: Vec<u8>,
}

impl Detours {
    /// No detour is known.
    const NONE: u8 = 255;

    fn find(switches: &Switches, paths: &Paths) -> Self {
        let count = switches.len();
        let stuck: Vec<usize> =
            (0..count).into_par_iter().filter(|&switch| paths.row(switch).contains(&NO_PATH)).collect();
        if stuck.is_empty() || !paths.is_up_down() {
            return Self { switches: count, hops: Vec::new() };
        }
        let mut detours = Self { switches: count, hops: vec![0; count * count] };
        for &switch in &stuck {
            let own = &mut detours.hops[switch * count..(switch + 1) * count];
            own.iter_mut().zip(paths.row(switch)).for_each(|(own, &cost)| {
                *own = if cost == NO_PATH { Self::NONE } else { 0 };
            });
        }
        let mut waiting = stuck;
        loop {
            waiting.retain(|&switch| detours.row(switch).contains(&Self::NONE));
            let nearer: Vec<(usize, Vec<u8>)> = waiting
                .par_iter()
                .filter_map(|&switch| Some((switch, detours.nearer(switches, switch)?)))
                .collect();
            if nearer.is_empty() {
                return detours;
            }
            for (switch, row) in nearer {
                detours.hops[switch * count..(switch + 1) * count].copy_from_slice(&row);
            }
        }
    }

    /// The row of a switch after one more look at its neighbours' rows; `None` where it says nothing new.
    fn nearer(&self, switches: &Switches, switch: usize) -> Option<Vec<u8>> {
        let mut row = self.row(switch).to_vec();
        for peer in distinct_peers(switches, switch) {
            row.iter_mut()
                .zip(self.row(peer))
                .for_each(|(own, &hops)| *own = (*own).min(hops.saturating_add(1)));
        }
        (row != self.row(switch)).then_some(row)
    }

    fn row(&self, switch: usize) -> &[u8] {
        &self.hops[switch * self.switches..(switch + 1) * self.switches]
    }

    /// For every target without a path: which links lead on.
    fn candidates(&self, switch: usize, peers: &[u32], found: &mut Candidates) {
        if self.hops.is_empty() || self.row(switch).iter().all(|&hops| hops == 0) {
            return;
        }
        let own = self.row(switch);
        found.clear(own.len());
        for (place, &peer) in peers.iter().enumerate() {
            found.add(place as u8, own, self.row(peer as usize), |own, theirs| {
                (theirs.wrapping_add(1) == own) & (own != 0) & (own != Self::NONE)
            });
        }
    }
}
