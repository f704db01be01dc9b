//! Heddle's own policy: what is left on a node is worth what the tasks to come could make of it.
//!
//! Three things count, in thousandths of a GPU. Scraps: the part of a hole on a GPU that the shares that come cannot fill,
//! by the prices of their best packing (`holes`). Idle for want of CPU: GPUs that the node's CPU does not suffice for, as much
//! as the mix wants beside a GPU. Room: the root of the number of tasks of a class that would fit, for the last that fits
//! counts most; a class weighs by how scarce its room is, the tasks of it that would come until all GPUs are asked for over
//! those that the idle cluster could take, so that what may run anywhere keeps off the models that others cannot do without.
//! What differs by less than a step is as good: then the first node of the stock is taken, and whole nodes stay idle for
//! what needs them.
//!
//! The constants are the same for every workload. Without [`BY_GPUS`] others of them decide by a hair whether nodes of eight
//! are broken into while smaller ones stand idle; with it, a [`STEP_MILLI`] of 120 to 200 moves no figure of openb by more than half a point.

use pool::Stock;
use pool::stock::Demand;

use super::holes::Holes;
use crate::placement::{Mix, Score, Scored, State};

/// Thousandths of a GPU within which two placements are as good.
const STEP_MILLI: f64 = 120.0;

/// Thousandths of a GPU that the first task of a class that is as scarce as its demand counts.
const ROOM_MILLI: f64 = 1000.0;

/// A class counts by this power of its GPUs: room for eight on one node, once gone, does not come back before they all leave.
const BY_GPUS: f64 = 0.1;

/// How often a thousandth of a GPU counts that no share can fill.
const SCRAPS: f64 = 3.0;

/// How often a thousandth of a GPU counts that no CPU is left for.
const WANT_OF_CPU: f64 = 0.5;

/// A class of the mix that wants GPUs, and the worth of the room for one.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    demand: Demand,
    weight: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Heddle {
    holes: Holes,
    wanted: Vec<Wanted>,
    /// Thousandths of a GPU that the mix makes use of with a thousandth of a core, in the best packing of its shares.
    gpu_by_cpu: f64,
}

impl Heddle {
    /// For a stock that may bear something already: what is scarce is judged by all that it has.
    pub(super) fn new(workload: &[&Demand], stock: &Stock) -> Self {
        let mix = Mix::new(workload.iter().copied(), stock.models().len());
        let nodes: Vec<_> = stock.nodes().collect();
        let idle = stock.reordered(&nodes);
        let mean: f64 =
            mix.popular().iter().map(|class| class.share * f64::from(class.demand.gpu_milli_total())).sum();
        let tasks = if mean > 0.0 { idle.gpu_free_total_milli() as f64 / mean } else { 0.0 };
        let mut wanted = Vec::new();
        for class in mix.popular().iter().filter(|class| class.demand.gpus > 0) {
            let room: u64 =
                idle.nodes().map(|node| u64::from(State::of(&idle, node, 0).copies(&class.demand))).sum();
            if room > 0 {
                let by_gpus = f64::from(class.demand.gpus).powf(BY_GPUS);
                let weight = ROOM_MILLI * by_gpus * tasks * class.share / room as f64;
                wanted.push(Wanted { demand: class.demand, weight });
            }
        }
        let holes = Holes::new(workload);
        let with_gpus = || workload.iter().filter(|demand| demand.gpus > 0);
        let gpu: f64 = with_gpus().map(|demand| holes.worth_of(demand)).sum();
        let cpu: f64 = with_gpus().map(|demand| f64::from(demand.cpu_milli)).sum();
        let gpu_by_cpu = if cpu > 0.0 { gpu / cpu } else { f64::INFINITY };
        Self { holes, wanted, gpu_by_cpu }
    }

    /// The worse, the more is left that nobody can use and the less room there is.
    fn badness(&self, state: &State) -> f64 {
        let usable: f64 = state.gpus.iter().map(|&free| self.holes.worth(free)).sum();
        let scraps = f64::from(state.gpu_milli()) - usable;
        let lacking = if self.gpu_by_cpu.is_finite() {
            (usable - f64::from(state.cpu_milli) * self.gpu_by_cpu).max(0.0)
        } else {
            0.0
        };
        let room = |class: &Wanted| class.weight * f64::from(state.copies(&class.demand)).sqrt();
        SCRAPS * scraps + WANT_OF_CPU * lacking - self.wanted.iter().map(room).sum::<f64>()
    }
}

impl Score for Heddle {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let before = self.badness(state);
        let mut best = Scored { score: f64::INFINITY, gpus: state.tightest(demand) };
        for gpus in state.choices(demand) {
            let score = self.badness(&state.after(demand, gpus)) - before;
            if score < best.score {
                best = Scored { score, gpus };
            }
        }
        best.score = (best.score / STEP_MILLI).ceil();
        best
    }
}
