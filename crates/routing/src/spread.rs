//! Which of the allowed links each destination takes.
//!
//! Destinations are numbered along the tree, and each rank decides by its own digit of the number (d-mod-k: Zahavi,
//! 2010). All switches of a rank then send one destination the same way, so that in a full tree every link down
//! carries one destination alone and any shift of all hosts meets no contention. Where a link is missing, its
//! destinations go round the others.

use std::collections::BTreeMap;
use std::ops::Range;

use fabric::Fabric;
use rayon::prelude::*;

use crate::paths::{Candidates, NO_PATH, Paths, distinct_peers};
use crate::ranks;
use crate::switches::{SwitchLink, Switches};
use crate::tables::{BLOCK, NO_ROUTE, Tables};

/// Tables over `paths`, with switches' ranks deciding by digits. Pairs of switches without a path, of which no host's
/// traffic needs any, are joined over a neighbour that has one, for management alone.
pub fn spread(fabric: &Fabric, switches: &Switches, paths: &Paths, rank: &[u32]) -> Tables {
    let numbering = Numbering::new(switches, rank);
    let detours = Detours::find(switches, paths);
    Tables::filled(fabric, switches.top_lid(), |row, _, entries| {
        Row::new(switches, paths, rank, &numbering, row).fill(&detours, entries);
    })
}

/// The number of each destination, by which switches decide. It follows the tree, whatever the order of the LIDs.
struct Numbering {
    /// Switches with destinations, in the order of the numbers.
    order: Vec<u32>,
    /// The number of the first host on each switch: those on one switch are consecutive.
    first: Vec<u32>,
    /// The switch of each LID, one past the last where nothing holds it.
    switch_of: Vec<u32>,
    /// Links up of each switch.
    width: Vec<u32>,
    /// What the number is divided by on each switch.
    stride: Vec<u32>,
    /// By stride and number of links up: the place of the link for each LID.
    digits: BTreeMap<(u32, u32), Vec<u8>>,
}

impl Numbering {
    fn new(switches: &Switches, rank: &[u32]) -> Self {
        let order = ranks::tree_order(switches, rank);
        let lids = (switches.top_lid() as usize + 1).next_multiple_of(BLOCK);
        let (mut first, mut switch_of) = (vec![0; switches.len()], vec![switches.len() as u32; lids]);
        let mut number = 0;
        for &switch in &order {
            first[switch as usize] = number;
            for destination in switches.destinations(switch as usize) {
                number += u32::from(destination.host);
                switch_of[destination.lids.start as usize..destination.lids.end as usize].fill(switch);
            }
        }
        let strides = ranks::strides(switches, rank);
        let above = |switch: usize, link: &&SwitchLink| rank[link.peer as usize] > rank[switch];
        let all = 0..switches.len();
        let width =
            all.clone().map(|s| switches.links(s).iter().filter(|link| above(s, link)).count() as u32);
        let mut numbering = Self {
            order,
            first,
            switch_of,
            width: width.collect(),
            stride: all.map(|switch| strides[rank[switch] as usize]).collect(),
            digits: BTreeMap::new(),
        };
        numbering.find_digits(switches);
        numbering
    }

    fn find_digits(&mut self, switches: &Switches) {
        let mut wanted: Vec<(u32, u32)> = self
            .stride
            .iter()
            .copied()
            .zip(self.width.iter().copied())
            .filter(|&(_, width)| width > 1)
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let found = wanted.into_par_iter().map(|(stride, width)| {
            let mut digits = vec![0; self.switch_of.len()];
            for (turn, &target) in self.order.iter().enumerate() {
                for (lid, digit) in self.of_target(switches, target as usize, turn, stride) {
                    digits[lid as usize] = (digit % width) as u8;
                }
            }
            ((stride, width), digits)
        });
        self.digits = found.collect::<Vec<_>>().into_iter().collect();
    }

    /// The LIDs of the destinations on a switch, with what switches of a stride decide by. Destinations that are no
    /// hosts take turns, and so do the LIDs of one port: the first switch that has a choice takes another link for each, and
    /// once all are taken the next rank does.
    fn of_target<'a>(
        &'a self,
        switches: &'a Switches,
        target: usize,
        turn: usize,
        stride: u32,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let (mut number, mut other) = (self.first[target], turn as u32);
        switches.destinations(target).iter().flat_map(move |destination| {
            let counter = if destination.host { &mut number } else { &mut other };
            let (own, stride) = (*counter, if destination.host { stride } else { 1 });
            *counter += 1;
            let digit = own / stride;
            destination.lids.clone().enumerate().map(move |(step, lid)| {
                let step = step as u32;
                (lid, digit + step / stride + step % stride)
            })
        })
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
    /// The place of this switch among those below its first parent.
    sibling: usize,
    numbering: &'a Numbering,
}

