//! What there is: nodes and their GPUs in flat arrays, each with its state.
//!
//! One array a property. A node's GPUs are contiguous, and so are its NUMA nodes. Invariant
//! ([`Pool::check_invariants`]): every GPU names a node, a model and a NUMA node that are there.

use std::fmt;

use serde::Serialize;

use crate::gpu::{Attachment, GpuModel};
use crate::index::{GpuIndex, ModelIndex, NodeIndex};

/// Whether new work may come, and whether work that is there may stay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Takes work.
    #[default]
    Healthy,
    /// Takes no new work; what runs ends in its own time, and then it leaves.
    Draining,
    /// Takes no new work, by an operator's word; what runs stays.
    Cordoned,
    /// Runs nothing.
    Failed,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Healthy, Self::Draining, Self::Cordoned, Self::Failed];

    /// The word for it in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Draining => "draining",
            Self::Cordoned => "cordoned",
            Self::Failed => "failed",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A state with its reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Health {
    /// The state.
    pub state: State,
    /// Why, in words; empty where healthy or not known.
    pub reason: String,
}

/// A GPU to be added with its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gpu {
    /// Its kind.
    pub model: ModelIndex,
    /// Which NVLink domain it belongs to: GPUs of one number reach each other by NVLink, also over nodes. `None`: alone.
    pub nvlink: Option<u32>,
    /// NUMA node of its own node, from 0.
    pub numa: u16,
    /// The port that it sits beside, where known.
    pub attachment: Option<Attachment>,
    /// Its state and why.
    pub health: Health,
}

/// A node to be added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its host name, unique in the pool.
    pub name: String,
    /// CPU of each NUMA node, thousandths of a core.
    pub cpu_milli: Vec<u32>,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Its state and why.
    pub health: Health,
    /// Its GPUs in the order in which the host numbers them.
    pub gpus: Vec<Gpu>,
}

/// Why a node cannot be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddError {
    /// Two nodes would have one name.
    #[error("a second node with the name \"{0}\"")]
    Name(String),
    /// A GPU names a model that is not there.
    #[error("GPU {gpu} of {node} has model number {model}, which is not there")]
    Model {
        /// The node.
        node: String,
        /// The GPU's number on it.
        gpu: usize,
        /// What it names.
        model: u32,
    },
    /// A GPU sits at a NUMA node that its node has not.
    #[error("GPU {gpu} of {node} sits at NUMA node {numa}, but the node has {count}")]
    Numa {
        /// The node.
        node: String,
        /// The GPU's number on it.
        gpu: usize,
        /// What it names.
        numa: u16,
        /// How many there are.
        count: usize,
    },
    /// Memory of NUMA nodes that is not the node's.
    #[error(
        "{parts} amounts of memory with a sum of {sum} MiB for the {count} NUMA nodes of {node}, which has {whole} MiB"
    )]
    Memory {
        /// The node.
        node: String,
        /// How many amounts.
        parts: usize,
        /// Their sum.
        sum: u64,
        /// How many NUMA nodes there are.
        count: usize,
        /// What the node has.
        whole: u64,
    },
    /// More than indices can number.
    #[error("more than {MAX_GPUS} GPUs or NUMA nodes")]
    TooMany,
}

/// The most GPUs of a pool: sixteen times what the largest fabric has hosts.
pub const MAX_GPUS: usize = 1 << 21;

/// The stock as it stands: nodes, GPUs and their states. What is given out is not in it.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    models: Vec<GpuModel>,

    node_name: Vec<String>,
    node_memory_mib: Vec<u64>,
    node_health: Vec<Health>,
    first_gpu: Vec<u32>,
    first_numa: Vec<u32>,
    numa_cpu_milli: Vec<u32>,
    /// Memory of each NUMA node where it was told, MiB.
    numa_memory_mib: std::collections::BTreeMap<NodeIndex, Vec<u64>>,
    by_name: rustc_hash::FxHashMap<String, NodeIndex>,

    gpu_node: Vec<NodeIndex>,
    gpu_model: Vec<ModelIndex>,
    gpu_nvlink: Vec<Option<u32>>,
    gpu_numa: Vec<u16>,
    gpu_attachment: Vec<Option<Attachment>>,
    gpu_health: Vec<Health>,
}

