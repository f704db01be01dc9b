//! Evens out the load on links where a tree is not regular: takes the destinations up again, one after another, and
//! gives each the way on which least is waiting, until that helps no more.
//!
//! Load is what [`crate::quality`] counts: ordered pairs of hosts on each direction of a link, times the link's slowness.

use fabric::Fabric;

use crate::paths::{NO_PATH, Paths};
use crate::ranks;
use crate::spread::spread;
use crate::switches::{SwitchLink, Switches};
use crate::tables::Tables;

/// Links looked at before it ends: bounds the time to about half a second on any fabric.
const WORK: u64 = 200_000_000;
/// Most rounds over all destinations.
const ROUNDS: u64 = 12;
/// Rounds in a row that may bring nothing before it ends.
const PATIENCE: u64 = 3;
/// Hosts times switches beyond which the first spread stands: counting its loads alone would take too long.
const MOST_ENTRIES: u64 = 17_000_000;

/// Links times switches beyond which it stands as well: finding all ways would take too long.
const MOST_WAYS: usize = 70_000_000;

/// Tables over `paths` whose links carry about as many paths as each other. Regular trees and very large fabrics keep
/// the even spread of [`spread`].
pub fn balanced(fabric: &Fabric, switches: &Switches, paths: &Paths, rank: &[u32]) -> Tables {
    let mut tables = spread(fabric, switches, paths, rank);
    let several_lids =
        (0..switches.len()).flat_map(|s| switches.destinations(s)).any(|to| to.host && to.lids.len() > 1);
    let links: usize = (0..switches.len()).map(|switch| switches.links(switch).len()).sum();
    let ways_are_soon_found = links * switches.len() <= MOST_WAYS;
    let weighted = (0..switches.len()).flat_map(|s| switches.destinations(s)).any(|to| to.weight > 1);
    let uneven = weighted || !ranks::is_regular(switches, rank) || has_unlike_links(switches, rank);
    if !several_lids && ways_are_soon_found && is_small(switches) && uneven {
        Balance::new(switches, paths, &tables).improve(&mut tables);
    }
    tables
}

/// Whether some switch has a faster and a slower link to the same level.
fn has_unlike_links(switches: &Switches, rank: &[u32]) -> bool {
    (0..switches.len()).any(|switch| {
        let links = switches.links(switch);
        let unlike = |a: &SwitchLink, b: &SwitchLink| {
            rank[a.peer as usize] == rank[b.peer as usize] && a.slowness != b.slowness
        };
        links.iter().any(|link| links.iter().any(|other| unlike(link, other)))
    })
}

/// Whether loads on all links are soon counted.
pub(crate) fn is_small(switches: &Switches) -> bool {
    let hosts: u64 = (0..switches.len()).map(|switch| u64::from(switches.hosts(switch))).sum();
    hosts * switches.len() as u64 <= MOST_ENTRIES
}

/// No link is chosen.
const NONE: u32 = u32::MAX;

/// The links chosen for every host, and the load that follows.
struct Balance<'a> {
    switches: &'a Switches,
    paths: &'a Paths,
    /// First link of each switch: a link's number is this and its place on the switch.
    first_link: Vec<u32>,
    /// The switch that each link leads to.
    peer_of: Vec<u32>,
    /// What a path on each link counts as.
    slowness: Vec<u64>,
    /// (switch, LID, weight) of every host.
    hosts: Vec<(u32, u32, u32)>,
    /// The links chosen, a row of switches for each host.
    chosen: Vec<u32>,
    load: Vec<u64>,
    weight: Vec<u64>,
}

/// The switches that have a path to one target, the nearest first, with the links that each may take.
#[derive(Default)]
struct Ways {
    order: Vec<u32>,
    first: Vec<u32>,
    /// (link, switch it leads to)
    links: Vec<(u32, u32)>,
    /// Links on all these ways: what choosing among them has to look at, at most.
    looks: u64,
}

