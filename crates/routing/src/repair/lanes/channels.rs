//! Which lane of which link waits for which, counted over all paths between adapters, and an order that every waiting
//! follows.
//!
//! The cabling is that of the day on which the engine chose: a link that is lost keeps its channels, for entries may
//! lead there until it is back. A waiting is taken away when no path makes it any more.

use std::sync::atomic::{AtomicU32, Ordering};

use fabric::Fabric;
use rayon::prelude::*;

use crate::acyclic::Acyclic;
use crate::lanes::Lanes;
use crate::repair::network::{MOST_HOPS, NONE, Network};
use crate::tables::{NO_ROUTE, Tables};

/// Waitings that may be told apart: more take more than 256 MB.
const MOST_WAITINGS: usize = 1 << 26;
/// Columns that are walked together: a cache line of each row.
const ABREAST: usize = 64;

/// A lane of a link that waits for a lane of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub from: u32,
    pub to: u32,
    /// Where it is counted.
    place: u32,
}

pub(super) struct Channels {
    pub lanes: Lanes,
    /// First slot of each row, one a port, and one more; the link that leaves by each slot, or [`NONE`].
    first_slot: Vec<u32>,
    link: Vec<u32>,
    /// First link of each row, and one more.
    first_link: Vec<u32>,
    /// By link: the row it leads to, the port that packets come in by there, and the place of that port among the row's.
    to: Vec<u32>,
    in_port: Vec<u8>,
    in_place: Vec<u32>,
    /// Where the counts of each row begin.
    first_count: Vec<usize>,
    counts: Vec<u32>,
    graph: Acyclic,
    /// Ports by which adapters' packets come in and lanes differ, by row: one where all ports are alike.
    doors: Vec<Vec<u8>>,
}

impl Channels {
    /// Counts what the paths of `tables` wait for; none where there are too many lanes and ports to count, or the waitings have
    /// a circle.
    pub fn new(fabric: &Fabric, tables: &Tables, lanes: &Lanes, network: &Network) -> Option<Self> {
        let rows = network.rows();
        let (mut first_slot, mut first_link) = (vec![0], vec![0]);
        let (mut link, mut to, mut in_port) = (Vec::new(), Vec::new(), Vec::new());
        for (row, &node) in tables.switches().iter().enumerate() {
            link.resize(link.len() + usize::from(fabric.port_count(node)) + 1, NONE);
            for (port, peer) in network.links(row as u32) {
                link[(first_slot[row] + u32::from(port)) as usize] = to.len() as u32;
                to.push(peer);
                let beyond = fabric.port(node, port).and_then(|port| fabric.peer(port));
                in_port.push(beyond.map_or(0, |beyond| fabric.port_number(beyond)));
            }
            first_slot.push(link.len() as u32);
            first_link.push(to.len() as u32);
        }
        let place = |link_in: usize| {
            let row = to[link_in] as usize;
            link[(first_slot[row] + u32::from(in_port[link_in])) as usize] - first_link[row]
        };
        let in_place = (0..to.len()).map(place).collect();
        let count = usize::from(lanes.count());
        let mut first_count = vec![0];
        for row in 0..rows {
            let channels = (first_link[row + 1] - first_link[row]) as usize * count;
            first_count.push(first_count[row] + channels * channels);
        }
        if first_count[rows] > MOST_WAITINGS {
            return None;
        }
        let doors = doors(fabric, tables, lanes, network);
        let mut channels = Self {
            lanes: lanes.clone(),
            first_slot,
            link,
            first_link,
            to,
            in_port,
            in_place,
            counts: Vec::new(),
            first_count,
            graph: Acyclic::new(Vec::new(), 0),
            doors,
        };
        channels.count_all(fabric, tables, network);
        channels.put_in_order().then_some(channels)
    }

