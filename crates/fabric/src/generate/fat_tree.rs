//! Fat trees: extended generalised fat trees of any number of levels, tapered, with parallel links, whole or in part.
//!
//! A tree of `h` levels is described by how many children `m` and how many parents `w` a switch of each level has
//! (Öhring and others, "On generalized fat trees", IPPS 1995). A switch of level `i` (1 is the leaf) has a place among
//! the subtrees above it and a place among its siblings below: its parents are the switches one level up with the same
//! places, for every place among siblings.

use ib::{LinkRate, LinkSpeed};
use serde::{Deserialize, Serialize};

use super::naming::Naming;
use super::{GenerateError, bounded_nodes, bounded_ports};
use crate::{Fabric, NodeId};

/// A fat tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FatTreeSpec {
    /// Levels of switches. `None`: as few as hold [`FatTreeSpec::hosts`], 2 where that is not given either.
    pub levels: Option<u8>,
    /// Ports of every switch.
    pub radix: u8,
    /// How many subtrees hang below the top switches (in a tree of two levels: how many leaves). `None`: as many as
    /// the hosts need, else as many as there is room for.
    pub pods: Option<u32>,
    /// How many hosts: exactly so many are cabled, spread evenly over the leaves. `None`: every leaf is full.
    pub hosts: Option<u32>,
    /// Ports down for each port up, from the leaves upwards; the last value counts for all levels above. 1: none.
    pub taper: Vec<f64>,
    /// Parallel links between a switch and each of its parents, from the leaves upwards; the last value counts for all
    /// levels above. Empty: 1, and at the top as many as save switches where the number of hosts is given.
    pub parallel: Vec<u8>,
    /// What every link runs at.
    pub rate: LinkRate,
}

impl Default for FatTreeSpec {
    fn default() -> Self {
        Self {
            levels: None,
            radix: 64,
            pods: None,
            hosts: None,
            taper: vec![1.0],
            parallel: Vec::new(),
            rate: LinkRate::x4(LinkSpeed::Ndr),
        }
    }
}

/// The numbers of a tree; index 0 is the leaf level.
struct Shape {
    /// Ports down of a switch, parallel links counted.
    down: Vec<u64>,
    /// Ports up of a switch, parallel links counted; 0 at the top.
    up: Vec<u64>,
    /// Parallel links to each parent; 1 at the top, where it is not used.
    parallel: Vec<u64>,
    /// Children of a switch: hosts of a leaf.
    children: Vec<u64>,
    /// Parents of a switch.
    parents: Vec<u64>,
}

impl FatTreeSpec {
    /// Builds it.
    pub fn build(&self) -> Result<Fabric, GenerateError> {
        let shape = self.shape()?;
        let levels = shape.down.len();
        let leaves: u64 = shape.children[1..].iter().product();
        let hosts = self.hosts.map_or(leaves * shape.children[0], u64::from);
        let counts: Vec<u64> = (0..levels).map(|level| shape.switches(level)).collect();
        let switches = counts.iter().sum::<u64>();
        bounded_nodes(switches + hosts)?;
        let mut naming = Naming::new(switches + hosts, hosts + switches * u64::from(self.radix));

        let mut rows: Vec<Vec<NodeId>> = Vec::with_capacity(levels);
        for (level, &count) in counts.iter().enumerate() {
            let name = level_name(level, levels);
            rows.push(
                (0..count).map(|i| naming.switch(self.radix, &format!("{name}-{:04}", i + 1))).collect(),
            );
        }
        for level in 0..levels - 1 {
            self.cable_level(&mut naming, &shape, &rows, level);
        }
        let digits = hosts.to_string().len().max(4);
        let mut next = 0;
        for (leaf, &switch) in rows[0].iter().enumerate() {
            // Host counts of two leaves differ by one at the most.
            let end = hosts * (leaf as u64 + 1) / leaves;
            for port in 1..=end - next {
                let name = format!("host{:0digits$} mlx5_0", next + port);
                naming.host(&name, (switch, port as u8), self.rate);
            }
            next = end;
        }
        Ok(naming.fabric)
    }

