//! Up, then down, below one root: on any topology, and free of credit loops on one lane.
//!
//! The root decides how far paths must go out of their way; of the likely ones that with the shortest paths is taken.
//! In a fat tree a leaf is the best root: every shortest path climbs towards it or hangs below it.

use std::cmp::Reverse;

use fabric::Fabric;

use super::fat_tree::detour_sum;
use super::tables_over;
use crate::balance::is_small;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::{MOST_UP_DOWN_HOPS, Paths};
use crate::quality::link_load;
use crate::ranks;
use crate::routes::Routes;
use crate::switches::Switches;
use crate::tables::Tables;

/// Roots that are tried.
const ROOTS: usize = 6;

/// The engine `up-down`.
pub struct UpDown;

impl Engine for UpDown {
    fn name(&self) -> &'static str {
        "up-down"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        switches.check_lids(fabric)?;
        let rate = |rank: Vec<u32>| {
            let paths = Paths::up_down(&switches, &rank);
            (detour_sum(&switches, &paths), paths, rank)
        };
        let given: Vec<usize> = options.roots.iter().filter_map(|&root| switches.index_of(root)).collect();
        let orders =
            if given.is_empty() { likely_orders(&switches) } else { orders_below(&switches, &given) };
        let rooted = orders.into_iter().map(rate);
        let Some((sum, paths, rank)) = rooted.min_by_key(|&(sum, ..)| sum) else {
            return Ok(Routes::on_one_lane(Tables::empty(fabric), None));
        };
        if sum.missing > 0 {
            return Err(too_far(fabric, &switches, &paths));
        }
        let tables = tables_over(fabric, &switches, &paths, &rank, options);
        let rooted = Routes::on_one_lane(tables, paths.heights().map(<[u32]>::to_vec));
        if !given.is_empty() {
            return Ok(rooted);
        }
        // Without a root all paths climb by the switches' numbers. Where that joins all pairs, as in a torus, no
        // switch is the bottleneck that a root is.
        let (sum, paths, rank) = rate(vec![0; switches.len()]);
        if sum.missing > 0 || !is_small(&switches) {
            return Ok(rooted);
        }
        let tables = tables_over(fabric, &switches, &paths, &rank, options);
        let rootless = Routes::on_one_lane(tables, paths.heights().map(<[u32]>::to_vec));
        let busiest = |routes: &Routes| link_load(fabric, &routes.tables).max;
        Ok(if busiest(&rootless) < busiest(&rooted) { rootless } else { rooted })
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

/// Likely roots: the middle of the fabric, its widest switches, and switches with many hosts.
fn roots(switches: &Switches) -> Vec<usize> {
    let all = || 0..switches.len();
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
