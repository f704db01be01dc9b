//! The free capacity of all nodes in flat arrays: what placement reads in its inner loop.
//!
//! A node's GPUs lie one after another; a GPU's capacity is counted in thousandths of it. `allocate` and `release` happen
//! whole or not at all: what they refuse leaves every number as it was.
//!
//! `demand` is what is wanted and what is taken, `domains` the NUMA domains, `mig` the instances on GPUs that are cut, `room`
//! how many parts of a job one node takes and where on it they lie.

mod demand;
mod domains;
mod error;
mod mig;
mod room;

use std::sync::Arc;

use crate::catalog::{MigCatalog, MigModel};
use crate::index::{ModelIndex, NodeIndex};
use crate::node::{Pool, State};

pub use demand::{Demand, GpuSet, Grant, MOST_GPUS_A_NODE, MOST_MODELS, ModelSet, NumaWant, Pin, WHOLE_GPU};
pub use domains::Domain;
pub use error::StockError;
pub use mig::{Instances, Layout, MOST_INSTANCES, ProfileIndex};
pub use room::Room;

use domains::{Domains, Pinned};
use mig::Cuts;

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
    /// Nothing of a GPU that is cut into instances is free for others.
    gpu_free_milli: Vec<u16>,
    gpu_free_total_milli: u64,
    /// What never changes, shared by all copies.
    fixed: Arc<Fixed>,
    pinned: Pinned,
    /// What lies on each GPU; empty while no GPU is cut.
    layouts: Vec<Layout>,
    /// How many instances there are on all GPUs.
    instances: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Fixed {
    /// Memory of a GPU of each model, MiB; 0, or nothing, where it is not known.
    gpu_memory_mib: Vec<u32>,
    domains: Domains,
    cuts: Cuts,
}

impl Stock {
    /// An empty stock.
    pub fn new() -> Self {
        Self { gpu_start: vec![0], ..Self::default() }
    }

    /// The nodes of a pool in its order, all that they have free; who takes no work is closed, and GPUs that take none are left
    /// out. Up to 64 NUMA domains of a node are told apart.
    ///
    /// # Errors
    /// [`StockError::Node`] with what the stock cannot hold: too many GPUs, or those of several models on one node.
    pub fn of(pool: &Pool) -> Result<Self, StockError> {
        let mut stock = Self::new();
        for model in pool.models() {
            let index = stock.model_named(&model.name)?;
            stock.set_gpu_memory(index, model.memory_mib);
        }
        for node in pool.nodes() {
            let of_node = |why: StockError| StockError::Node(pool.node_name(node).to_owned(), Box::new(why));
            let open = pool.node_health(node).state == State::Healthy;
            let gpus: Vec<_> = pool.gpus_of(node).filter(|&gpu| !open || pool.takes_work(gpu)).collect();
            let model = gpus.first().map(|&gpu| pool.model_of(gpu));
            if gpus.iter().any(|&gpu| Some(pool.model_of(gpu)) != model) {
                return Err(of_node(StockError::SeveralModels));
            }
            let count = pool.numa_cpu_milli(node).len();
            // No machine has more; so do amounts that no sum of which overflows.
            let most = u32::MAX / count.max(1) as u32;
            let domains = pool.numa_cpu_milli(node).iter().zip(pool.numa_memory_mib(node));
            let domain = |(&cpu_milli, memory_mib): (&u32, u64)| Domain {
                cpu_milli: cpu_milli.min(most),
                memory_mib: at_most_u32(memory_mib).min(most),
            };
            let told_apart = if count <= MOST_GPUS_A_NODE { count } else { 0 };
            let domains: Vec<Domain> = domains.map(domain).take(told_apart).collect();
            let of_gpu: Vec<u8> = gpus.iter().map(|&gpu| pool.numa(gpu) as u8).collect();
            let capacity = Capacity {
                cpu_milli: pool.numa_cpu_milli(node).iter().fold(0, |sum, &cpu| cpu.saturating_add(sum)),
                memory_mib: at_most_u32(pool.node_memory_mib(node)),
                gpus: gpus.len(),
                model,
            };
            let added = stock.add_node_of(&capacity, &domains, &of_gpu);
            stock.set_open(added.map_err(of_node)?, open)?;
        }
        // The catalogue that ships can be read: a test does.
        if let Ok(catalog) = MigCatalog::shipped() {
            stock.know_mig(&catalog)?;
        }
        Ok(stock)
    }

