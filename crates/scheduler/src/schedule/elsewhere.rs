//! A node that has all that a part of a job wants, but not where on it: what is free in each NUMA domain, or on GPUs that are
//! cut into instances.

use std::fmt;

use pool::stock::{Demand, Domain, Layout, Room};
use pool::{NodeIndex, Stock};
use serde::Serialize;

/// What such a node has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Elsewhere {
    /// The node.
    pub node: NodeIndex,
    /// GPUs of it that nobody uses.
    pub idle_gpus: u32,
    /// Its NUMA domains; none where it is one.
    pub domains: Vec<OfDomain>,
    /// Of its GPUs that are cut: how many there are.
    pub cut_gpus: u32,
    /// Memory slices that are free on those.
    pub free_slices: u32,
    /// The MIG profile that none of those has a place for, where one is wanted.
    pub profile: Option<String>,
}

/// What a NUMA domain has free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct OfDomain {
    /// GPUs that nobody uses.
    pub idle_gpus: u32,
    /// CPU that can be pinned there, in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory that can be pinned there, in MiB.
    pub memory_mib: u32,
}

impl Elsewhere {
    /// The node with most idle GPUs of those that have all that a demand wants but no room for it; of equals the first.
    pub(super) fn find(stock: &Stock, demand: &Demand) -> Option<Self> {
        if demand.is_plain() {
            return None;
        }
        let has_all = |node: &NodeIndex| {
            let of_model = stock.model(*node).is_some_and(|model| demand.models.contains(model));
            stock.fits(*node, &demand.in_all()) && of_model && !stock.fits(*node, demand)
        };
        let idle = |node: NodeIndex| Room::of(stock, node).idle_gpus();
        let node = stock.nodes().rev().filter(has_all).max_by_key(|&node| idle(node).0)?;
        let (idle_gpus, by_domain) = idle(node);
        let of_domain = |(idle_gpus, left): (u32, Domain)| OfDomain {
            idle_gpus,
            cpu_milli: left.cpu_milli,
            memory_mib: left.memory_mib,
        };
        let name = demand.mig.and_then(|profile| stock.profiles().get(usize::from(profile.0)));
        let cuts =
            stock.model(node).zip(demand.mig).and_then(|(model, profile)| stock.cut_of(model, profile));
        let cut = || stock.layouts(node).iter().filter(|layout| !layout.is_empty());
        let free = |layout: &Layout| {
            cuts.map_or(0, |(model, _)| {
                u32::from(model.memory_slices).saturating_sub(layout.mask(model).count_ones())
            })
        };
        Some(Self {
            node,
            idle_gpus,
            domains: by_domain.into_iter().zip(stock.domains_left(node)).map(of_domain).collect(),
            cut_gpus: cut().count() as u32,
            free_slices: cut().map(free).sum(),
            profile: name.cloned(),
        })
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} has {} GPUs idle", self.node.0, self.idle_gpus)?;
        for (at, domain) in self.domains.iter().enumerate() {
            let before = match at {
                0 => ", but by NUMA domain ",
                _ if at + 1 == self.domains.len() => " and ",
                _ => ", ",
            };
            let OfDomain { idle_gpus, cpu_milli, memory_mib } = domain;
            write!(
                f,
                "{before}{idle_gpus} with {} cores and {memory_mib} MiB",
                f64::from(*cpu_milli) / 1000.0
            )?;
        }
        if let Some(profile) = &self.profile {
            let Self { cut_gpus, free_slices, .. } = self;
            write!(
                f,
                "; {cut_gpus} are cut, and nowhere in the {free_slices} memory slices free on them can {profile} begin"
            )?;
        }
        Ok(())
    }
}
