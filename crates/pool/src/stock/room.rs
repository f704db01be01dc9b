//! How many parts of a job one node takes, and where on it they lie.
//!
//! A [`Room`] is what one node has left, to be taken from part after part before anything is taken from the stock. What it
//! counts and what it places agree: [`Room::copies`] parts can be placed one after another, and no more.
//!
//! Of equal places those are taken that leave the most for others: the GPUs that have least left but enough, the NUMA domain
//! that has fewest of them, GPUs that are cut already for an instance, and there the start that leaves most room for larger ones.

use smallvec::SmallVec;

use super::Stock;
use super::demand::{Demand, GpuSet, Grant, NumaWant, Pin, WHOLE_GPU};
use super::domains::{Domain, beside};
use super::mig::{Instances, Layout};
use crate::catalog::MigModel;
use crate::index::NodeIndex;

/// What one node has left.
#[derive(Clone, Debug)]
pub struct Room<'a> {
    stock: &'a Stock,
    node: NodeIndex,
    cpu_milli: u32,
    memory_mib: u32,
    gpus: SmallVec<[u16; 8]>,
    /// What each NUMA domain has left to pin; empty where the node is one.
    domains: SmallVec<[Domain; 4]>,
    /// What lies on each GPU; empty where nothing does.
    layouts: SmallVec<[Layout; 8]>,
}

/// GPUs and instances that a part takes.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    gpus: GpuSet,
    instances: Option<Instances>,
}

impl<'a> Room<'a> {
    /// What a node of the stock has left, open or not.
    pub fn of(stock: &'a Stock, node: NodeIndex) -> Self {
        Self {
            stock,
            node,
            cpu_milli: stock.cpu_free_milli(node),
            memory_mib: stock.memory_free_mib(node),
            gpus: SmallVec::from_slice(stock.gpus_free_milli(node)),
            domains: stock.domains_left(node).collect(),
            layouts: SmallVec::from_slice(stock.layouts(node)),
        }
    }

    /// How many parts that want this could be placed one after another.
    pub fn copies(&self, demand: &Demand) -> u32 {
        if demand.gpus > 0 && !self.stock.model(self.node).is_some_and(|model| demand.models.contains(model))
        {
            return 0;
        }
        let whole = Domain { cpu_milli: self.cpu_milli, memory_mib: self.memory_mib };
        let part = Domain { cpu_milli: demand.cpu_milli, memory_mib: demand.memory_mib };
        let gpus = u32::from(demand.gpus);
        let parts = |units: u32| units.checked_div(gpus).unwrap_or(u32::MAX);
        let domains = || (0..self.domains.len()).map(|domain| (domain, self.domains[domain]));
        let by_gpus = match demand.numa {
            NumaWant::One if !self.domains.is_empty() => domains()
                .map(|(at, left)| parts(self.units(demand, Some(at))).min(times(left, part)))
                .fold(0, u32::saturating_add),
            NumaWant::Beside if !self.domains.is_empty() && gpus > 0 => parts(
                domains()
                    .map(|(at, left)| self.units(demand, Some(at)).min(times(left, beside(part, gpus))))
                    .fold(0, u32::saturating_add),
            ),
            _ => parts(self.units(demand, None)),
        };
        by_gpus.min(times(whole, part))
    }

