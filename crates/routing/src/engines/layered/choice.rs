//! Which of its shortest paths each pair takes: one that fits some class of turns if there is one, and of those the one
//! that is least loaded.

use std::cmp::Reverse;

use fabric::Fabric;

use super::classes::Fit;
use super::order::Order;
use crate::links::Links;
use crate::paths::{NO_PATH, Paths};
use crate::switches::Switches;
use crate::tables::Tables;

/// Destinations that an order is tried on.
const SAMPLES: usize = 48;
/// Times that all destinations are taken up.
const ROUNDS: usize = 3;

/// No link: the target itself, or a switch that no path leads from.
const NONE: u8 = u8::MAX;

/// A path that fits no class of turns.
pub(super) struct Path {
    pub(super) source: u32,
    pub(super) lid: u32,
    target: u32,
}

/// One LID that is routed to.
struct Target {
    lid: u32,
    switch: u32,
    port: u8,
    /// What each path of a host there counts; 0 where it is no host.
    weight: u64,
    /// Whether adapters' traffic goes there.
    adapter: bool,
}

/// A link by which a shortest path may go on.
struct Way {
    link: u32,
    next: u32,
    place: u8,
}

/// The links chosen for every LID.
pub(super) struct Choice<'a> {
    switches: &'a Switches,
    paths: &'a Paths,
    links: &'a Links,
    order: &'a Order,
    /// Whether paths keep ways open for those that come to them after a valley: fewer misfits, at the cost of load.
    careful: bool,
    targets: Vec<Target>,
    /// A row of switches for each target: the place of the link that its packets leave by.
    chosen: Vec<u8>,
    /// Paths of hosts on each link.
    load: Vec<u64>,
    /// The switches that have a path to the target at hand, the nearest first, its own before all; and where each one's
    /// ways begin in `ways`.
    nearest_first: Vec<u32>,
    first_way: Vec<u32>,
    /// Links that shortest paths may take.
    ways: Vec<Way>,
    /// The switch that all this is for.
    sorted_for: u32,
    // Scratch, by switch.
    fit: Vec<Fit>,
    cost: Vec<u64>,
    weight: Vec<u64>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(
        switches: &'a Switches,
        paths: &'a Paths,
        links: &'a Links,
        order: &'a Order,
        careful: bool,
    ) -> Self {
        let count = switches.len();
        let mut targets = Vec::new();
        for switch in 0..count {
            for to in switches.destinations(switch) {
                targets.extend(to.lids.clone().map(|lid| Target {
                    lid,
                    switch: switch as u32,
                    port: to.port,
                    weight: if to.host { u64::from(to.weight) } else { 0 },
                    adapter: to.port != 0,
                }));
            }
        }
        Self {
            switches,
            paths,
            links,
            order,
            careful,
            chosen: vec![NONE; targets.len() * count],
            targets,
            load: vec![0; links.len()],
            nearest_first: Vec::new(),
            first_way: Vec::new(),
            ways: Vec::new(),
            sorted_for: u32::MAX,
            fit: vec![Fit::default(); count],
            cost: vec![0; count],
            weight: vec![0; count],
        }
    }

    /// Leaves out all but some adapters, spread over the fabric.
    pub(super) fn keep_sample(&mut self) {
        let mut last = None;
        self.targets.retain(|target| target.adapter && last.replace(target.switch) != Some(target.switch));
        let step = self.targets.len().div_ceil(SAMPLES).max(1);
        let mut number = 0;
        self.targets.retain(|_| {
            number += 1;
            (number - 1) % step == 0
        });
    }

    /// Chooses all links anew; `careful` as for [`Choice::new`].
    pub(super) fn choose_all(&mut self, careful: bool) {
        self.careful = careful;
        self.load.fill(0);
        for round in 0..ROUNDS {
            self.round(round > 0);
        }
    }

    /// Takes the links that tables over the same paths have chosen.
    pub(super) fn take(&mut self, tables: &Tables) {
        let count = self.switches.len();
        for switch in 0..count {
            let mut place_of = [NONE; 256];
            for (place, link) in self.switches.links(switch).iter().enumerate() {
                place_of[usize::from(link.port)] = place as u8;
            }
            let row = tables.row_at(switch);
            for (target, to) in self.targets.iter().enumerate() {
                let own = to.switch as usize == switch;
                let place = if own { NONE } else { place_of[usize::from(row[to.lid as usize])] };
                self.chosen[target * count + switch] = place;
            }
        }
    }

    /// Takes up every target; `again`: it had its links before.
    pub(super) fn round(&mut self, again: bool) {
        for target in 0..self.targets.len() {
            self.sort(target);
            if again {
                self.each_load(target, |load, weight| *load -= weight);
            }
            self.choose(target);
            self.each_load(target, |load, weight| *load += weight);
        }
    }

    /// Orders the switches that have a path to a target by their distance, and finds their ways.
    fn sort(&mut self, target: usize) {
        let own = self.targets[target].switch;
        if std::mem::replace(&mut self.sorted_for, own) == own {
            return;
        }
        let hops = self.paths.row(own as usize);
        let mut first = [0u32; 256];
        for &hops in hops {
            first[usize::from(hops)] += 1;
        }
        let lost = first[usize::from(NO_PATH)] as usize;
        let mut sum = 0;
        for first in &mut first {
            sum += std::mem::replace(first, sum);
        }
        self.nearest_first.clear();
        self.nearest_first.resize(hops.len(), 0);
        for (switch, &hops) in hops.iter().enumerate() {
            let place = &mut first[usize::from(hops)];
            self.nearest_first[*place as usize] = switch as u32;
            *place += 1;
        }
        self.nearest_first.truncate(hops.len() - lost);
        self.ways.clear();
        self.first_way.clear();
        for &switch in &self.nearest_first {
            self.first_way.push(self.ways.len() as u32);
            for (place, link) in self.links.of(switch as usize).enumerate() {
                let next = self.links.peer(link);
                if hops[next].wrapping_add(1) == hops[switch as usize] {
                    self.ways.push(Way { link: link as u32, next: next as u32, place: place as u8 });
                }
            }
        }
        self.first_way.push(self.ways.len() as u32);
    }

    fn choose(&mut self, target: usize) {
        let count = self.switches.len();
        let own = self.targets[target].switch;
        let chosen = &mut self.chosen[target * count..(target + 1) * count];
        let ranges = self.first_way.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
        for (&switch, ways) in self.nearest_first.iter().zip(ranges).skip(1) {
            let switch = switch as usize;
            let mut best = (0, u64::MAX, NONE, Fit::default());
            for way in &self.ways[ways] {
                let (link, next) = (way.link as usize, way.next as usize);
                let (fit, onward) = if way.next == own {
                    (Fit::ALL, 0)
                } else {
                    let turn = self.order.turn(link, self.links.number(next, usize::from(chosen[next])));
                    (self.fit[next].after(turn), self.cost[next])
                };
                let cost = onward + self.load[link] * self.load[link];
                let onward_too = self.careful && fit.on_second != 0;
                let fits = 2 * u32::from(fit.on_first != 0) + u32::from(onward_too);
                if best.2 == NONE || (fits, Reverse(cost)) > (best.0, Reverse(best.1)) {
                    best = (fits, cost, way.place, fit);
                }
            }
            (self.cost[switch], chosen[switch], self.fit[switch]) = (best.1, best.2, best.3);
        }
    }

    /// Visits the load of each link that hosts' paths to a target use, with how many do.
    fn each_load(&mut self, target: usize, visit: impl Fn(&mut u64, u64)) {
        let own = self.targets[target].weight;
        if own == 0 {
            return;
        }
        let count = self.switches.len();
        let chosen = &self.chosen[target * count..(target + 1) * count];
        for &switch in &self.nearest_first {
            self.weight[switch as usize] = own * u64::from(self.switches.hosts(switch as usize));
        }
        for &switch in self.nearest_first.iter().skip(1).rev() {
            let switch = switch as usize;
            let link = self.links.number(switch, usize::from(chosen[switch]));
            let weight = self.weight[switch];
            visit(&mut self.load[link], weight);
            self.weight[self.links.peer(link)] += weight;
        }
    }

    /// Finds what the chosen paths to a target fit.
    fn refit(&mut self, target: usize) {
        self.sort(target);
        let count = self.switches.len();
        let own = self.targets[target].switch as usize;
        let chosen = &self.chosen[target * count..(target + 1) * count];
        self.fit[own] = Fit::ALL;
        for &switch in self.nearest_first.iter().skip(1) {
            let switch = switch as usize;
            let link = self.links.number(switch, usize::from(chosen[switch]));
            let next = self.links.peer(link);
            self.fit[switch] = if next == own {
                Fit::ALL
            } else {
                let turn = self.order.turn(link, self.links.number(next, usize::from(chosen[next])));
                self.fit[next].after(turn)
            };
        }
    }

    /// Paths between adapters that fit no class, and those that fit none but such with two lanes.
    pub(super) fn count_misfits(&mut self) -> (u64, u64) {
        let (mut misfits, mut valleys) = (0, 0);
        for target in 0..self.targets.len() {
            self.refit(target);
            for &switch in self.nearest_first.iter().skip(1) {
                if self.switches.adapters(switch as usize) > 0 {
                    let level = self.fit[switch as usize].level();
                    misfits += u64::from(level.is_none());
                    valleys += u64::from(level.is_some_and(|level| level > 0));
                }
            }
        }
        (misfits, valleys)
    }

    /// The level of every path, by source and LID, and the paths that fit none.
    pub(super) fn service_levels(&mut self, width: usize) -> (Vec<u8>, Vec<Path>) {
        let mut levels = vec![0; self.switches.len() * width];
        let mut left = Vec::new();
        for target in 0..self.targets.len() {
            if !self.targets[target].adapter {
                continue;
            }
            self.refit(target);
            let lid = self.targets[target].lid;
            for &source in self.nearest_first.iter().skip(1) {
                if self.switches.adapters(source as usize) == 0 {
                    continue;
                }
                match self.fit[source as usize].level() {
                    Some(level) => levels[source as usize * width + lid as usize] = level,
                    None => left.push(Path { source, lid, target: target as u32 }),
                }
            }
        }
        (levels, left)
    }

    /// How many switches there are.
    pub(super) fn switches(&self) -> usize {
        self.switches.len()
    }

    /// How many LIDs are routed to.
    pub(super) fn targets(&self) -> usize {
        self.targets.len()
    }

    /// The paths from adapters to a target that are such, those with a valley or those without one.
    pub(super) fn paths_to(&mut self, target: usize, with_valley: bool) -> Vec<Path> {
        if !self.targets[target].adapter {
            return Vec::new();
        }
        self.refit(target);
        let lid = self.targets[target].lid;
        let sources = self.nearest_first.iter().skip(1).copied();
        let wanted = |&source: &u32| {
            let valley = self.fit[source as usize].level() != Some(0);
            self.switches.adapters(source as usize) > 0 && valley == with_valley
        };
        sources.filter(wanted).map(|source| Path { source, lid, target: target as u32 }).collect()
    }

    /// The links of a path but the last, each with the place of the link after it.
    pub(super) fn follow(&self, path: &Path) -> impl Iterator<Item = (usize, usize)> + '_ {
        let count = self.switches.len();
        let chosen = &self.chosen[path.target as usize * count..(path.target as usize + 1) * count];
        let mut at = path.source as usize;
        std::iter::from_fn(move || {
            let link = self.links.number(at, usize::from(chosen[at]));
            at = self.links.peer(link);
            (chosen[at] != NONE).then_some((link, usize::from(chosen[at])))
        })
    }

    /// Tables that send packets along the chosen links.
    pub(super) fn tables(&self, fabric: &Fabric) -> Tables {
        let count = self.switches.len();
        let mut tables = Tables::empty_up_to(fabric, self.switches.top_lid());
        for (target, chosen) in self.targets.iter().zip(self.chosen.chunks_exact(count)) {
            for (switch, &place) in chosen.iter().enumerate() {
                let port = match self.switches.links(switch).get(usize::from(place)) {
                    _ if switch == target.switch as usize => target.port,
                    Some(link) => link.port,
                    None => continue,
                };
                tables.set(self.switches.node(switch), target.lid, port);
            }
        }
        tables
    }
}
