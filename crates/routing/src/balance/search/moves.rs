//! Single entries moved off crowded links: what even the largest fabrics have time for.
//!
//! A link is relieved by turning an entry of a switch whose paths come by it: the switch itself, or any before it.

use std::cmp::Reverse;

use super::{NONE, Price, Search};
use crate::paths::{NO_PATH, distinct_peers};

/// Links looked at before it ends: bounds the time to about two seconds.
const WORK: u64 = 200_000_000;
/// Hosts on a link that may be looked at in a row without a gain.
const PATIENCE: u32 = 96;
/// Entries on the way to one of them that may be.
const TRIES: u32 = 12;
/// Passes over all crowded links at most.
const PASSES: usize = 12;

/// A switch on the way to a crowded link.
#[derive(Clone, Copy)]
struct Sender {
    switch: usize,
    /// How many paths to the host come by here.
    paths: u64,
    /// Which of the senders it sends to; none for the switch at the link itself.
    next: Option<usize>,
}

impl Search<'_> {
    /// Moves entries off links that carry more than their target, until no move is a gain.
    pub(super) fn move_entries(&mut self) {
        self.pricing = Price::Beyond;
        let mut left = WORK;
        for pass in 0..PASSES {
            let mut crowded = self.beyond_their_least();
            if pass > 0 {
                // The worst alone from now on, with more patience each time.
                let most = crowded.first().map_or(0, |&link| self.beyond(link));
                crowded.retain(|&link| 2 * self.beyond(link) > most);
            }
            let mut moved = false;
            for link in crowded {
                moved |= self.relieve(link, pass, &mut left);
                if left == 0 {
                    return;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// What a link is to carry at most.
    fn target(&self, link: usize) -> u64 {
        let level = usize::from(self.levels.of_link[link]);
        self.targets.get(level).copied().unwrap_or_else(|| {
            let bundle = self.bundle * self.slowness[link];
            (self.levels.least[level].ceil() as u64).div_ceil(bundle) * bundle
        })
    }

    /// Paths on a link beyond its target.
    fn beyond(&self, link: usize) -> u64 {
        self.load[link].saturating_sub(self.target(link)) / self.slowness[link]
    }

    /// The links that carry more than their target, the fullest first.
    fn beyond_their_least(&self) -> Vec<usize> {
        let mut crowded: Vec<usize> = (0..self.load.len()).filter(|&link| self.beyond(link) > 0).collect();
        crowded.sort_by_key(|&link| (Reverse(self.beyond(link)), link));
        crowded
    }

    /// Turns entries until the link carries no more than its target, or none is left whose turn is a gain.
    fn relieve(&mut self, link: usize, pass: usize, left: &mut u64) -> bool {
        let count = self.switches.len();
        let target = self.target(link);
        let switch = self.first_link.partition_point(|&first| first as usize <= link) - 1;
        let place = (link - self.first_link[switch] as usize) as u8;
        let (mut moved, mut in_vain) = (false, 0);
        // Another link, and another pass, begins with another host: not always the same ones leave their ways.
        let first = (link * 61 + pass * 7) % self.hosts.len();
        for host in (first..self.hosts.len()).chain(0..first) {
            if self.load[link] <= target || *left == 0 || in_vain == PATIENCE << pass {
                break;
            }
            if self.chosen[host * count + switch] != place {
                continue;
            }
            let mut before = self.before(host, switch, left);
            in_vain += 1;
            let (mut tries, mut looked) = (0, 0);
            while looked < before.len() {
                // The farthest first: they move the fewest paths at once.
                let offset = (host * 17 + pass * 5) % before.len();
                let at = (2 * before.len() - 1 - offset - looked) % before.len();
                looked += 1;
                let Sender { switch: sender, paths, .. } = before[at];
                if paths == 0 {
                    continue;
                }
                tries += 1;
                let turned = self.turn(host, sender, paths, left);
                if turned {
                    (moved, in_vain, tries) = (true, 0, 0);
                }
                let is_gone = self.chosen[host * count + switch] != place;
                if is_gone || self.load[link] <= target || tries == TRIES << pass {
                    break;
                }
                if turned {
                    // They may come by still, another way.
                    before = self.before(host, switch, left);
                    looked = 0;
                }
            }
        }
        moved
    }

    /// The switch and all whose paths to a host come by it, each after the one that it sends to.
    fn before(&self, host: usize, switch: usize, left: &mut u64) -> Vec<Sender> {
        let start = host * self.switches.len();
        let (target, receives) = (self.hosts[host].0 as usize, u64::from(self.hosts[host].2));
        let own = |switch: usize| receives * u64::from(self.switches.hosts(switch));
        let mut found = vec![Sender { switch, paths: own(switch), next: None }];
        let (mut at, mut peers) = (0, Vec::new());
        while let Some(&Sender { switch, .. }) = found.get(at) {
            peers.clear();
            peers.extend(distinct_peers(self.switches, switch));
            peers.sort_unstable();
            peers.dedup();
            for &peer in &peers {
                let leads = self.link(start, peer).map(|link| self.peer_of[link] as usize);
                // Ways of pairs without a path, for management alone, count nowhere.
                if leads == Some(switch) && self.paths.row(peer)[target] != NO_PATH {
                    found.push(Sender { switch: peer, paths: own(peer), next: Some(at) });
                }
            }
            *left = left.saturating_sub(self.switches.links(switch).len() as u64);
            at += 1;
        }
        for at in (1..found.len()).rev() {
            let Sender { paths, next, .. } = found[at];
            found[next.unwrap_or(0)].paths += paths;
        }
        found
    }

    /// Turns a switch's entry for a host to the link that costs least, where that is a gain.
    fn turn(&mut self, host: usize, switch: usize, paths: u64, left: &mut u64) -> bool {
        let start = host * self.switches.len();
        let target = self.hosts[host].0 as usize;
        let (first, before) = (self.first_link[switch] as usize, self.chosen[start + switch]);
        if before == NONE {
            return false;
        }
        let cost = self.paths.row(switch)[target];
        self.shift(start, switch, |load, paths| load - paths, paths);
        let mut best = (self.cost(start, first + usize::from(before), paths), before);
        for (place, link) in self.switches.links(switch).iter().enumerate() {
            let peer = link.peer as usize;
            if place as u8 != before && self.paths.allows(switch, cost, peer, self.paths.row(peer)[target]) {
                let cost = self.cost(start, first + place, paths);
                // A gain too small to tell from rounding is none.
                if cost < best.0 * (1.0 - 1e-9) {
                    best = (cost, place as u8);
                }
            }
        }
        *left = left.saturating_sub(2 * self.switches.links(switch).len() as u64);
        self.chosen[start + switch] = best.1;
        self.shift(start, switch, |load, paths| load + paths, paths);
        best.1 != before
    }

    /// What that many paths more from `link` on to a host would cost.
    fn cost(&self, start: usize, link: usize, paths: u64) -> f64 {
        let mut cost = 0.0;
        let mut at = Some(link);
        while let Some(link) = at {
            let (least, bundle) = (
                self.levels.least[usize::from(self.levels.of_link[link])],
                self.bundle * self.slowness[link],
            );
            let price = |load: u64| self.pricing.of(load as f64, least, bundle as f64);
            cost += price(self.load[link] + paths * self.slowness[link]) - price(self.load[link]);
            at = self.link(start, self.peer_of[link] as usize);
        }
        cost
    }

    /// Changes the loads from a switch on to a host by that many paths.
    fn shift(&mut self, start: usize, switch: usize, change: impl Fn(u64, u64) -> u64, paths: u64) {
        let mut at = self.link(start, switch);
        while let Some(link) = at {
            self.load[link] = change(self.load[link], paths * self.slowness[link]);
            at = self.link(start, self.peer_of[link] as usize);
        }
    }
}

#[cfg(test)]
mod tests {

    use super::super::super::levels::Levels;
    use super::super::worn_tree;
    use super::*;
    use crate::paths::Paths;
    use crate::ranks;
    use crate::spread::spread;
    use crate::switches::Switches;

    #[test]
    fn moves_lower_the_largest_loads_and_keep_count_of_them() {
        for step in [3, 7, 20, 41] {
            let fabric = worn_tree(2, step);
            let switches = Switches::new(&fabric);
            let rank = ranks::of(&fabric, &switches);
            let paths = Paths::up_down(&switches, &rank);
            let tables = spread(&fabric, &switches, &paths, &rank);
            let mut search = Search::new(&switches, &paths, Levels::of(&switches, &rank), &tables);
            search.count_loads();
            let before = search.quality();
            search.move_entries();
            let (after, counted) = (search.quality(), search.load.clone());
            search.count_loads();
            assert_eq!(counted, search.load);
            assert!(after.0 < before.0, "every {step}th: {} from {}", after.0, before.0);
        }
    }
}
