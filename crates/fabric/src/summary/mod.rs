//! What a fabric is, for a person: shape, levels, counts, speeds, taper, bisection, rails.

mod bisection;
mod rails;
mod shape;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::levels::Levels;
use crate::{Fabric, NodeKind, PortId};

pub use bisection::Bisection;
pub use rails::Rails;
pub use rails::machine;
pub use shape::Shape;

/// Switches of one rank.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Level {
    /// 1: leaves. 0: switches that no host reaches.
    pub level: u8,
    /// How many switches.
    pub switches: usize,
    /// Numbers of external ports that they have, each with how many switches have it.
    pub radix: BTreeMap<u8, usize>,
    /// Ports that are cabled.
    pub ports_used: usize,
    /// Adapters of hosts on them.
    pub hosts: usize,
    /// Links to the level below; to hosts on leaves.
    pub links_down: usize,
    /// Links to the level above.
    pub links_up: usize,
    /// Links to switches of the same level, or of levels further off.
    pub links_beside: usize,
    /// What all links down and to hosts carry, Gbit/s; 0 where no rate is known.
    pub gbps_down: f64,
    /// What all links up carry, Gbit/s.
    pub gbps_up: f64,
    /// Capacity down by capacity up: 1 is non-blocking, 2 is 2:1. `None` at the top.
    pub taper: Option<f64>,
}

/// Links that run at one rate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RateCount {
    /// Width and speed as `4xNDR`; `unknown` where the file does not tell.
    pub rate: String,
    /// Links between switches.
    pub between_switches: usize,
    /// Links of hosts, routers and aggregation nodes.
    pub to_end_points: usize,
}

/// What a fabric is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The shape that the cabling shows.
    pub shape: Shape,
    /// Switches.
    pub switches: usize,
    /// Channel adapters of hosts.
    pub hosts: usize,
    /// Routers.
    pub routers: usize,
    /// Switches' aggregation nodes.
    pub aggregation_nodes: usize,
    /// Cables.
    pub links: usize,
    /// From the leaves up.
    pub levels: Vec<Level>,
    /// Fastest first.
    pub rates: Vec<RateCount>,
    /// What the worst halving of the hosts carries.
    pub bisection: Option<Bisection>,
    /// How machines' adapters spread over leaves; `None` where no machine has two.
    pub rails: Option<Rails>,
}

/// What one link counts for: its rate, or 1 where it is not known.
fn capacity(fabric: &Fabric, port: PortId) -> f64 {
    fabric.rate(port).map_or(1.0, |rate| rate.gbps())
}

/// Sums a fabric up.
pub fn summarize(fabric: &Fabric) -> Summary {
    let levels = Levels::of(fabric);
    let count = |kind| fabric.nodes().filter(|&node| fabric.kind(node) == kind).count();
    let rows = level_rows(fabric, &levels);
    let shape = shape::recognise(fabric, &levels, &rows);
    let bisection = bisection::of(fabric, &levels, &rows, shape);
    Summary {
        shape,
        switches: fabric.switch_count(),
        hosts: count(NodeKind::ChannelAdapter),
        routers: count(NodeKind::Router),
        aggregation_nodes: count(NodeKind::AggregationNode),
        links: fabric.link_count(),
        levels: rows,
        rates: rates(fabric),
        bisection,
        rails: rails::of(fabric),
    }
}

