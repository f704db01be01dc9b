//! How evenly tables use the links.

use fabric::Fabric;
use rayon::prelude::*;
use serde::Serialize;

use crate::switches::Switches;
use crate::tables::Tables;

/// Paths on the links between switches when every host's port sends to every other: each direction of a link counts
/// the ordered pairs whose path uses it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LinkLoad {
    /// The most loaded direction of a link.
    pub max: u64,
    /// 99 in 100 directions carry no more than this.
    pub p99: u64,
    /// Over all directions of links between switches.
    pub mean: f64,
}

/// Counts the paths on every link. Paths that do not arrive are counted as far as they get, at most as many hops as
/// there are switches.
pub fn link_load(fabric: &Fabric, tables: &Tables) -> LinkLoad {
    let switches = Switches::new(fabric);
    let slots = PortSlots::new(&switches);
    let loads = (0..switches.len())
        .into_par_iter()
        .fold(
            || Counter::new(&switches, &slots),
            |mut counter, target| {
                counter.count_target(tables, target);
                counter
            },
        )
        .map(|counter| counter.loads)
        .reduce(
            || vec![0; slots.count()],
            |mut sum, part| {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                sum
            },
        );
    let mut used: Vec<u64> =
        (0..slots.count()).filter(|&slot| slots.peer[slot] != NONE).map(|s| loads[s]).collect();
    summarize(&mut used)
}

fn summarize(loads: &mut [u64]) -> LinkLoad {
    if loads.is_empty() {
        return LinkLoad::default();
    }
    loads.sort_unstable();
    let rank = (loads.len() * 99).div_ceil(100);
    LinkLoad {
        max: loads[loads.len() - 1],
        p99: loads[rank - 1],
        mean: loads.iter().sum::<u64>() as f64 / loads.len() as f64,
    }
}

const NONE: u32 = u32::MAX;

/// The switch behind each port of each switch.
struct PortSlots {
    first: Vec<u32>,
    peer: Vec<u32>,
}

impl PortSlots {
    fn new(switches: &Switches) -> Self {
        let (mut first, mut peer) = (vec![0], Vec::new());
        for switch in 0..switches.len() {
            let links = switches.links(switch);
            let start = peer.len();
            let ports = links.last().map_or(0, |link| usize::from(link.port) + 1);
            peer.resize(start + ports, NONE);
            for link in links {
                peer[start + usize::from(link.port)] = link.peer;
            }
            first.push(peer.len() as u32);
        }
        Self { first, peer }
    }

    fn count(&self) -> usize {
        self.peer.len()
    }

    fn slot(&self, switch: usize, port: u8) -> Option<usize> {
        let slot = self.first[switch] + u32::from(port);
        (slot < self.first[switch + 1] && self.peer[slot as usize] != NONE).then_some(slot as usize)
    }
}

struct Counter<'a> {
    switches: &'a Switches,
    slots: &'a PortSlots,
    loads: Vec<u64>,
    next: Vec<u32>,
    arriving: Vec<u32>,
    weight: Vec<u64>,
    free: Vec<u32>,
}

impl<'a> Counter<'a> {
    fn new(switches: &'a Switches, slots: &'a PortSlots) -> Self {
        let count = switches.len();
        Self {
            switches,
            slots,
            loads: vec![0; slots.count()],
            next: vec![NONE; count],
            arriving: vec![0; count],
            weight: vec![0; count],
            free: Vec::new(),
        }
    }

    fn count_target(&mut self, tables: &Tables, target: usize) {
        for destination in self.switches.destinations(target).iter().filter(|destination| destination.host) {
            self.count_lid(tables, target, destination.lids.start);
        }
    }

    fn count_lid(&mut self, tables: &Tables, target: usize, lid: u32) {
        self.arriving.fill(0);
        for switch in 0..self.switches.len() {
            let port = tables.get(self.switches.node(switch), lid);
            let slot = if switch == target { None } else { self.slots.slot(switch, port) };
            self.next[switch] = slot.map_or(NONE, |slot| slot as u32);
            if let Some(slot) = slot {
                self.arriving[self.slots.peer[slot] as usize] += 1;
            }
            self.weight[switch] = u64::from(self.switches.hosts(switch));
        }
        self.free.extend((0..self.next.len() as u32).filter(|&switch| self.arriving[switch as usize] == 0));
        while let Some(switch) = self.free.pop() {
            let slot = self.next[switch as usize];
            if slot == NONE {
                continue;
            }
            let weight = self.weight[switch as usize];
            self.loads[slot as usize] += weight;
            let peer = self.slots.peer[slot as usize] as usize;
            self.weight[peer] += weight;
            self.arriving[peer] -= 1;
            if self.arriving[peer] == 0 {
                self.free.push(peer as u32);
            }
        }
    }
}
