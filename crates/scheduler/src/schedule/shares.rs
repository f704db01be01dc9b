//! Who has how much of what, up the tree of tenants, and so whose turn it is.
//!
//! Dominant resource fairness (Ghodsi et al., NSDI 2011): of CPU, memory and GPUs the one counts of which a tenant holds the
//! largest part. At each level of the tree the one comes first whose part, by its weight, is least.

use std::cmp::Ordering;

use pool::stock::Grant;
use pool::tenants::Tenants;
use pool::{Stock, TenantIndex};

/// CPU, memory, GPUs.
const RESOURCES: usize = 3;

/// What every tenant and all below it hold.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    total: [u64; RESOURCES],
    held: Vec<[u64; RESOURCES]>,
}

fn amounts(grant: &Grant) -> [u64; RESOURCES] {
    [u64::from(grant.cpu_milli), u64::from(grant.memory_mib), grant.gpu_milli_total()]
}

impl Shares {
    pub(super) fn new(stock: &Stock, tenants: &Tenants) -> Self {
        let mut total = [0; RESOURCES];
        for node in stock.nodes() {
            let capacity = stock.capacity(node);
            let of_node =
                [u64::from(capacity.cpu_milli), u64::from(capacity.memory_mib), capacity.gpus as u64 * 1000];
            for (sum, amount) in total.iter_mut().zip(of_node) {
                *sum += amount;
            }
        }
        Self { total, held: vec![[0; RESOURCES]; tenants.len()] }
    }

    /// Counts grants at a tenant and all above it, or no longer.
    pub(super) fn count(&mut self, tenants: &Tenants, tenant: TenantIndex, grants: &[Grant], taken: bool) {
        let mut sum = [0; RESOURCES];
        for grant in grants {
            for (sum, amount) in sum.iter_mut().zip(amounts(grant)) {
                *sum += amount;
            }
        }
        let mut at = Some(tenant);
        while let Some(tenant) = at {
            for (held, amount) in self.held[tenant.index()].iter_mut().zip(sum) {
                *held = if taken { *held + amount } else { held.saturating_sub(amount) };
            }
            at = tenants.parent(tenant);
        }
    }

    /// The part of the whole that a tenant holds of what it holds most of, from 0 to 1.
    pub(super) fn dominant(&self, tenant: TenantIndex) -> f64 {
        let held = &self.held[tenant.index()];
        let parts = held.iter().zip(self.total).filter(|(_, total)| *total > 0);
        parts.map(|(&held, total)| held as f64 / total as f64).fold(0.0, f64::max)
    }

    /// Whose jobs come first. Where one is above the other, its own jobs do.
    pub(super) fn order(&self, tenants: &Tenants, a: TenantIndex, b: TenantIndex) -> Ordering {
        let way = |tenant| {
            let mut way: Vec<_> =
                std::iter::successors(Some(tenant), |&tenant| tenants.parent(tenant)).collect();
            way.reverse();
            way
        };
        let (a, b) = (way(a), way(b));
        let fork = a.iter().zip(&b).find(|(a, b)| a != b);
        let by_weight = |tenant| self.dominant(tenant) / f64::from(tenants.weight(tenant));
        match fork {
            Some((&a, &b)) => by_weight(a).total_cmp(&by_weight(b)).then(a.cmp(&b)),
            None => a.len().cmp(&b.len()),
        }
    }
}
