//! Rail-optimised GPU clusters in scalable units, as NVIDIA's SuperPOD reference architectures cable them.
//!
//! A unit has one leaf for each of the eight rails; adapter `r` of every server of the unit hangs on leaf `r`. Up to
//! eight units of the NDR generation share one level of spines; beyond that, 16 units make a pod in which each rail
//! has 16 spines of its own, and cores join the spines of one number over pods and rails.

use ib::{LinkRate, LinkSpeed};
use serde::{Deserialize, Serialize};

use super::naming::Naming;
use super::{GenerateError, bounded_nodes};
use crate::{Fabric, NodeId};

/// Adapters of a server, one a rail.
const RAILS: u64 = 8;
/// Units that a pod of three levels holds.
const POD_UNITS: u64 = 16;
/// Spines of each rail in a pod.
const POD_SPINES: u64 = 16;

/// Which servers and switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generation {
    /// DGX H100 and B200: 32 servers a unit, 400 Gbit/s, switches of 64 ports.
    #[default]
    Ndr,
    /// DGX B300: 72 servers a unit, 800 Gbit/s, switches of 144 ports.
    Xdr,
}

impl Generation {
    const fn unit_servers(self) -> u64 {
        match self {
            Self::Ndr => 32,
            Self::Xdr => 72,
        }
    }

    const fn switch_ports(self) -> u64 {
        match self {
            Self::Ndr => 64,
            Self::Xdr => 144,
        }
    }

    const fn rate(self) -> LinkRate {
        match self {
            Self::Ndr => LinkRate::x4(LinkSpeed::Ndr),
            Self::Xdr => LinkRate::x4(LinkSpeed::Xdr),
        }
    }

    /// The most units of two levels: each leaf then has one link to each spine.
    const fn two_level_units(self) -> u64 {
        self.switch_ports() / RAILS
    }
}

/// A cluster of scalable units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SuperpodSpec {
    /// How many scalable units.
    pub units: u32,
    /// Which servers and switches.
    pub generation: Generation,
}

impl Default for SuperpodSpec {
    /// 1,024 GPUs of the NDR generation.
    fn default() -> Self {
        Self { units: 4, generation: Generation::Ndr }
    }
}

impl SuperpodSpec {
    /// Builds it.
    pub fn build(&self) -> Result<Fabric, GenerateError> {
        let (units, generation) = (u64::from(self.units), self.generation);
        let most = match generation {
            Generation::Ndr => POD_UNITS * 4,
            Generation::Xdr => generation.two_level_units(),
        };
        if units == 0 || units > most {
            return Err(GenerateError::new(
                format!("the reference architecture has 1 to {most} units, not {units}"),
                format!("give --units 1 to {most}, or generate a fat-tree"),
            ));
        }
        let hosts = units * generation.unit_servers() * RAILS;
        bounded_nodes(hosts * 2)?;
        let mut naming = Naming::new(hosts + hosts / 8, hosts * 6);
        let ports = generation.switch_ports() as u8;
        let rate = generation.rate();

        // Leaf `unit * RAILS + rail`.
        let mut leaves = Vec::new();
        for unit in 0..units {
            for rail in 0..RAILS {
                leaves.push(naming.switch(ports, &format!("leaf-su{:02}-r{}", unit + 1, rail + 1)));
            }
        }
        let mut unit_of_cables = Cables { naming: &mut naming, used: Vec::new(), rate };
        if units <= generation.two_level_units() {
            let up = generation.unit_servers();
            let spines = fewest_parents(leaves.len() as u64, up, generation.switch_ports());
            let spines: Vec<NodeId> = (0..spines)
                .map(|i| unit_of_cables.naming.switch(ports, &format!("spine-{:02}", i + 1)))
                .collect();
            unit_of_cables.join(&leaves, &spines, up);
        } else {
            unit_of_cables.three_levels(&leaves, units, generation);
        }

        for unit in 0..units {
            for server in 0..generation.unit_servers() {
                let name = format!("dgx-{:04}", unit * generation.unit_servers() + server + 1);
                for rail in 0..RAILS {
                    let leaf = leaves[(unit * RAILS + rail) as usize];
                    naming.host(&format!("{name} mlx5_{rail}"), (leaf, server as u8 + 1), rate);
                }
            }
        }
        Ok(naming.fabric)
    }
}

/// The fewest parents that take `up` links of each of `children` switches in equal shares.
fn fewest_parents(children: u64, up: u64, ports: u64) -> u64 {
    (1..=up).find(|parents| up.is_multiple_of(*parents) && children * (up / parents) <= ports).unwrap_or(up)
}

/// Cables in the making, with the next free port of every switch: leaves keep their first ports for servers.
struct Cables<'a> {
    naming: &'a mut Naming,
    used: Vec<u8>,
    rate: LinkRate,
}

