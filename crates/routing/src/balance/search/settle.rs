//! Entries moved so that random permutations of the hosts meet less, with no level's largest load any higher: paths become
//! even where they climb, and stay with few destinations where they descend. See [`chance`](super::super::chance).

use super::{NONE, Search};
use crate::balance::chance::{Chance, power_of_two};
use crate::balance::ways::Ways;

/// Links looked at before it ends, for each of the two parts: bounds the time to about a second.
const WORK: u64 = 30_000_000;
/// Passes over all destinations at most.
const PASSES: usize = 16;
/// A pass that makes the sum smaller by less than this share of it is the last one.
const LEAST_GAIN: f64 = 3e-3;
/// What a path beyond what its link may carry counts as, in times all chances together.
const BEYOND: f64 = 1000.0;
/// Times that less is tried.
const TIGHTER: usize = 4;

/// What is known of the links while entries are moved.
pub(super) struct Settling {
    chance: Chance,
    /// The most that each level may carry.
    most: Vec<u64>,
    /// What every path beyond that adds.
    beyond: f64,
    /// What a link at its most adds, and one with a bundle less half of it: where links carry too much, others that are
    /// nearly full make room for what has to leave.
    room: f64,
    /// One over the load of a link that gets a path from every host in each permutation.
    scale: f64,
    /// One over what a bundle adds to the load of the fastest link.
    bundle: f64,
    /// For each link the squares of its paths to each destination, summed.
    squares: Vec<f64>,
    /// For each link one over how many sources it has, if they all sent alike by it.
    sources: Vec<f64>,
}

impl Settling {
    /// The mean number of paths on a link in a permutation, and how much of that is certain.
    #[inline]
    fn expected(&self, link: usize, load: u64, squares: f64) -> (f64, f64) {
        let mean = load as f64 * self.scale;
        (mean, squares * self.scale * self.scale + mean * mean * self.sources[link])
    }

    #[inline]
    fn price(&self, link: usize, load: u64, squares: f64, most: u64) -> f64 {
        let (mean, certain) = self.expected(link, load, squares);
        let mut price = self.chance.of(mean, certain);
        if load > most {
            price += (load - most) as f64 * self.beyond;
        }
        if self.room > 0.0 {
            price += self.room * power_of_two((load as f64 - most as f64) * self.bundle);
        }
        price
    }
}

