//! Jobs that want the same: what has no room for one of them has none for the others.

use pool::Stock;
use pool::stock::{Demand, NumaWant};
use rustc_hash::FxHashMap;

use super::place;
use crate::job::Job;
use crate::network::{Locality, Want, can_ever};
use crate::placement::ClassIndex;
use crate::replay::never::why_never;

/// A shape by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ShapeIndex(u32);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Shape {
    class: ClassIndex,
    parts: u32,
    most_a_node: Option<u32>,
    wants: Vec<Want>,
}

/// All shapes that have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    index: FxHashMap<Shape, ShapeIndex>,
    /// What keeps each from ever starting, if anything does.
    never: Vec<Option<String>>,
}

impl Shapes {
    /// The shape of a job, or what keeps it from ever starting on a stock, however idle.
    pub(super) fn of(
        &mut self,
        job: &Job,
        class: ClassIndex,
        stock: &Stock,
        locality: Option<&Locality>,
    ) -> Result<ShapeIndex, String> {
        let (parts, most_a_node, wants) = (job.parts, job.most_a_node, job.wants.clone());
        let shape = Shape { class, parts, most_a_node, wants };
        let index = *self.index.entry(shape).or_insert_with(|| {
            self.never.push(never(job, stock, locality));
            ShapeIndex(self.never.len() as u32 - 1)
        });
        self.never[index.0 as usize].clone().map_or(Ok(index), Err)
    }
}

fn never(job: &Job, stock: &Stock, locality: Option<&Locality>) -> Option<String> {
    if let Some(reason) = why_never(stock, &job.demand, job.parts) {
        return Some(reason);
    }
    if job.most_a_node.is_none() && job.wants.is_empty() {
        return None;
    }
    let nodes: Vec<_> = stock.nodes().collect();
    let room = place::room(&stock.reordered(&nodes), job);
    let total: u64 = room.iter().map(|&room| u64::from(room)).sum();
    if let Some(most) = job.most_a_node.filter(|_| total < u64::from(job.parts)) {
        let parts = job.parts;
        return Some(format!(
            "with {most} parts on a node at the most, the cluster has room for {total} of its {parts} parts"
        ));
    }
    match locality {
        Some(locality) => {
            let refusal = can_ever(locality, &room, job.parts, &job.wants).err()?.to_string();
            // Other wants may be what makes the groups so small.
            let would_fit = |other: &Job| {
                let room = place::room(&stock.reordered(&nodes), other);
                can_ever(locality, &room, job.parts, &job.wants).is_ok()
            };
            let spread = job.most_a_node.filter(|_| would_fit(&Job { most_a_node: None, ..job.clone() }));
            let demand = Demand { numa: NumaWant::Anywhere, ..job.demand };
            let within = job.demand.numa.is_required() && would_fit(&Job { demand, ..job.clone() });
            Some(match spread {
                Some(most) => format!("{refusal}, with {most} parts on a node at the most"),
                None if within => format!("{refusal}, with each part {}", job.demand.numa.phrase()),
                None => refusal,
            })
        }
        None => job.wants.iter().find(|want| want.required).map(|want| {
            format!("it requires all its parts in one {}, and the fabric is not known", want.level.phrase())
        }),
    }
}
