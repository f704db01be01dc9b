//! The node with the least product of what is free and what is wanted, summed over CPU and GPUs, each as a part of the
//! largest node's: the alignment of Tetris (Grandl et al., SIGCOMM 2014), turned so that full nodes come first. Of its
//! GPUs, those with least left.

use pool::stock::Demand;

use super::{Largest, in_steps};
use crate::placement::{Score, Scored, State};

#[derive(Clone, Debug)]
pub(super) struct DotProduct(Largest);

impl DotProduct {
    pub(super) const fn new(largest: Largest) -> Self {
        Self(largest)
    }
}

impl Score for DotProduct {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let cpu = f64::from(state.cpu_milli) * f64::from(demand.cpu_milli) / self.0.cpu_milli.powi(2);
        let gpu =
            f64::from(state.gpu_milli()) * f64::from(demand.gpu_milli_total()) / self.0.gpu_milli.powi(2);
        Scored { score: -in_steps(1.0 - 0.5 * (cpu + gpu)), gpus: state.tightest(demand) }
    }
}
