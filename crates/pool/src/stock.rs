//! The free capacity of all nodes in flat arrays: what placement reads in its inner loop.
//!
//! A node's GPUs lie one after another; a GPU's capacity is counted in thousandths of it. `allocate` and `release` happen
//! whole or not at all: what they refuse leaves every number as it was.

use std::fmt;

use thiserror::Error;

use crate::index::{ModelIndex, NodeIndex};
use crate::node::{Pool, State};

/// Thousandths that a whole GPU has.
pub const WHOLE_GPU: u16 = 1000;

/// The most GPUs that one node may have: a set of them is one word.
pub const MOST_GPUS_A_NODE: usize = 64;

/// The most models of GPU that one stock may know: a set of them is one word.
pub const MOST_MODELS: usize = 64;

/// Some models of GPU: a bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModelSet(pub u64);

impl ModelSet {
    /// Every model, those too that no node has yet.
    pub const ANY: Self = Self(u64::MAX);

    /// No model.
    pub const NONE: Self = Self(0);

    /// Whether a model is among them.
    pub const fn contains(self, model: ModelIndex) -> bool {
        self.0 >> model.0 & 1 == 1
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, model: ModelIndex) -> Self {
        Self(self.0 | 1 << model.0)
    }
}

/// Some GPUs of one node: a bit each, by their places on the node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GpuSet(pub u64);

impl GpuSet {
    /// No GPU.
    pub const NONE: Self = Self(0);

    /// These and one more.
    #[must_use]
    pub const fn with(self, gpu: usize) -> Self {
        Self(self.0 | 1 << gpu)
    }

    /// How many.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their places on the node, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(at)
        })
    }
}

impl fmt::Display for GpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, gpu) in self.iter().enumerate() {
            write!(f, "{}{gpu}", if count == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// What one part of a job wants of one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Demand {
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// How many GPUs.
    pub gpus: u16,
    /// Thousandths of each of them, from 1 to [`WHOLE_GPU`]; 0 where no GPU is wanted.
    pub gpu_milli: u16,
    /// Models of GPU that will do.
    pub models: ModelSet,
}

impl Demand {
    /// Whether so many GPUs at so many thousandths each can be asked for: shares are of one GPU, 0.8 of one is not 0.4 of two.
    pub const fn is_share(gpus: u16, gpu_milli: u16) -> bool {
        match gpus {
            0 => gpu_milli == 0,
            1 => gpu_milli >= 1 && gpu_milli <= WHOLE_GPU,
            _ => gpu_milli == WHOLE_GPU,
        }
    }

    /// Thousandths of GPUs in all.
    pub const fn gpu_milli_total(&self) -> u32 {
        self.gpus as u32 * self.gpu_milli as u32
    }
}

/// What was or is to be taken from one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The node.
    pub node: NodeIndex,
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Which GPUs.
    pub gpus: GpuSet,
    /// Thousandths of each of them.
    pub gpu_milli: u16,
}

impl Grant {
    /// What a demand takes on these GPUs of a node.
    pub const fn new(node: NodeIndex, demand: &Demand, gpus: GpuSet) -> Self {
        Self {
            node,
            cpu_milli: demand.cpu_milli,
            memory_mib: demand.memory_mib,
            gpus,
            gpu_milli: demand.gpu_milli,
        }
    }
}

/// A node as it is put into the stock, all of it free.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// How many GPUs.
    pub gpus: usize,
    /// Their model; nothing where there are none.
    pub model: Option<ModelIndex>,
}

