//! GPUs in use first, the fuller the better; then as few idle GPUs as can be of nodes in use; then idle nodes, those with
//! fewer GPUs first. A demand for no GPU takes the first candidate.

use pool::stock::{Demand, WHOLE_GPU};

use crate::placement::{Score, Scored, State};

#[derive(Clone, Debug)]
pub(super) struct GpuPacking;

impl Score for GpuPacking {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let gpus = state.tightest(demand);
        let idle = state.idle_gpus();
        let taken_idle = gpus.iter().filter(|&at| state.gpus[at] == WHOLE_GPU).count();
        let score = match (idle == state.gpus.len(), taken_idle) {
            _ if demand.gpus == 0 => 0.0,
            (true, _) => 2e6 + idle as f64,
            (false, 0) => gpus.iter().map(|at| f64::from(state.gpus[at])).sum(),
            (false, taken) => 1e6 + taken as f64,
        };
        Scored { score, gpus }
    }
}