impl<'a> Balance<'a> {
    fn new(switches: &'a Switches, paths: &'a Paths, tables: &Tables) -> Self {
        let count = switches.len();
        let mut first_link = vec![0];
        for switch in 0..count {
            first_link.push(first_link[switch] + switches.links(switch).len() as u32);
        }
        let hosts: Vec<(u32, u32, u32)> = (0..count)
            .flat_map(|switch| {
                let hosts = switches.destinations(switch).iter().filter(|to| to.host);
                hosts.map(move |host| (switch as u32, host.lids.start, host.weight))
            })
            .collect();
        let mut chosen = vec![NONE; hosts.len() * count];
        for switch in 0..count {
            let mut link_of = [NONE; 256];
            for (place, link) in switches.links(switch).iter().enumerate() {
                link_of[usize::from(link.port)] = first_link[switch] + place as u32;
            }
            let row = tables.row_at(switch);
            for (host, &(at, lid, _)) in hosts.iter().enumerate() {
                let local = at as usize == switch;
                chosen[host * count + switch] =
                    if local { NONE } else { link_of[usize::from(row[lid as usize])] };
            }
        }
        let links = first_link[count] as usize;
        Self {
            switches,
            paths,
            first_link,
            slowness: (0..count)
                .flat_map(|s| switches.links(s))
                .map(|link| u64::from(link.slowness))
                .collect(),
            peer_of: (0..count).flat_map(|s| switches.links(s)).map(|link| link.peer).collect(),
            hosts,
            chosen,
            load: vec![0; links],
            weight: vec![0; count],
        }
    }

    fn improve(&mut self, tables: &mut Tables) {
        let switches = self.switches.len() as u64;
        let mut ways = Ways::default();
        let mut looks = 0;
        self.each_target(|this, host, fresh| {
            if fresh {
                this.find_ways(host, &mut ways);
            }
            looks += ways.looks;
            this.add(&ways, host);
        });
        // Where all destinations cannot be taken up several times, only those on the most loaded links are.
        let some = looks > WORK / 4;
        let mut left = if some { WORK / 4 } else { WORK };
        let mut best = (self.quality(), self.chosen.clone());
        let mut better_at = 0;
        for round in 0..if some { 4 * ROUNDS } else { ROUNDS } {
            let hot = if some { self.hot_load() } else { 0 };
            let mut known = false;
            self.each_target(|this, host, fresh| {
                known &= !fresh;
                if left == 0 {
                    return;
                }
                if some {
                    left = left.saturating_sub(switches / 8);
                    if !this.crosses(host, hot) {
                        return;
                    }
                }
                if !known {
                    this.find_ways(host, &mut ways);
                    known = true;
                }
                this.take_away(&ways, host);
                this.choose(&ways, host, if some { ROUNDS } else { round });
                left = left.saturating_sub(ways.looks);
            });
            let quality = self.quality();
            if quality < best.0 {
                best = (quality, self.chosen.clone());
                better_at = round;
            } else if round - better_at >= PATIENCE {
                break;
            }
        }
        self.chosen = best.1;
        self.write(tables);
    }

    /// A load that few links go beyond.
    fn hot_load(&self) -> u64 {
        let mean = self.load.iter().sum::<u64>() / (self.load.len() as u64).max(1);
        let max = self.load.iter().copied().max().unwrap_or(0);
        mean + (max - mean) / 4 * 3
    }

    /// Whether paths to a host use a link loaded beyond `hot`.
    fn crosses(&self, host: usize, hot: u64) -> bool {
        let count = self.switches.len();
        let row = &self.chosen[host * count..(host + 1) * count];
        row.iter().any(|&link| link != NONE && self.load[link as usize] > hot)
    }

    /// Calls `visit` for each host, and says whether it is the first one on its switch.
    fn each_target(&mut self, mut visit: impl FnMut(&mut Self, usize, bool)) {
        for host in 0..self.hosts.len() {
            let fresh = host == 0 || self.hosts[host].0 != self.hosts[host - 1].0;
            visit(self, host, fresh);
        }
    }

