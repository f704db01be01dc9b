//! Shortest paths on any topology, spread by load, and free of credit loops on few virtual lanes.
//!
//! Where shortest paths close no credit loop on one lane, that is all. On a torus there are date lines: two lanes. Else
//! switches are put in an order, and every link leads up or down. Packets that go up, then down, can wait in no circle; a
//! *valley* is where a path turns from down to up. A path that takes a higher lane in each of its valleys can close no
//! circle either, whichever service level it bears: its channels ascend by lane, then up before down, then along the
//! order. So two lanes carry all paths with one valley, three those with two.
//!
//! What remains is to tell a switch where a packet's valley is. It knows the service level, and the ports that the packet
//! came in by and leaves by. A service level of the first kind says, for each of the four turns (up or down, then up or
//! down), which lane follows: see [`classes`]. Paths that turn alike before and after their valley fit none of them. The
//! levels left over are for those, one turn of one switch after another: see [`packing`].
//!
//! On fabrics that are small enough, the paths that load links least are tried as well, by turns and each on one lane all the
//! way: see [`whole`]. Where few paths have valleys that often takes the fewest lanes.

mod choice;
mod classes;
mod order;
mod packing;
mod whole;

use fabric::Fabric;

use super::{MinHop, tables_over, torus};
use crate::balance::{balanced, is_small};
use crate::engine::Engine;
use crate::error::RouteError;
use crate::lanes::{Lanes, MOST_LANES, Turns};
use crate::links::Links;
use crate::options::Options;
use crate::paths::Paths;
use crate::quality::link_load;
use crate::ranks;
use crate::routes::Routes;
use crate::spread::spread;
use crate::switches::Switches;
use crate::tables::Tables;
use crate::verify::verify;

use choice::Choice;
use order::Order;
use packing::Packing;

/// The engine `layered`.
pub struct Layered;

impl Engine for Layered {
    fn name(&self) -> &'static str {
        "layered"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        if switches.len() < 2 {
            return MinHop.route(fabric, options);
        }
        switches.check_lids(fabric)?;
        let paths = Paths::shortest(fabric, &switches)?;
        if let Some(routes) = on_one_lane(fabric, &switches, &paths, options) {
            return Ok(routes);
        }
        if let Some(routes) = torus::whole(fabric, &switches).filter(|_| options.most_lanes >= 2) {
            return Ok(routes);
        }
        on_several_lanes(fabric, &switches, &paths, options.most_lanes)
    }
}

/// Shortest paths without a credit loop on one lane, where spreading or balancing them gives such.
fn on_one_lane(fabric: &Fabric, switches: &Switches, paths: &Paths, options: &Options) -> Option<Routes> {
    let rank = ranks::of(fabric, switches);
    let plain = spread(fabric, switches, paths, &rank);
    if verify(fabric, &plain).credit_loops > 0 {
        return None;
    }
    let even = tables_over(fabric, switches, paths, &rank, options);
    let tables = if verify(fabric, &even).credit_loops == 0 { even } else { plain };
    Some(Routes::on_one_lane(tables, None))
}

fn on_several_lanes(
    fabric: &Fabric,
    switches: &Switches,
    paths: &Paths,
    most_lanes: u8,
) -> Result<Routes, RouteError> {
    let links = Links::new(switches);
    let order = order::best(fabric, switches, paths, &links);
    let mut choice = Choice::new(switches, paths, &links, &order, false);
    let chosen = by_turns(fabric, switches, &links, &order, &mut choice, most_lanes);
    if !is_small(switches) {
        return chosen;
    }
    let fits = chosen.as_ref().map_or(most_lanes, |routes| routes.lanes.count());
    let even = balanced(fabric, switches, paths, &ranks::of(fabric, switches));
    choice.take(&even);
    let laned = [
        whole_paths(&even, &links, &order, &mut choice, fits),
        laned(fabric, switches, &links, &order, &mut choice).ok().filter(|even| even.lanes.count() <= fits),
    ];
    let rating = |routes: &Routes| (link_load(fabric, &routes.tables).max, routes.lanes.count());
    let best = laned.into_iter().flatten().chain(chosen.as_ref().ok().cloned()).min_by_key(rating);
    best.map_or(chosen, Ok)
}

/// Shortest paths with the lane told by turns, evenly loaded where that keeps to the lanes; with more care for turns else.
fn by_turns(
    fabric: &Fabric,
    switches: &Switches,
    links: &Links,
    order: &Order,
    choice: &mut Choice,
    most_lanes: u8,
) -> Result<Routes, RouteError> {
    let (mut pairs, mut needed) = (u64::MAX, None);
    for careful in [false, true] {
        choice.choose_all(careful);
        match laned(fabric, switches, links, order, choice) {
            Ok(routes) if routes.lanes.count() <= most_lanes => return Ok(routes),
            Ok(routes) => needed = Some(routes.lanes.count()),
            Err(left) => pairs = pairs.min(left),
        }
    }
    Err(match needed {
        Some(needed) => RouteError::TooFewLanes { engine: "layered", needed, given: most_lanes },
        None => RouteError::TooManyTurns { engine: "layered", pairs },
    })
}

/// The chosen paths on as few lanes as they take, or how many pairs fit no class where service levels do not suffice.
fn laned(
    fabric: &Fabric,
    switches: &Switches,
    links: &Links,
    order: &Order,
    choice: &mut Choice,
) -> Result<Routes, u64> {
    let tables = choice.tables(fabric);
    let (mut levels, left) = choice.service_levels(tables.width());
    let packing = (2..=MOST_LANES).find_map(|lanes| Packing::of(links, order, choice, &left, lanes));
    let Some(packing) = packing else { return Err(left.len() as u64) };
    for (path, level) in left.iter().zip(&packing.levels) {
        levels[path.source as usize * tables.width() + path.lid as usize] = *level;
    }
    let turns = turns(fabric, switches, links, order, &packing);
    let lanes = Lanes::by_turns(tables.width(), levels, turns);
    Ok(Routes { tables, heights: None, lanes })
}

/// The chosen paths with each on one lane all the way, where that takes no more than `most`.
fn whole_paths(
    tables: &Tables,
    links: &Links,
    order: &Order,
    choice: &mut Choice,
    most: u8,
) -> Option<Routes> {
    let levels = whole::lanes(links, order, choice, tables.width(), most)?;
    let lanes = Lanes::by_service_level(tables.width(), levels);
    Some(Routes { tables: tables.clone(), heights: None, lanes })
}

/// What every switch does with every service level.
fn turns(fabric: &Fabric, switches: &Switches, links: &Links, order: &Order, packing: &Packing) -> Turns {
    let mut turns = Turns::new((0..switches.len()).map(|switch| fabric.port_count(switches.node(switch))));
    for came_by in 0..links.len() {
        let (switch, in_port) = links.arrives_at(came_by);
        for (place, link) in switches.links(switch).iter().enumerate() {
            let kind = order.turn(came_by, links.number(switch, place));
            for level in 0..classes::COUNT {
                turns.set(switch, (in_port, link.port), level, classes::lane(level, kind));
            }
            for (level, lane) in packing.lanes_of(came_by, place) {
                turns.set(switch, (in_port, link.port), level, lane);
            }
        }
    }
    turns
}