    /// Cables the switches of one level to those above. A switch's number is its place among subtrees (in mixed
    /// radix, the nearest subtree lowest) times the number of siblings of its level, plus its place among siblings.
    fn cable_level(&self, naming: &mut Naming, shape: &Shape, rows: &[Vec<NodeId>], level: usize) {
        let siblings: u64 = shape.parents[..level].iter().product();
        let (parents, parallel) = (shape.parents[level], shape.parallel[level]);
        let (children, down) = (shape.children[level + 1], shape.down[level]);
        for (number, &switch) in rows[level].iter().enumerate() {
            let (subtree, sibling) = (number as u64 / siblings, number as u64 % siblings);
            let (child, above) = (subtree % children, subtree / children);
            for parent in 0..parents {
                let target = rows[level + 1][((above * parents + parent) * siblings + sibling) as usize];
                for link in 0..parallel {
                    let from = (switch, (down + 1 + parent * parallel + link) as u8);
                    let to = (target, (1 + child * parallel + link) as u8);
                    naming.cable(from, to, self.rate);
                }
            }
        }
    }

    fn shape(&self) -> Result<Shape, GenerateError> {
        let radix = u64::from(bounded_ports("a switch", u64::from(self.radix))?);
        if radix < 2 {
            return Err(GenerateError::new(
                format!("a switch of {radix} ports joins nothing"),
                "give --radix 4 or more",
            ));
        }
        let Some(hosts) = self.hosts else {
            return self.shape_of(self.levels.unwrap_or(2));
        };
        if hosts == 0 {
            return Err(GenerateError::new("a tree without hosts has no leaf", "give --hosts 1 or more"));
        }
        let range = self.levels.map_or(1..=MOST_LEVELS, |levels| levels..=levels);
        let mut last = None;
        for levels in range {
            let shape = self.shape_of(levels)?;
            let room = shape.children.iter().product::<u64>();
            if room >= u64::from(hosts) {
                return Ok(shape);
            }
            last = Some((levels, room));
        }
        let (levels, room) = last.unwrap_or((0, 0));
        Err(GenerateError::new(
            format!("{levels} levels of {radix}-port switches hold {room} hosts, not {hosts}"),
            "give more --levels, more --pods, a larger --radix, or a larger --taper",
        ))
    }

    fn shape_of(&self, levels: u8) -> Result<Shape, GenerateError> {
        if levels == 0 || levels > MOST_LEVELS {
            return Err(GenerateError::new(
                format!("a tree has 1 to {MOST_LEVELS} levels, not {levels}"),
                "give --levels 2 or 3",
            ));
        }
        let radix = u64::from(self.radix);
        let top = usize::from(levels) - 1;
        let mut shape =
            Shape { down: vec![], up: vec![], parallel: vec![], children: vec![], parents: vec![] };
        for level in 0..top {
            let taper = self.taper.get(level).or(self.taper.last()).copied().unwrap_or(1.0);
            if !(taper.is_finite() && taper > 0.0) {
                return Err(GenerateError::new(
                    format!("a taper of {taper} means nothing"),
                    "give --taper 1 or more",
                ));
            }
            let up = (radix as f64 / (taper + 1.0)).floor() as u64;
            if up == 0 || up == radix {
                return Err(GenerateError::new(
                    format!("a taper of {taper} leaves a switch of {radix} ports no port on one side"),
                    "give a --taper nearer to 1 or a larger --radix",
                ));
            }
            // Whole links alone: 2:1 on 32 ports is 20 down and 10 up, two ports left.
            let down = ((up as f64 * taper).floor() as u64).clamp(1, radix - up);
            shape.up.push(up);
            shape.down.push(down);
            shape
                .parallel
                .push(u64::from(self.parallel.get(level).or(self.parallel.last()).copied().unwrap_or(1)));
        }
        shape.up.push(0);
        shape.down.push(radix);
        shape.parallel.push(1);
        for level in 0..=top {
            let below = if level == 0 { 1 } else { shape.parallel[level - 1] };
            for (side, ports, links) in
                [("down", shape.down[level], below), ("up", shape.up[level], shape.parallel[level])]
            {
                if links == 0 || ports % links != 0 && !(side == "down" && level == top) {
                    return Err(GenerateError::new(
                        format!(
                            "{ports} ports {side} of level {} do not divide into groups of {links}",
                            level + 1
                        ),
                        "give a --parallel that divides them",
                    ));
                }
            }
            shape.children.push(shape.down[level] / below);
            shape.parents.push(if level == top { 1 } else { shape.up[level] / shape.parallel[level] });
        }
        self.set_pods(&mut shape)?;
        Ok(shape)
    }