/// In place of a target's port: its destinations take the links up by their digits.
const BY_DIGIT: u8 = 0;

impl<'a> Row<'a> {
    fn new(
        switches: &'a Switches,
        paths: &'a Paths,
        rank: &[u32],
        numbering: &'a Numbering,
        switch: usize,
    ) -> Self {
        let (mut up, mut links): (Vec<SwitchLink>, Vec<SwitchLink>) =
            switches.links(switch).iter().partition(|link| rank[link.peer as usize] > rank[switch]);
        links.sort_by_key(|link| (link.peer, link.port));
        let down = links.len();
        up.sort_by_key(|link| (link.peer, link.port));
        let up = rounds(&up);
        let wanted = wanted_links(switches, rank, numbering, switch, &up, down);
        links.extend(up.iter().map(|&(_, link)| link));
        let sibling = links.get(down).map_or(0, |link| {
            let parent = link.peer as usize;
            let below = distinct_peers(switches, parent).filter(|&peer| rank[peer] < rank[parent]);
            below.take_while(|&peer| peer != switch).count()
        });
        let stride = numbering.stride[switch];
        Self { switches, paths, switch, links, down, wanted, stride, sibling, numbering }
    }

    fn fill(&self, detours: &Detours, entries: &mut [u8]) {
        let peers: Vec<u32> = self.links.iter().map(|link| link.peer).collect();
        let mut candidates = Candidates::default();
        self.paths.candidates(self.switch, &peers, &mut candidates);
        let mut around = Candidates::default();
        detours.candidates(self.switch, &peers, &mut around);
        let up = self.links.len() - self.down;
        let whole = self.wanted.len() == up;
        // The port of all destinations on a switch, where they share one or take all links up; the other switches.
        let mut port_of = vec![NO_ROUTE; self.switches.len() + 1];
        let mut apart = Vec::new();
        for (turn, &target) in self.numbering.order.iter().enumerate() {
            let at = target as usize;
            let (count, low) = (usize::from(candidates.count[at]), usize::from(candidates.first[at]));
            if count == 1 {
                port_of[at] = self.links[low].port;
            } else if count == up && whole && low >= self.down && count > 0 {
                port_of[at] = BY_DIGIT;
            } else if count > 0 {
                apart.push((turn, at));
            } else if around.count.get(at).is_some_and(|&count| count > 0) {
                // Any of them will do: taking turns among those in a row is enough to spread management.
                let (first, last) = (usize::from(around.first[at]), usize::from(around.last[at]));
                let in_a_row = last - first + 1 == usize::from(around.count[at]);
                let place = if in_a_row { first + turn % (last - first + 1) } else { first };
                port_of[at] = self.links[place].port;
            }
        }
        self.fill_alike(&port_of, entries);
        let mut allowed = Vec::new();
        for (turn, target) in apart {
            let (count, low) = (usize::from(candidates.count[target]), usize::from(candidates.first[target]));
            if low < self.down && usize::from(candidates.last[target]) - low + 1 == count {
                self.fill_round(target, turn, low..low + count, entries);
            } else {
                self.gather_allowed(target, &mut allowed);
                self.fill_some(target, turn, &allowed, entries);
            }
        }
        for destination in self.switches.destinations(self.switch) {
            entries[destination.lids.start as usize..destination.lids.end as usize].fill(destination.port);
        }
    }

    /// All entries in the order of the LIDs, by the port of each one's switch.
    fn fill_alike(&self, port_of: &[u8], entries: &mut [u8]) {
        let switch_of = &self.numbering.switch_of[..];
        let port = |switch: u32| port_of[switch as usize];
        let up = &self.links[self.down..];
        match self.numbering.digits.get(&(self.stride, up.len() as u32)) {
            Some(digits) => {
                let mut up_ports = [NO_ROUTE; 256];
                up_ports.iter_mut().zip(up).for_each(|(port, link)| *port = link.port);
                for ((entry, &switch), &digit) in entries.iter_mut().zip(switch_of).zip(digits) {
                    let (port, up) = (port(switch), up_ports[usize::from(digit)]);
                    *entry = if port == BY_DIGIT { up } else { port };
                }
            }
            None => entries.iter_mut().zip(switch_of).for_each(|(entry, &switch)| *entry = port(switch)),
        }
    }

    /// The links of `range` in turn, by this rank's digit of the number.
    fn fill_round(&self, target: usize, turn: usize, range: Range<usize>, entries: &mut [u8]) {
        let links = &self.links[range];
        for (lid, digit) in self.numbering.of_target(self.switches, target, turn, self.stride) {
            entries[lid as usize] = links[digit as usize % links.len()].port;
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
        for (lid, digit) in self.numbering.of_target(self.switches, target, turn, self.stride) {
            let place = allowed[self.preferred(digit as usize, allowed)];
            entries[lid as usize] = self.links[usize::from(place)].port;
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
