//! A torus or a mesh: one dimension after another, and two lanes in each ring.
//!
//! A ring is cut by a *date line*, between its last switch and its first. Paths that cross it there take lane 1 all along
//! that ring, the others lane 0; none is longer than half the ring, so neither lane's circle closes. The service level
//! has a bit for each ring: which lane a packet takes follows from the dimension of the port that it leaves by.
//!
//! In a ring that lacks a link, paths go the other way round, and no circle is left to close. Where the place at which a
//! path would turn into its next dimension is not there, or a line is broken, the path first takes one step aside into a
//! later dimension: that step has a lane of its own, and one more bit of the service level says that there is one. The
//! step comes before its dimension and after all earlier ones, so no circle closes. This covers any one link or switch
//! of a torus; whatever more is missing, the verifier has the last word.

mod grid;

use fabric::Fabric;
use rayon::prelude::*;

pub(crate) use grid::Grid;
pub use grid::recognised;
use grid::{MOST_DIMENSIONS, NONE};

use crate::engine::Engine;
use crate::error::RouteError;
use crate::lanes::{Lanes, Turns};
use crate::options::Options;
use crate::routes::Routes;
use crate::switches::Switches;
use crate::tables::{NO_ROUTE, Tables};
use crate::verify::verify_routes;

/// Bits of a service level.
const BITS: usize = 4;
/// The lane of steps aside.
const ASIDE: u8 = 2;
/// Rings shorter than this have no path with two links in one, so they need no date line.
const SHORTEST_RING: usize = 4;

/// The engine `torus`.
pub struct Torus;

impl Engine for Torus {
    fn name(&self) -> &'static str {
        "torus"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        switches.check_lids(fabric)?;
        let grid = Grid::of(&switches).ok_or(RouteError::OtherTopology {
            engine: "torus",
            wanted: "a torus or mesh whose switches have the same ports for the same direction",
        })?;
        let routes = Courses::new(&grid, &switches).routes(fabric, &switches)?;
        if routes.lanes.count() > options.most_lanes {
            return Err(RouteError::TooFewLanes {
                engine: "torus",
                needed: routes.lanes.count(),
                given: options.most_lanes,
            });
        }
        match verify_routes(fabric, &routes).witness {
            None => Ok(routes),
            Some(circle) => Err(refused(circle.ports.join(" -> "), circle.ports[0].clone())),
        }
    }
}

/// Shortest paths on two lanes, where the fabric is a torus or mesh that lacks nothing.
pub(crate) fn whole(fabric: &Fabric, switches: &Switches) -> Option<Routes> {
    let grid = Grid::of(switches)?;
    let courses = Courses::new(&grid, switches);
    let shortest =
        |dimension: usize| courses.crosses(dimension) == grid.rings[dimension] && courses.is_whole(dimension);
    let whole = grid.at.iter().all(Option::is_some) && (0..grid.sizes.len()).all(shortest);
    whole.then(|| courses.routes(fabric, switches))?.ok()
}

fn refused(from: String, to: String) -> RouteError {
    let why = "too much of the torus is missing. 'layered' and 'up-down' route any cabling";
    RouteError::NoPath { engine: "torus", from, to, why }
}

/// Which way a path goes from anywhere to anywhere.
struct Courses<'a> {
    grid: &'a Grid,
    /// Dimensions in the order that paths take them: those with broken lines first.
    order: Vec<usize>,
    /// For each switch and dimension, how many links lead on in each sense before one is missing.
    reach: Vec<[[u16; 2]; MOST_DIMENSIONS]>,
    /// The bit of each dimension in service levels; `None` where it needs none.
    bit: Vec<Option<usize>>,
    /// The bit that says that a path has a step aside.
    aside: usize,
}

/// One leg of a path.
enum Leg {
    /// Straight along a dimension, in a sense, to the place wanted there.
    Along(usize, usize),
    /// One step into a later dimension.
    Aside(usize, usize),
}

type Place = [u16; MOST_DIMENSIONS];

impl<'a> Courses<'a> {
    fn new(grid: &'a Grid, switches: &Switches) -> Self {
        let dimensions = grid.sizes.len();
        let mut bits = 0;
        let bit = (0..dimensions)
            .map(|dimension| {
                let needed = grid.rings[dimension] && grid.sizes[dimension] >= SHORTEST_RING && bits < BITS;
                bits += usize::from(needed);
                needed.then(|| bits - 1)
            })
            .collect();
        let mut courses = Self { grid, order: Vec::new(), reach: Vec::new(), bit, aside: bits };
        let reach = |switch: usize| {
            std::array::from_fn(|d| [courses.reach_from(switch, d, 0), courses.reach_from(switch, d, 1)])
        };
        courses.reach = (0..switches.len()).map(reach).collect();
        let splits = |&dimension: &usize| !courses.crosses(dimension) && courses.is_broken(dimension);
        let (first, rest): (Vec<usize>, Vec<usize>) = (0..dimensions).partition(splits);
        courses.order = first.into_iter().chain(rest).collect();
        courses
    }

