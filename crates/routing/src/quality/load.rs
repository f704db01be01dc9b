//! Every host's port to every other.

use fabric::Fabric;
use rayon::prelude::*;
use serde::Serialize;

use super::paths::{Columns, NONE, PathView};
use crate::tables::Tables;

/// Paths on the links between switches when every host's port sends to every other: each direction of a link counts
/// the ordered pairs whose path uses it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LinkLoad {
    /// The most loaded direction of a link.
    pub max: u64,
    /// 99 in 100 directions carry no more than this.
    pub p99: u64,
    /// Over all directions of links between switches.
    pub mean: f64,
    /// The largest load where a path counts as often as the fastest link between switches is faster than the one it
    /// is on: what `max` means where links run at different speeds.
    pub max_by_speed: f64,
}

/// Counts the paths on every link.
pub fn link_load(fabric: &Fabric, tables: &Tables) -> LinkLoad {
    let view = PathView::new(fabric, tables);
    let loads = (0..view.groups())
        .into_par_iter()
        .fold(
            || (Columns::new(&view), vec![0u64; view.slots()]),
            |(mut columns, mut loads), group| {
                for host in columns.take(group) {
                    columns.visit(host, |holder, path| {
                        let hosts = u64::from(view.switches.hosts(holder.switch as usize));
                        path.iter().for_each(|&(_, slot)| loads[slot as usize] += hosts);
                    });
                }
                (columns, loads)
            },
        )
        .map(|(_, loads)| loads)
        .reduce(
            || vec![0; view.slots()],
            |mut sum, part| {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                sum
            },
        );
    let slowness = slowness(fabric, &view);
    let directions = || (0..view.slots()).filter(|&slot| view.peer[slot] != NONE);
    let mut used: Vec<u64> = directions().map(|slot| loads[slot]).collect();
    let by_speed = directions().map(|slot| loads[slot] as f64 * slowness[slot]).fold(0.0, f64::max);
    LinkLoad { max_by_speed: by_speed, ..summarize(&mut used) }
}

/// How many times faster the fastest link between switches is than the one at each slot. A link whose rate is not
/// known counts as the fastest.
fn slowness(fabric: &Fabric, view: &PathView) -> Vec<f64> {
    let mut rates = Vec::with_capacity(view.slots());
    for switch in 0..view.switches.len() {
        let node = view.switches.node(switch);
        rates.extend((0..view.slots_of(switch)).map(|port| {
            let rate = fabric.port(node, port as u8).and_then(|port| fabric.rate(port));
            rate.map_or(0.0, |rate| rate.gbps())
        }));
    }
    let linked = rates.iter().zip(&view.peer).filter(|&(_, &peer)| peer != NONE);
    let fastest = linked.map(|(&rate, _)| rate).fold(0.0, f64::max);
    rates.iter().map(|&rate| if rate > 0.0 { fastest / rate } else { 1.0 }).collect()
}

fn summarize(loads: &mut [u64]) -> LinkLoad {
    if loads.is_empty() {
        return LinkLoad::default();
    }
    loads.sort_unstable();
    let rank = (loads.len() * 99).div_ceil(100);
    LinkLoad {
        max: loads[loads.len() - 1],
        p99: loads[rank - 1],
        mean: loads.iter().sum::<u64>() as f64 / loads.len() as f64,
        max_by_speed: 0.0,
    }
}
