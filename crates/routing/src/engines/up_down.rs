//! Up, then down, below one root: on any topology, and free of credit loops on one lane.
//!
//! The root decides how far paths must go out of their way, and which links they crowd on: of the likely ones those with
//! the shortest paths are tried, and the one with the smallest load is taken.
//! In a fat tree a leaf is the best root: every shortest path climbs towards it or hangs below it.

use std::cmp::Reverse;

use fabric::Fabric;
use rayon::prelude::*;

use super::fat_tree::{DetourSum, detour_sum};
use super::tables_over;
use crate::balance::{is_small, outline};
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::{MOST_UP_DOWN_HOPS, Paths};
use crate::quality::link_load;
use crate::ranks;
use crate::routes::Routes;
use crate::switches::Switches;
use crate::tables::Tables;

/// Roots that are looked at in a large fabric.
const ROOTS: usize = 6;
/// Switches of a fabric in which every one is looked at.
const FEW: usize = 300;
/// Orders with the shortest paths that are tried in outline, for the smallest loads.
const ORDERS: usize = 12;
/// How many of them are then tried in full.
const LIKELY: usize = 2;

/// The engine `up-down`.
pub struct UpDown;

impl Engine for UpDown {
    fn name(&self) -> &'static str {
        "up-down"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        switches.check_lids(fabric)?;
        let given: Vec<usize> = options.roots.iter().filter_map(|&root| switches.index_of(root)).collect();
        let orders =
            if given.is_empty() { likely_orders(&switches) } else { orders_below(&switches, &given) };
        let sums: Vec<DetourSum> =
            orders.par_iter().map(|order| detour_sum(&switches, &Paths::up_down(&switches, order))).collect();
        let mut rooted: Vec<usize> = (0..orders.len()).collect();
        rooted.sort_by_key(|&order| (sums[order], order));
        let Some(&best) = rooted.first() else {
            return Ok(Routes::on_one_lane(Tables::empty(fabric), None));
        };
        if sums[best].missing > 0 {
            return Err(too_far(fabric, &switches, &Paths::up_down(&switches, &orders[best])));
        }
        rooted.retain(|&order| sums[order].missing == 0);
        let route = |order: &[u32]| {
            let paths = Paths::up_down(&switches, order);
            let tables = tables_over(fabric, &switches, &paths, order, options);
            Routes::on_one_lane(tables, paths.heights().map(<[u32]>::to_vec))
        };
        if !given.is_empty() || !is_small(&switches) {
            return Ok(route(&orders[best]));
        }
        rooted.truncate(ORDERS);
        let mut tried: Vec<&[u32]> = rooted.iter().map(|&order| &*orders[order]).collect();
        // Without a root all paths climb by the switches' numbers. Where that joins all pairs, as in a torus, no
        // switch is the bottleneck that a root is.
        let rootless = vec![0; switches.len()];
        if detour_sum(&switches, &Paths::up_down(&switches, &rootless)).missing == 0 {
            tried.push(&rootless);
        }
        let outlines = tried
            .into_par_iter()
            .map(|order| (outline(fabric, &switches, &Paths::up_down(&switches, order), order), order));
        let mut likely: Vec<(u64, &[u32])> = outlines.collect();
        // Stable: of equals the first, which has the shorter paths.
        likely.sort_by_key(|&(load, _)| load);
        likely.truncate(LIKELY);
        let routes = likely.into_par_iter().map(|(_, order)| {
            let routes = route(order);
            (link_load(fabric, &routes.tables).max, routes)
        });
        let routes: Vec<(u64, Routes)> = routes.collect();
        let least = routes.into_iter().min_by_key(|&(load, _)| load);
        Ok(least.map_or_else(|| route(&orders[best]), |(_, routes)| routes))
    }
}

fn likely_orders(switches: &Switches) -> Vec<Vec<u32>> {
    roots(switches).into_iter().map(|root| ranks::below(switches, &[root])).collect()
}

/// The order below given roots. Two roots with hosts may have no path that climbs and descends: then a leaf is turned
/// over them all, or else the first root stands above the others.
fn orders_below(switches: &Switches, roots: &[usize]) -> Vec<Vec<u32>> {
    let rank = ranks::below(switches, roots);
    let leaf = (0..switches.len()).filter(|&switch| rank[switch] == 0);
    let leaf = leaf.max_by_key(|&switch| (switches.links(switch).len(), Reverse(switch)));
    let hung = leaf.map(|leaf| ranks::hang(switches, &rank, leaf));
    let first = ranks::below(switches, &roots[..1]);
    std::iter::once(rank).chain(hung).chain([first]).collect()
}

/// Likely roots: the middle of the fabric, its widest switches, and switches with many hosts; all in a small fabric.
fn roots(switches: &Switches) -> Vec<usize> {
    let all = || 0..switches.len();
    if switches.len() <= FEW {
        return all().collect();
    }
    let mut roots: Vec<usize> = Vec::new();
    let mut by_hosts: Vec<usize> = all().collect();
    by_hosts.sort_by_key(|&switch| (Reverse(switches.hosts(switch)), switch));
    let mut by_links: Vec<usize> = all().collect();
    by_links.sort_by_key(|&switch| (Reverse(switches.links(switch).len()), switch));
    roots.extend(by_links.iter().take(ROOTS / 3));
    roots.extend(by_hosts.iter().take(ROOTS / 3));
    // The middle: half-way along a longest path.
    let farthest = |from: usize| {
        let distance = ranks::distances(switches, vec![from as u32]);
        let end = all().max_by_key(|&switch| (distance[switch], Reverse(switch)));
        end.map(|end| (end, distance))
    };
    if let Some((one, _)) = by_links.first().and_then(|&start| farthest(start))
        && let Some((other, from_one)) = farthest(one)
        && let Some((_, from_other)) = farthest(other)
    {
        let spread = |switch: usize| from_one[switch].max(from_other[switch]);
        roots.extend(all().min_by_key(|&switch| (spread(switch), switch)));
        roots.push(one);
    }
    roots.sort_unstable();
    roots.dedup();
    roots
}

fn too_far(fabric: &Fabric, switches: &Switches, paths: &Paths) -> RouteError {
    let pair = super::fat_tree::first_missing(switches, paths);
    let name = |switch: usize| fabric.name(switches.node(switch)).to_owned();
    let (from, to) = pair.unwrap_or((0, 0));
    RouteError::TooFar { from: name(from), to: name(to), limit: MOST_UP_DOWN_HOPS }
}
