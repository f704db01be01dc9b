//! The workload by which a placement is judged: classes of tasks and how often each comes.
//!
//! MIG instances are not of the mix: they lie on GPUs of their own. A class counts by CPU, GPUs and models, as in the published simulator (hkust-adsl/kubernetes-scheduler-simulator,
//! Apache 2.0): the most frequent classes that make up 95 per cent of the tasks, their shares brought to a sum of one.

use std::collections::BTreeMap;

use pool::ModelIndex;
use pool::stock::{Demand, ModelSet};

use super::cluster::State;

/// Classes are taken, most frequent first, until they make up this share of the tasks.
const POPULAR: f64 = 0.95;

/// A class of tasks and its share of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Popular {
    /// What a task wants; the memory is the largest that any task of the class wants.
    pub demand: Demand,
    /// From 0 to 1.
    pub share: f64,
}

/// Tasks that want the same of the GPUs, by the CPU that they want.
#[derive(Clone, Debug)]
struct SameGpus {
    gpus: u16,
    gpu_milli: u16,
    /// CPU wanted, least first, with the share of the tasks that want no more.
    cpu: Vec<(u32, f64)>,
}

/// The mix of tasks.
#[derive(Clone, Debug)]
pub struct Mix {
    popular: Vec<Popular>,
    /// For each model of GPU.
    by_model: Vec<Vec<SameGpus>>,
}

impl Mix {
    /// The mix of a workload, for a stock with so many models of GPU.
    pub fn new<'a>(demands: impl IntoIterator<Item = &'a Demand>, models: usize) -> Self {
        let mut counts = BTreeMap::<(u32, u16, u16, ModelSet), (u64, u32)>::new();
        for demand in demands.into_iter().filter(|demand| demand.mig.is_none()) {
            let class = (demand.cpu_milli, demand.gpu_milli, demand.gpus, demand.models);
            let (count, memory_mib) = counts.entry(class).or_default();
            *count += 1;
            *memory_mib = demand.memory_mib.max(*memory_mib);
        }
        let total: u64 = counts.values().map(|(count, _)| count).sum();
        let mut ordered: Vec<_> = counts.into_iter().collect();
        ordered.sort_by(|(left, (a, _)), (right, (b, _))| b.cmp(a).then(right.cmp(left)));
        let mut taken = 0;
        ordered.retain(|(_, (count, _))| {
            let wanted = (taken as f64) < POPULAR * total as f64;
            taken += if wanted { *count } else { 0 };
            wanted
        });
        let popular: Vec<Popular> = ordered
            .into_iter()
            .map(|((cpu_milli, gpu_milli, gpus, models), (count, memory_mib))| Popular {
                demand: Demand { cpu_milli, memory_mib, gpus, gpu_milli, models, ..Demand::default() },
                share: count as f64 / taken as f64,
            })
            .collect();
        let by_model = (0..models as u32).map(|model| same_gpus(&popular, ModelIndex(model))).collect();
        Self { popular, by_model }
    }

    /// The classes, the most frequent first.
    pub fn popular(&self) -> &[Popular] {
        &self.popular
    }

    /// Thousandths of GPUs of a node that a task drawn from the mix could not use: the expected fragmentation of the FGD
    /// paper (Weng et al., USENIX ATC 2023). For a class that fits it is what is left of GPUs too full for its share; for
    /// one that does not fit, or that wants no GPU, it is all that is left.
    pub fn fragmentation(&self, state: &State) -> f64 {
        let Some(model) = state.model else { return 0.0 };
        let mut usable = 0.0;
        for class in &self.by_model[model.index()] {
            let first = state.gpus.partition_point(|&free| free < class.gpu_milli);
            if state.gpus.len() - first < usize::from(class.gpus) {
                continue;
            }
            let within = class.cpu.partition_point(|&(cpu, _)| cpu <= state.cpu_milli);
            if within > 0 {
                let free: u32 = state.gpus[first..].iter().map(|&free| u32::from(free)).sum();
                usable += class.cpu[within - 1].1 * f64::from(free);
            }
        }
        f64::from(state.gpu_milli()) - usable
    }
}

fn same_gpus(popular: &[Popular], model: ModelIndex) -> Vec<SameGpus> {
    let mut classes = BTreeMap::<(u16, u16), BTreeMap<u32, f64>>::new();
    for Popular { demand, share } in popular {
        if demand.gpus > 0 && demand.models.contains(model) {
            let cpu = classes.entry((demand.gpu_milli, demand.gpus)).or_default();
            *cpu.entry(demand.cpu_milli).or_default() += share;
        }
    }
    let summed = |cpu: BTreeMap<u32, f64>| {
        let mut sum = 0.0;
        cpu.into_iter()
            .map(|(cpu, share)| {
                sum += share;
                (cpu, sum)
            })
            .collect()
    };
    let class = |((gpu_milli, gpus), cpu)| SameGpus { gpus, gpu_milli, cpu: summed(cpu) };
    classes.into_iter().map(class).collect()
}
