//! The order of the switches, which says which links lead up.

use std::cmp::Reverse;

use fabric::Fabric;

use super::choice::Choice;
use crate::links::Links;
use crate::paths::Paths;
use crate::ranks;
use crate::switches::Switches;

/// Roots that orders are tried from, besides the widest switch.
const ROOTS: usize = 8;

/// An order of the switches, told by the direction of each link.
pub(super) struct Order {
    up: Vec<bool>,
    height: Vec<u32>,
}

impl Order {
    /// `height`: a different one for every switch.
    pub(super) fn new(links: &Links, height: &[u32]) -> Self {
        let from = |switch: usize| links.of(switch).map(move |link| (switch, links.peer(link)));
        let up = (0..height.len()).flat_map(from).map(|(from, to)| height[to] > height[from]).collect();
        Self { up, height: height.to_vec() }
    }

    /// Which of the four turns two links in a row make: see [`super::classes`].
    #[inline]
    pub(super) fn turn(&self, first: usize, second: usize) -> usize {
        usize::from(!self.up[first]) << 1 | usize::from(!self.up[second])
    }

    /// The place of each link in a row in which paths that go up, then down, never turn back: links up by the height
    /// that they come from, then links down from the highest on.
    pub(super) fn up_before_down(&self, links: &Links) -> Vec<u32> {
        let from = |link: usize| links.peer(links.back(link));
        let mut row: Vec<usize> = (0..links.len()).collect();
        row.sort_by_key(|&link| {
            let height = i64::from(self.height[from(link)]);
            if self.up[link] { (false, height) } else { (true, -height) }
        });
        let mut place = vec![0; row.len()];
        row.iter().zip(0..).for_each(|(&link, at)| place[link] = at);
        place
    }
}

/// The order of the switches in which the fewest paths fit no class; of those the one with the fewest valleys.
pub(super) fn best(fabric: &Fabric, switches: &Switches, paths: &Paths, links: &Links) -> Order {
    let rate = |height: Vec<u32>| {
        let order = Order::new(links, &height);
        let mut choice = Choice::new(switches, paths, links, &order, true);
        choice.keep_sample();
        choice.round(false);
        let (misfits, valleys) = choice.count_misfits();
        ((misfits, valleys), order)
    };
    let mut by_rank: Vec<u32> = (0..switches.len() as u32).collect();
    let rank = ranks::of(fabric, switches);
    by_rank.sort_by_key(|&switch| (rank[switch as usize], Reverse(switch)));
    let widest = (0..switches.len()).max_by_key(|&switch| (switches.links(switch).len(), Reverse(switch)));
    let spread = (0..ROOTS).map(|number| number * switches.len() / ROOTS);
    let roots = widest.into_iter().chain(spread).map(|root| ranks::from_root(switches, root));
    let all = std::iter::once(by_rank).chain(roots);
    let best = all.map(|ascending| rate(ranks::heights(&ascending))).min_by_key(|&(rating, _)| rating);
    best.map_or_else(|| Order::new(links, &[]), |(_, order)| order)
}
