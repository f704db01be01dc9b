//! Why a job can never run on a cluster, however idle.

use pool::Stock;
use pool::stock::{Demand, NumaWant, Room};

use crate::placement::State;

/// What is in the way of a gang of so many parts on the idle cluster; nothing where it fits.
pub fn why_never(stock: &Stock, demand: &Demand, parts: u32) -> Option<String> {
    let nodes: Vec<_> = stock.nodes().collect();
    let idle = stock.reordered(&nodes);
    let states = || idle.nodes().map(|node| State::of(&idle, node, 0));
    let room_for = |demand: &Demand| -> u64 {
        if demand.is_plain() {
            states().map(|state| u64::from(state.copies(demand))).sum()
        } else {
            idle.nodes().map(|node| u64::from(Room::of(&idle, node).copies(demand))).sum()
        }
    };
    let room = room_for(demand);
    if room >= u64::from(parts) {
        return None;
    }
    let anywhere = Demand { numa: NumaWant::Anywhere, ..*demand };
    if room > 0 && room_for(&anywhere) >= u64::from(parts) {
        let want = demand.numa.phrase();
        return Some(format!("with each part {want} the cluster has room for {room} of its {parts} parts"));
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
    } else if let Some(name) = demand.mig.and_then(|profile| idle.profiles().get(usize::from(profile.0))) {
        let fewer = Demand { gpus: 1, cpu_milli: 0, memory_mib: 0, ..*demand };
        let most = idle.nodes().map(|node| Room::of(&idle, node).copies(&fewer)).max().unwrap_or(0);
        format!(
            "it wants {} instances of {name} of one node, and the most that has room is {most}",
            demand.gpus
        )
    } else if demand.numa.is_required() && states().any(|state| state.fits(&demand.in_all())) {
        no_domain(&idle, demand)
    } else {
        "no one node has all that it wants together".to_owned()
    })
}

/// What keeps a demand, for all of which there are nodes, from any NUMA domain.
fn no_domain(idle: &Stock, demand: &Demand) -> String {
    let fitting = || idle.nodes().filter(|&node| idle.fits(node, &demand.in_all()));
    let domains = || fitting().flat_map(|node| idle.domains(node));
    let cpu = domains().map(|domain| domain.cpu_milli).max().unwrap_or(0);
    let memory = domains().map(|domain| domain.memory_mib).max().unwrap_or(0);
    let gpus = fitting().flat_map(|node| Room::of(idle, node).idle_gpus().1).max().unwrap_or(0);
    let (wanted, place) = match demand.numa {
        NumaWant::Beside => ("beside its GPUs", "each in the NUMA domain of its GPU"),
        _ => ("in one NUMA domain", "together in one NUMA domain"),
    };
    if demand.numa == NumaWant::One && u32::from(demand.gpus) > gpus {
        format!("it wants {} GPUs {wanted}, and the most that one has is {gpus}", demand.gpus)
    } else if demand.numa == NumaWant::One && demand.cpu_milli > cpu {
        let (cores, most) = (thousandths(demand.cpu_milli), thousandths(cpu));
        format!("it wants {cores} cores {wanted}, and the most that one has is {most}")
    } else if demand.numa == NumaWant::One && demand.memory_mib > memory {
        format!("it wants {} MiB {wanted}, and the most that one has is {memory}", demand.memory_mib)
    } else {
        format!("no node has its GPUs, CPU and memory {place}")
    }
}

fn thousandths(milli: u32) -> f64 {
    f64::from(milli) / 1000.0
}