    /// Learns what the models that it knows can be cut into. What came from the catalogue before is forgotten: it is for a stock
    /// of which nothing is cut, and demands are made after it.
    ///
    /// # Errors
    /// [`StockError::TooManyProfiles`].
    pub fn know_mig(&mut self, catalog: &MigCatalog) -> Result<(), StockError> {
        let cuts = Cuts::new(&self.models, catalog).ok_or(StockError::TooManyProfiles)?;
        Arc::make_mut(&mut self.fixed).cuts = cuts;
        Ok(())
    }

    /// Tells how much memory a GPU of a model has, in MiB; 0: not known.
    pub fn set_gpu_memory(&mut self, model: ModelIndex, memory_mib: u32) {
        let memory = &mut Arc::make_mut(&mut self.fixed).gpu_memory_mib;
        memory.resize(memory.len().max(model.index() + 1), 0);
        memory[model.index()] = memory_mib;
    }

    /// A demand of which each GPU, or share of one, has to have so much memory: models with less are none that will do, and a
    /// share takes at least the part of the memory that it wants, on that of the models where it is largest. A model whose
    /// memory is not known is bound by nothing.
    #[must_use]
    pub fn with_gpu_memory(&self, demand: &Demand, memory_mib: u32) -> Demand {
        if demand.gpus == 0 || memory_mib == 0 {
            return *demand;
        }
        let (mut models, mut gpu_milli) = (ModelSet::NONE, demand.gpu_milli);
        let known = (0..self.models.len() as u32).map(ModelIndex);
        for model in known.filter(|&model| demand.models.contains(model)) {
            let has = self.fixed.gpu_memory_mib.get(model.index()).copied().unwrap_or(0);
            if has > 0 && has < memory_mib {
                continue;
            }
            models = models.with(model);
            let part = (u64::from(memory_mib) * u64::from(WHOLE_GPU)).div_ceil(u64::from(has.max(1)));
            if has > 0 {
                // No more than a whole GPU, for it has as much.
                gpu_milli = gpu_milli.max(part as u16);
            }
        }
        Demand { models, gpu_milli, ..*demand }
    }

    /// The MIG profile of a name, if any model has it.
    pub fn profile_named(&self, name: &str) -> Option<ProfileIndex> {
        self.fixed.cuts.profile(name)
    }

    /// The names of all MIG profiles, by their index.
    pub fn profiles(&self) -> &[String] {
        self.fixed.cuts.names()
    }

    /// How a model is cut, and the number of a profile among its own; nothing where it has no such profile.
    pub fn cut_of(&self, model: ModelIndex, profile: ProfileIndex) -> Option<(&MigModel, usize)> {
        self.fixed.cuts.of(model, profile)
    }

