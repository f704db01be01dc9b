//! Why a job can never run on a cluster, however idle.

use pool::Stock;
use pool::stock::Demand;

use crate::placement::State;

/// What is in the way of a gang of so many parts on the idle cluster; nothing where it fits.
pub fn why_never(stock: &Stock, demand: &Demand, parts: u32) -> Option<String> {
    let nodes: Vec<_> = stock.nodes().collect();
    let idle = stock.reordered(&nodes);
    let states = || idle.nodes().map(|node| State::of(&idle, node, 0));
    let room: u64 = states().map(|state| u64::from(state.copies(demand))).sum();
    if room >= u64::from(parts) {
        return None;
    }
    if room > 0 {
        return Some(format!("the cluster has room for {room} of its {parts} parts"));
    }
    let of_model = || {
        states().filter(|state| demand.gpus == 0 || state.model.is_some_and(|m| demand.models.contains(m)))
    };
    let most = |amount: fn(&State) -> u32| of_model().map(|state| amount(&state)).max().unwrap_or(0);
    let (gpus, cpu, memory) = (most(|s| s.gpus.len() as u32), most(|s| s.cpu_milli), most(|s| s.memory_mib));
    Some(if of_model().next().is_none() {
        "no node has a model of GPU that it asks for".to_owned()
    } else if gpus < u32::from(demand.gpus) {
        format!("it wants {} GPUs of one node, and the most that a node has is {gpus}", demand.gpus)
    } else if cpu < demand.cpu_milli {
        format!(
            "it wants {} cores of one node, and the most is {}",
            thousandths(demand.cpu_milli),
            thousandths(cpu)
        )
    } else if memory < demand.memory_mib {
        format!("it wants {} MiB of one node, and the most is {memory}", demand.memory_mib)
    } else {
        "no one node has all that it wants together".to_owned()
    })
}

fn thousandths(milli: u32) -> f64 {
    f64::from(milli) / 1000.0
}
