//! The first node with room, in the order of the stock, and its GPUs with least left.

use pool::stock::{Demand, GpuSet, Grant};

use crate::placement::Cluster;

pub(super) fn choose(cluster: &Cluster, demand: &Demand) -> Option<Grant> {
    let stock = cluster.stock();
    let node = stock.nodes().find(|&node| stock.fits(node, demand))?;
    let free = stock.gpus_free_milli(node);
    let mut enough: Vec<usize> = (0..free.len()).filter(|&gpu| free[gpu] >= demand.gpu_milli).collect();
    enough.sort_by_key(|&gpu| (free[gpu], gpu));
    let gpus = enough.into_iter().take(usize::from(demand.gpus)).fold(GpuSet::NONE, GpuSet::with);
    Some(Grant::new(node, demand, gpus))
}