    /// Decides how many subtrees the top has, and how many parallel links lead up to it.
    fn set_pods(&self, shape: &mut Shape) -> Result<(), GenerateError> {
        let top = shape.down.len() - 1;
        let room = shape.children[top];
        let below: u64 = shape.children[..top].iter().product();
        let wanted = match (self.pods, self.hosts) {
            (Some(pods), _) => u64::from(pods),
            (None, Some(hosts)) => u64::from(hosts).div_ceil(below).min(room),
            (None, None) => room,
        };
        if wanted == 0 || wanted > room {
            return Err(GenerateError::new(
                format!("{wanted} subtrees do not fit below the top: it has room for {room}"),
                format!("give --pods 1 to {room}, or a larger --radix"),
            ));
        }
        shape.children[top] = wanted;
        if top > 0 && self.hosts.is_some() && self.parallel.is_empty() {
            let up = shape.up[top - 1];
            let radix = shape.down[top];
            let links = (1..=up)
                .rev()
                .find(|links| up.is_multiple_of(*links) && wanted * links <= radix)
                .unwrap_or(1);
            shape.parallel[top - 1] = links;
            shape.parents[top - 1] = up / links;
        }
        Ok(())
    }
}

/// More levels than anyone cables: 8 levels of 4 ports are 512 hosts.
const MOST_LEVELS: u8 = 8;

impl Shape {
    /// How many switches a level has.
    fn switches(&self, level: usize) -> u64 {
        self.children[level + 1..].iter().product::<u64>() * self.parents[..level].iter().product::<u64>()
    }
}

/// What switches of a level are called: no name serves two levels.
fn level_name(level: usize, levels: usize) -> String {
    match (level, levels - level) {
        (0, _) => "leaf".to_owned(),
        (1, _) => "spine".to_owned(),
        (_, 1) => "core".to_owned(),
        _ => format!("level{}", level + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(spec: &FatTreeSpec) -> (usize, usize, usize) {
        let fabric = spec.build().unwrap();
        fabric.check_invariants();
        (fabric.hosts().count(), fabric.switch_count(), fabric.link_count())
    }

    fn tree(levels: u8, radix: u8) -> FatTreeSpec {
        FatTreeSpec { levels: Some(levels), radix, ..FatTreeSpec::default() }
    }

    #[test]
    fn full_trees_have_their_textbook_sizes() {
        assert_eq!(counts(&tree(1, 36)), (36, 1, 36));
        assert_eq!(counts(&tree(2, 36)), (648, 54, 1296));
        assert_eq!(counts(&tree(3, 32)), (8192, 1280, 24576));
        assert_eq!(counts(&FatTreeSpec { pods: Some(6), ..tree(3, 36) }), (1944, 540, 5832));
        assert_eq!(counts(&tree(4, 8)), (512, 7 * 64, 4 * 512));
    }

    #[test]
    fn the_smallest_tree_holds_the_hosts() {
        let spec = FatTreeSpec { hosts: Some(114_688), radix: 80, ..FatTreeSpec::default() };
        assert_eq!(counts(&spec).0, 114_688);
        assert_eq!(counts(&spec).1, 72 * 80 + 1600);
        let spec = FatTreeSpec { hosts: Some(40), radix: 8, ..FatTreeSpec::default() };
        let (hosts, switches, _) = counts(&spec);
        assert_eq!((hosts, switches), (40, 3 * 8 + 8));
    }

    #[test]
    fn tapers_and_parallel_links_count() {
        let spec = FatTreeSpec { taper: vec![2.0], ..tree(2, 36) };
        assert_eq!(counts(&spec), (36 * 24, 36 + 12, 36 * 24 + 36 * 12));
        let spec = FatTreeSpec { parallel: vec![2], ..tree(2, 36) };
        assert_eq!(counts(&spec), (18 * 18, 18 + 9, 18 * 18 * 2));
    }

    #[test]
    fn what_cannot_be_says_what_would_mend_it() {
        for (spec, says) in [
            (
                FatTreeSpec { hosts: Some(10_000), ..tree(2, 36) },
                "2 levels of 36-port switches hold 648 hosts, not 10000",
            ),
            (FatTreeSpec { pods: Some(99), ..tree(3, 36) }, "99 subtrees do not fit"),
            (FatTreeSpec { taper: vec![0.0], ..tree(2, 36) }, "a taper of 0 means nothing"),
            (FatTreeSpec { parallel: vec![5], ..tree(2, 36) }, "do not divide into groups of 5"),
            (tree(9, 36), "1 to 8 levels"),
            (tree(8, 64), "are more than the"),
            (tree(2, 255), "at most 254"),
        ] {
            let error = spec.build().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