impl Cables<'_> {
    /// Joins every child with every parent by equal shares of the child's `up` links.
    fn join(&mut self, children: &[NodeId], parents: &[NodeId], up: u64) {
        let share = up / parents.len() as u64;
        for &child in children {
            for &parent in parents {
                for _ in 0..share {
                    let from = (child, self.next_port(child, up as u8));
                    let to = (parent, self.next_port(parent, 0));
                    self.naming.cable(from, to, self.rate);
                }
            }
        }
    }

    /// The next port of a switch; one that has given out none begins after `reserved`.
    fn next_port(&mut self, switch: NodeId, reserved: u8) -> u8 {
        if self.used.len() <= switch.index() {
            self.used.resize(switch.index() + 1, 0);
        }
        let used = &mut self.used[switch.index()];
        *used = (*used).max(reserved) + 1;
        *used
    }

    fn three_levels(&mut self, leaves: &[NodeId], units: u64, generation: Generation) {
        let up = generation.unit_servers();
        let ports = generation.switch_ports() as u8;
        let pods = units.div_ceil(POD_UNITS);
        // Spines by number within their rail and pod: those of one number share cores.
        let mut by_number: Vec<Vec<NodeId>> = vec![Vec::new(); POD_SPINES as usize];
        for pod in 0..pods {
            for rail in 0..RAILS {
                let spines: Vec<NodeId> = (0..POD_SPINES)
                    .map(|i| {
                        let name = format!("spine-p{}-r{}-{:02}", pod + 1, rail + 1, i + 1);
                        self.naming.switch(ports, &name)
                    })
                    .collect();
                let own: Vec<NodeId> = (pod * POD_UNITS..units.min((pod + 1) * POD_UNITS))
                    .map(|unit| leaves[(unit * RAILS + rail) as usize])
                    .collect();
                self.join(&own, &spines, up);
                for (number, spine) in spines.into_iter().enumerate() {
                    by_number[number].push(spine);
                }
            }
        }
        let cores = fewest_parents(pods * RAILS, up, generation.switch_ports());
        for (number, spines) in by_number.iter().enumerate() {
            let cores: Vec<NodeId> = (0..cores)
                .map(|i| self.naming.switch(ports, &format!("core-{:02}-{:02}", number + 1, i + 1)))
                .collect();
            self.join(spines, &cores, up);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GPUs, leaves, spines, cores, and cables of each level.
    fn count(units: u32, generation: Generation) -> [usize; 7] {
        let fabric = SuperpodSpec { units, generation }.build().unwrap();
        fabric.check_invariants();
        let named = |prefix: &str| fabric.switches().filter(|&s| fabric.name(s).starts_with(prefix)).count();
        let cables = |a: &str, b: &str| {
            let is = |node, prefix| fabric.name(node).starts_with(prefix);
            fabric
                .links()
                .map(|(x, y)| (fabric.node_of(x), fabric.node_of(y)))
                .filter(|&(x, y)| is(x, a) && is(y, b) || is(x, b) && is(y, a))
                .count()
        };
        [
            fabric.hosts().count(),
            named("leaf"),
            named("spine"),
            named("core"),
            cables("dgx", "leaf"),
            cables("leaf", "spine"),
            cables("spine", "core"),
        ]
    }

    #[test]
    fn h100_and_b200_have_the_published_components() {
        // NVIDIA DGX SuperPOD reference architecture, table of compute fabric components.
        for (units, row) in [
            (2, [512, 16, 8, 0, 512, 512, 0]),
            (4, [1024, 32, 16, 0, 1024, 1024, 0]),
            (8, [2048, 64, 32, 0, 2048, 2048, 0]),
            (16, [4096, 128, 128, 64, 4096, 4096, 4096]),
            (32, [8192, 256, 256, 128, 8192, 8192, 8192]),
            (64, [16384, 512, 512, 256, 16384, 16384, 16384]),
        ] {
            assert_eq!(count(units, Generation::Ndr), row, "{units} units");
        }
    }

    #[test]
    fn b300_has_the_published_components() {
        // The same for DGX B300. The published row of 18 units counts 9,216 GPUs, and 10,368 cables to them: 72 servers
        // of 8 GPUs in each of 18 units are 10,368, one a cable, and that is what is built.
        for (units, row) in [
            (1, [576, 8, 4, 0, 576, 576, 0]),
            (2, [1152, 16, 8, 0, 1152, 1152, 0]),
            (4, [2304, 32, 18, 0, 2304, 2304, 0]),
            (8, [4608, 64, 36, 0, 4608, 4608, 0]),
            (18, [10368, 144, 72, 0, 10368, 10368, 0]),
        ] {
            assert_eq!(count(units, Generation::Xdr), row, "{units} units");
        }
    }

    #[test]
    fn units_between_the_published_ones_fit_too() {
        for units in 1..=64 {
            SuperpodSpec { units, generation: Generation::Ndr }.build().unwrap().check_invariants();
        }
        assert!(SuperpodSpec { units: 65, generation: Generation::Ndr }.build().is_err());
        assert!(SuperpodSpec { units: 0, generation: Generation::Xdr }.build().is_err());
    }
}
