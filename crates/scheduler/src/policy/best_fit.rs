//! The node with the least left over: the mean of free CPU and free GPUs after the placement, each as a part of the
//! largest node's. Of its GPUs, those with least left.

use pool::stock::Demand;

use super::Largest;
use crate::placement::{Score, Scored, State};

#[derive(Clone, Debug)]
pub(super) struct BestFit(Largest);

impl BestFit {
    pub(super) const fn new(largest: Largest) -> Self {
        Self(largest)
    }
}

impl Score for BestFit {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let cpu = f64::from(state.cpu_milli - demand.cpu_milli) / self.0.cpu_milli;
        let gpu = f64::from(state.gpu_milli() - demand.gpu_milli_total()) / self.0.gpu_milli;
        Scored { score: 0.5 * (cpu + gpu), gpus: state.tightest(demand) }
    }
}
