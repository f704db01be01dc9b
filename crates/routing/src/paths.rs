//! For all pairs of switches: how far, and by which links a path may go on.
//!
//! Two rules. *Shortest*: any shortest path. *Up-down*: every link has an upper end, and a path goes up, then down,
//! never up again; so no circle of links can wait for each other on one lane. A switch that reaches the target by
//! going down alone always does, so that each next switch may go on by the same table.
//!
//! Costs are bytes, a row a switch, so that a row is made from its neighbours' rows 16 or 32 targets at a time.

use fabric::Fabric;
use rayon::prelude::*;

use crate::error::RouteError;
use crate::switches::Switches;

/// Cost of a target that no path leads to.
pub const NO_PATH: u8 = 255;
/// Longest of shortest paths that a cost can tell.
const MOST_HOPS: u32 = 254;
/// Longest of up-down paths that a cost can tell. A subnet manager in the middle reaches no further either: a directed
/// route has at most 63 hops.
pub const MOST_UP_DOWN_HOPS: u32 = 126;
/// In up-down costs: the path starts upwards.
const UP: u8 = 128;
/// The hops of an up-down cost; this value means none.
const HOPS: u8 = 127;

/// Costs from every switch to every switch, by their dense numbers.
pub struct Paths {
    switches: usize,
    /// Where each switch's row lies.
    row_of: Vec<u32>,
    costs: Vec<u8>,
    /// For up-down, the height of each switch, all different; empty for shortest paths.
    heights: Vec<u32>,
}

impl Paths {
    /// Shortest paths. Fails where two switches of one part are more than 254 hops apart.
    pub fn shortest(fabric: &Fabric, switches: &Switches) -> Result<Self, RouteError> {
        let count = switches.len();
        let mut costs = vec![NO_PATH; count * count];
        for switch in 0..count {
            costs[switch * count + switch] = 0;
        }
        let mut next = costs.clone();
        loop {
            let changed = next
                .par_chunks_exact_mut(count.max(1))
                .enumerate()
                .map(|(switch, row)| {
                    row.copy_from_slice(&costs[switch * count..(switch + 1) * count]);
                    for link in distinct_peers(switches, switch) {
                        let peer = &costs[link * count..(link + 1) * count];
                        for (own, &cost) in row.iter_mut().zip(peer) {
                            *own = (*own).min(cost.saturating_add(1));
                        }
                    }
                    row != &costs[switch * count..(switch + 1) * count]
                })
                .reduce(|| false, |a, b| a || b);
            std::mem::swap(&mut costs, &mut next);
            if !changed {
                break;
            }
        }
        let row_of = (0..count as u32).collect();
        let paths = Self { switches: count, row_of, costs, heights: Vec::new() };
        paths.check_reach(fabric, switches)?;
        Ok(paths)
    }

    /// Up-down paths, the shortest of those that go down at once where they can. `rank` says how high each switch is;
    /// of two with the same rank the one with the smaller number is higher. Pairs without such a path stay
    /// [`NO_PATH`].
    pub fn up_down(switches: &Switches, rank: &[u32]) -> Self {
        let count = switches.len();
        let heights = heights(rank);
        let layers = layers(switches, &heights);
        let mut row_of = vec![0; count];
        for (row, &switch) in layers.order.iter().enumerate() {
            row_of[switch as usize] = row as u32;
        }
        let mut paths = Self { switches: count, row_of, costs: vec![HOPS; count * count], heights };
        for layer in layers.ranges() {
            paths.fill_down(switches, &layers.order, layer);
        }
        for layer in layers.ranges().rev() {
            paths.fill_up(switches, &layers.order, layer);
        }
        paths
    }

    fn fill_down(&mut self, switches: &Switches, order: &[u32], layer: std::ops::Range<usize>) {
        let count = self.switches;
        let (below, here) = self.costs.split_at_mut(layer.start * count);
        let (row_of, heights) = (&self.row_of, &self.heights);
        let rows = here[..layer.len() * count].par_chunks_exact_mut(count.max(1));
        rows.zip(&order[layer]).for_each(|(row, &switch)| {
            let switch = switch as usize;
            for peer in distinct_peers(switches, switch).filter(|&peer| heights[peer] < heights[switch]) {
                let start = row_of[peer] as usize * count;
                for (own, &cost) in row.iter_mut().zip(&below[start..start + count]) {
                    *own = (*own).min((cost + 1).min(HOPS));
                }
            }
            row[switch] = 0;
        });
    }

