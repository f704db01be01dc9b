//! What a pool is, for a person: models, states, slices, tenants.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::formats::Site;
use crate::node::State;
use crate::slices::Partition;
use crate::tenants::{GPU, Limits, Resource};

/// How many are in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct States {
    /// Take work.
    pub healthy: usize,
    /// Take no new work, and leave.
    pub draining: usize,
    /// Take no new work.
    pub cordoned: usize,
    /// Run nothing.
    pub failed: usize,
}

impl States {
    fn add(&mut self, state: State) {
        match state {
            State::Healthy => self.healthy += 1,
            State::Draining => self.draining += 1,
            State::Cordoned => self.cordoned += 1,
            State::Failed => self.failed += 1,
        }
    }
}

/// One model's GPUs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ModelSummary {
    /// The model.
    pub name: String,
    /// Memory of one, MiB; 0: not known.
    pub memory_mib: u32,
    /// How many.
    pub gpus: usize,
    /// By state, the node's counted where it is the worse.
    pub states: States,
    /// Given out as one piece.
    pub whole: usize,
    /// Cut into MIG instances.
    pub mig: usize,
    /// Shared by fractions.
    pub fractions: usize,
    /// MIG instances by profile.
    pub instances: BTreeMap<String, usize>,
}

/// Something that takes no work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Unwell {
    /// The node, or the GPU as `node[number]`.
    pub place: String,
    /// Its state.
    pub state: State,
    /// Why.
    pub reason: String,
}

/// One tenant or queue; amounts are GPUs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TenantSummary {
    /// Its name.
    pub name: String,
    /// The tenant above.
    pub parent: Option<String>,
    /// How many are above it.
    pub depth: usize,
    /// What is its own.
    pub quota: f64,
    /// The most beyond that.
    pub borrowing_limit: Option<f64>,
    /// What others may use of it while it is idle.
    pub lends: f64,
    /// The same of CPU in cores; nothing where there are no limits of it.
    pub cpu: Option<LimitsSummary>,
    /// The same of memory in MiB; nothing where there are no limits of it.
    pub memory_mib: Option<LimitsSummary>,
    /// Its weight.
    pub weight: u32,
}

/// What a tenant may hold of CPU or memory.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LimitsSummary {
    /// What is its own.
    pub quota: f64,
    /// The most beyond that.
    pub borrowing_limit: Option<f64>,
    /// What others may use of it while it is idle.
    pub lends: f64,
}

/// One reservation; the amount is GPUs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReservationSummary {
    /// What it is called.
    pub name: String,
    /// For whom.
    pub tenant: String,
    /// How much.
    pub gpus: f64,
    /// Unix seconds.
    pub from: i64,
    /// Unix seconds.
    pub until: i64,
}

/// What a pool is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// How many nodes.
    pub nodes: usize,
    /// Nodes without a GPU.
    pub nodes_without_gpus: usize,
    /// Nodes by state.
    pub node_states: States,
    /// How many GPUs.
    pub gpus: usize,
    /// GPUs that are known to sit beside a port of the fabric.
    pub gpus_with_port: usize,
    /// NVLink domains with more than one GPU.
    pub nvlink_domains: usize,
    /// Cores of all nodes.
    pub cores: f64,
    /// Memory of all nodes, MiB.
    pub memory_mib: u64,
    /// The models, in the order in which they came up; those without a GPU are left out.
    pub models: Vec<ModelSummary>,
    /// Nodes and GPUs that take no work; a GPU of such a node only where its own state is the worse.
    pub unwell: Vec<Unwell>,
    /// The tenants, each after its parent.
    pub tenants: Vec<TenantSummary>,
    /// What is promised.
    pub reservations: Vec<ReservationSummary>,
}

