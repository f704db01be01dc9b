//! Writes Slurm's `topology.conf` (tree plugin) and `topology.yaml` (tree, and block where units are alike).
//!
//! Slurm wants one tree in which every node stands once; a fabric has many spines and hosts with adapters on several
//! leaves. So leaves that share a host become one unit, and units that a higher level joins become one switch of the
//! tree, level by level. A host is the first word of its adapters' names, as `n001` in `n001 HCA-1`; adapters that still
//! have their maker's name are left out, since Slurm knows no such node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::FormatError;
use crate::levels::{Levels, switch_neighbors};
use crate::summary::machine;
use crate::{Fabric, NodeId};

/// One switch of Slurm's tree.
struct Unit {
    name: String,
    hosts: Vec<String>,
    children: Vec<String>,
}

/// Groups that grow by joining; the smallest member stands for the group.
struct Groups(Vec<u32>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    fn find(&mut self, node: NodeId) -> u32 {
        let mut at = node.0;
        while self.0[at as usize] != at {
            self.0[at as usize] = self.0[self.0[at as usize] as usize];
            at = self.0[at as usize];
        }
        at
    }

    fn join(&mut self, one: NodeId, other: NodeId) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

/// A name in characters that Slurm's host lists take.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect()
}

/// `leaf-1` of `MF0;leaf-1:MQM8700/U1`, or the whole name.
fn switch_name(fabric: &Fabric, node: NodeId) -> String {
    let name = fabric.name(node);
    let short =
        name.split_once(';').and_then(|(_, rest)| rest.split_once(':')).map_or(name, |(short, _)| short);
    if short.is_empty() { format!("{:016x}", fabric.guid(node).0) } else { clean(short) }
}

/// The tree, leaves first.
fn units(fabric: &Fabric) -> Result<Vec<Unit>, FormatError> {
    let levels = Levels::of(fabric);
    let mut groups = Groups::new(fabric.node_count());
    let named: Vec<(NodeId, String)> =
        fabric.hosts().filter_map(|host| Some((host, clean(machine(fabric, host)?)))).collect();
    let mut leaf_of_host: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut hosts_of: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
    for (host, name) in &named {
        for (_, peer) in fabric.neighbors(*host) {
            let switch = fabric.node_of(peer);
            if levels.rank(switch) == Some(1) {
                let first = *leaf_of_host.entry(name.clone()).or_insert(switch);
                groups.join(first, switch);
            }
        }
    }
    // Hosts that sit on spines alone still need a place.
    for (host, name) in &named {
        for (_, peer) in fabric.neighbors(*host) {
            let switch = fabric.node_of(peer);
            if fabric.is_switch(switch) {
                leaf_of_host.entry(name.clone()).or_insert(switch);
            }
        }
    }
    if leaf_of_host.is_empty() {
        return Err(FormatError::whole(
            "",
            "Slurm's topology needs hosts on switches, and this fabric has none that a site named".to_owned(),
            "write toml or dot",
        ));
    }
    for (host, leaf) in leaf_of_host {
        hosts_of.entry(leaf).or_default().insert(host);
    }
    let mut names = BTreeSet::new();
    let mut unique = |wanted: String, guid: u64| {
        let name = if names.contains(&wanted) { format!("{wanted}-{guid:x}") } else { wanted };
        names.insert(name.clone());
        name
    };
    // Groups of the level below, by their root: the name of each one's switch.
    let mut below: BTreeMap<u32, String> = BTreeMap::new();
    let mut units = Vec::new();
    let mut hosts_of_group: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (leaf, hosts) in hosts_of {
        hosts_of_group.entry(groups.find(leaf)).or_default().extend(hosts);
    }
    for (root, hosts) in hosts_of_group {
        let node = NodeId(root);
        let name = unique(switch_name(fabric, node), fabric.guid(node).0);
        below.insert(root, name.clone());
        units.push(Unit { name, hosts, children: Vec::new() });
    }
    for rank in 1..=levels.highest() {
        for switch in fabric.switches().filter(|&switch| levels.rank(switch) <= Some(rank)) {
            for other in switch_neighbors(fabric, switch) {
                if levels.rank(other).is_some_and(|other| other <= rank) {
                    groups.join(switch, other);
                }
            }
        }
        let mut joined: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (root, name) in std::mem::take(&mut below) {
            joined.entry(groups.find(NodeId(root))).or_default().push(name);
        }
        for (root, children) in joined {
            if let [only] = &children[..] {
                below.insert(root, only.clone());
                continue;
            }
            let name = unique(format!("level{rank}-{}", units.len() + 1), u64::from(root));
            below.insert(root, name.clone());
            units.push(Unit { name, hosts: Vec::new(), children });
        }
    }
    Ok(units)
}

