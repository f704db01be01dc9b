//! The stock, its nodes grouped by what they have left.
//!
//! Nodes of one model with the same CPU, memory and GPUs left are one state: a score is computed once for all of them. A
//! placement moves one node from one state to another.

use pool::stock::{Demand, GpuSet, Grant, StockError, WHOLE_GPU};
use pool::{ModelIndex, NodeIndex, Stock};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What a node has left. The order of its GPUs does not matter: they stand in order of what is left of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The model of its GPUs, if it has any.
    pub model: Option<ModelIndex>,
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Sizes of what runs on its GPUs, a bit each: see [`size_of`]. Empty where the cluster does not keep them.
    pub sizes: u16,
    /// Thousandths left of each GPU, least first.
    pub gpus: SmallVec<[u16; 8]>,
}

impl State {
    /// What a node has left.
    pub fn of(stock: &Stock, node: NodeIndex, sizes: u16) -> Self {
        let mut gpus = SmallVec::from_slice(stock.gpus_free_milli(node));
        gpus.sort_unstable();
        Self {
            model: stock.model(node),
            cpu_milli: stock.cpu_free_milli(node),
            memory_mib: stock.memory_free_mib(node),
            sizes,
            gpus,
        }
    }

    /// Thousandths left of all GPUs together.
    pub fn gpu_milli(&self) -> u32 {
        self.gpus.iter().map(|&free| u32::from(free)).sum()
    }

    /// GPUs that nobody uses.
    pub fn idle_gpus(&self) -> usize {
        self.gpus.iter().rev().take_while(|&&free| free == WHOLE_GPU).count()
    }

    /// Whether a node of this state could take a demand now.
    pub fn fits(&self, demand: &Demand) -> bool {
        if self.cpu_milli < demand.cpu_milli || self.memory_mib < demand.memory_mib {
            return false;
        }
        let gpus = usize::from(demand.gpus);
        gpus == 0
            || self.model.is_some_and(|model| demand.models.contains(model))
                && self.gpus.len() >= gpus
                && self.gpus[self.gpus.len() - gpus] >= demand.gpu_milli
    }

    /// How many demands like this a node of this state could take one after another. Shares are of one GPU;
    /// of several, whole ones are wanted.
    pub fn copies(&self, demand: &Demand) -> u32 {
        if !self.fits(demand) {
            return 0;
        }
        let by_gpu = match demand.gpus {
            0 => u32::MAX,
            1 => self.gpus.iter().map(|&free| u32::from(free / demand.gpu_milli)).sum(),
            gpus => {
                let first = self.gpus.partition_point(|&free| free < demand.gpu_milli);
                (self.gpus.len() - first) as u32 / u32::from(gpus)
            }
        };
        let by_cpu = self.cpu_milli.checked_div(demand.cpu_milli).unwrap_or(u32::MAX);
        let by_memory = self.memory_mib.checked_div(demand.memory_mib).unwrap_or(u32::MAX);
        by_gpu.min(by_cpu).min(by_memory)
    }

    /// The GPUs that have least left but enough, by their place in `gpus`; for a demand that fits.
    pub fn tightest(&self, demand: &Demand) -> GpuSet {
        let first = self.gpus.partition_point(|&free| free < demand.gpu_milli);
        (first..first + usize::from(demand.gpus)).fold(GpuSet::NONE, GpuSet::with)
    }

    /// Every choice of GPUs that differs from the others in what is left, by their place in `gpus`; for a demand that
    /// fits. A share of one GPU may go to any GPU with enough left; what wants several takes the tightest.
    pub fn choices(&self, demand: &Demand) -> SmallVec<[GpuSet; 8]> {
        if demand.gpus != 1 || demand.gpu_milli == WHOLE_GPU {
            return SmallVec::from_slice(&[self.tightest(demand)]);
        }
        let first = self.gpus.partition_point(|&free| free < demand.gpu_milli);
        (first..self.gpus.len())
            .filter(|&at| at == first || self.gpus[at] != self.gpus[at - 1])
            .map(|at| GpuSet::NONE.with(at))
            .collect()
    }

    /// What is left once a demand has taken these GPUs, by their place in `gpus`; for a demand that fits.
    #[must_use]
    pub fn after(&self, demand: &Demand, gpus: GpuSet) -> Self {
        let mut after = self.clone();
        after.cpu_milli -= demand.cpu_milli;
        after.memory_mib -= demand.memory_mib;
        for at in gpus.iter() {
            after.gpus[at] -= demand.gpu_milli;
        }
        after.gpus.sort_unstable();
        after
    }
}

/// The size of a demand for GPUs as a bit: a share of one, or how many whole ones.
pub fn size_of(demand: &Demand) -> u16 {
    match demand.gpus {
        0 => 0,
        1 if demand.gpu_milli < WHOLE_GPU => 1,
        gpus => 1 << gpus.min(15),
    }
}

/// A state by its place; the places of states that no node has any more are used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateIndex(pub u32);

/// A state that some nodes are in.
#[derive(Clone, Debug)]
pub struct Group {
    /// What its nodes have left.
    pub state: State,
    /// How often the place has been taken by a state: tells an old state from a new one at the same place.
    pub generation: u32,
    /// The last of the stock first.
    nodes: Vec<NodeIndex>,
}

impl Group {
    /// The nodes in this state, the last of the stock first; empty where the place is free.
    pub fn nodes(&self) -> &[NodeIndex] {
        &self.nodes
    }

    /// The first node of the stock that is in this state.
    pub fn first(&self) -> Option<NodeIndex> {
        self.nodes.last().copied()
    }
}