/// Why the stock refused. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum StockError {
    /// No node lies there.
    #[error("there is no node {0}; the stock has {1}")]
    NoSuchNode(u32, usize),
    /// The node takes no work: cordoned, draining or failed.
    #[error("node {0} takes no work")]
    Closed(u32),
    /// A node lacks CPU.
    #[error("node {node} has {free} thousandths of a core free, {wanted} are wanted")]
    Cpu {
        /// The node.
        node: u32,
        /// Thousandths of a core that are free.
        free: u32,
        /// Thousandths of a core that are wanted.
        wanted: u32,
    },
    /// A node lacks memory.
    #[error("node {node} has {free} MiB free, {wanted} are wanted")]
    Memory {
        /// The node.
        node: u32,
        /// MiB that are free.
        free: u32,
        /// MiB that are wanted.
        wanted: u32,
    },
    /// A GPU has less left, or is not there.
    #[error("GPU {gpu} of node {node} has {free} thousandths free, {wanted} are wanted")]
    Gpu {
        /// The node.
        node: u32,
        /// The GPU, by its place on the node.
        gpu: usize,
        /// Thousandths that are free; 0 where there is no such GPU.
        free: u16,
        /// Thousandths that are wanted.
        wanted: u16,
    },
    /// More is given back than was taken.
    #[error("more {0} is given back to node {1} than was taken from it")]
    NotTaken(&'static str, u32),
    /// More GPUs than a node may have.
    #[error("a node has {0} GPUs; {MOST_GPUS_A_NODE} is the most")]
    TooManyGpus(usize),
    /// More models than the stock may know.
    #[error("there are more than {MOST_MODELS} models of GPU")]
    TooManyModels,
    /// One node has GPUs of several models.
    #[error("its GPUs are of several models: make it a node for each")]
    SeveralModels,
    /// What the stock cannot hold of a node.
    #[error("node {0}: {1}")]
    Node(String, Box<StockError>),
    /// GPUs without a model, or a model that the stock does not know.
    #[error("the node's GPUs are of no model that the stock knows")]
    NoModel,
}

/// The free capacity of all nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stock {
    models: Vec<String>,
    cpu_free_milli: Vec<u32>,
    cpu_milli: Vec<u32>,
    memory_free_mib: Vec<u32>,
    memory_mib: Vec<u32>,
    model: Vec<ModelIndex>,
    open: Vec<bool>,
    /// Where each node's GPUs begin in `gpu_free_milli`; one more at the end.
    gpu_start: Vec<u32>,
    gpu_free_milli: Vec<u16>,
    gpu_free_total_milli: u64,
}

impl Stock {
    /// An empty stock.
    pub fn new() -> Self {
        Self { gpu_start: vec![0], ..Self::default() }
    }

    /// The nodes of a pool in its order, all that they have free; who takes no work is closed, and GPUs that take none are left
    /// out.
    ///
    /// # Errors
    /// [`StockError::Node`] with what the stock cannot hold: too many GPUs, or those of several models on one node.
    pub fn of(pool: &Pool) -> Result<Self, StockError> {
        let mut stock = Self::new();
        for model in pool.models() {
            stock.model_named(&model.name)?;
        }
        for node in pool.nodes() {
            let of_node = |why: StockError| StockError::Node(pool.node_name(node).to_owned(), Box::new(why));
            let open = pool.node_health(node).state == State::Healthy;
            let gpus: Vec<_> = pool.gpus_of(node).filter(|&gpu| !open || pool.takes_work(gpu)).collect();
            let model = gpus.first().map(|&gpu| pool.model_of(gpu));
            if gpus.iter().any(|&gpu| Some(pool.model_of(gpu)) != model) {
                return Err(of_node(StockError::SeveralModels));
            }
            let added = stock.add_node(&Capacity {
                cpu_milli: pool.numa_cpu_milli(node).iter().fold(0, |sum, &cpu| cpu.saturating_add(sum)),
                memory_mib: u32::try_from(pool.node_memory_mib(node)).unwrap_or(u32::MAX),
                gpus: gpus.len(),
                model,
            });
            stock.set_open(added.map_err(of_node)?, open)?;
        }
        Ok(stock)
    }

    /// The index of a model, which becomes known with the first call that names it.
    ///
    /// # Errors
    /// [`StockError::TooManyModels`].
    pub fn model_named(&mut self, name: &str) -> Result<ModelIndex, StockError> {
        let at = match self.models.iter().position(|model| model == name) {
            Some(at) => at,
            None if self.models.len() == MOST_MODELS => return Err(StockError::TooManyModels),
            None => {
                self.models.push(name.to_owned());
                self.models.len() - 1
            }
        };
        Ok(ModelIndex(at as u32))
    }

