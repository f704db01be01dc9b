//! Policies: which of the nodes with room a part of a job takes, and which of its GPUs. A file each.
//!
//! The first seven are what others do, written from their descriptions, so that Heddle's own can be compared with them:
//! the published comparison is that of hkust-adsl/kubernetes-scheduler-simulator (Apache 2.0).

mod best_fit;
mod dot_product;
mod fgd;
mod first_fit;
mod gpu_clustering;
mod gpu_packing;
mod heddle;
mod holes;
mod random;

use pool::Stock;
use pool::stock::{Demand, Grant};

use crate::placement::{Best, ClassIndex, Classes, Cluster, Mix, State, within};

/// The largest CPU and GPUs of any node: what amounts are compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Largest {
    cpu_milli: f64,
    gpu_milli: f64,
}

impl Largest {
    fn of(stock: &Stock) -> Self {
        let capacity = |node| stock.capacity(node);
        let cpu = stock.nodes().map(|node| capacity(node).cpu_milli).max().unwrap_or(0);
        let gpus = stock.nodes().map(|node| capacity(node).gpus).max().unwrap_or(0);
        Self { cpu_milli: f64::from(cpu.max(1)), gpu_milli: gpus.max(1) as f64 * 1000.0 }
    }
}

/// A worth from 0 to 1 in whole hundredths, as the scheduler of Kubernetes counts: what differs by less is as good. The
/// published figures come of such steps.
fn in_steps(worth: f64) -> f64 {
    (worth * 100.0).floor()
}

/// A policy by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any node with room, and any GPU of it.
    Random,
    /// The first node with room.
    FirstFit,
    /// The node with the least CPU and GPUs left over.
    BestFit,
    /// The node whose free amounts point least into the direction of the demand, after Tetris (SIGCOMM 2014).
    DotProduct,
    /// GPUs in use first, then idle ones of nodes in use, then idle nodes.
    GpuPacking,
    /// Nodes that bear demands of the same size first.
    GpuClustering,
    /// The node whose expected fragmentation grows least, after Fragmentation Gradient Descent (USENIX ATC 2023).
    Fgd,
    /// Heddle's own: what is left is worth what the tasks to come could make of it.
    Heddle,
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Random, "random"),
        (Self::FirstFit, "first-fit"),
        (Self::BestFit, "best-fit"),
        (Self::DotProduct, "dot-product"),
        (Self::GpuPacking, "gpu-packing"),
        (Self::GpuClustering, "gpu-clustering"),
        (Self::Fgd, "fgd"),
        (Self::Heddle, "heddle"),
    ];

    /// The policy of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Whether gangs are placed by the fabric where it is known. The policies of others know nodes alone.
    pub fn knows_fabrics(self) -> bool {
        self == Self::Heddle
    }

    /// Whether it looks at the sizes of what runs on a node's GPUs.
    pub fn keeps_sizes(self) -> bool {
        self == Self::GpuClustering
    }
}

/// A policy at work.
#[derive(Clone, Debug)]
pub struct Policy(Chooser);

#[derive(Clone, Debug)]
enum Chooser {
    Random(random::Random),
    FirstFit,
    BestFit(Best<best_fit::BestFit>),
    DotProduct(Best<dot_product::DotProduct>),
    GpuPacking(Best<gpu_packing::GpuPacking>),
    GpuClustering(Best<gpu_clustering::GpuClustering>),
    Fgd(Best<fgd::Fgd>),
    Heddle(Best<heddle::Heddle>),
}

impl Policy {
    /// A policy for a stock and the mix of a workload, of these demands; `seed` is what it draws chance from.
    pub fn new<'a>(
        kind: Kind,
        stock: &Stock,
        workload: impl IntoIterator<Item = &'a Demand>,
        seed: u64,
    ) -> Self {
        let largest = Largest::of(stock);
        let mix = |workload| Mix::new(workload, stock.models().len());
        Self(match kind {
            Kind::Random => Chooser::Random(random::Random::new(seed)),
            Kind::FirstFit => Chooser::FirstFit,
            Kind::BestFit => Chooser::BestFit(Best::new(best_fit::BestFit::new(largest))),
            Kind::DotProduct => Chooser::DotProduct(Best::new(dot_product::DotProduct::new(largest))),
            Kind::GpuPacking => Chooser::GpuPacking(Best::new(gpu_packing::GpuPacking)),
            Kind::GpuClustering => {
                Chooser::GpuClustering(Best::new(gpu_clustering::GpuClustering::new(largest)))
            }
            Kind::Fgd => Chooser::Fgd(Best::new(fgd::Fgd::new(mix(Vec::from_iter(workload))))),
            Kind::Heddle => {
                let workload: Vec<_> = workload.into_iter().filter(|demand| demand.mig.is_none()).collect();
                Chooser::Heddle(Best::new(heddle::Heddle::new(&workload, stock)))
            }
        })
    }

    /// Where a demand of a class goes; nothing where no node has room.
    pub fn choose(&mut self, cluster: &Cluster, classes: &Classes, class: ClassIndex) -> Option<Grant> {
        let demand = &classes.demands()[class.0 as usize];
        if !demand.is_plain() {
            return within::choose(cluster, demand, &|state, demand| self.rate(state, demand));
        }
        match &mut self.0 {
            Chooser::Random(random) => random.choose(cluster, demand),
            Chooser::FirstFit => first_fit::choose(cluster, demand),
            Chooser::BestFit(best) => best.choose(cluster, classes, class),
            Chooser::DotProduct(best) => best.choose(cluster, classes, class),
            Chooser::GpuPacking(best) => best.choose(cluster, classes, class),
            Chooser::GpuClustering(best) => best.choose(cluster, classes, class),
            Chooser::Fgd(best) => best.choose(cluster, classes, class),
            Chooser::Heddle(best) => best.choose(cluster, classes, class),
        }
    }

    /// How a policy judges a candidate that a plain demand fits, the lower the better; those that judge none take the first.
    fn rate(&self, state: &State, demand: &Demand) -> f64 {
        match &self.0 {
            Chooser::Random(_) | Chooser::FirstFit => 0.0,
            Chooser::BestFit(best) => best.rate(state, demand),
            Chooser::DotProduct(best) => best.rate(state, demand),
            Chooser::GpuPacking(best) => best.rate(state, demand),
            Chooser::GpuClustering(best) => best.rate(state, demand),
            Chooser::Fgd(best) => best.rate(state, demand),
            Chooser::Heddle(best) => best.rate(state, demand),
        }
    }
}