/// Sums a pool up.
pub fn summarize(site: &Site) -> Summary {
    let pool = &site.pool;
    let mut models: Vec<ModelSummary> = pool
        .models()
        .iter()
        .map(|model| ModelSummary {
            name: model.name.clone(),
            memory_mib: model.memory_mib,
            ..ModelSummary::default()
        })
        .collect();
    let (mut node_states, mut unwell) = (States::default(), Vec::new());
    let (mut without, mut cores, mut memory_mib) = (0, 0, 0u64);
    let mut domains: BTreeMap<u32, usize> = BTreeMap::new();
    for node in pool.nodes() {
        let health = pool.node_health(node);
        node_states.add(health.state);
        without += usize::from(pool.gpus_of(node).len() == 0);
        cores += pool.numa_cpu_milli(node).iter().map(|&cores| u64::from(cores)).sum::<u64>();
        memory_mib = memory_mib.saturating_add(pool.node_memory_mib(node));
        if health.state != State::Healthy {
            let (place, reason) = (pool.node_name(node).to_owned(), health.reason.clone());
            unwell.push(Unwell { place, state: health.state, reason });
        }
        for gpu in pool.gpus_of(node) {
            let model = &mut models[pool.model_of(gpu).index()];
            let own = pool.health(gpu);
            model.gpus += 1;
            model.states.add(own.state);
            if own.state > health.state {
                let (place, reason) = (pool.gpu_label(gpu), own.reason.clone());
                unwell.push(Unwell { place, state: own.state, reason });
            }
            match site.slices.partition(gpu) {
                Partition::Whole => model.whole += 1,
                Partition::Fractions => model.fractions += 1,
                Partition::Mig(instances) => {
                    model.mig += 1;
                    for at in 0..instances.len() {
                        if let Some(profile) = site.slices.profile(pool, gpu, at) {
                            *model.instances.entry(profile.name.clone()).or_default() += 1;
                        }
                    }
                }
            }
            if let Some(domain) = pool.nvlink(gpu) {
                *domains.entry(domain).or_default() += 1;
            }
        }
    }
    models.retain(|model| model.gpus > 0);
    Summary {
        nodes: pool.node_count(),
        nodes_without_gpus: without,
        node_states,
        gpus: pool.gpu_count(),
        gpus_with_port: pool.gpus().filter(|&gpu| pool.attachment(gpu).is_some()).count(),
        nvlink_domains: domains.values().filter(|&&gpus| gpus > 1).count(),
        cores: cores as f64 / 1000.0,
        memory_mib,
        models,
        unwell,
        tenants: tenants_of(site),
        reservations: reservations_of(site),
    }
}

fn limits_of(limits: Limits, unit: f64) -> LimitsSummary {
    let amount = |amount: u64| amount as f64 / unit;
    LimitsSummary {
        quota: amount(limits.quota.unwrap_or(0)),
        borrowing_limit: limits.borrowing.map(amount),
        lends: amount(limits.lending.unwrap_or(0)),
    }
}

fn tenants_of(site: &Site) -> Vec<TenantSummary> {
    let tenants = &site.tenants;
    let gpus = |amount: u64| amount as f64 / GPU as f64;
    let mut list = Vec::with_capacity(tenants.len());
    // Depth first, in the order of the file: what is pushed last comes first.
    let mut children = vec![Vec::new(); tenants.len()];
    let mut stack = Vec::new();
    for tenant in tenants.all().rev() {
        match tenants.parent(tenant) {
            Some(above) => children[above.index()].push(tenant),
            None => stack.push((tenant, 0)),
        }
    }
    while let Some((tenant, depth)) = stack.pop() {
        list.push(TenantSummary {
            name: tenants.name(tenant).to_owned(),
            parent: tenants.parent(tenant).map(|above| tenants.name(above).to_owned()),
            depth,
            quota: gpus(tenants.quota(tenant)),
            borrowing_limit: tenants.borrowing_limit(tenant).map(gpus),
            lends: gpus(tenants.lends(tenant)),
            cpu: tenants.limits(Resource::Cpu, tenant).map(|limits| limits_of(limits, 1000.0)),
            memory_mib: tenants.limits(Resource::Memory, tenant).map(|limits| limits_of(limits, 1.0)),
            weight: tenants.weight(tenant),
        });
        stack.extend(children[tenant.index()].iter().map(|&child| (child, depth + 1)));
    }
    list
}

fn reservations_of(site: &Site) -> Vec<ReservationSummary> {
    let all = site.reservations.all().iter();
    all.map(|one| ReservationSummary {
        name: one.name.clone(),
        tenant: site.tenants.name(one.tenant).to_owned(),
        gpus: one.amount as f64 / GPU as f64,
        from: one.from,
        until: one.until,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Beside, read};

    #[test]
    fn the_example_in_numbers() {
        let example = include_bytes!("../../../examples/pool.toml");
        let (site, _) = read("pool.toml", example, &Beside::default()).unwrap();
        let summary = summarize(&site);
        assert_eq!((summary.nodes, summary.nodes_without_gpus, summary.gpus), (23, 1, 160));
        assert_eq!(summary.node_states, States { healthy: 21, draining: 2, ..States::default() });
        let names: Vec<_> = summary.models.iter().map(|model| (model.name.as_str(), model.gpus)).collect();
        assert_eq!(names, [("L40S", 16), ("H100-80GB", 128), ("B200-180GB", 16)]);
        let h100 = &summary.models[1];
        assert_eq!((h100.mig, h100.whole, h100.states.failed), (4, 124, 1));
        assert_eq!(h100.instances["1g.10gb"], 8);
        assert_eq!(summary.models[0].fractions, 4);
        let unwell: Vec<_> = summary.unwell.iter().map(|one| one.place.as_str()).collect();
        assert_eq!(unwell, ["gpu03[5]", "edge1", "edge2"]);
        assert_eq!(summary.nvlink_domains, 17);
        let tree: Vec<_> = summary.tenants.iter().map(|one| (one.name.as_str(), one.depth)).collect();
        assert_eq!(tree, [("site", 0), ("research", 1), ("vision", 2), ("serving", 1)]);
        assert_eq!(summary.reservations[0].tenant, "serving");
    }
}