    /// The ways to a host's switch.
    fn find_ways(&self, host: usize, ways: &mut Ways) {
        let target = self.hosts[host].0 as usize;
        let cost = |switch: usize| self.paths.row(switch)[target];
        let hops = |switch: u32| self.paths.hops(cost(switch as usize));
        ways.order.clear();
        ways.order.extend(
            (0..self.switches.len() as u32).filter(|&s| s as usize != target && cost(s as usize) != NO_PATH),
        );
        ways.order.sort_by_key(|&switch| hops(switch));
        ways.links.clear();
        ways.first.clear();
        ways.first.push(0);
        ways.looks = 0;
        for &switch in &ways.order {
            let switch = switch as usize;
            let own = cost(switch);
            for (place, link) in self.switches.links(switch).iter().enumerate() {
                if self.paths.allows(switch, own, link.peer as usize, cost(link.peer as usize)) {
                    ways.links.push((self.first_link[switch] + place as u32, link.peer));
                }
            }
            let added = ways.links.len() as u64 - u64::from(ways.first[ways.first.len() - 1]);
            ways.looks += added * hops(switch as u32).map_or(0, u64::from);
            ways.first.push(ways.links.len() as u32);
        }
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
        let chosen = &self.chosen[host * self.switches.len()..(host + 1) * self.switches.len()];
        let receives = u64::from(self.hosts[host].2);
        for &switch in &ways.order {
            self.weight[switch as usize] = receives * u64::from(self.switches.hosts(switch as usize));
        }
        for &switch in ways.order.iter().rev() {
            let link = chosen[switch as usize];
            if link == NONE {
                continue;
            }
            let weight = self.weight[switch as usize];
            visit(&mut self.load[link as usize], weight * self.slowness[link as usize]);
            self.weight[self.peer_of[link as usize] as usize] += weight;
        }
    }

    /// Chooses every switch's link to a host anew, the nearest switches first: the one on whose way least is waiting.
    /// The paths of the switch's own hosts count at once, so that not all run to the same idle link.
    fn choose(&mut self, ways: &Ways, host: usize, round: u64) {
        let count = self.switches.len();
        let receives = u64::from(self.hosts[host].2);
        let chosen = &mut self.chosen[host * count..(host + 1) * count];
        for (place, &switch) in ways.order.iter().enumerate() {
            let links = &ways.links[ways.first[place] as usize..ways.first[place + 1] as usize];
            let own = receives * u64::from(self.switches.hosts(switch as usize));
            let before = chosen[switch as usize];
            let mut best = (f64::INFINITY, NONE);
            for &(link, peer) in links {
                let mut cost = penalty(self.load[link as usize] + own * self.slowness[link as usize], round);
                let mut at = peer as usize;
                while chosen[at] != NONE && cost <= best.0 {
                    let link = chosen[at] as usize;
                    cost += penalty(self.load[link] + own * self.slowness[link], round);
                    at = self.peer_of[chosen[at] as usize] as usize;
                }
                // Of equals the one that serves already.
                if cost < best.0 || (cost == best.0 && link == before) {
                    best = (cost, link);
                }
            }
            chosen[switch as usize] = best.1;
            let mut at = switch as usize;
            while own > 0 && chosen[at] != NONE {
                self.load[chosen[at] as usize] += own * self.slowness[chosen[at] as usize];
                at = self.peer_of[chosen[at] as usize] as usize;
            }
        }
    }

    /// The largest load, then the sum of squares: smaller is better.
    fn quality(&self) -> (u64, u128) {
        let squares = self.load.iter().map(|&load| u128::from(load) * u128::from(load)).sum();
        (self.load.iter().copied().max().unwrap_or(0), squares)
    }

    fn write(&self, tables: &mut Tables) {
        let count = self.switches.len();
        for (host, &(_, lid, _)) in self.hosts.iter().enumerate() {
            for switch in 0..count {
                let link = self.chosen[host * count + switch];
                if link != NONE {
                    let place = (link - self.first_link[switch]) as usize;
                    let port = self.switches.links(switch)[place].port;
                    tables.set(self.switches.node(switch), lid, port);
                }
            }
        }
    }
}

/// What a path over a link with this load costs. It grows faster than the load, so that a long way round a crowd is
/// better than the crowd; in the first rounds slower, to find a good order of things.
fn penalty(load: u64, round: u64) -> f64 {
    let load = load as f64;
    if round < 3 { load } else { load * load * load * load }
}
