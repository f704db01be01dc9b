//! The candidates of every class of demand in order of score, brought up to date when one is asked for.
//!
//! A score may depend on the state and the demand alone. So a state is scored once for each class, when it has come up;
//! what has gone is dropped when it is met. Among nodes with the best score the first of the stock is taken.

use std::collections::BTreeMap;

use pool::stock::{Demand, GpuSet, Grant};

use super::cluster::{Cluster, State, StateIndex};
use super::{ClassIndex, Classes};

/// How a policy judges a candidate.
pub trait Score {
    /// The score of placing a demand that fits on a node of a state, the lower the better, and the GPUs to take, by their
    /// place in the state.
    fn score(&self, state: &State, demand: &Demand) -> Scored;
}

/// A candidate's score and the GPUs to take there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scored {
    /// The lower the better.
    pub score: f64,
    /// GPUs, by their place in the state.
    pub gpus: GpuSet,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    state: StateIndex,
    generation: u32,
    gpus: GpuSet,
}

/// A score as a number that stands in the same order.
fn rank(score: f64) -> u64 {
    // One zero; then the bits of floats of one sign are in order, those below zero the other way round.
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[derive(Clone, Debug, Default)]
struct Queue {
    by_rank: BTreeMap<u64, Vec<Candidate>>,
    count: usize,
    /// The news that it has heard.
    mark: Option<u64>,
}

/// The best candidate for any class of demand, by one way to score.
#[derive(Clone, Debug)]
pub struct Best<S> {
    score: S,
    queues: Vec<Queue>,
}

impl<S: Score> Best<S> {
    /// Nothing is scored yet.
    pub fn new(score: S) -> Self {
        Self { score, queues: Vec::new() }
    }

    /// The score of a candidate for a demand that fits it.
    pub fn rate(&self, state: &State, demand: &Demand) -> f64 {
        self.score.score(state, demand).score
    }

    /// Where a demand of a class goes; nothing where no node has room.
    pub fn choose(&mut self, cluster: &Cluster, classes: &Classes, class: ClassIndex) -> Option<Grant> {
        let demand = &classes.demands()[class.0 as usize];
        if self.queues.len() < classes.demands().len() {
            self.queues.resize_with(classes.demands().len(), Queue::default);
        }
        let queue = &mut self.queues[class.0 as usize];
        queue.catch_up(&self.score, cluster, demand);
        while let Some(mut first) = queue.by_rank.first_entry() {
            let ties = first.get_mut();
            let before = ties.len();
            let mut best = None;
            ties.retain(|candidate| {
                let group = cluster.group(candidate.state);
                let node = group.first().filter(|_| group.generation == candidate.generation);
                if let Some(node) = node
                    && best.is_none_or(|(first, _)| node < first)
                {
                    best = Some((node, candidate.gpus));
                }
                node.is_some()
            });
            queue.count -= before - ties.len();
            if let Some((node, gpus)) = best {
                return Some(Grant::new(node, demand, cluster.gpus_at(node, gpus)));
            }
            first.remove();
        }
        None
    }
}

impl Queue {
    fn add<S: Score>(&mut self, score: &S, cluster: &Cluster, state: StateIndex, demand: &Demand) {
        let group = cluster.group(state);
        if group.nodes().is_empty() || !group.state.fits(demand) {
            return;
        }
        let scored = score.score(&group.state, demand);
        let candidate = Candidate { state, generation: group.generation, gpus: scored.gpus };
        self.by_rank.entry(rank(scored.score)).or_default().push(candidate);
        self.count += 1;
    }

    fn catch_up<S: Score>(&mut self, score: &S, cluster: &Cluster, demand: &Demand) {
        // What has gone may not pile up behind the best.
        let too_many = self.count > 4 * cluster.groups().len() + 64;
        match self.mark.filter(|_| !too_many).and_then(|mark| cluster.news_since(mark)) {
            Some(news) => {
                for &(state, generation) in news {
                    if cluster.group(state).generation == generation {
                        self.add(score, cluster, state, demand);
                    }
                }
            }
            None => {
                self.by_rank.clear();
                self.count = 0;
                for state in 0..cluster.groups().len() as u32 {
                    self.add(score, cluster, StateIndex(state), demand);
                }
            }
        }
        self.mark = Some(cluster.news_count());
    }
}
