//! Recognises a torus or a mesh by its cabling: along each dimension the same ports lead forward, and the same ports back,
//! on every switch. Links and switches may be missing.

use std::collections::BTreeMap;

use fabric::Fabric;

use crate::paths::parts;
use crate::switches::Switches;

/// Most dimensions that are looked for.
pub(crate) const MOST_DIMENSIONS: usize = 5;

/// A switch that is missing, or no switch.
pub(super) const NONE: u32 = u32::MAX;

/// Switches by their coordinates.
#[derive(Debug)]
pub(crate) struct Grid {
    /// Switches along each dimension.
    pub(crate) sizes: Vec<usize>,
    /// Whether a dimension is a ring.
    pub(crate) rings: Vec<bool>,
    /// The coordinates of each switch; `None` for one that is cut off.
    pub(super) at: Vec<Option<[u16; MOST_DIMENSIONS]>>,
    /// For each switch, dimension and sense (0 forward, 1 back) the neighbour and the ports that lead there.
    pub(super) next: Vec<[[Ways; 2]; MOST_DIMENSIONS]>,
}

/// The parallel links from one switch to a neighbour.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    pub(super) peer: u32,
    pub(super) ports: Vec<u8>,
}

impl Default for Ways {
    fn default() -> Self {
        Self { peer: NONE, ports: Vec::new() }
    }
}

impl Grid {
    /// The grid that the switches form, if they do.
    pub(crate) fn of(switches: &Switches) -> Option<Self> {
        let direction = directions(switches)?;
        let dimensions = direction.values().map(|&(dimension, _)| dimension + 1).max()?;
        if dimensions > MOST_DIMENSIONS {
            return None;
        }
        let mut next: Vec<[[Ways; 2]; MOST_DIMENSIONS]> = vec![Default::default(); switches.len()];
        for (switch, next) in next.iter_mut().enumerate() {
            for link in switches.links(switch) {
                let &(dimension, sense) = direction.get(&link.port)?;
                let ways = &mut next[dimension][sense];
                if ways.peer != NONE && ways.peer != link.peer {
                    return None;
                }
                ways.peer = link.peer;
                ways.ports.push(link.port);
            }
        }
        let mut grid = Self { sizes: Vec::new(), rings: Vec::new(), at: vec![None; switches.len()], next };
        for dimension in 0..dimensions {
            let (size, ring) = grid.measure(dimension)?;
            grid.sizes.push(size);
            grid.rings.push(ring);
        }
        grid.locate(switches)?;
        Some(grid)
    }

    /// How many switches there are along a dimension, and whether they form rings.
    fn measure(&self, dimension: usize) -> Option<(usize, bool)> {
        let (mut ring, mut longest) = (None, 1);
        for start in 0..self.next.len() {
            let (mut at, mut length) = (start as u32, 0);
            while at != NONE && length <= self.next.len() {
                at = self.next[at as usize][dimension][0].peer;
                length += 1;
                if at as usize == start {
                    break;
                }
            }
            if at == NONE {
                longest = longest.max(length);
            } else if *ring.get_or_insert(length) != length || length > self.next.len() {
                return None;
            }
        }
        Some(ring.map_or((longest, false), |length| (length, true)))
    }

    /// Gives the switches of the largest part their coordinates. `None` where two ways disagree, two switches have the
    /// same place, or other parts hold cables too.
    fn locate(&mut self, switches: &Switches) -> Option<()> {
        let part = parts(switches);
        let start = (0..switches.len()).find(|&switch| !switches.links(switch).is_empty())?;
        if (0..switches.len()).any(|s| part[s] != part[start] && !switches.links(s).is_empty()) {
            return None;
        }
        let dimensions = self.sizes.len();
        let mut place: Vec<Option<[i32; MOST_DIMENSIONS]>> = vec![None; switches.len()];
        place[start] = Some([0; MOST_DIMENSIONS]);
        let mut waiting = vec![start];
        while let Some(switch) = waiting.pop() {
            let from = place[switch]?;
            for dimension in 0..dimensions {
                for (sense, step) in [(0, 1), (1, -1)] {
                    let peer = self.next[switch][dimension][sense].peer;
                    if peer == NONE {
                        continue;
                    }
                    let mut to = from;
                    to[dimension] += step;
                    if self.rings[dimension] {
                        to[dimension] = to[dimension].rem_euclid(self.sizes[dimension] as i32);
                    }
                    match place[peer as usize] {
                        Some(known) if known != to => return None,
                        Some(_) => {}
                        None => {
                            place[peer as usize] = Some(to);
                            waiting.push(peer as usize);
                        }
                    }
                }
            }
        }
        let known = || place.iter().flatten();
        let mut least = [0; MOST_DIMENSIONS];
        for dimension in 0..dimensions {
            least[dimension] = known().map(|at| at[dimension]).min()?;
            let most = known().map(|at| at[dimension]).max()?;
            self.sizes[dimension] = self.sizes[dimension].max((most - least[dimension] + 1) as usize);
        }
        // Few places are empty: else it is no torus that lacks something, but something else.
        let places = self.sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size))?;
        if places > 2 * known().count() {
            return None;
        }
        let mut taken = std::collections::BTreeSet::new();
        for (at, place) in self.at.iter_mut().zip(&place) {
            let Some(place) = place else { continue };
            let own: [u16; MOST_DIMENSIONS] = std::array::from_fn(|d| (place[d] - least[d]) as u16);
            if !taken.insert(own) {
                return None;
            }
            *at = Some(own);
        }
        Some(())
    }

    /// What it is, for a person: "torus of 4x4x8".
    pub(crate) fn describe(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        let kind = if self.rings.contains(&true) { "torus" } else { "mesh" };
        format!("{kind} of {}", sizes.join("x"))
    }
}

/// Whether the switches of a fabric form a torus or a mesh, and which.
pub fn recognised(fabric: &Fabric) -> Option<String> {
    Grid::of(&Switches::new(fabric)).map(|grid| grid.describe())
}

/// The dimension of each port, and whether it leads forward (0) or back (1). `None` where a port is cabled to this port
/// here and to that one there.
fn directions(switches: &Switches) -> Option<BTreeMap<u8, (usize, usize)>> {
    let mut partner: BTreeMap<u8, u8> = BTreeMap::new();
    // The first port of those that lead the same way.
    let mut same: BTreeMap<u8, u8> = BTreeMap::new();
    for switch in 0..switches.len() {
        for link in switches.links(switch) {
            if link.port == link.peer_port
                || *partner.entry(link.port).or_insert(link.peer_port) != link.peer_port
            {
                return None;
            }
            let mut beside = switches.links(switch).iter().filter(|other| other.peer == link.peer);
            let first = beside.next().map_or(link.port, |other| other.port);
            let known = same.entry(link.port).or_insert(first);
            *known = (*known).min(first);
        }
    }
    let mut direction = BTreeMap::new();
    let mut dimensions = 0;
    for (&port, &back) in &partner {
        let (first, first_back) = (*same.get(&port)?, *same.get(&back)?);
        let (dimension, sense) = match (direction.get(&first), direction.get(&first_back)) {
            (Some(&known), _) => known,
            (None, Some(&(dimension, sense))) => (dimension, 1 - sense),
            (None, None) => {
                dimensions += 1;
                (dimensions - 1, 0)
            }
        };
        direction.insert(port, (dimension, sense));
    }
    Some(direction)
}
