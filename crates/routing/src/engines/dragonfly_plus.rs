//! Dragonfly+: groups of leaves below spines, and links between the spines of different groups.
//!
//! A path goes up from its leaf, over one link to the other group, and down: in the order in which every spine stands above
//! every leaf, that is up, then down, so one lane suffices, and the paths are as short as any. Where links are missing
//! and some paths would have to go round, the shortest paths of `layered` over several lanes are taken, if they may be.

use fabric::Fabric;

use super::fat_tree::detour_sum;
use super::{Layered, tables_over};
use crate::engine::Engine;
use crate::error::RouteError;
use crate::options::Options;
use crate::paths::Paths;
use crate::routes::Routes;
use crate::switches::Switches;

/// The engine `dragonfly-plus`.
pub struct DragonflyPlus;

impl Engine for DragonflyPlus {
    fn name(&self) -> &'static str {
        "dragonfly-plus"
    }

    fn route(&self, fabric: &Fabric, options: &Options) -> Result<Routes, RouteError> {
        let switches = Switches::with_options(fabric, options);
        switches.check_lids(fabric)?;
        let rank = spines_above_leaves(&switches).map(|(rank, _)| rank).ok_or(RouteError::OtherTopology {
            engine: "dragonfly-plus",
            wanted: "groups of leaves below spines, with links between spines of different groups alone",
        })?;
        let paths = Paths::up_down(&switches, &rank);
        let shortest = detour_sum(&switches, &Paths::shortest(fabric, &switches)?);
        if detour_sum(&switches, &paths) != shortest {
            return Layered.route(fabric, options);
        }
        let tables = tables_over(fabric, &switches, &paths, &rank, options);
        Ok(Routes::on_one_lane(tables, paths.heights().map(<[u32]>::to_vec)))
    }
}

/// What the fabric is, for a person, where it is a Dragonfly+: "dragonfly+ of 9 groups".
pub(crate) fn recognised(switches: &Switches) -> Option<String> {
    spines_above_leaves(switches).map(|(_, groups)| format!("dragonfly+ of {groups} groups"))
}

/// Rank 0 for leaves, 1 for spines, and how many groups there are; `None` where the cabling is another.
fn spines_above_leaves(switches: &Switches) -> Option<(Vec<u32>, usize)> {
    let leaf = |switch: usize| switches.adapters(switch) > 0;
    let mut group = vec![u32::MAX; switches.len()];
    let mut groups = 0;
    // Switches without cables are lost ones.
    let cabled = (0..switches.len()).filter(|&switch| !switches.links(switch).is_empty());
    for start in cabled {
        if group[start] != u32::MAX {
            continue;
        }
        let (mut waiting, mut leaves) = (vec![start], 0);
        group[start] = groups;
        while let Some(switch) = waiting.pop() {
            leaves += u32::from(leaf(switch));
            for link in switches.links(switch) {
                let peer = link.peer as usize;
                if leaf(switch) && leaf(peer) {
                    return None;
                }
                if leaf(switch) != leaf(peer) && group[peer] == u32::MAX {
                    group[peer] = groups;
                    waiting.push(peer);
                }
            }
        }
        if leaves == 0 {
            return None;
        }
        groups += 1;
    }
    let between = |switch: usize| {
        let others = switches.links(switch).iter().map(|link| link.peer as usize).filter(|&peer| !leaf(peer));
        others.map(|peer| group[peer]).filter(move |_| !leaf(switch)).collect::<Vec<u32>>()
    };
    let inside = (0..switches.len()).any(|switch| between(switch).contains(&group[switch]));
    (groups > 1 && !inside)
        .then(|| ((0..switches.len()).map(|switch| u32::from(!leaf(switch))).collect(), groups as usize))
}
