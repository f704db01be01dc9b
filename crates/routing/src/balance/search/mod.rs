//! The search for smaller loads: destinations are taken up and laid down again, round after round.

mod moves;
mod settle;

use std::ops::Range;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::levels::Levels;
use super::price::Price;
use super::ways::Ways;
use crate::chance::shuffle;
use crate::paths::Paths;
use crate::switches::Switches;
use crate::tables::Tables;

/// Links looked at before it ends: bounds the time to about a second on any fabric.
const WORK: u64 = 200_000_000;
/// Links looked at before patience ends: in a small tree a good order is long in coming.
const LITTLE_WORK: u64 = WORK / 40;
/// Most rounds over all destinations.
const ROUNDS: u64 = 500;
/// Rounds in a row that may bring nothing before it ends: in a tree, where prices begin anew twice meanwhile, and elsewhere.
const PATIENCE: [u64; 2] = [26, 12];
/// Rounds after which evener loads below the largest ones are no gain: they scatter destinations.
const SETTLED: u64 = 12;
/// In every how manyth round paths from beyond are foreseen.
const FORESIGHT: u64 = 5;
/// No link is chosen.
const NONE: u8 = u8::MAX;

/// The links chosen for every host, and the load that follows.
pub struct Search<'a> {
    switches: &'a Switches,
    paths: &'a Paths,
    levels: Levels,
    /// First link of each switch: a link's number is this and its place on the switch.
    first_link: Vec<u32>,
    /// The switch that each link leads to.
    peer_of: Vec<u32>,
    /// What a path on each link counts as.
    slowness: Vec<u64>,
    /// (switch, LID, weight) of every host, those of a switch in a row.
    hosts: Vec<(u32, u32, u32)>,
    /// The hosts of each switch that has some.
    on_switch: Vec<Range<usize>>,
    /// The links chosen, by their places on their switches: a row of switches for each host.
    chosen: Vec<u8>,
    load: Vec<u64>,
    /// What one more switch's paths would add to a link at the most, without its slowness.
    bundle: u64,
    pricing: Price,
    /// What links of each level are to carry at most when entries are moved; their least, in whole bundles, where this is
    /// empty.
    targets: Vec<u64>,
    /// Whether paths from beyond count before their switches have chosen.
    foresees: bool,
    /// The price of each link for one more bundle.
    price: Vec<f64>,
    /// Paths to the host at hand that come by each switch.
    weight: Vec<u64>,
}

/// How good a choice is: what all levels together carry beyond their least, then the sum of squares. Smaller is better.
type Quality = (f64, u128);

impl<'a> Search<'a> {
    pub fn new(switches: &'a Switches, paths: &'a Paths, levels: Levels, tables: &Tables) -> Self {
        let count = switches.len();
        let mut first_link = vec![0];
        for switch in 0..count {
            first_link.push(first_link[switch] + switches.links(switch).len() as u32);
        }
        let (mut hosts, mut on_switch) = (Vec::new(), Vec::new());
        for switch in 0..count {
            let start = hosts.len();
            let here = switches.destinations(switch).iter().filter(|to| to.host);
            hosts.extend(here.map(|host| (switch as u32, host.lids.start, host.weight)));
            if hosts.len() > start {
                on_switch.push(start..hosts.len());
            }
        }
        let chosen = places(switches, tables, &hosts);
        let links = first_link[count] as usize;
        let all = || (0..count).flat_map(|switch| switches.links(switch));
        let most_weight = hosts.iter().map(|&(.., weight)| u64::from(weight)).max().unwrap_or(1);
        let most_hosts = (0..count).map(|switch| u64::from(switches.hosts(switch))).max().unwrap_or(1);
        Self {
            switches,
            paths,
            targets: Vec::new(),
            levels,
            first_link,
            peer_of: all().map(|link| link.peer).collect(),
            slowness: all().map(|link| u64::from(link.slowness)).collect(),
            hosts,
            on_switch,
            chosen,
            load: vec![0; links],
            bundle: (most_weight * most_hosts).max(1),
            pricing: Price::of_round(0),
            foresees: false,
            price: vec![0.0; links],
            weight: vec![0; count],
        }
    }