    fn count_all(&mut self, fabric: &Fabric, tables: &Tables, network: &Network) {
        let rows = network.rows();
        let counts: Vec<AtomicU32> =
            (0..self.first_count[rows]).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        let sources: Vec<u32> = (0..rows as u32).filter(|&row| network.holders[row as usize]).collect();
        let adapters = |&lid: &u32| network.home(fabric, tables, lid).is_some_and(|home| home.adapter);
        let lids: Vec<u32> = (0..tables.width() as u32).filter(adapters).collect();
        lids.par_chunks(ABREAST).for_each_init(Vec::new, |columns, lids| {
            columns.clear();
            columns.resize(lids.len() * rows, NO_ROUTE);
            for row in 0..rows {
                let entries = tables.row_at(row);
                for (column, &lid) in columns.chunks_exact_mut(rows).zip(lids) {
                    column[row] = entries[lid as usize];
                }
            }
            for (column, &lid) in columns.chunks_exact(rows).zip(lids) {
                for &source in &sources {
                    self.trace(
                        source,
                        lid,
                        |row| column[row as usize],
                        |waiting| {
                            counts[waiting.place as usize].fetch_add(1, Ordering::Relaxed);
                        },
                    );
                }
            }
        });
        self.counts = counts.into_iter().map(AtomicU32::into_inner).collect();
    }

    /// Finds an order that all waitings follow; says whether there is one.
    fn put_in_order(&mut self) -> bool {
        let channels = self.to.len() * self.lane_count();
        let mut before = vec![0u32; channels];
        for channel in 0..channels as u32 {
            self.after(channel).for_each(|next| before[next as usize] += 1);
        }
        let mut order: Vec<u32> =
            (0..channels as u32).filter(|&channel| before[channel as usize] == 0).collect();
        let mut at = 0;
        while let Some(&channel) = order.get(at) {
            at += 1;
            for next in self.after(channel) {
                before[next as usize] -= 1;
                if before[next as usize] == 0 {
                    order.push(next);
                }
            }
        }
        if order.len() < channels {
            return false;
        }
        let mut place = vec![0; channels];
        order.iter().zip(0..).for_each(|(&channel, at)| place[channel as usize] = at);
        let mut graph = Acyclic::new(place, 0);
        let followed = (0..channels as u32).all(|from| self.after(from).all(|to| graph.add(from, to)));
        self.graph = graph;
        followed
    }

    #[inline]
    fn lane_count(&self) -> usize {
        usize::from(self.lanes.count())
    }

    /// Where the waitings of a channel are counted, and the first channel of those that it may wait for.
    #[inline]
    fn counts_of(&self, channel: u32) -> (std::ops::Range<usize>, u32) {
        let lanes = self.lane_count();
        let (link, lane) = (channel as usize / lanes, channel as usize % lanes);
        let row = self.to[link] as usize;
        let next = (self.first_link[row + 1] - self.first_link[row]) as usize * lanes;
        let start = self.first_count[row] + (self.in_place[link] as usize * lanes + lane) * next;
        (start..start + next, self.first_link[row] * lanes as u32)
    }

