//! Fragmentation Gradient Descent (Weng et al., USENIX ATC 2023): the node, and for a share the GPU, whose expected
//! fragmentation grows least.

use pool::stock::Demand;

use super::in_steps;
use crate::placement::{Mix, Score, Scored, State};

#[derive(Clone, Debug)]
pub(super) struct Fgd(Mix);

impl Fgd {
    pub(super) const fn new(mix: Mix) -> Self {
        Self(mix)
    }
}

impl Score for Fgd {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let before = self.0.fragmentation(state);
        let mut best = Scored { score: f64::INFINITY, gpus: state.tightest(demand) };
        for gpus in state.choices(demand) {
            let score = self.0.fragmentation(&state.after(demand, gpus)) - before;
            if score < best.score {
                best = Scored { score, gpus };
            }
        }
        best.score = -in_steps(1.0 / (1.0 + (best.score / 1000.0).exp()));
        best
    }
}