    /// Whether paths may cross the date line of a dimension.
    fn crosses(&self, dimension: usize) -> bool {
        let short = self.grid.sizes[dimension] < SHORTEST_RING;
        self.grid.rings[dimension] && (short || self.bit[dimension].is_some())
    }

    fn reach_from(&self, switch: usize, dimension: usize, sense: usize) -> u16 {
        if dimension >= self.grid.sizes.len() {
            return 0;
        }
        let last = [self.grid.sizes[dimension] as u16 - 1, 0][sense];
        let (mut at, mut steps) = (switch, 0);
        loop {
            let peer = self.grid.next[at][dimension][sense].peer;
            let at_line = self.grid.at[at].is_none_or(|place| place[dimension] == last);
            if peer == NONE || peer as usize == switch || at_line && !self.crosses(dimension) {
                return steps;
            }
            at = peer as usize;
            steps += 1;
        }
    }

    /// Whether some line of a dimension lacks a link between two of its switches.
    fn is_broken(&self, dimension: usize) -> bool {
        let length = self.grid.sizes[dimension] as u16 - 1;
        self.reach.iter().zip(&self.grid.at).any(|(reach, at)| {
            let [forward, back] = reach[dimension];
            at.is_some() && forward + back < length
        })
    }

    /// Whether no line of a dimension lacks a link.
    fn is_whole(&self, dimension: usize) -> bool {
        let length = self.grid.sizes[dimension] as u16 - 1;
        let least = if self.crosses(dimension) { 2 * length } else { length };
        self.reach.iter().all(|reach| reach[dimension].iter().sum::<u16>() >= least)
    }

    /// The sense in which a switch reaches a place along a dimension, the shorter way if there are two.
    fn sense(&self, switch: usize, at: &Place, dimension: usize, to: u16) -> Option<usize> {
        let size = self.grid.sizes[dimension] as u16;
        let from = at[dimension];
        let forward = if to >= from { to - from } else { to + size - from };
        let back = size - forward;
        let [reach, reach_back] = self.reach[switch][dimension];
        match (forward <= reach, back <= reach_back) {
            (true, true) if forward == back => Some(usize::from(at.iter().sum::<u16>() % 2)),
            (true, true) => Some(usize::from(back < forward)),
            (true, false) => Some(0),
            (false, true) => Some(1),
            (false, false) => None,
        }
    }

    /// The next leg from a switch to a place; `None` where there is none, or at the place itself.
    fn leg(&self, switch: usize, at: &Place, to: &Place) -> Option<Leg> {
        let turn = self.order.iter().position(|&dimension| at[dimension] != to[dimension])?;
        let dimension = self.order[turn];
        if let Some(sense) = self.sense(switch, at, dimension, to[dimension]) {
            return Some(Leg::Along(dimension, sense));
        }
        let later = &self.order[turn + 1..];
        let wanted = later.iter().filter(|&&later| at[later] != to[later]);
        let towards = wanted.filter_map(|&later| Some((later, self.sense(switch, at, later, to[later])?)));
        let anywhere = later.iter().flat_map(|&later| [(later, 0), (later, 1)]);
        let there = |&(later, sense): &(usize, usize)| self.reach[switch][later][sense] > 0;
        towards.chain(anywhere).find(there).map(|(later, sense)| Leg::Aside(later, sense))
    }

    /// The service level of a path, and whether it has a step aside; `None` where it does not arrive.
    fn service_level(&self, switches: &Index, from: &Place, to: &Place) -> Option<(u8, bool)> {
        let (mut at, mut level, mut aside) = (*from, 0, false);
        // Each dimension has a leg, and perhaps a step aside before it.
        for _ in 0..2 * MOST_DIMENSIONS {
            if at == *to {
                let flag = u8::from(aside && self.aside < BITS) << self.aside.min(BITS - 1);
                return Some((level | flag, aside));
            }
            let switch = switches.at(&at)?;
            match self.leg(switch, &at, to)? {
                Leg::Along(dimension, sense) => {
                    let line = if sense == 0 {
                        to[dimension] < at[dimension]
                    } else {
                        to[dimension] > at[dimension]
                    };
                    if let Some(bit) = self.bit[dimension].filter(|_| line) {
                        level |= 1 << bit;
                    }
                    at[dimension] = to[dimension];
                }
                Leg::Aside(dimension, sense) => {
                    aside = true;
                    let size = self.grid.sizes[dimension] as u16;
                    at[dimension] = (at[dimension] + [1, size - 1][sense]) % size;
                }
            }
        }
        None
    }