impl Search<'_> {
    /// What is known of the links as they are loaded now, and the chances that follow from it.
    pub(super) fn settling(&mut self, most: &[u64]) -> Settling {
        let fastest = self.slowness.iter().copied().min().unwrap_or(1);
        let hosts: u64 = self.hosts.iter().map(|&(.., weight)| u64::from(weight)).sum();
        let mut settling = Settling {
            chance: Chance::of_many(std::iter::empty(), 1.0),
            most: most.to_vec(),
            beyond: 0.0,
            room: 0.0,
            scale: 1.0 / (hosts * fastest).max(1) as f64,
            bundle: 1.0 / (self.bundle * fastest) as f64,
            squares: Vec::new(),
            sources: Vec::new(),
        };
        self.take_stock(&mut settling);
        let links =
            (0..self.load.len()).map(|link| settling.expected(link, self.load[link], settling.squares[link]));
        let mean = self.mean_loads().into_iter().max().unwrap_or(0) as f64 * settling.scale;
        settling.chance = Chance::of_many(links, mean);
        settling
    }

    /// Takes the squares and the sources of what is chosen.
    pub(super) fn take_stock(&mut self, settling: &mut Settling) {
        settling.squares.clear();
        settling.squares.resize(self.load.len(), 0.0);
        let mut ways = Ways::default();
        for hosts in self.on_switch.clone() {
            self.find_ways(hosts.start, &mut ways);
            for host in hosts {
                self.gather(&ways, host);
                for &switch in &ways.order {
                    if let Some(link) = self.link(host * self.switches.len(), switch as usize) {
                        settling.squares[link] += self.square(link, self.weight[switch as usize]);
                    }
                }
            }
        }
        settling.sources = self.sources();
    }

    /// Moves entries. Returns what the chances of all links then sum up to.
    pub(super) fn settle(&mut self, settling: &mut Settling) -> f64 {
        let all = self.chances(settling);
        let mut left = WORK;
        settling.beyond = BEYOND * all;
        settling.room = all;
        if !self.is_within(&settling.most) {
            self.make_passes(settling, &mut left);
        }
        if self.is_within(&settling.most) {
            self.tighten(settling, &mut left);
        }
        settling.room = 0.0;
        left = WORK;
        self.make_passes(settling, &mut left);
        settling.beyond = 0.0;
        self.chances(settling)
    }

    /// Lowers what the levels may carry as far as entries can follow.
    fn tighten(&mut self, settling: &mut Settling, left: &mut u64) {
        settling.most = self.most_loads();
        let mut low: Vec<u64> = self.levels.least.iter().map(|least| least.ceil() as u64).collect();
        for _ in 0..TIGHTER {
            let halfway = |(&low, &most): (&u64, &u64)| if low < most { (low + most) / 2 } else { most };
            let tighter: Vec<u64> = low.iter().zip(&settling.most).map(halfway).collect();
            if tighter == settling.most || *left == 0 {
                return;
            }
            let kept = (self.chosen.clone(), self.load.clone(), settling.squares.clone());
            let most = std::mem::replace(&mut settling.most, tighter);
            self.make_passes(settling, left);
            if self.is_within(&settling.most) {
                settling.most = self.most_loads();
            } else {
                (self.chosen, self.load, settling.squares) = kept;
                low = std::mem::replace(&mut settling.most, most);
            }
        }
    }

    /// Whether no level carries more than this.
    pub(super) fn is_within(&self, most: &[u64]) -> bool {
        self.load.iter().zip(&self.levels.of_link).all(|(&load, &level)| load <= most[usize::from(level)])
    }

    /// The prices of all links together: the chances, where nothing is counted on top of them.
    pub(super) fn chances(&self, settling: &Settling) -> f64 {
        let links = self.load.iter().zip(&settling.squares).zip(&self.levels.of_link).enumerate();
        let price = |(link, ((&load, &squares), &level))| {
            settling.price(link, load, squares, settling.most[usize::from(level)])
        };
        links.map(price).sum()
    }

    /// Takes up all destinations until that is no gain; while there has to be room, until there is.
    fn make_passes(&mut self, settling: &mut Settling, left: &mut u64) {
        let mut before = self.chances(settling);
        let mut ways = Ways::default();
        for _ in 0..PASSES {
            for hosts in self.on_switch.clone() {
                self.find_ways(hosts.start, &mut ways);
                for host in hosts {
                    if *left == 0 {
                        return;
                    }
                    self.settle_host(&ways, host, settling);
                    *left = left.saturating_sub(ways.looks);
                }
            }
            let after = self.chances(settling);
            let has_room = settling.room > 0.0 && self.is_within(&settling.most);
            if has_room || after > before * (1.0 - LEAST_GAIN) {
                return;
            }
            before = after;
        }
    }

    /// For each link one over how many sources it has.
    fn sources(&self) -> Vec<f64> {
        let (count, links) = (self.switches.len(), self.load.len());
        let (mut sums, mut squares, mut shares) = (vec![0.0; links], vec![0.0; links], vec![0.0; links]);
        let mut met = Vec::new();
        for hosts in &self.on_switch {
            let from = self.hosts[hosts.start].0 as usize;
            for (host, &(.., weight)) in self.hosts.iter().enumerate() {
                let mut at = from;
                while let Some(link) = self.link(host * count, at) {
                    if shares[link] == 0.0 {
                        met.push(link);
                    }
                    shares[link] += f64::from(weight);
                    at = self.peer_of[link] as usize;
                }
            }
            let own = f64::from(self.switches.hosts(from));
            for link in met.drain(..) {
                let share = std::mem::take(&mut shares[link]);
                sums[link] += own * share;
                squares[link] += own * share * share;
            }
        }
        let inverse = |(&sum, &squares): (&f64, &f64)| if sum > 0.0 { squares / (sum * sum) } else { 0.0 };
        sums.iter().zip(&squares).map(inverse).collect()
    }

    #[inline]
    fn square(&self, link: usize, paths: u64) -> f64 {
        let load = (paths * self.slowness[link]) as f64;
        load * load
    }

    /// Counts the paths to a host that come by each switch.
    fn gather(&mut self, ways: &Ways, host: usize) {
        let start = host * self.switches.len();
        let receives = u64::from(self.hosts[host].2);
        for &switch in &ways.order {
            self.weight[switch as usize] = receives * u64::from(self.switches.hosts(switch as usize));
        }
        for &switch in ways.order.iter().rev() {
            if let Some(link) = self.link(start, switch as usize) {
                self.weight[self.peer_of[link] as usize] += self.weight[switch as usize];
            }
        }
    }

    /// Turns entries for one host wherever that is a gain, the nearest switches' first.
    fn settle_host(&mut self, ways: &Ways, host: usize, settling: &mut Settling) {
        let start = host * self.switches.len();
        self.gather(ways, host);
        for (at, &switch) in ways.order.iter().enumerate() {
            let switch = switch as usize;
            let (paths, before) = (self.weight[switch], self.chosen[start + switch]);
            let links = ways.links(at);
            if paths == 0 || before == NONE || links.len() < 2 {
                continue;
            }
            let first = self.first_link[switch] as usize;
            let own = first + usize::from(before);
            self.take_off(start, switch, settling, paths);
            let mut best = (self.growth(start, own, paths, settling), before);
            for &(link, _) in links.iter().filter(|&&(link, _)| link as usize != own) {
                let growth = self.growth(start, link as usize, paths, settling);
                // A gain too small to tell from rounding is none.
                if growth < best.0 - best.0.abs() * 1e-9 {
                    best = (growth, (link as usize - first) as u8);
                }
            }
            self.chosen[start + switch] = best.1;
            self.put_on(start, switch, settling, paths);
        }
        for &switch in &ways.order {
            self.weight[switch as usize] = 0;
        }
        self.weight[self.hosts[host].0 as usize] = 0;
    }

    /// Takes a switch's paths off the links on their way.
    fn take_off(&mut self, start: usize, switch: usize, settling: &mut Settling, paths: u64) {
        let mut at = switch;
        while let Some(link) = self.link(start, at) {
            let others = self.weight[at] - paths;
            settling.squares[link] -= self.square(link, self.weight[at]) - self.square(link, others);
            self.load[link] -= paths * self.slowness[link];
            self.weight[at] = others;
            at = self.peer_of[link] as usize;
        }
    }

    /// Puts a switch's paths on the links on their way.
    fn put_on(&mut self, start: usize, switch: usize, settling: &mut Settling, paths: u64) {
        let mut at = switch;
        while let Some(link) = self.link(start, at) {
            let others = self.weight[at];
            self.weight[at] += paths;
            settling.squares[link] += self.square(link, self.weight[at]) - self.square(link, others);
            self.load[link] += paths * self.slowness[link];
            at = self.peer_of[link] as usize;
        }
    }

    /// How much the prices of all links grow with a switch's paths on the way that begins with `link`.
    fn growth(&self, start: usize, link: usize, paths: u64, settling: &Settling) -> f64 {
        let (mut sum, mut others, mut at) = (0.0, 0, Some(link));
        while let Some(link) = at {
            let (load, squares) = (self.load[link], settling.squares[link]);
            let most = settling.most[usize::from(self.levels.of_link[link])];
            let grown = squares + self.square(link, others + paths) - self.square(link, others);
            sum += settling.price(link, load + paths * self.slowness[link], grown, most)
                - settling.price(link, load, squares, most);
            let next = self.peer_of[link] as usize;
            at = self.link(start, next);
            others = self.weight[next];
        }
        sum
    }
}

#[cfg(test)]
mod tests {

    use super::super::worn_tree;
    use super::*;
    use crate::balance::levels::Levels;
    use crate::paths::Paths;
    use crate::ranks;
    use crate::spread::spread;
    use crate::switches::Switches;

    #[test]
    fn less_is_met_by_chance_and_no_level_carries_more() {
        for step in [3, 7, 20, 41] {
            let fabric = worn_tree(1, step);
            let switches = Switches::new(&fabric);
            let rank = ranks::of(&fabric, &switches);
            let paths = Paths::up_down(&switches, &rank);
            let tables = spread(&fabric, &switches, &paths, &rank);
            let mut search = Search::new(&switches, &paths, Levels::of(&switches, &rank), &tables);
            search.count_loads();
            let most = search.most_loads();
            let mut settling = search.settling(&most);
            let before = search.chances(&settling);
            let after = search.settle(&mut settling);
            assert!(after < before, "every {step}th: {after} from {before}");
            assert!(search.is_within(&most));
            // What was counted along the way is what there is.
            let (load, squares) = (search.load.clone(), settling.squares.clone());
            search.count_loads();
            search.take_stock(&mut settling);
            assert_eq!(load, search.load);
            assert_eq!(squares, settling.squares);
        }
    }
}