impl Pool {
    /// A pool without nodes.
    pub fn new() -> Self {
        Self { first_gpu: vec![0], first_numa: vec![0], ..Self::default() }
    }

    /// The model of that name, made where it is new. A known memory replaces an unknown one.
    pub fn model_named(&mut self, name: &str, memory_mib: u32) -> ModelIndex {
        if let Some(at) = self.models.iter().position(|model| model.name == name) {
            if self.models[at].memory_mib == 0 {
                self.models[at].memory_mib = memory_mib;
            }
            return ModelIndex(at as u32);
        }
        self.models.push(GpuModel { name: name.to_owned(), memory_mib });
        ModelIndex(self.models.len() as u32 - 1)
    }

    /// Adds a node with its GPUs, or nothing at all.
    ///
    /// # Errors
    /// Where its name is taken, or a GPU names a model or NUMA node that is not there.
    pub fn add_node(&mut self, node: Node) -> Result<NodeIndex, AddError> {
        if self.by_name.contains_key(&node.name) {
            return Err(AddError::Name(node.name));
        }
        if self.gpu_node.len() + node.gpus.len() > MAX_GPUS
            || self.numa_cpu_milli.len() + node.cpu_milli.len() > MAX_GPUS
        {
            return Err(AddError::TooMany);
        }
        for (at, gpu) in node.gpus.iter().enumerate() {
            if gpu.model.index() >= self.models.len() {
                return Err(AddError::Model { node: node.name, gpu: at, model: gpu.model.0 });
            }
            if usize::from(gpu.numa) >= node.cpu_milli.len() {
                let count = node.cpu_milli.len();
                return Err(AddError::Numa { node: node.name, gpu: at, numa: gpu.numa, count });
            }
        }
        let index = NodeIndex(self.node_name.len() as u32);
        for gpu in node.gpus {
            self.gpu_node.push(index);
            self.gpu_model.push(gpu.model);
            self.gpu_nvlink.push(gpu.nvlink);
            self.gpu_numa.push(gpu.numa);
            self.gpu_attachment.push(gpu.attachment);
            self.gpu_health.push(gpu.health);
        }
        self.numa_cpu_milli.extend(node.cpu_milli);
        self.first_gpu.push(self.gpu_node.len() as u32);
        self.first_numa.push(self.numa_cpu_milli.len() as u32);
        self.by_name.insert(node.name.clone(), index);
        self.node_name.push(node.name);
        self.node_memory_mib.push(node.memory_mib);
        self.node_health.push(node.health);
        Ok(index)
    }

    /// How many nodes.
    pub fn node_count(&self) -> usize {
        self.node_name.len()
    }

    /// How many GPUs.
    pub fn gpu_count(&self) -> usize {
        self.gpu_node.len()
    }

