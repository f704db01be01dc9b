//! Picks an engine by what the fabric is.

use std::fmt;

use fabric::Fabric;
use serde::Serialize;

use crate::balance::is_small;
use crate::engine::Engine;
use crate::engines::{
    DragonflyPlus, FatTree, Layered, MinHop, Torus, UpDown, dragonfly_plus, tables_over, torus,
};
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::Paths;
use crate::quality::link_load;
use crate::ranks;
use crate::routes::Routes;
use crate::spread::spread;
use crate::switches::Switches;
use crate::verify::{verify, verify_routes};

/// What was recognised, which engine was taken, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Choice {
    /// What the cabling is, for a person: "fat tree of 3 levels".
    pub topology: String,
    /// The engine's name.
    pub engine: &'static str,
    /// Why this one.
    pub reason: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.topology, self.engine, self.reason)
    }
}

/// Routes by the engine that suits the fabric, on one lane wherever shortest paths have no credit loop on one, and on any
/// fabric that is a tree or nearly one. Elsewhere on as many as [`Options::most_lanes`] allows and shortest paths need; where it
/// allows one, the reason names the engine that would take more.
pub fn auto(fabric: &Fabric, options: &Options) -> Result<(Routes, Choice), RouteError> {
    let switches = Switches::with_options(fabric, options);
    let rank = ranks::of(fabric, &switches);
    let levels = rank.iter().max().map_or(0, |&top| top + 1);
    let choice = |topology: String, engine, reason: String| Choice { topology, engine, reason };
    if switches.len() < 2 {
        let topology = if switches.is_empty() { "no switch" } else { "one switch" };
        let routes = MinHop.route(fabric, options)?;
        return Ok((routes, choice(topology.into(), MinHop.name(), "there is nothing to choose".into())));
    }
    if ranks::is_layered(&switches, &rank) {
        let regular = if ranks::is_regular(&switches, &rank) { "" } else { ", not everywhere alike" };
        let topology = format!("fat tree of {levels} levels{regular}");
        match FatTree.route(fabric, options) {
            Ok(routes) => {
                let reason = "up, then down: no credit loop on one lane".to_owned();
                return Ok((routes, choice(topology, FatTree.name(), reason)));
            }
            Err(RouteError::NoPath { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let dragonfly = dragonfly_plus::recognised(&switches);
    if let Some(topology) = &dragonfly
        && let Ok(routes) = DragonflyPlus.route(fabric, options)
        && routes.lanes.count() == 1
    {
        let reason = "up, over to the other group, and down: shortest paths, and no credit loop on one lane";
        return Ok((routes, choice(topology.clone(), DragonflyPlus.name(), reason.to_owned())));
    }
    let grid = torus::Grid::of(&switches).map(|grid| grid.describe());
    let is_grid = grid.is_some();
    let better = if is_grid {
        "'torus' takes shortest paths on 2 lanes"
    } else {
        "'layered' takes shortest paths on several lanes"
    };
    let is_dragonfly = dragonfly.is_some();
    let topology = grid.or(dragonfly).unwrap_or_else(|| "no tree".to_owned());
    switches.check_lids(fabric)?;
    let paths = Paths::shortest(fabric, &switches)?;
    // Spread plainly first: where that has a credit loop, evening out the load is in vain, but for a Dragonfly+, where few
    // paths go round.
    let mut proof = verify(fabric, &spread(fabric, &switches, &paths, &rank));
    if proof.credit_loops == 0 || is_dragonfly && is_small(&switches) {
        let tables = tables_over(fabric, &switches, &paths, &rank, options);
        proof = verify(fabric, &tables);
        if proof.credit_loops == 0 {
            let reason = "shortest paths, and no credit loop on one lane".to_owned();
            return Ok((Routes::on_one_lane(tables, None), choice(topology, MinHop.name(), reason)));
        }
    }
    drop(paths);
    let circle = proof.witness.map_or_else(String::new, |witness| witness.ports.join(" -> "));
    let why = format!("shortest paths would have a credit loop on one lane: {circle}");
    // The tree's own rule leaves no pair out, even if some cables join equals: what is nearly a tree needs no lanes.
    let tree = if levels > 1 { FatTree.route(fabric, options).ok() } else { None };
    let has_lanes = options.most_lanes > 1 && (tree.is_none() || is_dragonfly);
    if has_lanes && let Some((routes, engine)) = on_lanes(fabric, options, is_grid) {
        let reason = format!("{why}; {} lanes keep it apart", routes.lanes.count());
        return Ok((routes, choice(topology, engine, reason)));
    }
    let (routes, engine) = climbing(fabric, options, &switches, tree)?;
    let nearly = format!("nearly a fat tree of {levels} levels");
    let topology = if engine == FatTree.name() { nearly } else { topology };
    Ok((routes, choice(topology, engine, format!("{why}; {better}"))))
}

/// Shortest paths on several lanes by the engine that suits, where one takes no more than there are.
fn on_lanes(fabric: &Fabric, options: &Options, is_grid: bool) -> Option<(Routes, &'static str)> {
    let engines: [&dyn Engine; 2] = if is_grid { [&Torus, &Layered] } else { [&DragonflyPlus, &Layered] };
    engines.into_iter().find_map(|engine| {
        let routes = engine.route(fabric, options).ok()?;
        verify_routes(fabric, &routes).is_clean().then(|| (routes, engine.name()))
    })
}

/// Paths that climb, then descend, on one lane: those of what is nearly a tree, or below a root where that loads links less.
fn climbing(
    fabric: &Fabric,
    options: &Options,
    switches: &Switches,
    tree: Option<Routes>,
) -> Result<(Routes, &'static str), RouteError> {
    let busiest = |routes: &Routes| link_load(fabric, &routes.tables).max;
    match tree {
        Some(tree) if !is_small(switches) => Ok((tree, FatTree.name())),
        Some(tree) => match UpDown.route(fabric, options) {
            Ok(rooted) if busiest(&rooted) < busiest(&tree) => Ok((rooted, UpDown.name())),
            _ => Ok((tree, FatTree.name())),
        },
        None => Ok((UpDown.route(fabric, options)?, UpDown.name())),
    }
}
