//! Any cabling on any number of lanes, one included, by searching paths on the channel dependency graph itself (Domke,
//! Hoefler and Matsuoka, "Routing on the dependency graph: a new approach to deadlock-free high-performance routing",
//! HPDC 2016).
//!
//! Destinations are dealt out to the lanes. For each one a search runs from it to everywhere, layer by layer, and takes a
//! link only where waiting for the next one closes no circle on that lane. In the beginning a lane has the order of a tree:
//! links up before links down. A search that keeps to it always gets everywhere. For the highest switch reached so far
//! goes on downwards, so its neighbours above may follow; so the root is reached, and all below it may go up.
//!
//! Then every destination is taken up again, and the search may also take dependencies against the order, where the graph
//! of those in use has no way back: the order is changed. What is no better, or gets stuck, is not taken. So with any
//! number of lanes every fabric is routed, and paths are shorter than the tree's rule leaves them.

use fabric::Fabric;

use super::MinHop;
use crate::acyclic::Acyclic;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::lanes::{Lanes, MOST_LANES};
use crate::links::Links;
use crate::options::Options;
use crate::ranks;
use crate::routes::Routes;
use crate::switches::{Destination, Switches};
use crate::tables::Tables;

/// Edges of dependency graphs that may be looked at for turning their order round, all lanes together: bounds the time to
/// a few seconds.
const LOOKS: u64 = 50_000_000;
/// Links times destinations up to which all destinations are taken up again.
const MOST_LINKS: usize = 150_000_000;

/// No link: the target, or a switch that no path leads from.
const NONE: u32 = u32::MAX;

/// The engine `nue`.
pub struct Nue;

impl Engine for Nue {
    fn name(&self) -> &'static str {
        "nue"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        if switches.len() < 2 {
            return MinHop.route(fabric, options);
        }
        switches.check_lids(fabric)?;
        let links = Links::new(&switches);
        let most = options.most_lanes.clamp(1, MOST_LANES);
        let targets: Vec<usize> = (0..switches.len()).filter(|&s| switches.adapters(s) > 0).collect();
        let lanes = usize::from(most).min(targets.len()).max(1);
        let mut tables = Tables::empty_up_to(fabric, switches.top_lid());
        let width = tables.width();
        let mut levels = vec![0; width * switches.len()];
        let mut load = vec![0; links.len()];
        // Switches without adapters are reached for management alone, on the first lane.
        let lane_of = |target: usize| targets.binary_search(&target).map_or(0, |turn| turn % lanes);
        let lids: usize =
            (0..switches.len()).flat_map(|s| switches.destinations(s)).map(|to| to.lids.len()).sum();
        let again = lids.saturating_mul(links.len()) <= MOST_LINKS;
        for lane in 0..lanes {
            // Below a switch with adapters, as a tree's leaf, all others of a tree meet in all the ways that they have.
            let root = targets.get(lane * targets.len() / lanes).copied().unwrap_or(0);
            let mut search = Search::new(&switches, &links, root, LOOKS / lanes as u64);
            for free in [false, true].into_iter().take(1 + usize::from(again)) {
                for target in (0..switches.len()).filter(|&target| lane_of(target) == lane) {
                    for to in switches.destinations(target) {
                        for lid in to.lids.clone() {
                            search.route(&mut tables, (target, to, lid), &mut load, free);
                            levels.chunks_exact_mut(width).for_each(|row| row[lid as usize] = lane as u8);
                        }
                    }
                }
            }
        }
        Ok(Routes { tables, heights: None, lanes: Lanes::by_service_level(width, levels) })
    }
}

/// What is known of a dependency on one lane.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependency {
    Unknown,
    Taken,
    Refused,
}