    /// Places one part, if there is room for it, and counts it as taken here. A preferred want is kept where it can be.
    pub fn place(&mut self, demand: &Demand) -> Option<Grant> {
        let of_model = |model| demand.models.contains(model);
        if self.cpu_milli < demand.cpu_milli
            || self.memory_mib < demand.memory_mib
            || demand.gpus > 0 && !self.stock.model(self.node).is_some_and(of_model)
        {
            return None;
        }
        let want = if self.domains.is_empty() { NumaWant::Anywhere } else { demand.numa };
        let (taken, pin) = match want {
            NumaWant::Anywhere => (self.anywhere(demand)?, Pin::Floating),
            NumaWant::One => self.in_one(demand)?,
            NumaWant::Beside => self.beside(demand)?,
            NumaWant::PreferOne => {
                self.in_one(demand).or_else(|| Some((self.anywhere(demand)?, Pin::Floating)))?
            }
            NumaWant::PreferBeside => {
                self.beside(demand).or_else(|| Some((self.anywhere(demand)?, Pin::Floating)))?
            }
        };
        let Taken { gpus, instances } = taken;
        let grant = Grant { pin, instances, ..Grant::new(self.node, demand, gpus) };
        self.cpu_milli -= demand.cpu_milli;
        self.memory_mib -= demand.memory_mib;
        Some(grant)
    }

    /// GPUs, shares or instances that there is room for, in one domain or in all.
    fn units(&self, demand: &Demand, domain: Option<usize>) -> u32 {
        let Some(profile) = demand.mig else {
            let free = self.gpus_in(domain).map(|gpu| u32::from(self.gpus[gpu]));
            return free.map(|free| free.checked_div(demand.gpu_milli.into()).unwrap_or(0)).sum();
        };
        let model = self.stock.model(self.node).and_then(|model| self.stock.cut_of(model, profile));
        let Some((model, number)) = model else { return 0 };
        let mut whole = None;
        self.gpus_in(domain)
            .filter_map(|gpu| self.layout(gpu))
            .map(|layout| match whole {
                Some(whole) if layout.is_empty() => whole,
                _ => {
                    let room = layout.room(model, number);
                    whole = if layout.is_empty() { Some(room) } else { whole };
                    room
                }
            })
            .sum()
    }