/// Slurm's `topology.conf` for `TopologyPlugin=topology/tree`.
///
/// # Errors
/// Where no host sits on a switch.
pub fn write_conf(fabric: &Fabric) -> Result<String, FormatError> {
    let mut text =
        String::from("# Slurm topology.conf for TopologyPlugin=topology/tree, written by Heddle\n");
    for unit in units(fabric)? {
        let (key, members) = members(&unit);
        let key = if key == "nodes" { "Nodes" } else { "Switches" };
        let _ = writeln!(text, "SwitchName={} {key}={members}", unit.name);
    }
    Ok(text)
}

fn members(unit: &Unit) -> (&'static str, String) {
    if unit.children.is_empty() {
        ("nodes", host_list(&unit.hosts))
    } else {
        ("children", host_list(&unit.children))
    }
}

/// Slurm's `topology.yaml`, version 24.11 and later.
///
/// # Errors
/// Where no host sits on a switch.
pub fn write_yaml(fabric: &Fabric) -> Result<String, FormatError> {
    let units = units(fabric)?;
    let mut text = String::from(
        "# Slurm topology.yaml, written by Heddle\n---\n- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n",
    );
    for unit in &units {
        let (key, members) = members(unit);
        let _ = writeln!(text, "      - switch: {}\n        {key}: {members}", unit.name);
    }
    let blocks: Vec<&Unit> = units.iter().filter(|unit| unit.children.is_empty()).collect();
    let size = blocks.first().map_or(0, |unit| unit.hosts.len());
    if blocks.len() > 1 && size > 1 && blocks.iter().all(|unit| unit.hosts.len() == size) {
        let _ = write!(
            text,
            "- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n      - {size}\n    blocks:\n"
        );
        for unit in blocks {
            let _ = writeln!(text, "      - block: {}\n        nodes: {}", unit.name, host_list(&unit.hosts));
        }
    }
    Ok(text)
}

/// Names as a host list: `n[001-024,030],login1`.
fn host_list(names: &[String]) -> String {
    let split = |name: &'_ str| {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(15);
        name.len() - digits
    };
    // Numbers keep their width where a name of the same stem and width begins with a zero.
    let padded: BTreeSet<(&str, usize)> = names
        .iter()
        .map(|name| name.split_at(split(name)))
        .filter(|(_, digits)| digits.len() > 1 && digits.starts_with('0'))
        .map(|(stem, digits)| (stem, digits.len()))
        .collect();
    let mut numbered: Vec<(&str, usize, u64)> = Vec::new();
    let mut plain: Vec<&str> = Vec::new();
    for name in names {
        let (stem, digits) = name.split_at(split(name));
        let width = if padded.contains(&(stem, digits.len())) { digits.len() } else { 0 };
        match digits.parse() {
            Ok(number) => numbered.push((stem, width, number)),
            Err(_) => plain.push(name),
        }
    }
    numbered.sort_unstable();
    numbered.dedup();
    plain.sort_unstable();
    let mut parts: Vec<String> = Vec::new();
    for group in numbered.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (stem, width, _) = group[0];
        let mut ranges: Vec<String> = Vec::new();
        for run in group.chunk_by(|a, b| a.2 + 1 == b.2) {
            let (first, last) = (run[0].2, run[run.len() - 1].2);
            let tail = if last > first { format!("-{last:0width$}") } else { String::new() };
            ranges.push(format!("{first:0width$}{tail}"));
        }
        let list = ranges.join(",");
        parts.push(if group.len() == 1 { format!("{stem}{list}") } else { format!("{stem}[{list}]") });
    }
    parts.extend(plain.into_iter().map(str::to_owned));
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_lists_are_short_and_keep_zeros() {
        let names = ["n002", "n001", "n003", "n100", "n10", "n9", "login", "n007"].map(String::from);
        assert_eq!(host_list(&names), "n[9-10],n[001-003,007,100],login");
        assert_eq!(host_list(&[]), "");
    }
}
