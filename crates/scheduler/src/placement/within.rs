//! Demands that ask where on a node: in one NUMA domain, beside their GPUs, or MIG instances on GPUs that are cut.
//!
//! Nodes that are alike in what they have left differ in where they have it, so each is looked at by itself. Instances go to
//! GPUs that are cut already, where they cost others least room; only where none has a place another GPU is cut. Among nodes
//! the policy judges by what a demand takes in all; of those that are as good the one whose domains lose least is taken.

use pool::NodeIndex;
use pool::stock::{Demand, Grant, Layout, Room, WHOLE_GPU};
use rustc_hash::FxHashMap;

use super::cluster::{Cluster, State};

/// Open nodes that have what a demand takes in all.
pub fn candidates<'a>(cluster: &'a Cluster, demand: &Demand) -> impl Iterator<Item = NodeIndex> + use<'a> {
    let in_all = demand.in_all();
    let groups = cluster.groups().iter().filter(move |group| group.state.fits(&in_all));
    groups.flat_map(|group| group.nodes().iter().copied())
}

/// Where a demand goes; nothing where no node has room. `rate` judges what a plain demand takes, the lower the better. A
/// preferred want is kept where any node has room for it.
pub fn choose(cluster: &Cluster, demand: &Demand, rate: &dyn Fn(&State, &Demand) -> f64) -> Option<Grant> {
    let strict = demand.strictly();
    choose_strictly(cluster, &strict, rate).or_else(|| {
        let anywhere = Demand { numa: Default::default(), ..*demand };
        (strict != *demand).then(|| choose_strictly(cluster, &anywhere, rate)).flatten()
    })
}

fn choose_strictly(
    cluster: &Cluster,
    demand: &Demand,
    rate: &dyn Fn(&State, &Demand) -> f64,
) -> Option<Grant> {
    let stock = cluster.stock();
    if demand.mig.is_some()
        && let Some(grant) = on_cut_gpus(cluster, demand)
    {
        return Some(grant);
    }
    // An instance that finds no GPU cut takes a whole one from the others.
    let taken = match demand.mig {
        Some(_) => Demand { gpus: 1, gpu_milli: WHOLE_GPU, mig: None, ..demand.in_all() },
        None => demand.in_all(),
    };
    let mut best: Option<((f64, u32), NodeIndex, Grant)> = None;
    for group in cluster.groups() {
        if group.nodes().is_empty() || !group.state.fits(&taken) {
            continue;
        }
        let rated = rate(&group.state, &taken);
        if best.as_ref().is_some_and(|(key, ..)| rated > key.0) {
            continue;
        }
        for &node in group.nodes().iter().rev() {
            let mut room = Room::of(stock, node);
            let before = wholeness(&room);
            let Some(grant) = room.place(demand) else { continue };
            let key = (rated, before - wholeness(&room));
            let better = |(other, at, _): &((f64, u32), NodeIndex, Grant)| {
                key.0.total_cmp(&other.0).then(key.1.cmp(&other.1)).then(node.cmp(at)).is_lt()
            };
            if best.as_ref().is_none_or(better) {
                best = Some((key, node, grant));
            }
            if demand.mig.is_some() {
                // Whole GPUs are alike, whatever the node.
                break;
            }
        }
    }
    best.map(|(.., grant)| grant)
}

/// How whole the NUMA domains are: the squares of the GPUs that are idle in each. A half of four counts more than two of two.
fn wholeness(room: &Room<'_>) -> u32 {
    room.idle_gpus().1.iter().map(|idle| idle * idle).sum()
}

/// The place for instances on a node with GPUs that are cut: where fewest whole ones are cut besides, and others lose least.
fn on_cut_gpus(cluster: &Cluster, demand: &Demand) -> Option<Grant> {
    let (stock, profile) = (cluster.stock(), demand.mig?);
    // What an instance costs depends on what lies on the GPU alone, and much is alike.
    let mut known: FxHashMap<(pool::ModelIndex, Layout), Option<u32>> = FxHashMap::default();
    let mut nodes: Vec<(u32, NodeIndex)> = candidates(cluster, demand)
        .filter_map(|node| {
            let model = stock.model(node).filter(|&model| demand.models.contains(model))?;
            let (cuts, number) = stock.cut_of(model, profile)?;
            let cut = stock.layouts(node).iter().filter(|layout| !layout.is_empty());
            let loss = cut.filter_map(|&layout| {
                *known
                    .entry((model, layout))
                    .or_insert_with(|| layout.best_start(cuts, number).map(|(_, loss)| loss))
            });
            Some((loss.min()?, node))
        })
        .collect();
    nodes.sort_unstable();
    let mut best: Option<(u32, Grant)> = None;
    for (_, node) in nodes {
        let Some(grant) = Room::of(stock, node).place(demand) else { continue };
        let layouts = stock.layouts(node);
        let broken = grant.gpus.iter().filter(|&gpu| layouts[gpu].is_empty()).count() as u32;
        if best.as_ref().is_none_or(|(least, _)| broken < *least) {
            best = Some((broken, grant));
        }
        if broken == 0 {
            break;
        }
    }
    // Where a whole GPU is cut for a single instance anyway, the policy says which.
    best.filter(|(broken, _)| *broken < u32::from(demand.gpus)).map(|(_, grant)| grant)
}