    fn fill_up(&mut self, switches: &Switches, order: &[u32], layer: std::ops::Range<usize>) {
        let count = self.switches;
        let (rest, above) = self.costs.split_at_mut(layer.end * count);
        let (row_of, heights) = (&self.row_of, &self.heights);
        let rows = rest[layer.start * count..].par_chunks_exact_mut(count.max(1));
        let (order, above_from) = (&order[layer.clone()], layer.end);
        rows.zip(order).for_each_init(
            || vec![HOPS; count],
            |best, (row, &switch)| {
                let switch = switch as usize;
                best.fill(HOPS);
                for peer in distinct_peers(switches, switch).filter(|&peer| heights[peer] > heights[switch]) {
                    let start = (row_of[peer] as usize - above_from) * count;
                    for (best, &cost) in best.iter_mut().zip(&above[start..start + count]) {
                        *best = (*best).min(((cost & HOPS) + 1).min(HOPS));
                    }
                }
                for (own, &best) in row.iter_mut().zip(&*best) {
                    *own = if *own < HOPS { *own } else { UP | best };
                }
            },
        );
    }

    /// The costs from a switch to all targets.
    #[inline]
    pub fn row(&self, switch: usize) -> &[u8] {
        let start = self.row_of[switch] as usize * self.switches;
        &self.costs[start..start + self.switches]
    }

    /// The height of each switch, all different, where paths are bound to climb and then descend.
    pub fn heights(&self) -> Option<&[u32]> {
        self.is_up_down().then_some(&*self.heights)
    }

    /// Whether paths are bound to go up, then down.
    pub fn is_up_down(&self) -> bool {
        !self.heights.is_empty()
    }

    /// Hops that a cost of [`Paths::row`] stands for; `None` where there is no path.
    #[inline]
    pub fn hops(&self, cost: u8) -> Option<u8> {
        let hops = if self.is_up_down() { cost & HOPS } else { cost };
        (cost != NO_PATH).then_some(hops)
    }

    /// Whether a path from `switch` at `cost` may take a link to `peer`, which lies at `peer_cost` from the target.
    #[inline]
    pub fn allows(&self, switch: usize, cost: u8, peer: usize, peer_cost: u8) -> bool {
        match Step::of(self, switch, peer) {
            Step::Any => cost != NO_PATH && peer_cost.wrapping_add(1) == cost,
            Step::Down => cost < HOPS && peer_cost.wrapping_add(1) == cost,
            Step::Up => cost > UP && cost != NO_PATH && (peer_cost & HOPS) + 1 == cost & HOPS,
        }
    }

    /// For every target: how many of a switch's links (in the order of `peers`) a path may take, and the first and
    /// the last of them. All three by target; with no such link, 0, 255 and 0.
    pub fn candidates(&self, switch: usize, peers: &[u32], found: &mut Candidates) {
        let own = self.row(switch);
        found.clear(own.len());
        for (place, &peer) in peers.iter().enumerate() {
            let (place, peer) = (place as u8, peer as usize);
            let theirs = self.row(peer);
            match Step::of(self, switch, peer) {
                Step::Any => found.add(place, own, theirs, |own, theirs| {
                    (theirs.wrapping_add(1) == own) & (own != NO_PATH)
                }),
                Step::Down => found
                    .add(place, own, theirs, |own, theirs| (theirs.wrapping_add(1) == own) & (own < HOPS)),
                Step::Up => found.add(place, own, theirs, |own, theirs| {
                    (((theirs & HOPS) | UP).wrapping_add(1) == own) & (own != NO_PATH)
                }),
            }
        }
    }