    /// Looks for smaller loads, and writes what was found.
    pub fn improve(&mut self, tables: &mut Tables) {
        let given = self.chosen.clone();
        let looks = self.count_loads();
        let largest = self.largest();
        // Where all destinations cannot be taken up several times, single entries are moved off the most loaded links.
        if looks > WORK / 4 {
            self.move_entries();
        } else {
            self.look();
            self.count_loads();
            self.spare(&given);
        }
        self.count_loads();
        // No level gains at the price of the fullest link.
        if self.largest() > largest {
            self.chosen.copy_from_slice(&given);
        }
        self.write(tables, &given);
    }

    /// The largest load, or about how large it would come to be after a few rounds.
    pub fn outline(&mut self, rounds: u64) -> u64 {
        self.count_loads();
        let mut left = WORK;
        let mut least = self.largest();
        for round in 0..rounds {
            self.set_pricing(Price::of_round(round));
            self.round(round, &mut left);
            least = least.min(self.largest());
        }
        least
    }

    /// The loads of what is chosen. Says how many links finding all ways anew looks at.
    fn count_loads(&mut self) -> u64 {
        let mut ways = Ways::default();
        let mut looks = 0;
        self.load.fill(0);
        for hosts in self.on_switch.clone() {
            self.find_ways(hosts.start, &mut ways);
            looks += ways.looks * hosts.len() as u64;
            hosts.for_each(|host| self.add(&ways, host));
        }
        looks
    }

    /// Takes up all destinations, round after round.
    fn look(&mut self) {
        let patience = self.patience();
        let least = if self.levels.least.len() > 1 { LITTLE_WORK } else { 0 };
        let mut left = WORK;
        let mut best = (self.quality(), self.chosen.clone());
        let mut better_at = 0;
        for round in 0..ROUNDS {
            self.set_pricing(Price::of_round(round));
            self.round(round, &mut left);
            let quality = self.quality();
            if quality.0 < best.0.0 || round < SETTLED && quality < best.0 {
                best = (quality, self.chosen.clone());
                better_at = round;
            } else if (round - better_at >= patience && WORK - left >= least) || left == 0 {
                break;
            }
        }
        self.chosen = best.1;
    }

    /// Leaves as many entries as can be as they were given, and lets random permutations meet as little as can be, while
    /// no level carries more than with what is chosen.
    fn spare(&mut self, given: &[u8]) {
        let most = self.most_loads();
        let mut settling = self.settling(&most);
        let found = (self.chances(&settling), self.chosen.clone());
        self.chosen.copy_from_slice(given);
        self.count_loads();
        self.targets = most.clone();
        self.move_entries();
        self.take_stock(&mut settling);
        let sum = self.settle(&mut settling);
        let is_within = self.is_within(&most);
        if is_within && sum <= found.0 {
            return;
        }
        let spared = std::mem::replace(&mut self.chosen, found.1);
        self.count_loads();
        self.take_stock(&mut settling);
        if is_within && sum <= self.settle(&mut settling) {
            self.chosen = spared;
        }
    }

    fn patience(&self) -> u64 {
        PATIENCE[usize::from(self.levels.least.len() < 2)]
    }

    /// Takes up every destination, the switches in an order drawn by the number of the round.
    fn round(&mut self, round: u64, left: &mut u64) {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(round);
        let mut order = self.on_switch.clone();
        shuffle(&mut chance, &mut order);
        self.foresees = round % FORESIGHT == FORESIGHT - 1;
        let mut ways = Ways::default();
        for hosts in order {
            self.find_ways(hosts.start, &mut ways);
            for host in hosts {
                if *left == 0 {
                    return;
                }
                self.take_away(&ways, host);
                self.choose(&ways, host);
                *left = left.saturating_sub(ways.looks + 8 * self.switches.len() as u64);
            }
        }
    }

    fn set_pricing(&mut self, pricing: Price) {
        self.pricing = pricing;
        (0..self.load.len()).for_each(|link| self.set_price(link));
    }

