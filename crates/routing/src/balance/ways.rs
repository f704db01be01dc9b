//! All the ways to one switch that paths may take.

use crate::paths::{NO_PATH, Paths};
use crate::switches::Switches;

/// The switches that have a path to one target, the nearest first, with the links that each may take.
#[derive(Default)]
pub struct Ways {
    /// The switches, without the target.
    pub order: Vec<u32>,
    first: Vec<u32>,
    /// (link, switch it leads to)
    links: Vec<(u32, u32)>,
    /// Links on all these ways: what choosing among them has to look at, at most.
    pub looks: u64,
}

impl Ways {
    /// Finds those to `target`; `first_link` numbers the links of each switch.
    pub fn find(&mut self, switches: &Switches, paths: &Paths, first_link: &[u32], target: usize) {
        let cost = |switch: usize| paths.row(switch)[target];
        let hops = |switch: u32| paths.hops(cost(switch as usize));
        self.order.clear();
        self.order.extend(
            (0..switches.len() as u32).filter(|&s| s as usize != target && cost(s as usize) != NO_PATH),
        );
        self.order.sort_by_key(|&switch| hops(switch));
        self.links.clear();
        self.first.clear();
        self.first.push(0);
        self.looks = 0;
        for &switch in &self.order {
            let switch = switch as usize;
            let own = cost(switch);
            for (place, link) in switches.links(switch).iter().enumerate() {
                if paths.allows(switch, own, link.peer as usize, cost(link.peer as usize)) {
                    self.links.push((first_link[switch] + place as u32, link.peer));
                }
            }
            let added = self.links.len() as u64 - u64::from(self.first[self.first.len() - 1]);
            self.looks += added * hops(switch as u32).map_or(0, u64::from);
            self.first.push(self.links.len() as u32);
        }
    }

    /// The links that the switch at this place of the order may take, with where they lead.
    pub fn links(&self, place: usize) -> &[(u32, u32)] {
        &self.links[self.first[place] as usize..self.first[place + 1] as usize]
    }
}
