//! Tori and meshes of any number of dimensions.

use ib::{LinkRate, LinkSpeed};
use serde::{Deserialize, Serialize};

use super::naming::Naming;
use super::{GenerateError, bounded_nodes, bounded_ports};
use crate::{Fabric, NodeId};

/// A torus.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TorusSpec {
    /// Switches along each dimension. Two along one give one cable, not two.
    pub dimensions: Vec<u32>,
    /// Hosts of each switch.
    pub hosts: u32,
    /// Parallel links to each neighbour.
    pub parallel: u32,
    /// What every link runs at.
    pub rate: LinkRate,
}

impl Default for TorusSpec {
    fn default() -> Self {
        Self { dimensions: vec![4, 4, 4], hosts: 1, parallel: 1, rate: LinkRate::x4(LinkSpeed::Ndr) }
    }
}

impl TorusSpec {
    /// Builds it. Ports: hosts first, then for each dimension the links forward, then those back.
    pub fn build(&self) -> Result<Fabric, GenerateError> {
        let Self { dimensions, hosts, parallel, rate } = self;
        if dimensions.is_empty() || dimensions.contains(&0) || *parallel == 0 {
            return Err(GenerateError::new(
                "a torus needs at least one switch along each dimension and one link to a neighbour",
                "give --dimensions as in 4x4x4 and --parallel 1 or more",
            ));
        }
        let switches = dimensions.iter().fold(1u64, |all, &d| all.saturating_mul(u64::from(d)));
        bounded_nodes(switches.saturating_mul(1 + u64::from(*hosts)))?;
        let links = 2 * dimensions.len() as u64 * u64::from(*parallel);
        let ports = bounded_ports("a switch", u64::from(*hosts) + links)?;
        let mut naming = Naming::new(switches * (1 + u64::from(*hosts)), switches * u64::from(ports));

        let place = |number: u64| -> Vec<u64> {
            let mut rest = number;
            dimensions
                .iter()
                .map(|&d| {
                    let at = rest % u64::from(d);
                    rest /= u64::from(d);
                    at
                })
                .collect()
        };
        let rows: Vec<NodeId> = (0..switches)
            .map(|number| {
                let at: Vec<String> = place(number).iter().map(u64::to_string).collect();
                naming.switch(ports, &format!("sw-{}", at.join("-")))
            })
            .collect();
        let mut stride = 1u64;
        for (dimension, &length) in dimensions.iter().enumerate() {
            let length = u64::from(length);
            for number in 0..switches {
                let at = number / stride % length;
                // A ring of one has no neighbour; in a ring of two both neighbours are one.
                if length == 1 || length == 2 && at == 1 {
                    continue;
                }
                let next = number - at * stride + (at + 1) % length * stride;
                for link in 0..u64::from(*parallel) {
                    let forward =
                        u64::from(*hosts) + 1 + (2 * dimension as u64) * u64::from(*parallel) + link;
                    let back = forward + u64::from(*parallel);
                    naming.cable(
                        (rows[number as usize], forward as u8),
                        (rows[next as usize], back as u8),
                        *rate,
                    );
                }
            }
            stride *= length;
        }
        let mut host = 0;
        for &switch in &rows {
            for port in 1..=*hosts {
                host += 1;
                naming.host(&format!("host{host:05} mlx5_0"), (switch, port as u8), *rate);
            }
        }
        Ok(naming.fabric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_close_and_twos_do_not_double() {
        let torus = |dimensions: &[u32]| {
            let fabric =
                TorusSpec { dimensions: dimensions.to_vec(), ..TorusSpec::default() }.build().unwrap();
            fabric.check_invariants();
            (fabric.switch_count(), fabric.link_count() - fabric.hosts().count())
        };
        assert_eq!(torus(&[4, 4, 4]), (64, 192));
        assert_eq!(torus(&[5]), (5, 5));
        assert_eq!(torus(&[2, 3]), (6, 3 + 6));
        assert_eq!(torus(&[1, 1]), (1, 0));
        assert_eq!(torus(&[16, 16, 16]), (4096, 3 * 4096));
        assert!(TorusSpec { dimensions: vec![], ..TorusSpec::default() }.build().is_err());
        assert!(TorusSpec { dimensions: vec![9999, 9999], ..TorusSpec::default() }.build().is_err());
    }
}