fn level_rows(fabric: &Fabric, levels: &Levels) -> Vec<Level> {
    let mut rows: BTreeMap<u8, Level> = BTreeMap::new();
    for switch in fabric.switches() {
        let rank = levels.rank(switch).unwrap_or(0);
        let row = rows.entry(rank).or_insert_with(|| Level {
            level: rank,
            switches: 0,
            radix: BTreeMap::new(),
            ports_used: 0,
            hosts: 0,
            links_down: 0,
            links_up: 0,
            links_beside: 0,
            gbps_down: 0.0,
            gbps_up: 0.0,
            taper: None,
        });
        row.switches += 1;
        *row.radix.entry(fabric.port_count(switch)).or_default() += 1;
        for (port, peer) in fabric.neighbors(switch) {
            row.ports_used += 1;
            let other = fabric.node_of(peer);
            let gbps = fabric.rate(port).map_or(0.0, |rate| rate.gbps());
            match (fabric.kind(other), levels.rank(other)) {
                (NodeKind::ChannelAdapter, _) => {
                    row.hosts += 1;
                    row.links_down += 1;
                    row.gbps_down += gbps;
                }
                (NodeKind::Switch, Some(there)) if there == rank + 1 => {
                    row.links_up += 1;
                    row.gbps_up += gbps;
                }
                (NodeKind::Switch, Some(there)) if there + 1 == rank => {
                    row.links_down += 1;
                    row.gbps_down += gbps;
                }
                (NodeKind::Switch, _) => row.links_beside += 1,
                _ => {}
            }
        }
    }
    let mut rows: Vec<Level> = rows.into_values().collect();
    for row in &mut rows {
        let (down, up) = if row.gbps_down > 0.0 && row.gbps_up > 0.0 {
            (row.gbps_down, row.gbps_up)
        } else {
            (row.links_down as f64, row.links_up as f64)
        };
        row.taper = (row.links_up > 0).then(|| down / up);
    }
    rows
}

fn rates(fabric: &Fabric) -> Vec<RateCount> {
    let mut counts: BTreeMap<(u64, String), (usize, usize)> = BTreeMap::new();
    for (one, other) in fabric.links() {
        let rate = fabric.rate(one);
        let gbps = rate.map_or(0, |rate| (rate.gbps() * 10.0) as u64);
        let name = rate.map_or("unknown".to_owned(), |rate| rate.to_string());
        let entry = counts.entry((gbps, name)).or_default();
        if [one, other].iter().all(|&port| fabric.is_switch(fabric.node_of(port))) {
            entry.0 += 1;
        } else {
            entry.1 += 1;
        }
    }
    counts
        .into_iter()
        .rev()
        .map(|((_, rate), (between_switches, to_end_points))| RateCount {
            rate,
            between_switches,
            to_end_points,
        })
        .collect()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.shape)?;
        write!(f, "{} switches, {} host adapters", self.switches, self.hosts)?;
        if self.aggregation_nodes > 0 {
            write!(f, ", {} aggregation nodes", self.aggregation_nodes)?;
        }
        if self.routers > 0 {
            write!(f, ", {} routers", self.routers)?;
        }
        writeln!(f, ", {} links", self.links)?;
        if !self.levels.is_empty() {
            writeln!(f)?;
            writeln!(
                f,
                "{:>5} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>8}",
                "level", "switches", "ports", "cabled", "hosts", "down", "up", "taper"
            )?;
        }
        for row in &self.levels {
            let radix: Vec<String> = row.radix.keys().map(ToString::to_string).collect();
            let taper = row.taper.map_or("-".to_owned(), |taper| format!("{taper:.2}:1"));
            let level = if row.level == 0 { "-".to_owned() } else { row.level.to_string() };
            writeln!(
                f,
                "{level:>5} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {taper:>8}",
                row.switches,
                radix.join("/"),
                row.ports_used,
                row.hosts,
                row.links_down,
                row.links_up + row.links_beside,
            )?;
        }
        writeln!(f)?;
        let rates: Vec<String> = self
            .rates
            .iter()
            .map(|rate| {
                format!(
                    "{} ({} between switches, {} others)",
                    rate.rate, rate.between_switches, rate.to_end_points
                )
            })
            .collect();
        if !rates.is_empty() {
            writeln!(f, "rates: {}", rates.join(", "))?;
        }
        if let Some(bisection) = &self.bisection {
            writeln!(f, "bisection: {bisection}")?;
        }
        if let Some(rails) = &self.rails {
            writeln!(f, "rails: {rails}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
