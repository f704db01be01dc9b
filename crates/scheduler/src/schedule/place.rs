//! Room for a whole gang: how many parts each node could take, and which GPUs they get.

use pool::stock::{Demand, GpuSet, Grant, Pin, Room, WHOLE_GPU};
use pool::{NodeIndex, Stock};
use smallvec::SmallVec;

use crate::job::Job;
use crate::network::{Ask, Locality, choose};
use crate::placement::{Cluster, State, within};

/// What a job holds, a grant a part.
pub type Grants = SmallVec<[Grant; 1]>;

/// How many parts of a job a node could take now.
pub(super) fn room_on(stock: &Stock, node: NodeIndex, job: &Job) -> u32 {
    let copies = if !job.demand.is_plain() {
        if stock.is_open(node) { Room::of(stock, node).copies(&job.demand) } else { 0 }
    } else if stock.fits(node, &job.demand) {
        State::of(stock, node, 0).copies(&job.demand)
    } else {
        0
    };
    copies.min(job.most_a_node.unwrap_or(u32::MAX))
}

/// How many parts of a job each node could take now.
pub(super) fn room(stock: &Stock, job: &Job) -> Vec<u32> {
    stock.nodes().map(|node| room_on(stock, node, job)).collect()
}

/// The same of a cluster, of which nodes that are alike are looked at once.
pub(super) fn room_in(cluster: &Cluster, job: &Job) -> Vec<u32> {
    let mut room = vec![0; cluster.stock().len()];
    if !job.demand.is_plain() {
        for node in within::candidates(cluster, &job.demand) {
            room[node.index()] = room_on(cluster.stock(), node, job);
        }
        return room;
    }
    for group in cluster.groups().iter().filter(|group| !group.nodes().is_empty()) {
        let copies = group.state.copies(&job.demand).min(job.most_a_node.unwrap_or(u32::MAX));
        for node in group.nodes() {
            room[node.index()] = copies;
        }
    }
    room
}

/// Whether all nodes together have room for a gang's parts.
pub(super) fn has_room(cluster: &Cluster, job: &Job) -> bool {
    let (mut room, parts) = (0, u64::from(job.parts));
    if !job.demand.is_plain() {
        return within::candidates(cluster, &job.demand).any(|node| {
            room += u64::from(room_on(cluster.stock(), node, job));
            room >= parts
        });
    }
    cluster.groups().iter().any(|group| {
        let copies = group.state.copies(&job.demand).min(job.most_a_node.unwrap_or(u32::MAX));
        room += group.nodes().len() as u64 * u64::from(copies);
        room >= parts
    })
}

/// Room for so many parts: nodes that are nearly full first, so that idle ones stay whole. Nothing where there is too little.
fn pack(room: &[u32], parts: u32) -> Option<Vec<(NodeIndex, u32)>> {
    let mut nodes: Vec<(u32, u32)> = room
        .iter()
        .enumerate()
        .filter(|(_, room)| **room > 0)
        .map(|(node, &room)| (room, node as u32))
        .collect();
    nodes.sort_unstable();
    let mut wanted = parts;
    let mut seats = Vec::new();
    for (room, node) in nodes {
        let here = room.min(wanted);
        seats.push((NodeIndex(node), here));
        wanted -= here;
        if wanted == 0 {
            return Some(seats);
        }
    }
    (wanted == 0).then_some(seats)
}

/// Places for so many parts on one node; fewer where there is room for fewer.
fn grants_on(stock: &Stock, node: NodeIndex, demand: &Demand, parts: u32, grants: &mut Grants) {
    let mut room = Room::of(stock, node);
    grants.extend((0..parts).map_while(|_| room.place(demand)));
}

/// Places for so many parts on a node.
pub(super) fn on_node(stock: &Stock, node: NodeIndex, job: &Job, parts: u32) -> Grants {
    let mut grants = Grants::new();
    grants_on(stock, node, &job.demand, parts, &mut grants);
    grants
}

/// Whole idle GPUs of a node.
pub(super) fn idle(stock: &Stock, node: NodeIndex) -> u32 {
    stock.gpus_free_milli(node).iter().filter(|&&free| free == WHOLE_GPU).count() as u32
}

/// Places for a whole gang in a stock with so much room on each node: near each other where the fabric is known, else on nodes
/// that are nearly full. Nothing where there is too little room, or none that is as the job requires.
pub(super) fn gang(locality: Option<&Locality>, job: &Job, stock: &Stock, room: &[u32]) -> Option<Grants> {
    let seats = match locality {
        Some(locality) if job.parts > 1 => {
            let ask = Ask { capacity: room, members: job.parts, wants: &job.wants, most: 1 };
            choose(locality, &ask).ok()?.swap_remove(0).nodes
        }
        _ => pack(room, job.parts)?,
    };
    on_seats(stock, job, &seats)
}

/// Grants for a gang on these seats, if there is room.
pub(super) fn on_seats(stock: &Stock, job: &Job, seats: &[(NodeIndex, u32)]) -> Option<Grants> {
    let mut grants = Grants::new();
    for &(node, parts) in seats {
        grants_on(stock, node, &job.demand, parts, &mut grants);
    }
    (grants.len() == job.parts as usize).then_some(grants)
}

/// The GPUs of a grant that nobody uses, without CPU and memory: what is kept back of it where it is not all free. Nothing
/// where there are none.
pub(super) fn idle_part(stock: &Stock, grant: &Grant) -> Option<Grant> {
    if grant.instances.is_some() {
        return None;
    }
    let free = stock.gpus_free_milli(grant.node);
    let idle = grant.gpus.iter().filter(|&gpu| free.get(gpu).is_some_and(|&free| free == WHOLE_GPU));
    let gpus = idle.fold(GpuSet::NONE, GpuSet::with);
    (!gpus.is_empty()).then_some(Grant { gpus, cpu_milli: 0, memory_mib: 0, pin: Pin::Floating, ..*grant })
}

/// Takes what is free of a grant out of a stock.
pub(super) fn keep_back(stock: &mut Stock, grant: &Grant) {
    if stock.allocate(grant).is_err()
        && let Some(part) = idle_part(stock, grant)
    {
        // Nobody uses it.
        let _ = stock.allocate(&part);
    }
}
