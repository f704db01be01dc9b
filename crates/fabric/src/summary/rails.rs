//! How the adapters of one machine spread over the leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::{Fabric, NodeId};

/// Machines with several adapters. A machine is the first word of its adapters' names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Rails {
    /// Cabled adapter ports that most of those machines have.
    pub adapters: usize,
    /// Machines with two or more.
    pub machines: usize,
    /// Machines with each adapter on a switch of its own.
    pub spread: usize,
    /// Whether nine of ten spread: the fabric is rail-optimised.
    pub optimised: bool,
}

/// The machine that an adapter sits in: the first word of its name. `None` where the name is none that a site gave: empty,
/// or the maker's own (`MT4129 ConnectX7 Mellanox Technologies`).
pub fn machine(fabric: &Fabric, host: NodeId) -> Option<&str> {
    let name = fabric.name(host);
    let word = name.split_whitespace().next()?;
    let model = word.strip_prefix("MT").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    (!model && !name.ends_with("Mellanox Technologies")).then_some(word)
}

/// The rails of a fabric.
pub(super) fn of(fabric: &Fabric) -> Option<Rails> {
    let mut machines: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for host in fabric.hosts() {
        let Some(machine) = machine(fabric, host) else { continue };
        let switches = machines.entry(machine).or_default();
        switches.extend(fabric.neighbors(host).map(|(_, peer)| fabric.node_of(peer)));
    }
    let several: Vec<&Vec<NodeId>> = machines.values().filter(|switches| switches.len() > 1).collect();
    let mut times: BTreeMap<usize, usize> = BTreeMap::new();
    for switches in &several {
        *times.entry(switches.len()).or_default() += 1;
    }
    let (&adapters, _) = times.iter().max_by_key(|&(adapters, times)| (*times, *adapters))?;
    let spread = several
        .iter()
        .filter(|switches| switches.iter().collect::<BTreeSet<_>>().len() == switches.len())
        .count();
    let optimised = spread * 10 >= several.len() * 9;
    Some(Rails { adapters, machines: several.len(), spread, optimised })
}

impl fmt::Display for Rails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let optimised = if self.optimised { "rail-optimised" } else { "not rail-optimised" };
        write!(
            f,
            "{optimised}: {} of {} machines with several adapters ({} as a rule) have each on a switch of its own",
            self.spread, self.machines, self.adapters
        )
    }
}
