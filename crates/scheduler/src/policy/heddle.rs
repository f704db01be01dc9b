//! Heddle's own policy: how much the expected fragmentation grows, and how many tasks of the mix a placement shuts out.

use pool::stock::Demand;

use crate::placement::{Mix, Score, Scored, State};

#[derive(Clone, Debug)]
pub(super) struct Heddle(Mix);

impl Heddle {
    pub(super) const fn new(mix: Mix) -> Self {
        Self(mix)
    }

    fn worth(&self, state: &State) -> f64 {
        self.0.fragmentation(state) - self.0.copies(state)
    }
}

impl Score for Heddle {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let before = self.worth(state);
        let mut best = Scored { score: f64::INFINITY, gpus: state.tightest(demand) };
        for gpus in state.choices(demand) {
            let score = self.worth(&state.after(demand, gpus)) - before;
            if score < best.score {
                best = Scored { score, gpus };
            }
        }
        best
    }
}