    /// The GPUs of a domain, or all.
    fn gpus_in(&self, domain: Option<usize>) -> impl Iterator<Item = usize> + use<'a> {
        let of_gpus = self.stock.domain_of_gpus(self.node);
        let is_in = move |gpu: &usize| domain.is_none_or(|domain| usize::from(of_gpus[*gpu]) == domain);
        (0..of_gpus.len()).filter(is_in)
    }

    /// What lies on a GPU that may bear instances: it is cut, or whole and idle.
    fn layout(&self, gpu: usize) -> Option<Layout> {
        let layout = self.layouts.get(gpu).copied().unwrap_or_default();
        (!layout.is_empty() || self.gpus[gpu] == WHOLE_GPU).then_some(layout)
    }

    fn anywhere(&mut self, demand: &Demand) -> Option<Taken> {
        if self.units(demand, None) < u32::from(demand.gpus) {
            return None;
        }
        let mut taken = Taken::default();
        self.take(demand, demand.gpus.into(), None, &mut taken)?;
        Some(taken)
    }

    /// All in the domain with the fewest GPUs that suffices; of those the one with least CPU left.
    fn in_one(&mut self, demand: &Demand) -> Option<(Taken, Pin)> {
        let part = Domain { cpu_milli: demand.cpu_milli, memory_mib: demand.memory_mib };
        let suffices = |&(units, domain): &(u32, usize)| {
            units >= u32::from(demand.gpus) && times(self.domains[domain], part) > 0
        };
        let domains = (0..self.domains.len()).map(|domain| (self.units(demand, Some(domain)), domain));
        let key = |&(units, domain): &(u32, usize)| (units, self.domains[domain].cpu_milli, domain);
        let (_, domain) = domains.filter(suffices).min_by_key(key)?;
        let mut taken = Taken::default();
        self.take(demand, demand.gpus.into(), Some(domain), &mut taken)?;
        self.domains[domain].cpu_milli -= demand.cpu_milli;
        self.domains[domain].memory_mib -= demand.memory_mib;
        Some((taken, Pin::Domain(domain as u8)))
    }

    /// In one domain if that suffices, else from those that have most.
    fn beside(&mut self, demand: &Demand) -> Option<(Taken, Pin)> {
        if demand.gpus == 0 {
            return Some((Taken::default(), Pin::Floating));
        }
        let wanted = u32::from(demand.gpus);
        let part = Domain { cpu_milli: demand.cpu_milli, memory_mib: demand.memory_mib };
        let each = beside(part, wanted);
        let units = |domain: usize| self.units(demand, Some(domain)).min(times(self.domains[domain], each));
        let mut domains: SmallVec<[(u32, usize); 4]> =
            (0..self.domains.len()).map(|domain| (units(domain), domain)).collect();
        if domains.iter().fold(0, |sum: u32, &(units, _)| sum.saturating_add(units)) < wanted {
            return None;
        }
        // Those that suffice alone first, the smallest of them in front; then the largest.
        domains.sort_by_key(|&(units, domain)| {
            let suffices = units >= wanted;
            (!suffices, if suffices { units } else { u32::MAX - units }, domain)
        });
        let (mut taken, mut left) = (Taken::default(), wanted);
        for (units, domain) in domains {
            let here = units.min(left);
            self.take(demand, here, Some(domain), &mut taken)?;
            self.domains[domain].cpu_milli -= each.cpu_milli * here;
            self.domains[domain].memory_mib -= each.memory_mib * here;
            left -= here;
        }
        Some((taken, Pin::Beside))
    }

    /// Takes so many GPUs or instances, of which there are so many.
    fn take(&mut self, demand: &Demand, count: u32, domain: Option<usize>, taken: &mut Taken) -> Option<()> {
        let Some(profile) = demand.mig else {
            let mut order: SmallVec<[(u16, usize); 8]> = self
                .gpus_in(domain)
                .map(|gpu| (self.gpus[gpu], gpu))
                .filter(|&(free, _)| free >= demand.gpu_milli)
                .collect();
            order.sort_unstable();
            for &(_, gpu) in order.get(..count as usize)? {
                self.gpus[gpu] -= demand.gpu_milli;
                taken.gpus = taken.gpus.with(gpu);
            }
            return Some(());
        };
        let (model, number) = self.stock.cut_of(self.stock.model(self.node)?, profile)?;
        let mut instances = taken.instances.unwrap_or(Instances::none(profile));
        for _ in 0..count {
            let (gpu, start) = self.best_instance(model, number, domain)?;
            if self.layouts.is_empty() {
                self.layouts.resize(self.gpus.len(), Layout::EMPTY);
            }
            self.layouts[gpu] = self.layouts[gpu].with(number, start);
            self.gpus[gpu] = 0;
            instances = instances.with(gpu, start)?;
        }
        taken.gpus = instances.gpus();
        taken.instances = Some(instances);
        Some(())
    }

    /// The place of an instance: a GPU that is cut already, where it costs least room for others; else the first whole one.
    fn best_instance(&self, model: &MigModel, number: usize, domain: Option<usize>) -> Option<(usize, u8)> {
        let places = self.gpus_in(domain).filter_map(|gpu| {
            let layout = self.layout(gpu)?;
            let (start, loss) = layout.best_start(model, number)?;
            Some(((layout.is_empty(), loss, layout.mask(model).count_zeros(), gpu), start))
        });
        places.min().map(|((.., gpu), start)| (gpu, start))
    }

    /// GPUs that nobody uses, in all and in each NUMA domain, where the node has several.
    pub fn idle_gpus(&self) -> (u32, SmallVec<[u32; 4]>) {
        let idle = |domain| self.gpus_in(domain).filter(|&gpu| self.gpus[gpu] == WHOLE_GPU).count() as u32;
        (idle(None), (0..self.domains.len()).map(|domain| idle(Some(domain))).collect())
    }
}

/// How often a part fits into what is left.
fn times(left: Domain, part: Domain) -> u32 {
    let by_cpu = left.cpu_milli.checked_div(part.cpu_milli).unwrap_or(u32::MAX);
    by_cpu.min(left.memory_mib.checked_div(part.memory_mib).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