    /// The index of a model, if it is known.
    pub fn find_model(&self, name: &str) -> Option<ModelIndex> {
        self.models.iter().position(|model| model == name).map(|at| ModelIndex(at as u32))
    }

    /// The names of all models, by their index.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// Puts a node in, all of it free.
    ///
    /// # Errors
    /// [`StockError::TooManyGpus`], [`StockError::NoModel`].
    pub fn add_node(&mut self, capacity: &Capacity) -> Result<NodeIndex, StockError> {
        if capacity.gpus > MOST_GPUS_A_NODE {
            return Err(StockError::TooManyGpus(capacity.gpus));
        }
        let known = capacity.model.is_some_and(|model| model.index() < self.models.len());
        if capacity.gpus > 0 && !known {
            return Err(StockError::NoModel);
        }
        let node = NodeIndex(self.len() as u32);
        self.cpu_free_milli.push(capacity.cpu_milli);
        self.cpu_milli.push(capacity.cpu_milli);
        self.memory_free_mib.push(capacity.memory_mib);
        self.memory_mib.push(capacity.memory_mib);
        self.model.push(capacity.model.unwrap_or(ModelIndex(0)));
        self.open.push(true);
        self.gpu_free_milli.resize(self.gpu_free_milli.len() + capacity.gpus, WHOLE_GPU);
        self.gpu_start.push(self.gpu_free_milli.len() as u32);
        self.gpu_free_total_milli += capacity.gpus as u64 * u64::from(WHOLE_GPU);
        Ok(node)
    }

    /// A stock of these nodes in this order, all of them free and open; nodes that are not there are left out.
    #[must_use]
    pub fn reordered(&self, nodes: &[NodeIndex]) -> Self {
        let mut stock = Self { models: self.models.clone(), ..Self::new() };
        for &node in nodes.iter().filter(|node| node.index() < self.len()) {
            // What was put into one stock can be put into another that knows the same models.
            let _ = stock.add_node(&self.capacity(node));
        }
        stock
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.cpu_milli.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.cpu_milli.is_empty()
    }