    fn routes(&self, fabric: &Fabric, switches: &Switches) -> Result<Routes, RouteError> {
        let index = Index::new(self.grid);
        let tables = Tables::filled(fabric, switches.top_lid(), |row, _, entries| {
            entries.fill(NO_ROUTE);
            for target in 0..switches.len() {
                let ports = self.ports(row, target);
                for to in switches.destinations(target) {
                    for lid in to.lids.clone() {
                        entries[lid as usize] = match ports {
                            _ if target == row => to.port,
                            [] => continue,
                            ports => ports[lid as usize % ports.len()],
                        };
                    }
                }
            }
        });
        let width = tables.width();
        let mut levels = vec![0; width * switches.len()];
        let rows = levels.par_chunks_exact_mut(width).enumerate();
        let asides = rows.map(|(row, levels)| self.fill_levels(fabric, switches, &index, row, levels));
        let any_aside = asides.collect::<Result<Vec<bool>, RouteError>>()?.contains(&true);
        let lanes = Lanes::by_turns(width, levels, self.turns(fabric, switches, any_aside));
        Ok(Routes { tables, heights: None, lanes })
    }

    /// The service levels of all paths from a switch, by LID, and whether one of them has a step aside.
    fn fill_levels(
        &self,
        fabric: &Fabric,
        switches: &Switches,
        index: &Index,
        row: usize,
        levels: &mut [u8],
    ) -> Result<bool, RouteError> {
        let mut any_aside = false;
        let Some(from) = self.grid.at[row] else { return Ok(false) };
        for target in (0..switches.len()).filter(|&target| target != row) {
            let Some(to) = &self.grid.at[target] else { continue };
            let Some((level, aside)) = self.service_level(index, &from, to) else {
                let name = |switch| fabric.name(switches.node(switch)).to_owned();
                return Err(refused(name(row), name(target)));
            };
            any_aside |= aside;
            let adapters = switches.destinations(target).iter().filter(|to| to.port != 0);
            adapters.flat_map(|to| to.lids.clone()).for_each(|lid| levels[lid as usize] = level);
        }
        Ok(any_aside)
    }

    /// The ports by which a switch sends on what is for another.
    fn ports(&self, from: usize, to: usize) -> &[u8] {
        let (Some(at), Some(there)) = (&self.grid.at[from], &self.grid.at[to]) else { return &[] };
        match self.leg(from, at, there) {
            Some(Leg::Along(dimension, sense) | Leg::Aside(dimension, sense)) => {
                &self.grid.next[from][dimension][sense].ports
            }
            None => &[],
        }
    }

    /// What every switch does with every service level.
    fn turns(&self, fabric: &Fabric, switches: &Switches, any_aside: bool) -> Turns {
        let mut turns =
            Turns::new((0..switches.len()).map(|switch| fabric.port_count(switches.node(switch))));
        let flag = (any_aside && self.aside < BITS).then_some(1u8 << self.aside.min(BITS - 1));
        let levels = 1u8 << (self.aside + usize::from(flag.is_some())).min(BITS);
        let stands = |dimension: usize| self.order.iter().position(|&other| other == dimension);
        for switch in 0..switches.len() {
            let mut came_by = vec![None; usize::from(fabric.port_count(switches.node(switch))) + 1];
            for (dimension, senses) in self.grid.next[switch].iter().enumerate() {
                senses
                    .iter()
                    .flat_map(|ways| &ways.ports)
                    .for_each(|&port| came_by[usize::from(port)] = stands(dimension));
            }
            let broken: Vec<usize> =
                (0..self.order.len()).filter(|&turn| self.may_step_aside(switch, self.order[turn])).collect();
            for (out_port, out) in came_by.iter().enumerate() {
                let Some(out) = *out else { continue };
                for (in_port, into) in came_by.iter().enumerate() {
                    let steps_aside =
                        broken.iter().any(|&turn| into.is_none_or(|into| into < turn) && out > turn);
                    for level in 0..levels {
                        let lane = match self.bit[self.order[out]] {
                            _ if steps_aside && flag.is_some_and(|flag| level & flag != 0) => ASIDE,
                            Some(bit) => level >> bit & 1,
                            None => 0,
                        };
                        turns.set(switch, (in_port as u8, out_port as u8), level, lane);
                    }
                }
            }
        }
        turns
    }

    /// Whether some place along a dimension cannot be reached straight from a switch.
    fn may_step_aside(&self, switch: usize, dimension: usize) -> bool {
        let [forward, back] = self.reach[switch][dimension];
        usize::from(forward) + usize::from(back) < self.grid.sizes[dimension] - 1
    }
}

/// Switches by their places.
struct Index {
    strides: [usize; MOST_DIMENSIONS],
    switches: Vec<u32>,
}

impl Index {
    fn new(grid: &Grid) -> Self {
        let mut strides = [0; MOST_DIMENSIONS];
        let mut all = 1;
        for (stride, &size) in strides.iter_mut().zip(&grid.sizes) {
            *stride = all;
            all *= size;
        }
        let mut index = Self { strides, switches: vec![NONE; all] };
        for (switch, at) in grid.at.iter().enumerate() {
            if let Some(at) = at {
                let place = index.place(at);
                index.switches[place] = switch as u32;
            }
        }
        index
    }

    fn place(&self, at: &Place) -> usize {
        self.strides.iter().zip(at).map(|(stride, &at)| stride * usize::from(at)).sum()
    }

    #[inline]
    fn at(&self, at: &Place) -> Option<usize> {
        Some(self.switches[self.place(at)]).filter(|&switch| switch != NONE).map(|switch| switch as usize)
    }
}
