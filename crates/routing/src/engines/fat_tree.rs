//! Fat trees, whole ones and those that real machine rooms hold: tapered, with parallel and missing links, hosts on
//! several levels, pods of different sizes. Paths go up, then down, so one lane suffices.
//!
//! Levels are those of [`fabric::levels`]; where they leave hosts without a path or cables join equals, others are tried,
//! counted from the switches that hold hosts. Where that leaves two hosts without a path (two spines with a
//! host each), the tree is hung up by a leaf besides: see [`ranks::hang`].

use std::cmp::Reverse;

use fabric::{Fabric, NodeId};
use rayon::prelude::*;

use super::tables_over;
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::{NO_PATH, Paths, parts};
use crate::ranks;
use crate::routes::Routes;
use crate::switches::Switches;

/// Leaves that the tree is tried to be hung up by.
const LEAVES: usize = 4;

/// The engine `fat-tree`.
pub struct FatTree;

impl Engine for FatTree {
    fn name(&self) -> &'static str {
        "fat-tree"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let mut switches = Switches::with_options(fabric, options);
        switches.check_lids(fabric)?;
        let mut found = climb(fabric, &switches, &options.roots);
        if found.2.missing > 0 && !options.avoid.is_empty() {
            // Some pair has no way left that climbs and descends.
            let all = Options { avoid: Vec::new(), ..options.clone() };
            switches = Switches::with_options(fabric, &all);
            found = climb(fabric, &switches, &options.roots);
        }
        let (paths, rank, sum) = found;
        if sum.missing == 0 {
            let tables = tables_over(fabric, &switches, &paths, &rank, options);
            return Ok(Routes::on_one_lane(tables, paths.heights().map(<[u32]>::to_vec)));
        }
        let (from, to) = first_missing(&switches, &paths).unwrap_or((0, 0));
        Err(RouteError::NoPath {
            engine: self.name(),
            from: fabric.name(switches.node(from)).to_owned(),
            to: fabric.name(switches.node(to)).to_owned(),
            why: "no switch stands above both; the cabling is no tree there. 'up-down' routes any cabling",
        })
    }
}

/// How far hosts are from each other along some paths, over pairs of switches that hold adapters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DetourSum {
    /// Pairs that are cabled together but have no path.
    pub(crate) missing: u64,
    /// Hops, summed over pairs of hosts.
    pub(crate) hops: u64,
}

/// The best order that was found, or the one below given roots; its paths and how good they are.
pub(crate) fn climb(fabric: &Fabric, switches: &Switches, roots: &[NodeId]) -> (Paths, Vec<u32>, DetourSum) {
    let rate = |rank: Vec<u32>| {
        let paths = Paths::up_down(switches, &rank);
        let sum = detour_sum(switches, &paths);
        (paths, rank, sum)
    };
    let roots: Vec<usize> = roots.iter().filter_map(|&root| switches.index_of(root)).collect();
    if !roots.is_empty() {
        return rate(ranks::below(switches, &roots));
    }
    let usual = ranks::of(fabric, switches);
    let mut best = rate(usual.clone());
    if best.2.missing == 0 && ranks::is_layered(switches, &best.1) {
        return best;
    }
    let most_hosts = (0..switches.len()).map(|switch| switches.hosts(switch)).max().unwrap_or(0);
    let mut consider = |rank: Vec<u32>| {
        let found = rate(rank);
        if found.2 < best.2 {
            best = found;
        }
    };
    let other = [1, most_hosts.div_ceil(4), most_hosts.div_ceil(2)];
    let other = other.into_iter().map(|least| ranks::levels(switches, least));
    for rank in std::iter::once(usual).chain(other) {
        for leaf in leaves(switches, &rank) {
            consider(ranks::hang(switches, &rank, leaf));
        }
        consider(rank);
    }
    best
}

/// Leaves with the most links, spread over the fabric.
fn leaves(switches: &Switches, rank: &[u32]) -> Vec<usize> {
    let mut leaves: Vec<usize> = (0..rank.len()).filter(|&switch| rank[switch] == 0).collect();
    leaves.sort_by_key(|&switch| (Reverse(switches.links(switch).len()), switch));
    leaves.truncate(leaves.len().div_ceil(2));
    leaves.iter().step_by(leaves.len().div_ceil(LEAVES).max(1)).copied().collect()
}

pub(crate) fn detour_sum(switches: &Switches, paths: &Paths) -> DetourSum {
    let part = parts(switches);
    let holders: Vec<usize> = (0..switches.len()).filter(|&switch| switches.adapters(switch) > 0).collect();
    let (missing, hops) = holders
        .par_iter()
        .map(|&from| {
            let row = paths.row(from);
            let (mut missing, mut hops) = (0, 0);
            for &to in holders.iter().filter(|&&to| part[to] == part[from]) {
                match paths.hops(row[to]) {
                    Some(cost) => hops += u64::from(cost) * u64::from(switches.hosts(to)),
                    None => missing += 1,
                }
            }
            (missing, hops * u64::from(switches.hosts(from)))
        })
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    DetourSum { missing, hops }
}

/// The first two switches with adapters that are cabled together but have no path.
pub(crate) fn first_missing(switches: &Switches, paths: &Paths) -> Option<(usize, usize)> {
    let part = parts(switches);
    let holds = |&switch: &usize| switches.adapters(switch) > 0;
    (0..switches.len()).filter(holds).find_map(|from| {
        let row = paths.row(from);
        let missing = |&to: &usize| row[to] == NO_PATH && part[to] == part[from];
        (0..switches.len()).filter(holds).find(missing).map(|to| (from, to))
    })
}
