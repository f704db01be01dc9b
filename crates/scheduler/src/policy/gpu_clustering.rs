//! Nodes that bear demands of the same size first: those that bear no other, then those that bear others too, then idle
//! nodes, then the rest; in each, fuller nodes first. Of their GPUs, those with least left.

use pool::stock::Demand;

use super::Largest;
use crate::placement::cluster::size_of;
use crate::placement::{Score, Scored, State};

#[derive(Clone, Debug)]
pub(super) struct GpuClustering(Largest);

impl GpuClustering {
    pub(super) const fn new(largest: Largest) -> Self {
        Self(largest)
    }
}

impl Score for GpuClustering {
    fn score(&self, state: &State, demand: &Demand) -> Scored {
        let size = size_of(demand);
        let rank = match state.sizes {
            _ if size == 0 => return Scored { score: 0.0, gpus: state.tightest(demand) },
            sizes if sizes == size => 0.0,
            sizes if sizes & size != 0 => 1.0,
            0 => 2.0,
            _ => 3.0,
        };
        let free = f64::from(state.gpu_milli()) / (self.0.gpu_milli + 1.0);
        Scored { score: rank + free, gpus: state.tightest(demand) }
    }
}