    #[inline]
    fn set_price(&mut self, link: usize) {
        let level = usize::from(self.levels.of_link[link]);
        let bundle = self.bundle * self.slowness[link];
        let load = (self.load[link] + bundle) as f64;
        self.price[link] = self.pricing.of(load, self.levels.least[level], bundle as f64);
    }

    fn largest(&self) -> u64 {
        self.load.iter().copied().max().unwrap_or(0)
    }

    /// The largest load at each level.
    fn most_loads(&self) -> Vec<u64> {
        let mut most = vec![0; self.levels.least.len()];
        for (&load, &level) in self.load.iter().zip(&self.levels.of_link) {
            most[usize::from(level)] = load.max(most[usize::from(level)]);
        }
        most
    }

    /// The mean load at each level.
    fn mean_loads(&self) -> Vec<u64> {
        let mut sums = vec![(0, 0); self.levels.least.len()];
        for (&load, &level) in self.load.iter().zip(&self.levels.of_link) {
            let (sum, links) = &mut sums[usize::from(level)];
            (*sum, *links) = (*sum + load, *links + 1);
        }
        sums.into_iter().map(|(sum, links): (u64, u64)| sum / links.max(1)).collect()
    }

    /// The link that a host's row holds for a switch.
    #[inline]
    fn link(&self, start: usize, switch: usize) -> Option<usize> {
        let place = self.chosen[start + switch];
        (place != NONE).then(|| self.first_link[switch] as usize + usize::from(place))
    }

    fn find_ways(&self, host: usize, ways: &mut Ways) {
        ways.find(self.switches, self.paths, &self.first_link, self.hosts[host].0 as usize);
    }

    /// Adds a host's paths to the loads.
    fn add(&mut self, ways: &Ways, host: usize) {
        self.each_link(ways, host, |load, weight| *load += weight);
    }

    /// Takes a host's paths out of the loads.
    fn take_away(&mut self, ways: &Ways, host: usize) {
        self.each_link(ways, host, |load, weight| *load -= weight);
    }

    /// Visits the load of each link that paths to a host use, with how many do.
    fn each_link(&mut self, ways: &Ways, host: usize, visit: impl Fn(&mut u64, u64)) {
        let start = host * self.switches.len();
        let receives = u64::from(self.hosts[host].2);
        for &switch in &ways.order {
            self.weight[switch as usize] = receives * u64::from(self.switches.hosts(switch as usize));
        }
        for &switch in ways.order.iter().rev() {
            let weight = self.weight[switch as usize];
            let Some(link) = self.link(start, switch as usize).filter(|_| weight > 0) else { continue };
            visit(&mut self.load[link], weight * self.slowness[link]);
            self.set_price(link);
            self.weight[self.peer_of[link] as usize] += weight;
        }
    }

    /// Chooses every switch's link to a host anew, the nearest switches first: the one on whose way least is
    /// waiting. Paths count at once, so that not all run to the
    /// same idle link: those of the switch's own hosts, and until these are known as many from beyond as came by before.
    fn choose(&mut self, ways: &Ways, host: usize) {
        let start = host * self.switches.len();
        let receives = u64::from(self.hosts[host].2);
        for (place, &switch) in ways.order.iter().enumerate() {
            let own = receives * u64::from(self.switches.hosts(switch as usize));
            let slot = start + switch as usize;
            let first = self.first_link[switch as usize];
            let before = self.chosen[slot];
            let mut best = (f64::INFINITY, NONE);
            for &(link, peer) in ways.links(place) {
                let mut cost = self.price[link as usize];
                let mut at = peer as usize;
                while let Some(link) = self.link(start, at).filter(|_| cost <= best.0) {
                    cost += self.price[link];
                    at = self.peer_of[link] as usize;
                }
                let place = (link - first) as u8;
                // Of equals the one that serves already.
                if cost < best.0 || (cost == best.0 && place == before) {
                    best = (cost, place);
                }
            }
            self.chosen[slot] = best.1;
            let through = if self.foresees { self.weight[switch as usize] } else { own };
            self.weight[switch as usize] = through - own;
            let mut at = self.link(start, switch as usize);
            if let Some(link) = at {
                self.add_to(link, through);
            }
            while let Some(link) = at.filter(|_| own > 0) {
                let next = self.peer_of[link] as usize;
                at = self.link(start, next);
                if let Some(link) = at {
                    let expected = own.min(self.weight[next]);
                    self.weight[next] -= expected;
                    self.add_to(link, own - expected);
                }
            }
        }
        for &switch in &ways.order {
            let never_came = std::mem::take(&mut self.weight[switch as usize]);
            if let Some(link) = self.link(start, switch as usize).filter(|_| never_came > 0) {
                self.load[link] -= never_came * self.slowness[link];
                self.set_price(link);
            }
        }
    }