/// The stock with its nodes grouped.
#[derive(Clone, Debug)]
pub struct Cluster {
    stock: Stock,
    groups: Vec<Group>,
    vacant: Vec<StateIndex>,
    index: FxHashMap<State, StateIndex>,
    /// Each node's state; nothing for closed nodes.
    at: Vec<Option<StateIndex>>,
    /// States in the order in which they came up, the latest last; older ones have been forgotten.
    news: Vec<(StateIndex, u32)>,
    forgotten: u64,
    /// How many demands of each size each node bears, where the cluster keeps them.
    sizes: Option<Vec<[u16; 16]>>,
}

impl Cluster {
    /// Groups the nodes of a stock. `keep_sizes` tells nodes apart by the sizes of what runs on them too.
    pub fn new(stock: Stock, keep_sizes: bool) -> Self {
        let nodes = stock.len();
        let mut cluster = Self {
            stock,
            groups: Vec::new(),
            vacant: Vec::new(),
            index: FxHashMap::default(),
            at: vec![None; nodes],
            news: Vec::new(),
            forgotten: 0,
            sizes: keep_sizes.then(|| vec![[0; 16]; nodes]),
        };
        for node in cluster.stock.nodes().rev() {
            cluster.enter(node);
        }
        cluster
    }

    /// The stock.
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    /// All places of states, those too that are free: see [`Group::nodes`].
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// A state.
    pub fn group(&self, state: StateIndex) -> &Group {
        &self.groups[state.0 as usize]
    }

    /// How many states have come up so far: a mark for [`Self::news_since`].
    pub fn news_count(&self) -> u64 {
        self.forgotten + self.news.len() as u64
    }

    /// The states, with their generations, that have come up since a mark; nothing where that is too long ago.
    pub fn news_since(&self, mark: u64) -> Option<&[(StateIndex, u32)]> {
        let from = mark.checked_sub(self.forgotten)?;
        self.news.get(from as usize..)
    }

    /// The GPUs of a node that stand at these places of its state's order.
    pub fn gpus_at(&self, node: NodeIndex, places: GpuSet) -> GpuSet {
        if places.is_empty() {
            return places;
        }
        let free = self.stock.gpus_free_milli(node);
        let mut order: SmallVec<[u8; 8]> = (0..free.len() as u8).collect();
        order.sort_by_key(|&gpu| (free[usize::from(gpu)], gpu));
        places.iter().fold(GpuSet::NONE, |gpus, place| gpus.with(usize::from(order[place])))
    }

    /// Takes a grant for a demand.
    ///
    /// # Errors
    /// What the node lacks; then nothing was taken.
    pub fn allocate(&mut self, grant: &Grant) -> Result<(), StockError> {
        self.stock.allocate(grant)?;
        self.move_node(grant, 1);
        Ok(())
    }

    /// Gives a grant back.
    ///
    /// # Errors
    /// Where it was not taken; then nothing was given back.
    pub fn release(&mut self, grant: &Grant) -> Result<(), StockError> {
        self.stock.release(grant)?;
        self.move_node(grant, -1);
        Ok(())
    }

    /// Opens a node for new work or closes it; what runs there stays.
    ///
    /// # Errors
    /// Where there is no such node.
    pub fn set_open(&mut self, node: NodeIndex, open: bool) -> Result<(), StockError> {
        self.stock.set_open(node, open)?;
        self.leave(node);
        self.enter(node);
        Ok(())
    }

    fn move_node(&mut self, grant: &Grant, more: i16) {
        if let Some(sizes) = &mut self.sizes
            && !grant.gpus.is_empty()
        {
            let size = match grant.gpus.len() {
                _ if grant.instances.is_some() => 0,
                1 if grant.gpu_milli < WHOLE_GPU => 0,
                gpus => gpus.min(15) as usize,
            };
            let count = &mut sizes[grant.node.index()][size];
            *count = count.saturating_add_signed(more);
        }
        self.leave(grant.node);
        self.enter(grant.node);
    }

    fn leave(&mut self, node: NodeIndex) {
        let Some(state) = self.at[node.index()].take() else { return };
        let group = &mut self.groups[state.0 as usize];
        if let Ok(place) = group.nodes.binary_search_by(|other| node.cmp(other)) {
            group.nodes.remove(place);
        }
        if group.nodes.is_empty() {
            self.index.remove(&group.state);
            self.vacant.push(state);
        }
    }

    fn enter(&mut self, node: NodeIndex) {
        if !self.stock.is_open(node) {
            return;
        }
        let sizes = self.sizes.as_ref().map_or(0, |sizes| {
            let counts = &sizes[node.index()];
            (0..16).filter(|&size| counts[size] > 0).fold(0, |bits, size| bits | 1 << size)
        });
        let state = State::of(&self.stock, node, sizes);
        let at = match self.index.get(&state) {
            Some(&at) => at,
            None => self.come_up(state),
        };
        self.at[node.index()] = Some(at);
        let group = &mut self.groups[at.0 as usize];
        let place = group.nodes.partition_point(|other| *other > node);
        group.nodes.insert(place, node);
    }

    fn come_up(&mut self, state: State) -> StateIndex {
        let at = match self.vacant.pop() {
            Some(at) => {
                let group = &mut self.groups[at.0 as usize];
                group.generation += 1;
                group.state = state.clone();
                at
            }
            None => {
                self.groups.push(Group { state: state.clone(), generation: 0, nodes: Vec::new() });
                StateIndex(self.groups.len() as u32 - 1)
            }
        };
        self.index.insert(state, at);
        // Who has not looked for as long as this looks at all states, which are no more than the nodes.
        let most = 2 * self.at.len() + 64;
        if self.news.len() >= 2 * most {
            self.news.drain(..most);
            self.forgotten += most as u64;
        }
        self.news.push((at, self.groups[at.0 as usize].generation));
        at
    }
}