    /// Thousandths of a GPU that an instance of a profile counts, on that of some models where it counts least; nothing where
    /// none of them has it.
    pub fn profile_milli(&self, profile: ProfileIndex, models: ModelSet) -> Option<u16> {
        let models = (0..self.models.len() as u32).map(ModelIndex).filter(|&model| models.contains(model));
        models.filter_map(|model| self.fixed.cuts.milli(model, profile)).min()
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

    /// Puts a node of one NUMA domain in, all of it free.
    ///
    /// # Errors
    /// [`StockError::TooManyGpus`], [`StockError::NoModel`].
    pub fn add_node(&mut self, capacity: &Capacity) -> Result<NodeIndex, StockError> {
        self.add_node_of(capacity, &[], &[])
    }

    /// Puts a node in, all of it free, with its NUMA domains and, for each GPU, the domain that it is of. What the domains have
    /// together may be less than what the node has: the rest cannot be pinned.
    ///
    /// # Errors
    /// As [`Self::add_node`], and [`StockError::Domains`].
    pub fn add_node_of(
        &mut self,
        capacity: &Capacity,
        domains: &[Domain],
        of_gpu: &[u8],
    ) -> Result<NodeIndex, StockError> {
        if capacity.gpus > MOST_GPUS_A_NODE {
            return Err(StockError::TooManyGpus(capacity.gpus));
        }
        let known = capacity.model.is_some_and(|model| model.index() < self.models.len());
        if capacity.gpus > 0 && !known {
            return Err(StockError::NoModel);
        }
        let node = NodeIndex(self.len() as u32);
        if domains.len() > 1 {
            let sum =
                |amount: fn(&Domain) -> u32| domains.iter().map(|of| u64::from(amount(of))).sum::<u64>();
            let wrong = if domains.len() > MOST_GPUS_A_NODE {
                Some("there are more than 64")
            } else if of_gpu.len() != capacity.gpus {
                Some("not every GPU has its own")
            } else if of_gpu.iter().any(|&domain| usize::from(domain) >= domains.len()) {
                Some("a GPU is of one that is not there")
            } else if sum(|of| of.cpu_milli) > u64::from(capacity.cpu_milli)
                || sum(|of| of.memory_mib) > u64::from(capacity.memory_mib)
            {
                Some("they have more than the node")
            } else {
                None
            };
            if let Some(wrong) = wrong {
                return Err(StockError::Domains(node.0, wrong));
            }
        }
        Arc::make_mut(&mut self.fixed).domains.add(domains, of_gpu, capacity.gpus);
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
            let _ = stock.add_node_of(&self.capacity(node), self.domains(node), self.domain_of_gpus(node));
        }
        let fixed = Arc::make_mut(&mut stock.fixed);
        fixed.cuts = self.fixed.cuts.clone();
        fixed.gpu_memory_mib = self.fixed.gpu_memory_mib.clone();
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

    /// What each of a node's GPUs has free, in thousandths; of one that is cut into instances nothing.
    pub fn gpus_free_milli(&self, node: NodeIndex) -> &[u16] {
        &self.gpu_free_milli[self.gpu_range(node)]
    }

    fn gpu_range(&self, node: NodeIndex) -> std::ops::Range<usize> {
        self.gpu_start[node.index()] as usize..self.gpu_start[node.index() + 1] as usize
    }

    /// What lies on each of a node's GPUs; empty where no GPU of any node is cut.
    pub fn layouts(&self, node: NodeIndex) -> &[Layout] {
        self.layouts.get(self.gpu_range(node)).unwrap_or(&[])
    }

    /// What each of a node's NUMA domains has, free or taken; empty where the node is one.
    pub fn domains(&self, node: NodeIndex) -> &[Domain] {
        self.fixed.domains.of(node)
    }

    /// The NUMA domain of each of a node's GPUs.
    pub fn domain_of_gpus(&self, node: NodeIndex) -> &[u8] {
        self.fixed.domains.of_gpus(self.gpu_range(node))
    }

    /// What each of a node's NUMA domains has left to pin; nothing where the node is one.
    pub fn domains_left(&self, node: NodeIndex) -> impl Iterator<Item = Domain> + '_ {
        self.pinned.left(&self.fixed.domains, node)
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
    /// the wanted share free, where on the node it is wanted.
    pub fn fits(&self, node: NodeIndex, demand: &Demand) -> bool {
        if !demand.is_plain() {
            return self.is_open(node) && Room::of(self, node).copies(demand) > 0;
        }
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
        if grant.pin != Pin::Floating {
            self.check_pins(grant, true).map_err(|(domain, wanted)| StockError::Domain {
                node: name,
                domain,
                cpu_milli: wanted.cpu_milli,
                memory_mib: wanted.memory_mib,
            })?;
        }
        if let Some(instances) = grant.instances {
            self.cut(grant.node, instances)?;
        } else {
            let gpus = self.gpus_free_milli(grant.node);
            for gpu in grant.gpus.iter() {
                let free = gpus.get(gpu).copied();
                if free.is_none_or(|free| free < grant.gpu_milli) {
                    let free = free.unwrap_or(0);
                    return Err(StockError::Gpu { node: name, gpu, free, wanted: grant.gpu_milli });
                }
            }
            let start = self.gpu_start[node] as usize;
            for gpu in grant.gpus.iter() {
                self.gpu_free_milli[start + gpu] -= grant.gpu_milli;
            }
            self.gpu_free_total_milli -= grant.gpu_milli_total();
        }
        self.cpu_free_milli[node] -= grant.cpu_milli;
        self.memory_free_mib[node] -= grant.memory_mib;
        if grant.pin != Pin::Floating {
            self.count_pins(grant, true);
        }
        Ok(())
    }

    fn check_pins(&self, grant: &Grant, taken: bool) -> Result<(), (usize, Domain)> {
        self.pinned.check(&self.fixed.domains, grant, self.domain_of_gpus(grant.node), taken)
    }

    fn count_pins(&mut self, grant: &Grant, taken: bool) {
        let of_gpu = self.fixed.domains.of_gpus(self.gpu_range(grant.node));
        self.pinned.count(&self.fixed.domains, grant, of_gpu, taken);
    }

    /// Puts instances on GPUs of a node, all or none of them.
    fn cut(&mut self, node: NodeIndex, instances: Instances) -> Result<(), StockError> {
        let (range, fixed) = (self.gpu_range(node), Arc::clone(&self.fixed));
        if self.layouts.is_empty() {
            self.layouts.resize(self.gpu_free_milli.len(), Layout::EMPTY);
        }
        for (done, (gpu, start)) in instances.iter().enumerate() {
            let at = range.start + gpu;
            let cut =
                fixed.cuts.of(self.model[node.index()], instances.profile).filter(|&(model, number)| {
                    let layout = self.layouts[range.clone()].get(gpu).copied().unwrap_or_default();
                    let bears_it = !layout.is_empty() || self.gpu_free_milli.get(at) == Some(&WHOLE_GPU);
                    at < range.end && bears_it && layout.starts(model, number) >> start & 1 == 1
                });
            let Some((_, number)) = cut else {
                for (gpu, start) in instances.iter().take(done) {
                    self.take_off(node, gpu, start, instances.profile);
                }
                self.forget_layouts();
                return Err(StockError::Instance { node: node.0, gpu, start });
            };
            self.layouts[at] = self.layouts[at].with(number, start);
            self.gpu_free_milli[at] = 0;
            self.instances += 1;
            self.gpu_free_total_milli -= u64::from(self.instance_milli(node, instances.profile));
        }
        Ok(())
    }

    /// Takes an instance that is there off its GPU, which is whole again where it was the last.
    fn take_off(&mut self, node: NodeIndex, gpu: usize, start: u8, profile: ProfileIndex) {
        let at = self.gpu_range(node).start + gpu;
        let number = self.cut_of(self.model[node.index()], profile).map_or(0, |(_, number)| number);
        if let Some(layout) = self.layouts[at].without(number, start) {
            self.layouts[at] = layout;
            self.instances -= 1;
            self.gpu_free_total_milli += u64::from(self.instance_milli(node, profile));
            if layout.is_empty() {
                self.gpu_free_milli[at] = WHOLE_GPU;
            }
        }
    }

    fn forget_layouts(&mut self) {
        if self.instances == 0 {
            self.layouts.clear();
        }
    }

    /// Thousandths that an instance counts on a node.
    fn instance_milli(&self, node: NodeIndex, profile: ProfileIndex) -> u16 {
        self.fixed.cuts.milli(self.model[node.index()], profile).unwrap_or(0)
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
        let (gpus, layouts) = (self.gpus_free_milli(grant.node), self.layouts(grant.node));
        let gone = if let Some(instances) = grant.instances {
            let number = self.cut_of(self.model[node], instances.profile).map(|(_, number)| number);
            let mut layouts: Vec<Layout> = layouts.to_vec();
            instances.iter().any(|(gpu, start)| {
                let without = layouts.get(gpu).zip(number).and_then(|(at, number)| at.without(number, start));
                without.map(|left| layouts[gpu] = left).is_none()
            })
        } else {
            let is_cut = |gpu: usize| layouts.get(gpu).is_some_and(|layout| !layout.is_empty());
            let taken = |gpu: usize| gpus.get(gpu).map_or(0, |free| WHOLE_GPU - free);
            let missing = |gpu| gpu >= gpus.len() || is_cut(gpu) || taken(gpu) < grant.gpu_milli;
            grant.gpus.iter().any(missing)
        };
        if gone {
            return Err(StockError::NotTaken("of a GPU", name));
        }
        if grant.pin != Pin::Floating && self.check_pins(grant, false).is_err() {
            return Err(StockError::NotTaken("of a NUMA domain", name));
        }
        self.give_back(grant);
        Ok(())
    }

    fn give_back(&mut self, grant: &Grant) {
        let node = grant.node.index();
        self.cpu_free_milli[node] += grant.cpu_milli;
        self.memory_free_mib[node] += grant.memory_mib;
        if grant.pin != Pin::Floating {
            self.count_pins(grant, false);
        }
        if let Some(instances) = grant.instances {
            for (gpu, start) in instances.iter() {
                self.take_off(grant.node, gpu, start, instances.profile);
            }
            self.forget_layouts();
            return;
        }
        let start = self.gpu_start[node] as usize;
        for gpu in grant.gpus.iter() {
            self.gpu_free_milli[start + gpu] += grant.gpu_milli;
        }
        self.gpu_free_total_milli += grant.gpu_milli_total();
    }

    fn check(&self, node: NodeIndex) -> Result<(), StockError> {
        if node.index() < self.len() { Ok(()) } else { Err(StockError::NoSuchNode(node.0, self.len())) }
    }
}

fn at_most_u32(amount: u64) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