    /// Every node, in the order of adding.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeIndex> + use<> {
        (0..self.node_name.len() as u32).map(NodeIndex)
    }

    /// Every GPU, node after node.
    pub fn gpus(&self) -> impl ExactSizeIterator<Item = GpuIndex> + use<> {
        (0..self.gpu_node.len() as u32).map(GpuIndex)
    }

    /// The kinds of GPU, in the order in which they came up.
    pub fn models(&self) -> &[GpuModel] {
        &self.models
    }

    /// The node of that name.
    pub fn node_named(&self, name: &str) -> Option<NodeIndex> {
        self.by_name.get(name).copied()
    }

    /// The node's name.
    pub fn node_name(&self, node: NodeIndex) -> &str {
        &self.node_name[node.index()]
    }

    /// The node's memory, MiB.
    pub fn node_memory_mib(&self, node: NodeIndex) -> u64 {
        self.node_memory_mib[node.index()]
    }

    /// CPU of each of the node's NUMA nodes, thousandths of a core.
    pub fn numa_cpu_milli(&self, node: NodeIndex) -> &[u32] {
        let at = node.index();
        &self.numa_cpu_milli[self.first_numa[at] as usize..self.first_numa[at + 1] as usize]
    }

    /// Memory of each of the node's NUMA nodes, MiB; an even split of the node's where it was not told.
    pub fn numa_memory_mib(&self, node: NodeIndex) -> Vec<u64> {
        if let Some(told) = self.numa_memory_mib.get(&node) {
            return told.clone();
        }
        let (whole, count) = (self.node_memory_mib(node), self.numa_cpu_milli(node).len() as u64);
        (0..count).map(|at| whole / count + u64::from(at < whole % count)).collect()
    }

    /// Tells how a node's memory lies in its NUMA nodes.
    ///
    /// # Errors
    /// Where it is not one amount for each NUMA node, or the sum is not the node's.
    pub fn set_numa_memory_mib(&mut self, node: NodeIndex, memory_mib: Vec<u64>) -> Result<(), AddError> {
        let count = self.numa_cpu_milli(node).len();
        let whole = self.node_memory_mib(node);
        let sum = memory_mib.iter().fold(0, |sum: u64, &part| sum.saturating_add(part));
        if memory_mib.len() != count || sum != whole {
            let node = self.node_name(node).to_owned();
            return Err(AddError::Memory { node, parts: memory_mib.len(), sum, count, whole });
        }
        self.numa_memory_mib.insert(node, memory_mib);
        Ok(())
    }

    /// The node's state and why.
    pub fn node_health(&self, node: NodeIndex) -> &Health {
        &self.node_health[node.index()]
    }

    /// The node's GPUs.
    pub fn gpus_of(&self, node: NodeIndex) -> impl ExactSizeIterator<Item = GpuIndex> + use<> {
        (self.first_gpu[node.index()]..self.first_gpu[node.index() + 1]).map(GpuIndex)
    }

    /// The node that a GPU sits in.
    pub fn node_of(&self, gpu: GpuIndex) -> NodeIndex {
        self.gpu_node[gpu.index()]
    }

    /// The GPU's number on its node, from 0.
    pub fn number_on_node(&self, gpu: GpuIndex) -> u32 {
        gpu.0 - self.first_gpu[self.node_of(gpu).index()]
    }

    /// The GPU's kind by number.
    pub fn model_of(&self, gpu: GpuIndex) -> ModelIndex {
        self.gpu_model[gpu.index()]
    }

    /// The GPU's kind.
    pub fn gpu_model(&self, gpu: GpuIndex) -> &GpuModel {
        &self.models[self.gpu_model[gpu.index()].index()]
    }

    /// The GPU's NVLink domain; `None`: alone.
    pub fn nvlink(&self, gpu: GpuIndex) -> Option<u32> {
        self.gpu_nvlink[gpu.index()]
    }

    /// The GPU's NUMA node within its node.
    pub fn numa(&self, gpu: GpuIndex) -> u16 {
        self.gpu_numa[gpu.index()]
    }

    /// The port of the fabric that the GPU sits beside.
    pub fn attachment(&self, gpu: GpuIndex) -> Option<&Attachment> {
        self.gpu_attachment[gpu.index()].as_ref()
    }

    /// The worse of the GPU's own state and its node's.
    pub fn health(&self, gpu: GpuIndex) -> &Health {
        let (own, node) = (&self.gpu_health[gpu.index()], self.node_health(self.node_of(gpu)));
        if own.state >= node.state { own } else { node }
    }

    /// Whether new work may come to the GPU.
    pub fn takes_work(&self, gpu: GpuIndex) -> bool {
        self.health(gpu).state == State::Healthy
    }

    /// A GPU for a person: `node-1[3]`.
    pub fn gpu_label(&self, gpu: GpuIndex) -> String {
        format!("{}[{}]", self.node_name(self.node_of(gpu)), self.number_on_node(gpu))
    }

    /// Gives a node another state.
    pub fn set_node_health(&mut self, node: NodeIndex, health: Health) {
        self.node_health[node.index()] = health;
    }

    /// Gives a GPU another state of its own.
    pub fn set_gpu_health(&mut self, gpu: GpuIndex, health: Health) {
        self.gpu_health[gpu.index()] = health;
    }

    /// Panics where the arrays contradict each other. For tests and for the simulator, after every step.
    pub fn check_invariants(&self) {
        assert_eq!(self.first_gpu.len(), self.node_count() + 1);
        assert_eq!(self.first_numa.len(), self.node_count() + 1);
        assert_eq!(self.first_gpu[self.node_count()] as usize, self.gpu_count());
        assert_eq!(self.by_name.len(), self.node_count());
        for node in self.nodes() {
            assert_eq!(self.node_named(self.node_name(node)), Some(node));
            for gpu in self.gpus_of(node) {
                assert_eq!(self.node_of(gpu), node);
                assert!(usize::from(self.numa(gpu)) < self.numa_cpu_milli(node).len());
                assert!(self.model_of(gpu).index() < self.models.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(pool: &mut Pool, name: &str, gpus: u16) -> Node {
        let model = pool.model_named("H100-80GB", 81_920);
        let gpu = |at: u16| Gpu {
            model,
            nvlink: Some(0),
            numa: at * 2 / gpus,
            attachment: Some(Attachment::Adapter(format!("mlx5_{at}"))),
            health: Health::default(),
        };
        Node {
            name: name.to_owned(),
            cpu_milli: vec![56_000, 56_000],
            memory_mib: 2_097_152,
            health: Health::default(),
            gpus: (0..gpus).map(gpu).collect(),
        }
    }

    #[test]
    fn a_node_keeps_its_gpus_together() {
        let mut pool = Pool::new();
        for name in ["a", "b"] {
            let node = node(&mut pool, name, 8);
            pool.add_node(node).unwrap();
        }
        pool.check_invariants();
        let b = pool.node_named("b").unwrap();
        let gpus: Vec<_> = pool.gpus_of(b).collect();
        assert_eq!((gpus[0], gpus.len()), (GpuIndex(8), 8));
        assert_eq!(pool.gpu_label(gpus[5]), "b[5]");
        assert_eq!((pool.numa(gpus[3]), pool.numa(gpus[4])), (0, 1));
        assert_eq!(pool.models().len(), 1);
    }

    #[test]
    fn what_contradicts_itself_changes_nothing() {
        let mut pool = Pool::new();
        let first = node(&mut pool, "a", 2);
        pool.add_node(first.clone()).unwrap();
        assert_eq!(pool.add_node(first.clone()), Err(AddError::Name("a".to_owned())));
        let mut other = Node { name: "b".to_owned(), ..first };
        other.gpus[1].numa = 2;
        let error = pool.add_node(other.clone()).unwrap_err();
        assert_eq!(error.to_string(), "GPU 1 of b sits at NUMA node 2, but the node has 2");
        other.gpus[0].model = ModelIndex(9);
        assert!(matches!(pool.add_node(other), Err(AddError::Model { model: 9, .. })));
        assert_eq!((pool.node_count(), pool.gpu_count()), (1, 2));
        pool.check_invariants();
    }

    #[test]
    fn the_worse_state_counts() {
        let mut pool = Pool::new();
        let made = node(&mut pool, "a", 2);
        let a = pool.add_node(made).unwrap();
        pool.set_gpu_health(GpuIndex(1), Health { state: State::Failed, reason: "XID 79".to_owned() });
        pool.set_node_health(a, Health { state: State::Draining, reason: "new firmware".to_owned() });
        assert_eq!(pool.health(GpuIndex(0)).reason, "new firmware");
        assert_eq!(pool.health(GpuIndex(1)).reason, "XID 79");
        pool.set_node_health(a, Health::default());
        assert!(pool.takes_work(GpuIndex(0)) && !pool.takes_work(GpuIndex(1)));
        assert!(State::ALL.into_iter().all(|state| State::from_name(state.name()) == Some(state)));
    }
}
