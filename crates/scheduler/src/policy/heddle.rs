//! Heddle's own policy: how much the expected fragmentation grows, and which tasks to come a placement shuts out.
//!
//! The room that a node has for a class is the root of the number of its tasks that would fit: the last that fits counts
//! most. A class weighs by how scarce its room is: the tasks of it that would come until all GPUs are asked for, over those
//! that the idle cluster could take. So what may run anywhere keeps off the models that others cannot do without. What
//! differs by less than a fifth of a GPU is as good: then the first node of the stock is taken, and whole nodes stay idle
//! for what needs them.

use pool::Stock;
use pool::stock::Demand;

use crate::placement::{Mix, Score, Scored, State};

/// Thousandths of a GPU within which two placements are as good.
const STEP_MILLI: f64 = 200.0;

/// Thousandths of a GPU that the first task of a class that is as scarce as its demand counts.
const ROOM_MILLI: f64 = 1000.0;

/// A class of the mix that wants GPUs, and the worth of the room for one.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    demand: Demand,
    weight: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Heddle {
    mix: Mix,
    wanted: Vec<Wanted>,
}

impl Heddle {
    /// For a stock that may bear something already: what is scarce is judged by all that it has.
    pub(super) fn new(mix: Mix, stock: &Stock) -> Self {
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
                let weight = ROOM_MILLI * tasks * class.share / room as f64;
                wanted.push(Wanted { demand: class.demand, weight });
            }
        }
        Self { mix, wanted }
    }

    /// The worse, the more is left that nobody can use and the less room there is.
    fn badness(&self, state: &State) -> f64 {
        let room = |class: &Wanted| class.weight * f64::from(state.copies(&class.demand)).sqrt();
        self.mix.fragmentation(state) - self.wanted.iter().map(room).sum::<f64>()
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
