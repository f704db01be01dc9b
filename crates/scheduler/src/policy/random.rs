//! Any node with room, and any GPU of it with enough left.

use pool::NodeIndex;
use pool::stock::{Demand, GpuSet, Grant, WHOLE_GPU};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::placement::Cluster;
use crate::random::below;

/// Draws from a seed.
#[derive(Clone, Debug)]
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(super) fn choose(&mut self, cluster: &Cluster, demand: &Demand) -> Option<Grant> {
        let fitting = || cluster.groups().iter().filter(|group| group.state.fits(demand));
        let count: usize = fitting().map(|group| group.nodes().len()).sum();
        let mut drawn = below(&mut self.0, count)?;
        let mut node = None;
        for group in fitting() {
            if let Some(&found) = group.nodes().get(drawn) {
                node = Some(found);
                break;
            }
            drawn -= group.nodes().len();
        }
        let node = node?;
        Some(Grant::new(node, demand, self.gpus(cluster, node, demand)))
    }

    fn gpus(&mut self, cluster: &Cluster, node: NodeIndex, demand: &Demand) -> GpuSet {
        let free = cluster.stock().gpus_free_milli(node);
        let enough = || (0..free.len()).filter(|&gpu| free[gpu] >= demand.gpu_milli);
        if demand.gpus == 1 && demand.gpu_milli < WHOLE_GPU {
            let drawn = below(&mut self.0, enough().count());
            return drawn
                .and_then(|drawn| enough().nth(drawn))
                .map_or(GpuSet::NONE, |gpu| GpuSet::NONE.with(gpu));
        }
        enough().take(usize::from(demand.gpus)).fold(GpuSet::NONE, GpuSet::with)
    }
}
