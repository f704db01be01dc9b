//! NUMA domains of the nodes: what each has, and what of it is pinned.
//!
//! Nodes of one domain have none here: the node itself is the domain. What is pinned is counted only while anything is, so that
//! a stock without such grants is no larger for them.

use super::demand::{Grant, Pin};
use crate::index::NodeIndex;

/// What a NUMA domain has, or has left to pin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Domain {
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
}

/// The domains of all nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Domains {
    /// Where each node's begin in `list`; one more at the end.
    start: Vec<u32>,
    list: Vec<Domain>,
    /// The domain of each GPU of the stock, by its number on its node.
    of_gpu: Vec<u8>,
}

impl Default for Domains {
    fn default() -> Self {
        Self { start: vec![0], list: Vec::new(), of_gpu: Vec::new() }
    }
}

impl Domains {
    /// A node more, of so many GPUs; one domain is none.
    pub(super) fn add(&mut self, domains: &[Domain], of_gpu: &[u8], gpus: usize) {
        if domains.len() > 1 {
            self.list.extend_from_slice(domains);
            self.of_gpu.extend_from_slice(of_gpu);
        } else {
            self.of_gpu.resize(self.of_gpu.len() + gpus, 0);
        }
        self.start.push(self.list.len() as u32);
    }

    pub(super) fn range(&self, node: NodeIndex) -> std::ops::Range<usize> {
        self.start[node.index()] as usize..self.start[node.index() + 1] as usize
    }

    pub(super) fn of(&self, node: NodeIndex) -> &[Domain] {
        &self.list[self.range(node)]
    }

    pub(super) fn of_gpus(&self, gpus: std::ops::Range<usize>) -> &[u8] {
        &self.of_gpu[gpus]
    }
}

/// What is pinned, by domain; empty while nothing is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Pinned {
    grants: u32,
    amounts: Vec<Domain>,
}

impl Pinned {
    /// What the domains of a node have left to pin.
    pub(super) fn left<'a>(
        &'a self,
        domains: &'a Domains,
        node: NodeIndex,
    ) -> impl Iterator<Item = Domain> + 'a {
        let range = domains.range(node);
        range.map(|at| {
            let (all, pinned) = (domains.list[at], self.amounts.get(at).copied().unwrap_or_default());
            Domain {
                cpu_milli: all.cpu_milli - pinned.cpu_milli,
                memory_mib: all.memory_mib - pinned.memory_mib,
            }
        })
    }

    /// What a grant pins in each domain of its node; the domain that has not so much left, or is not there, is an error.
    pub(super) fn check(
        &self,
        domains: &Domains,
        grant: &Grant,
        of_gpu: &[u8],
        taken: bool,
    ) -> Result<(), (usize, Domain)> {
        let range = domains.range(grant.node);
        for (domain, wanted) in pins(grant, of_gpu, range.len()) {
            let at = range.start + domain;
            let Some(all) = domains.list[range.clone()].get(domain) else { return Err((domain, wanted)) };
            let pinned = self.amounts.get(at).copied().unwrap_or_default();
            let enough = if taken {
                all.cpu_milli - pinned.cpu_milli >= wanted.cpu_milli
                    && all.memory_mib - pinned.memory_mib >= wanted.memory_mib
            } else {
                pinned.cpu_milli >= wanted.cpu_milli && pinned.memory_mib >= wanted.memory_mib
            };
            if !enough {
                return Err((domain, wanted));
            }
        }
        Ok(())
    }

    /// Counts a grant that was checked, or no longer.
    pub(super) fn count(&mut self, domains: &Domains, grant: &Grant, of_gpu: &[u8], taken: bool) {
        if self.amounts.is_empty() {
            self.amounts.resize(domains.list.len(), Domain::default());
        }
        let range = domains.range(grant.node);
        for (domain, wanted) in pins(grant, of_gpu, range.len()) {
            let pinned = &mut self.amounts[range.start + domain];
            if taken {
                pinned.cpu_milli += wanted.cpu_milli;
                pinned.memory_mib += wanted.memory_mib;
            } else {
                pinned.cpu_milli -= wanted.cpu_milli;
                pinned.memory_mib -= wanted.memory_mib;
            }
        }
        self.grants = if taken { self.grants + 1 } else { self.grants - 1 };
        if self.grants == 0 {
            self.amounts.clear();
        }
    }
}

/// What a grant pins, domain by domain.
fn pins<'a>(
    grant: &'a Grant,
    of_gpu: &'a [u8],
    domains: usize,
) -> impl Iterator<Item = (usize, Domain)> + 'a {
    let whole = Domain { cpu_milli: grant.cpu_milli, memory_mib: grant.memory_mib };
    let (from, to) = match grant.pin {
        Pin::Floating => (0, 0),
        Pin::Domain(domain) => (usize::from(domain), usize::from(domain) + 1),
        Pin::Beside => (0, domains),
    };
    (from..to).map(move |domain| match grant.pin {
        Pin::Floating | Pin::Domain(_) => (domain, whole),
        Pin::Beside => {
            let in_it = |gpu: usize| of_gpu.get(gpu).is_some_and(|&of| usize::from(of) == domain);
            let here = match grant.instances {
                Some(instances) => instances.iter().filter(|&(gpu, _)| in_it(gpu)).count(),
                None => grant.gpus.iter().filter(|&gpu| in_it(gpu)).count(),
            } as u32;
            let each = beside(whole, grant.count());
            (domain, Domain { cpu_milli: each.cpu_milli * here, memory_mib: each.memory_mib * here })
        }
    })
}

/// What of a part's CPU and memory lies beside each of so many GPUs.
pub(super) fn beside(whole: Domain, gpus: u32) -> Domain {
    let each = |amount: u32| amount.checked_div(gpus).unwrap_or(0);
    Domain { cpu_milli: each(whole.cpu_milli), memory_mib: each(whole.memory_mib) }
}
