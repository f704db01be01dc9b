//! Which textbook shape a cabling shows.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::Level;
use crate::levels::{Levels, switch_neighbors};
use crate::{Fabric, NodeId};

/// How many switches are looked at closely where looking at all would take time in the square of their number.
const SAMPLES: usize = 48;

/// The shape of the links between switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Shape {
    /// No switch at all.
    NoSwitch,
    /// One switch.
    SingleSwitch,
    /// Every link joins neighbouring levels.
    FatTree {
        /// Levels of switches.
        levels: u8,
    },
    /// Two levels, with links between spines that join the groups.
    DragonflyPlus,
    /// A ring of switches.
    Ring,
    /// Switches at the corners of a cube.
    Hypercube {
        /// Its dimensions.
        dimensions: u8,
    },
    /// A torus: every switch has two neighbours in each dimension.
    Torus {
        /// Its dimensions.
        dimensions: u8,
    },
    /// Every switch has as many neighbours as any other, without more order.
    Regular {
        /// Neighbours of each switch.
        degree: u16,
    },
    /// Every switch next to every other.
    FullMesh,
    /// None of these.
    Irregular,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSwitch => f.write_str("No switch"),
            Self::SingleSwitch => f.write_str("Single switch"),
            Self::FatTree { levels: 2 } => f.write_str("Fat tree of 2 levels (leaf and spine)"),
            Self::FatTree { levels } => write!(f, "Fat tree of {levels} levels"),
            Self::DragonflyPlus => f.write_str("Dragonfly+"),
            Self::Ring => f.write_str("Ring"),
            Self::Hypercube { dimensions } => write!(f, "Hypercube of {dimensions} dimensions"),
            Self::Torus { dimensions } => write!(f, "Torus of {dimensions} dimensions"),
            Self::Regular { degree } => write!(f, "Regular graph, {degree} neighbours a switch"),
            Self::FullMesh => f.write_str("Full mesh"),
            Self::Irregular => f.write_str("Irregular"),
        }
    }
}

/// The shape of a fabric.
pub(super) fn recognise(fabric: &Fabric, levels: &Levels, rows: &[Level]) -> Shape {
    match fabric.switch_count() {
        0 => return Shape::NoSwitch,
        1 => return Shape::SingleSwitch,
        _ => {}
    }
    if levels.highest() < 2 {
        return flat(fabric);
    }
    let joined = |fabric: &Fabric, ranks: (u8, u8)| {
        fabric.links().any(|(one, other)| {
            let nodes = (fabric.node_of(one), fabric.node_of(other));
            nodes.0 != nodes.1
                && (levels.rank(nodes.0), levels.rank(nodes.1)) == (Some(ranks.0), Some(ranks.1))
        })
    };
    let beside = rows.iter().any(|row| row.level > 0 && row.links_beside > 0)
        && (1..=levels.highest()).any(|rank| joined(fabric, (rank, rank)));
    if !beside {
        return Shape::FatTree { levels: levels.highest() };
    }
    let only_spines = levels.highest() == 2 && !joined(fabric, (1, 1));
    if only_spines { Shape::DragonflyPlus } else { Shape::Irregular }
}

fn neighbors(fabric: &Fabric, switch: NodeId) -> BTreeSet<NodeId> {
    switch_neighbors(fabric, switch).filter(|&other| other != switch).collect()
}

fn flat(fabric: &Fabric) -> Shape {
    let switches: Vec<NodeId> = fabric.switches().collect();
    let degrees: BTreeSet<usize> = switches.iter().map(|&switch| neighbors(fabric, switch).len()).collect();
    let (Some(&degree), 1) = (degrees.first(), degrees.len()) else { return Shape::Irregular };
    let count = switches.len();
    if degree + 1 == count {
        return Shape::FullMesh;
    }
    if degree == 2 {
        return Shape::Ring;
    }
    if count == 1usize.checked_shl(degree as u32).unwrap_or(0) && is_hypercube(fabric, &switches) {
        return Shape::Hypercube { dimensions: degree as u8 };
    }
    if degree % 2 == 0 && is_torus_like(fabric, &switches, degree) {
        return Shape::Torus { dimensions: (degree / 2) as u8 };
    }
    Shape::Regular { degree: degree as u16 }
}

/// Gives the first switch's neighbours a bit each, every other the bits of its neighbours nearer to the first, then
/// looks whether every link changes one bit.
fn is_hypercube(fabric: &Fabric, switches: &[NodeId]) -> bool {
    let mut label = vec![None::<u32>; fabric.node_count()];
    label[switches[0].index()] = Some(0);
    let mut front: Vec<NodeId> = neighbors(fabric, switches[0]).into_iter().collect();
    for (bit, node) in front.iter().enumerate() {
        label[node.index()] = Some(1 << bit);
    }
    while !front.is_empty() {
        let mut next: Vec<(NodeId, u32)> = Vec::new();
        for &node in &front {
            for other in neighbors(fabric, node) {
                if label[other.index()].is_none() {
                    next.push((other, label[node.index()].unwrap_or(0)));
                }
            }
        }
        front.clear();
        for (node, bits) in next {
            if label[node.index()].is_none() {
                front.push(node);
            }
            label[node.index()] = Some(label[node.index()].unwrap_or(0) | bits);
        }
    }
    fabric.links().all(|(one, other)| {
        let ends = [one, other].map(|port| fabric.node_of(port));
        if !ends.iter().all(|&node| fabric.is_switch(node)) || ends[0] == ends[1] {
            return true;
        }
        let labels = ends.map(|node| label[node.index()].unwrap_or(0));
        (labels[0] ^ labels[1]).count_ones() == 1
    })
}

/// From every switch the others lie alike far, and two steps reach no more than in a torus.
fn is_torus_like(fabric: &Fabric, switches: &[NodeId], degree: usize) -> bool {
    let step = (switches.len() / SAMPLES).max(1);
    let mut profiles = BTreeSet::new();
    for &start in switches.iter().step_by(step) {
        let mut seen = vec![false; fabric.node_count()];
        seen[start.index()] = true;
        let mut front = vec![start];
        let mut profile = Vec::new();
        while !front.is_empty() {
            profile.push(front.len());
            let mut next = Vec::new();
            for node in front {
                for other in switch_neighbors(fabric, node) {
                    if !std::mem::replace(&mut seen[other.index()], true) {
                        next.push(other);
                    }
                }
            }
            front = next;
        }
        profiles.insert(profile);
    }
    profiles.len() == 1
        && profiles
            .first()
            .is_some_and(|profile| profile.get(2).is_none_or(|&two| two * 2 <= degree * degree))
}