/// Searches on one lane.
struct Search<'a> {
    switches: &'a Switches,
    links: &'a Links,
    graph: Acyclic,
    /// By link and place of the next link on its switch.
    dependencies: Vec<Dependency>,
    /// For the target at hand, the link that packets leave each switch by, the load on their way, how many links it
    /// has, and the switches in the
    /// order of being reached.
    chosen: Vec<u32>,
    cost: Vec<u64>,
    depth: Vec<u32>,
    reached: Vec<u32>,
    /// Links against the order, for switches that nothing better reaches.
    against: Vec<u32>,
    weight: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(switches: &'a Switches, links: &'a Links, root: usize, looks: u64) -> Self {
        let heights = ranks::heights(&ranks::from_root(switches, root));
        Self {
            switches,
            links,
            graph: Acyclic::new(up_before_down(links, &heights), looks),
            dependencies: vec![Dependency::Unknown; links.len() * links.most],
            chosen: vec![NONE; switches.len()],
            cost: vec![0; switches.len()],
            depth: vec![0; switches.len()],
            reached: Vec::new(),
            against: Vec::new(),
            weight: vec![0; switches.len()],
        }
    }

    /// Finds the way to one LID and writes it. `free`: the tables have one, which stays where none better is found.
    fn route(
        &mut self,
        tables: &mut Tables,
        (target, to, lid): (usize, &Destination, u32),
        load: &mut [u64],
        free: bool,
    ) {
        let hops = free.then(|| {
            self.read(tables, target, lid);
            if to.host {
                self.each_load(load, |load, weight| *load -= weight * u64::from(to.weight));
            }
            let reached = self.reached.len();
            (reached, self.hops(target), std::mem::take(&mut self.chosen), std::mem::take(&mut self.reached))
        });
        if free {
            self.chosen = vec![NONE; self.switches.len()];
        }
        self.run(target, load, free);
        if let Some((reached, hops, chosen, order)) = hops
            && (self.reached.len() < reached || self.hops(target) > hops)
        {
            (self.chosen, self.reached) = (chosen, order);
        }
        self.write(tables, target, to, lid);
        if to.host {
            self.each_load(load, |load, weight| *load += weight * u64::from(to.weight));
        }
    }

    /// Whether the order or the dependencies in use let packets go on from a link to the next.
    #[inline]
    fn may_follow(&self, link: usize, next: usize) -> bool {
        self.graph.is_before(link as u32, next as u32)
    }

    /// Takes a dependency into use; says no where that closes a circle.
    fn take(&mut self, link: usize, next: usize) -> bool {
        let place = next - self.links.of(self.links.peer(link)).start;
        let known = &mut self.dependencies[link * self.links.most + place];
        if *known == Dependency::Unknown {
            let added = self.graph.add(link as u32, next as u32);
            *known = if added { Dependency::Taken } else { Dependency::Refused };
        }
        *known == Dependency::Taken
    }

    /// Finds the links to a target: few hops first, then little load.
    fn run(&mut self, target: usize, load: &[u64], free: bool) {
        self.chosen.fill(NONE);
        self.reached.clear();
        self.reached.push(target as u32);
        self.cost[target] = 0;
        self.depth[target] = 0;
        let (mut layer, mut depth) = (0..1, 0);
        while !layer.is_empty() {
            depth += 1;
            self.against.clear();
            for place in layer.clone() {
                let next = self.reached[place] as usize;
                for out in self.links.of(next) {
                    let (switch, link) = (self.links.peer(out), self.links.back(out));
                    let fresh = self.chosen[switch] == NONE && switch != target;
                    // Reached from this layer before: the less loaded way is taken.
                    if !fresh && self.depth[switch] != depth {
                        continue;
                    }
                    if next != target && !self.may_follow(link, self.chosen[next] as usize) {
                        if fresh && free {
                            self.against.push(link as u32);
                        }
                        continue;
                    }
                    let cost = self.cost[next] + load[link];
                    if fresh {
                        self.reached.push(switch as u32);
                        self.depth[switch] = depth;
                    }
                    if fresh || cost < self.cost[switch] {
                        (self.chosen[switch], self.cost[switch]) = (link as u32, cost);
                    }
                }
            }
            let end = layer.end;
            for place in end..self.reached.len() {
                let link = self.chosen[self.reached[place] as usize] as usize;
                let next = self.links.peer(link);
                if next != target {
                    self.take(link, self.chosen[next] as usize);
                }
            }
            for place in 0..self.against.len() {
                let link = self.against[place] as usize;
                let (switch, next) = (self.links.peer(self.links.back(link)), self.links.peer(link));
                if self.chosen[switch] == NONE && self.take(link, self.chosen[next] as usize) {
                    (self.chosen[switch], self.cost[switch]) = (link as u32, self.cost[next] + load[link]);
                    self.depth[switch] = depth;
                    self.reached.push(switch as u32);
                }
            }
            layer = end..self.reached.len();
        }
    }

    /// Finds the links that the tables send an LID by, and the switches that reach it, the nearest first.
    fn read(&mut self, tables: &Tables, target: usize, lid: u32) {
        for switch in 0..self.switches.len() {
            let port = tables.row_at(switch)[lid as usize];
            let place = self.switches.links(switch).iter().position(|link| link.port == port);
            let place = place.filter(|_| switch != target);
            self.chosen[switch] = place.map_or(NONE, |place| self.links.number(switch, place) as u32);
        }
        self.reached.clear();
        self.reached.push(target as u32);
        let mut place = 0;
        while let Some(&next) = self.reached.get(place) {
            place += 1;
            for out in self.links.of(next as usize) {
                let (switch, link) = (self.links.peer(out), self.links.back(out));
                if self.chosen[switch] == link as u32 {
                    self.reached.push(switch as u32);
                }
            }
        }
    }

    /// Hops from all switches to the target, together.
    fn hops(&mut self, target: usize) -> u64 {
        self.weight[target] = 0;
        let mut sum = 0;
        for &switch in self.reached.iter().skip(1) {
            let next = self.links.peer(self.chosen[switch as usize] as usize);
            self.weight[switch as usize] = self.weight[next] + 1;
            sum += self.weight[switch as usize];
        }
        sum
    }

    /// Visits the load of each link that hosts' paths to the target use, with how many do.
    fn each_load(&mut self, load: &mut [u64], visit: impl Fn(&mut u64, u64)) {
        for &switch in &self.reached {
            self.weight[switch as usize] = u64::from(self.switches.hosts(switch as usize));
        }
        for &switch in self.reached.iter().skip(1).rev() {
            let link = self.chosen[switch as usize] as usize;
            let weight = self.weight[switch as usize];
            visit(&mut load[link], weight);
            self.weight[self.links.peer(link)] += weight;
        }
    }

    fn write(&self, tables: &mut Tables, target: usize, to: &Destination, lid: u32) {
        for &switch in &self.reached {
            let switch = switch as usize;
            let port = match self.chosen[switch] {
                _ if switch == target => to.port,
                link => self.switches.links(switch)[link as usize - self.links.of(switch).start].port,
            };
            tables.set(self.switches.node(switch), lid, port);
        }
    }
}

/// The place of each link in an order in which all links up come before all links down, and no path that climbs and then
/// descends goes back.
fn up_before_down(links: &Links, heights: &[u32]) -> Vec<u32> {
    let ends = |link: u32| {
        let to = heights[links.peer(link as usize)];
        let from = heights[links.peer(links.back(link as usize))];
        (from, to)
    };
    let mut order: Vec<u32> = (0..links.len() as u32).collect();
    let top = heights.len() as u32;
    order.sort_by_key(|&link| match ends(link) {
        (from, to) if to > from => (0, from, to),
        (from, to) => (1, top - from, top - to),
    });
    ranks::heights(&order)
}