    fn check_reach(&self, fabric: &Fabric, switches: &Switches) -> Result<(), RouteError> {
        let part = parts(switches);
        for from in 0..self.switches {
            let missing = |&(to, &cost): &(usize, &u8)| cost == NO_PATH && part[to] == part[from];
            if let Some((to, _)) = self.row(from).iter().enumerate().find(missing) {
                let name = |switch| fabric.name(switches.node(switch)).to_owned();
                return Err(RouteError::TooFar { from: name(from), to: name(to), limit: MOST_HOPS });
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Step {
    Any,
    Up,
    Down,
}

impl Step {
    #[inline]
    fn of(paths: &Paths, switch: usize, peer: usize) -> Self {
        match (paths.heights.get(switch), paths.heights.get(peer)) {
            (Some(own), Some(theirs)) if own < theirs => Self::Up,
            (Some(_), Some(_)) => Self::Down,
            _ => Self::Any,
        }
    }
}

/// Which links of one switch lead on to each target.
#[derive(Default)]
pub struct Candidates {
    /// How many.
    pub count: Vec<u8>,
    /// The first one's place.
    pub first: Vec<u8>,
    /// The last one's place.
    pub last: Vec<u8>,
}

impl Candidates {
    pub(crate) fn clear(&mut self, targets: usize) {
        for (list, value) in [(&mut self.count, 0), (&mut self.first, 255), (&mut self.last, 0)] {
            list.clear();
            list.resize(targets, value);
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, place: u8, own: &[u8], theirs: &[u8], allowed: impl Fn(u8, u8) -> bool) {
        let lists = self.count.iter_mut().zip(&mut self.first).zip(&mut self.last);
        for (((count, first), last), (&own, &theirs)) in lists.zip(own.iter().zip(theirs)) {
            // All bits set where allowed: the loop stays free of branches, so it runs many targets at a time.
            let mask = (allowed(own, theirs) as u8).wrapping_neg();
            *count += mask & 1;
            *first = (*first).min(place | !mask);
            *last = (*last).max(place & mask);
        }
    }
}

/// The other switches that a switch is cabled to, each once for a run of parallel links.
pub fn distinct_peers(switches: &Switches, switch: usize) -> impl Iterator<Item = usize> + '_ {
    let links = switches.links(switch);
    links
        .iter()
        .enumerate()
        .filter(|&(place, link)| place == 0 || links[place - 1].peer != link.peer)
        .map(|(_, link)| link.peer as usize)
}

/// The connected part of each switch, numbered in the order of their first switches.
pub fn parts(switches: &Switches) -> Vec<u32> {
    let mut part = vec![u32::MAX; switches.len()];
    let (mut count, mut waiting) = (0, Vec::new());
    for start in 0..switches.len() {
        if part[start] != u32::MAX {
            continue;
        }
        part[start] = count;
        waiting.push(start);
        while let Some(switch) = waiting.pop() {
            for link in switches.links(switch) {
                let peer = link.peer as usize;
                if part[peer] == u32::MAX {
                    part[peer] = count;
                    waiting.push(peer);
                }
            }
        }
        count += 1;
    }
    part
}

/// A different height for every switch: by rank, then the smaller number higher.
fn heights(rank: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..rank.len() as u32).collect();
    order.sort_by_key(|&switch| (rank[switch as usize], std::cmp::Reverse(switch)));
    let mut heights = vec![0; rank.len()];
    for (height, &switch) in order.iter().enumerate() {
        heights[switch as usize] = height as u32;
    }
    heights
}

/// Switches in groups without a cable inside a group, each group above those that its switches look down on.
struct Layers {
    order: Vec<u32>,
    first: Vec<usize>,
}

impl Layers {
    fn ranges(&self) -> impl DoubleEndedIterator<Item = std::ops::Range<usize>> + '_ {
        self.first.windows(2).map(|pair| pair[0]..pair[1])
    }
}

fn layers(switches: &Switches, heights: &[u32]) -> Layers {
    let mut ascending = vec![0; heights.len()];
    for (switch, &height) in heights.iter().enumerate() {
        ascending[height as usize] = switch as u32;
    }
    let mut layer = vec![0u32; heights.len()];
    for &switch in &ascending {
        let switch = switch as usize;
        let below = distinct_peers(switches, switch).filter(|&peer| heights[peer] < heights[switch]);
        layer[switch] = below.map(|peer| layer[peer] + 1).max().unwrap_or(0);
    }
    let mut order = ascending;
    order.sort_by_key(|&switch| (layer[switch as usize], switch));
    let mut first = vec![0];
    for place in 1..order.len() {
        if layer[order[place] as usize] != layer[order[place - 1] as usize] {
            first.push(place);
        }
    }
    first.push(order.len());
    Layers { order, first }
}
