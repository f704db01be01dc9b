//! Dragonfly+: groups of leaves and spines, every leaf joined with every spine of its group, the spines' other ports
//! spread evenly over the other groups (Shpiner and others, "Dragonfly+: low cost topology for scaling datacenters",
//! HiPINEB 2017).

use ib::{LinkRate, LinkSpeed};
use serde::{Deserialize, Serialize};

use super::naming::Naming;
use super::{GenerateError, bounded_nodes, bounded_ports};
use crate::{Fabric, NodeId};

/// A Dragonfly+.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DragonflyPlusSpec {
    /// How many groups.
    pub groups: u32,
    /// Leaves of a group.
    pub leaves: u32,
    /// Spines of a group.
    pub spines: u32,
    /// Hosts of a leaf.
    pub hosts: u32,
    /// Links from each spine to other groups.
    pub global_links: u32,
    /// What every link runs at.
    pub rate: LinkRate,
}

impl Default for DragonflyPlusSpec {
    fn default() -> Self {
        Self {
            groups: 9,
            leaves: 8,
            spines: 8,
            hosts: 8,
            global_links: 8,
            rate: LinkRate::x4(LinkSpeed::Ndr),
        }
    }
}

impl DragonflyPlusSpec {
    /// Builds it.
    pub fn build(&self) -> Result<Fabric, GenerateError> {
        let &Self { groups, leaves, spines, hosts, global_links, rate } = self;
        for (count, flag) in [(groups, "--groups"), (leaves, "--leaves"), (spines, "--spines")] {
            if count == 0 {
                return Err(GenerateError::new(
                    "a group needs leaves and spines",
                    format!("give {flag} 1 or more"),
                ));
            }
        }
        let total = u64::from(spines) * u64::from(global_links);
        let others = u64::from(groups) - 1;
        if others > 0 && total < others {
            return Err(GenerateError::new(
                format!("{total} global links of a group do not reach {others} other groups"),
                "give more --global-links or --spines, or fewer --groups",
            ));
        }
        let leaf_ports = bounded_ports("a leaf", u64::from(spines) + u64::from(hosts))?;
        let spine_ports = bounded_ports("a spine", u64::from(leaves) + u64::from(global_links))?;
        let group_nodes = u64::from(leaves) * (1 + u64::from(hosts)) + u64::from(spines);
        bounded_nodes(group_nodes.saturating_mul(u64::from(groups)))?;

        let mut naming = Naming::new(group_nodes * u64::from(groups), group_nodes * u64::from(groups) * 4);
        let mut spine_rows: Vec<Vec<NodeId>> = Vec::new();
        let mut host = 0;
        for group in 1..=groups {
            let tops: Vec<NodeId> = (1..=spines)
                .map(|i| naming.switch(spine_ports, &format!("spine-g{group:02}-{i:02}")))
                .collect();
            for leaf in 1..=leaves {
                let switch = naming.switch(leaf_ports, &format!("leaf-g{group:02}-{leaf:02}"));
                for (spine, &top) in tops.iter().enumerate() {
                    naming.cable((switch, (hosts + 1) as u8 + spine as u8), (top, leaf as u8), rate);
                }
                for port in 1..=hosts {
                    host += 1;
                    naming.host(&format!("host{host:05} mlx5_0"), (switch, port as u8), rate);
                }
            }
            spine_rows.push(tops);
        }
        // Global link number `n` of a group sits on spine `n mod spines`; links of a pair of groups take the lowest
        // numbers that both have left, round after round over all pairs.
        let mut used = vec![0u64; groups as usize];
        let place = |group: usize, n: u64| {
            let spine = spine_rows[group][(n % u64::from(spines)) as usize];
            (spine, (u64::from(leaves) + 1 + n / u64::from(spines)) as u8)
        };
        for _ in 0..total.checked_div(others).unwrap_or(0) {
            for a in 0..groups as usize {
                for b in a + 1..groups as usize {
                    naming.cable(place(a, used[a]), place(b, used[b]), rate);
                    used[a] += 1;
                    used[b] += 1;
                }
            }
        }
        Ok(naming.fabric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_groups_has_equal_links() {
        let fabric = DragonflyPlusSpec::default().build().unwrap();
        fabric.check_invariants();
        assert_eq!(fabric.hosts().count(), 9 * 8 * 8);
        assert_eq!(fabric.switch_count(), 9 * 16);
        let group = |node| fabric.name(node).split('-').nth(1).map(str::to_owned);
        let mut links = std::collections::BTreeMap::new();
        for (a, b) in fabric.links() {
            let (a, b) = (fabric.node_of(a), fabric.node_of(b));
            if fabric.is_switch(a) && fabric.is_switch(b) && group(a) != group(b) {
                *links.entry((group(a), group(b))).or_insert(0) += 1;
            }
        }
        assert_eq!(links.len(), 9 * 8 / 2);
        assert!(links.values().all(|&count| count == 8), "{links:?}");
    }

    #[test]
    fn too_few_global_links_are_refused() {
        let error = DragonflyPlusSpec { groups: 99, ..Default::default() }.build().unwrap_err();
        assert!(error.to_string().contains("do not reach 98 other groups"));
        DragonflyPlusSpec { groups: 1, ..Default::default() }.build().unwrap().check_invariants();
    }
}