    /// The channels that a channel waits for.
    fn after(&self, channel: u32) -> impl Iterator<Item = u32> + '_ {
        let (counts, first) = self.counts_of(channel);
        let counts = self.counts[counts].iter().zip(first..);
        counts.filter(|&(&count, _)| count > 0).map(|(_, next)| next)
    }

    /// The link that leaves a row by a port, where there was one.
    #[inline]
    fn link(&self, row: u32, port: u8) -> Option<usize> {
        let slot = self.first_slot[row as usize] + u32::from(port);
        let link = if slot < self.first_slot[row as usize + 1] { self.link[slot as usize] } else { NONE };
        (link != NONE).then_some(link as usize)
    }

    /// The row that a port led to, or [`NONE`].
    pub fn led_to(&self, row: u32, port: u8) -> u32 {
        self.link(row, port).map_or(NONE, |link| self.to[link])
    }

    /// The rows around one, each with its port that leads to it.
    pub fn around(&self, row: u32) -> impl Iterator<Item = (u32, u8)> + '_ {
        let links = self.first_link[row as usize] as usize..self.first_link[row as usize + 1] as usize;
        links.map(|link| (self.to[link], self.in_port[link]))
    }

    /// A lane of the link that leaves a row by a port.
    pub fn channel(&self, row: u32, port: u8, lane: u8) -> Option<u32> {
        self.link(row, port).map(|link| (link * self.lane_count()) as u32 + u32::from(lane))
    }

    /// The ports by which the packets of a row's adapters come in, one of those that are alike.
    pub fn doors(&self, row: u32) -> &[u8] {
        &self.doors[row as usize]
    }

    /// Visits what packets from a row's adapters for a LID wait for, with `entry` as the LID's entries by row.
    pub fn trace(&self, source: u32, lid: u32, entry: impl Fn(u32) -> u8, visit: impl FnMut(Waiting)) {
        self.trace_on(source, self.lanes.service_level(source as usize, lid), entry, visit);
    }

    /// The same for packets that bear a service level.
    pub fn trace_on(
        &self,
        source: u32,
        level: u8,
        entry: impl Fn(u32) -> u8,
        mut visit: impl FnMut(Waiting),
    ) {
        for &door in &self.doors[source as usize] {
            let (mut at, mut in_port, mut before) = (source, door, None);
            for _ in 0..MOST_HOPS {
                let port = entry(at);
                let Some(link) = self.link(at, port) else { break };
                let lane = self.lanes.lane(at as usize, in_port, port, level);
                let channel = (link * self.lane_count()) as u32 + u32::from(lane);
                if let Some(from) = before {
                    let (counts, first) = self.counts_of(from);
                    visit(Waiting { from, to: channel, place: counts.start as u32 + channel - first });
                }
                (before, in_port, at) = (Some(channel), self.in_port[link], self.to[link]);
            }
        }
    }

    /// Whether a waiting closes no circle with those that there are, by the order as it stands.
    pub fn is_in_order(&self, waiting: Waiting) -> bool {
        self.counts[waiting.place as usize] > 0 || self.graph.is_before(waiting.from, waiting.to)
    }

    /// Counts a waiting once more; says no, and changes nothing, where it is new and would close a circle or the search for
    /// one would take too long.
    pub fn take(&mut self, waiting: Waiting) -> bool {
        let count = &mut self.counts[waiting.place as usize];
        if *count == 0 && !self.graph.add(waiting.from, waiting.to) {
            return false;
        }
        *count += 1;
        true
    }

    /// Counts a waiting once less.
    pub fn release(&mut self, waiting: Waiting) {
        let count = &mut self.counts[waiting.place as usize];
        *count -= 1;
        if *count == 0 {
            self.graph.remove(waiting.from, waiting.to);
        }
    }

    /// Sets how many waitings searches for circles may look at from now on.
    pub fn allow(&mut self, looks: u64) {
        self.graph.allow(looks);
    }

    /// Whether the order lets one channel wait for another.
    pub fn is_before(&self, from: u32, to: u32) -> bool {
        self.graph.is_before(from, to)
    }

    /// Whether all waitings follow the order.
    pub fn all_follow(&self) -> bool {
        self.graph.is_in_order()
    }
}

/// For each row the ports that lead to no switch, one of those whose packets get the same lanes.
fn doors(fabric: &Fabric, tables: &Tables, lanes: &Lanes, network: &Network) -> Vec<Vec<u8>> {
    let of_row = |(row, &node): (usize, &fabric::NodeId)| {
        let outs: Vec<u8> = network.links(row as u32).map(|(port, _)| port).collect();
        let mapped = |door: u8| outs.iter().map(move |&out| lanes.mapping(row, door, out));
        let mut doors: Vec<u8> = Vec::new();
        for door in (1..=fabric.port_count(node)).filter(|&port| !network.serves(row as u32, port)) {
            if doors.iter().all(|&known| !mapped(known).eq(mapped(door))) {
                doors.push(door);
            }
        }
        doors
    };
    tables.switches().iter().enumerate().map(of_row).collect()
}