    /// All nodes, in order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeIndex> + use<> {
        (0..self.len() as u32).map(NodeIndex)
    }

    /// How many GPUs all nodes have.
    pub fn gpu_count(&self) -> usize {
        self.gpu_free_milli.len()
    }

    /// Thousandths of GPUs that are free on all nodes together.
    pub fn gpu_free_total_milli(&self) -> u64 {
        self.gpu_free_total_milli
    }

    /// Thousandths of GPUs that are taken on all nodes together.
    pub fn gpu_taken_total_milli(&self) -> u64 {
        self.gpu_count() as u64 * u64::from(WHOLE_GPU) - self.gpu_free_total_milli
    }

    /// A node's CPU that is free, in thousandths of a core.
    pub fn cpu_free_milli(&self, node: NodeIndex) -> u32 {
        self.cpu_free_milli[node.index()]
    }

    /// A node's memory that is free, in MiB.
    pub fn memory_free_mib(&self, node: NodeIndex) -> u32 {
        self.memory_free_mib[node.index()]
    }

    /// What each of a node's GPUs has free, in thousandths.
    pub fn gpus_free_milli(&self, node: NodeIndex) -> &[u16] {
        let range = self.gpu_start[node.index()] as usize..self.gpu_start[node.index() + 1] as usize;
        &self.gpu_free_milli[range]
    }

    /// The model of a node's GPUs, if it has any.
    pub fn model(&self, node: NodeIndex) -> Option<ModelIndex> {
        (self.gpu_start[node.index()] < self.gpu_start[node.index() + 1]).then(|| self.model[node.index()])
    }

    /// All that a node has, free or taken.
    pub fn capacity(&self, node: NodeIndex) -> Capacity {
        Capacity {
            cpu_milli: self.cpu_milli[node.index()],
            memory_mib: self.memory_mib[node.index()],
            gpus: self.gpus_free_milli(node).len(),
            model: self.model(node),
        }
    }

    /// Whether a node takes new work.
    pub fn is_open(&self, node: NodeIndex) -> bool {
        self.open[node.index()]
    }

    /// Opens a node for new work or closes it; what runs there stays.
    ///
    /// # Errors
    /// [`StockError::NoSuchNode`].
    pub fn set_open(&mut self, node: NodeIndex, open: bool) -> Result<(), StockError> {
        self.check(node)?;
        self.open[node.index()] = open;
        Ok(())
    }

    /// Whether a node could take this now: open, of a wanted model, with the CPU, the memory and enough GPUs that each have
    /// the wanted share free.
    pub fn fits(&self, node: NodeIndex, demand: &Demand) -> bool {
        if !self.open[node.index()]
            || self.cpu_free_milli[node.index()] < demand.cpu_milli
            || self.memory_free_mib[node.index()] < demand.memory_mib
        {
            return false;
        }
        if demand.gpus == 0 {
            return true;
        }
        demand.models.contains(self.model[node.index()])
            && self.gpus_free_milli(node).iter().filter(|&&free| free >= demand.gpu_milli).count()
                >= usize::from(demand.gpus)
    }

    /// Takes a grant from its node.
    ///
    /// # Errors
    /// What the node lacks; then nothing was taken.
    pub fn allocate(&mut self, grant: &Grant) -> Result<(), StockError> {
        self.check(grant.node)?;
        let (node, name) = (grant.node.index(), grant.node.0);
        if !self.open[node] {
            return Err(StockError::Closed(name));
        }
        let free = self.cpu_free_milli[node];
        if free < grant.cpu_milli {
            return Err(StockError::Cpu { node: name, free, wanted: grant.cpu_milli });
        }
        let free = self.memory_free_mib[node];
        if free < grant.memory_mib {
            return Err(StockError::Memory { node: name, free, wanted: grant.memory_mib });
        }
        let gpus = self.gpus_free_milli(grant.node);
        for gpu in grant.gpus.iter() {
            let free = gpus.get(gpu).copied();
            if free.is_none_or(|free| free < grant.gpu_milli) {
                let free = free.unwrap_or(0);
                return Err(StockError::Gpu { node: name, gpu, free, wanted: grant.gpu_milli });
            }
        }
        self.cpu_free_milli[node] -= grant.cpu_milli;
        self.memory_free_mib[node] -= grant.memory_mib;
        let start = self.gpu_start[node] as usize;
        for gpu in grant.gpus.iter() {
            self.gpu_free_milli[start + gpu] -= grant.gpu_milli;
        }
        self.gpu_free_total_milli -= u64::from(grant.gpus.len()) * u64::from(grant.gpu_milli);
        Ok(())
    }

    /// Takes several grants, all or none of them: a gang.
    ///
    /// # Errors
    /// What the first of them lacks; then nothing was taken.
    pub fn allocate_all(&mut self, grants: &[Grant]) -> Result<(), StockError> {
        for (at, grant) in grants.iter().enumerate() {
            if let Err(error) = self.allocate(grant) {
                for taken in &grants[..at] {
                    self.give_back(taken);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Gives a grant back to its node, open or not.
    ///
    /// # Errors
    /// [`StockError::NoSuchNode`], [`StockError::NotTaken`]; then nothing was given back.
    pub fn release(&mut self, grant: &Grant) -> Result<(), StockError> {
        self.check(grant.node)?;
        let (node, name) = (grant.node.index(), grant.node.0);
        if self.cpu_milli[node] - self.cpu_free_milli[node] < grant.cpu_milli {
            return Err(StockError::NotTaken("CPU", name));
        }
        if self.memory_mib[node] - self.memory_free_mib[node] < grant.memory_mib {
            return Err(StockError::NotTaken("memory", name));
        }
        let gpus = self.gpus_free_milli(grant.node);
        let taken = |gpu: usize| gpus.get(gpu).map_or(0, |free| WHOLE_GPU - free);
        if grant.gpus.iter().any(|gpu| gpu >= gpus.len() || taken(gpu) < grant.gpu_milli) {
            return Err(StockError::NotTaken("of a GPU", name));
        }
        self.give_back(grant);
        Ok(())
    }

    fn give_back(&mut self, grant: &Grant) {
        let node = grant.node.index();
        self.cpu_free_milli[node] += grant.cpu_milli;
        self.memory_free_mib[node] += grant.memory_mib;
        let start = self.gpu_start[node] as usize;
        for gpu in grant.gpus.iter() {
            self.gpu_free_milli[start + gpu] += grant.gpu_milli;
        }
        self.gpu_free_total_milli += u64::from(grant.gpus.len()) * u64::from(grant.gpu_milli);
    }

    fn check(&self, node: NodeIndex) -> Result<(), StockError> {
        if node.index() < self.len() { Ok(()) } else { Err(StockError::NoSuchNode(node.0, self.len())) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stock(gpus: &[usize]) -> Stock {
        let mut stock = Stock::new();
        let model = stock.model_named("H100").unwrap();
        for &gpus in gpus {
            let model = (gpus > 0).then_some(model);
            stock.add_node(&Capacity { cpu_milli: 4000, memory_mib: 1000, gpus, model }).unwrap();
        }
        stock
    }

    fn whole(gpus: u16) -> Demand {
        Demand { cpu_milli: 1000, memory_mib: 100, gpus, gpu_milli: WHOLE_GPU, models: ModelSet::ANY }
    }

    #[test]
    fn a_share_is_never_granted_from_two_gpus_that_have_half_of_it() {
        let mut stock = stock(&[2]);
        let taken = Grant::new(NodeIndex(0), &Demand { gpu_milli: 600, ..whole(2) }, GpuSet(0b11));
        stock.allocate(&taken).unwrap();
        assert_eq!(stock.gpus_free_milli(NodeIndex(0)), [400, 400]);
        assert!(!stock.fits(NodeIndex(0), &Demand { gpu_milli: 800, ..whole(1) }));
        assert!(stock.fits(NodeIndex(0), &Demand { gpu_milli: 400, ..whole(2) }));
    }

    #[test]
    fn a_pool_becomes_a_stock() {
        let text = "sn,cpu_milli,memory_mib,gpu,model\na,64000,1000,2,H100\nb,8000,500,0,\nc,8000,500,3,T4\n";
        let beside = crate::formats::Beside::default();
        let mut pool = crate::formats::read("nodes.csv", text.as_bytes(), &beside).unwrap().0.pool;
        let [a, b, c] = [0, 1, 2].map(NodeIndex);
        let failed = crate::Health { state: State::Failed, reason: String::new() };
        let second = pool.gpus_of(a).nth(1).unwrap();
        pool.set_gpu_health(second, failed.clone());
        pool.set_node_health(c, failed);
        let stock = Stock::of(&pool).unwrap();
        assert_eq!(stock.models(), ["H100", "T4"]);
        assert_eq!([a, b, c].map(|node| stock.capacity(node).gpus), [1, 0, 3]);
        assert_eq!([a, b, c].map(|node| stock.is_open(node)), [true, true, false]);
        assert_eq!((stock.cpu_free_milli(a), stock.memory_free_mib(b)), (64_000, 500));
    }

    #[test]
    fn a_gang_is_taken_whole_or_not_at_all() {
        let mut stock = stock(&[2, 1]);
        let before = stock.clone();
        let gang = [0, 1].map(|node| Grant::new(NodeIndex(node), &whole(2), GpuSet(0b11)));
        let error = stock.allocate_all(&gang).unwrap_err();
        assert_eq!(error, StockError::Gpu { node: 1, gpu: 1, free: 0, wanted: WHOLE_GPU });
        assert_eq!(stock, before);
    }

    #[test]
    fn other_models_and_closed_nodes_take_nothing() {
        let mut stock = stock(&[2]);
        let other = stock.model_named("T4").unwrap();
        let node = NodeIndex(0);
        assert!(!stock.fits(node, &Demand { models: ModelSet::NONE.with(other), ..whole(1) }));
        stock.set_open(node, false).unwrap();
        assert!(!stock.fits(node, &whole(1)));
        let grant = Grant::new(node, &whole(1), GpuSet(1));
        assert_eq!(stock.allocate(&grant), Err(StockError::Closed(0)));
        stock.set_open(node, true).unwrap();
        stock.allocate(&grant).unwrap();
        stock.set_open(node, false).unwrap();
        stock.release(&grant).unwrap();
        assert_eq!(stock.gpu_taken_total_milli(), 0);
    }

    #[test]
    fn what_was_not_taken_cannot_be_given_back() {
        let mut stock = stock(&[2]);
        let before = stock.clone();
        let grant = Grant::new(NodeIndex(0), &whole(1), GpuSet(1));
        assert!(matches!(stock.release(&grant), Err(StockError::NotTaken(..))));
        assert_eq!(stock.release(&Grant { node: NodeIndex(9), ..grant }), Err(StockError::NoSuchNode(9, 1)));
        assert_eq!(stock, before);
    }

    prop_compose! {
        fn any_grant()(
            node in 0_u32..5, cpu in 0_u32..5000, memory in 0_u32..1200, gpus in 0_u64..512, milli in 0_u16..1100,
        ) -> Grant {
            Grant { node: NodeIndex(node), cpu_milli: cpu, memory_mib: memory, gpus: GpuSet(gpus), gpu_milli: milli }
        }
    }

    /// The same bookkeeping by plain sums over what is held.
    fn is_possible(stock: &Stock, held: &[Grant], grant: &Grant) -> bool {
        if grant.node.index() >= stock.len() {
            return false;
        }
        let capacity = stock.capacity(grant.node);
        let here = || held.iter().filter(|other| other.node == grant.node);
        let cpu = here().map(|other| u64::from(other.cpu_milli)).sum::<u64>() + u64::from(grant.cpu_milli);
        let memory =
            here().map(|other| u64::from(other.memory_mib)).sum::<u64>() + u64::from(grant.memory_mib);
        let gpus_fit = grant.gpus.iter().all(|gpu| {
            let on = here().filter(|other| other.gpus.0 >> gpu & 1 == 1);
            gpu < capacity.gpus
                && on.map(|other| u64::from(other.gpu_milli)).sum::<u64>() + u64::from(grant.gpu_milli)
                    <= 1000
        });
        cpu <= u64::from(capacity.cpu_milli) && memory <= u64::from(capacity.memory_mib) && gpus_fit
    }

    proptest! {

        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_call_happens_whole_or_not_at_all(calls in prop::collection::vec((any_grant(), any::<bool>()), 1..60)) {
            let empty = stock(&[8, 0, 3, 1]);
            let (mut stock, mut held) = (empty.clone(), Vec::<Grant>::new());
            for (grant, take) in calls {
                let before = stock.clone();
                if take || held.is_empty() {
                    let possible = is_possible(&stock, &held, &grant);
                    let done = stock.allocate(&grant).is_ok();
                    prop_assert_eq!(done, possible);
                    if done { held.push(grant) } else { prop_assert_eq!(&stock, &before) }
                } else {
                    let oldest = held.remove(0);
                    prop_assert!(stock.release(&oldest).is_ok());
                }
                let taken: u64 = held.iter().map(|g| u64::from(g.gpus.len()) * u64::from(g.gpu_milli)).sum();
                prop_assert_eq!(stock.gpu_taken_total_milli(), taken);
            }
            for grant in &held {
                prop_assert!(stock.release(grant).is_ok());
            }
            prop_assert_eq!(stock, empty);
        }

        #[test]
        fn several_grants_are_taken_together_or_none_is(gang in prop::collection::vec(any_grant(), 1..6)) {
            let mut stock = stock(&[8, 0, 3, 1]);
            let before = stock.clone();
            let mut one_by_one = stock.clone();
            let possible = gang.iter().all(|grant| one_by_one.allocate(grant).is_ok());
            prop_assert_eq!(stock.allocate_all(&gang).is_ok(), possible);
            prop_assert_eq!(stock, if possible { one_by_one } else { before });
        }
    }
}