    #[inline]
    fn add_to(&mut self, link: usize, paths: u64) {
        if paths > 0 {
            self.load[link] += paths * self.slowness[link];
            self.set_price(link);
        }
    }

    fn quality(&self) -> Quality {
        let squares = self.load.iter().map(|&load| u128::from(load) * u128::from(load)).sum();
        let fastest = self.slowness.iter().copied().min().unwrap_or(1);
        let bundle = (self.bundle * fastest) as f64;
        let price = |(&load, &least): (&u64, &f64)| Price::Beyond.of(load as f64, least, bundle);
        let most = self.most_loads();
        (most.iter().zip(&self.levels.least).map(price).sum(), squares)
    }

    /// Writes what differs from what was given.
    fn write(&self, tables: &mut Tables, given: &[u8]) {
        let count = self.switches.len();
        for (host, &(_, lid, _)) in self.hosts.iter().enumerate() {
            let row = host * count..(host + 1) * count;
            let rows = self.chosen[row.clone()].iter().zip(&given[row]).enumerate();
            for (switch, (&place, _)) in rows.filter(|&(_, (place, given))| place != given && *place != NONE)
            {
                let port = self.switches.links(switch)[usize::from(place)].port;
                tables.set(self.switches.node(switch), lid, port);
            }
        }
    }
}

/// The places of the links that tables choose, a row of switches for each host.
fn places(switches: &Switches, tables: &Tables, hosts: &[(u32, u32, u32)]) -> Vec<u8> {
    /// Hosts whose rows are filled together: reading along a switch's table and writing along a host's row both stay
    /// near.
    const TOGETHER: usize = 64;
    let count = switches.len();
    let mut place_of = vec![NONE; count * 256];
    for switch in 0..count {
        for (place, link) in switches.links(switch).iter().enumerate() {
            place_of[switch * 256 + usize::from(link.port)] = place as u8;
        }
    }
    let mut chosen = vec![NONE; hosts.len() * count];
    let rows = chosen.par_chunks_mut((TOGETHER * count).max(1)).zip(hosts.par_chunks(TOGETHER));
    rows.for_each(|(rows, hosts)| {
        for switch in 0..count {
            let (row, place_of) = (tables.row_at(switch), &place_of[switch * 256..(switch + 1) * 256]);
            for (host, &(at, lid, _)) in hosts.iter().enumerate() {
                if at as usize != switch {
                    rows[host * count + switch] = place_of[usize::from(row[lid as usize])];
                }
            }
        }
    });
    chosen
}

/// A tree of three levels in which every so many a link between switches is missing, from one on; for the tests of the parts.
#[cfg(test)]
fn worn_tree(skip: usize, step: usize) -> fabric::Fabric {
    let spec = fabric::generate::FatTreeSpec { levels: Some(3), radix: 8, ..Default::default() };
    let mut fabric = spec.build().unwrap();
    let between =
        |&(a, b): &(_, _)| fabric.is_switch(fabric.node_of(a)) && fabric.is_switch(fabric.node_of(b));
    let links: Vec<_> = fabric.links().filter(between).map(|(port, _)| port).collect();
    links.iter().skip(skip).step_by(step * 5).for_each(|&port| {
        fabric.disconnect(port);
    });
    let ports: Vec<_> = fabric.end_ports().collect();
    ports.iter().zip(1..).for_each(|(&port, lid)| fabric.set_lid(port, ib::Lid(lid), 0));
    fabric
}
