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

/// The rails of a fabric.
pub(super) fn of(fabric: &Fabric) -> Option<Rails> {
    let mut machines: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for host in fabric.hosts() {
        let Some(machine) = fabric.name(host).split_whitespace().next() else { continue };
        let several = fabric.name(host).len() > machine.len();
        let switches = machines.entry(if several { machine } else { fabric.name(host) }).or_default();
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
