//! How well a gang lies in the network, and which of several places it takes.
//!
//! A place's cost is a weighted sum: the mean hops between parts, how full the fullest link of the gang would be beside all
//! that runs, and how many of its links are to be avoided. The least cost is taken; of equals the one that leaves larger
//! groups whole.

use pool::NodeIndex;
use pool::stock::Grant;
use serde::Serialize;

use super::Scheduler;
use super::place::{self, Grants};
use crate::job::{Job, JobIndex};
use crate::network::{Ask, Contention, Load, Proposal, Spread, Topology};

/// Proposals that are weighed against each other where a gang's traffic or the health of links tells them apart.
const PROPOSALS: usize = 6;

/// What the parts of a place's cost count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// Of a hop between two parts, in the mean.
    pub locality: f64,
    /// Of the fullest link being in full use.
    pub contention: f64,
    /// Of a link that is to be avoided.
    pub health: f64,
}

impl Default for Weights {
    /// A link in full use costs as much as four hops more, one to be avoided as much as ten.
    fn default() -> Self {
        Self { locality: 1.0, contention: 4.0, health: 10.0 }
    }
}

/// How a gang lies in the network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fit {
    /// How far its parts are strewn.
    pub spread: Spread,
    /// How full its links were when it started, its own traffic included; nothing where no tables or no traffic are known.
    pub contention: Option<Contention>,
    /// The weighted sum.
    pub cost: f64,
    #[serde(skip)]
    load: Load,
}

/// The nodes of grants in the order of ranks, each once.
fn nodes_of(grants: &[Grant]) -> Vec<NodeIndex> {
    let mut nodes: Vec<NodeIndex> = Vec::new();
    for grant in grants {
        if nodes.last() != Some(&grant.node) && !nodes.contains(&grant.node) {
            nodes.push(grant.node);
        }
    }
    nodes
}

fn cost(weights: Weights, spread: &Spread, contention: Option<&Contention>) -> f64 {
    let (fullest, avoided) =
        contention.map_or((0.0, 0), |contention| (contention.worst, contention.avoided_links));
    weights.locality * spread.mean_hops + weights.contention * fullest + weights.health * f64::from(avoided)
}

impl Scheduler {
    /// The best place for a gang now, with its grants; nothing is taken.
    pub(super) fn best_place(&self, job: JobIndex) -> Option<Grants> {
        let wanted = &self.entries[job.index()].job;
        let strict = wanted.demand.strictly();
        if strict != wanted.demand
            && let Some(grants) = self.best_place_of(&Job { demand: strict, ..wanted.clone() })
        {
            return Some(grants);
        }
        self.best_place_of(wanted)
    }

    fn best_place_of(&self, wanted: &Job) -> Option<Grants> {
        let (stock, room) = (self.cluster.stock(), place::room_in(&self.cluster, wanted));
        let Some(network) = self.network.as_ref().filter(|_| !wanted.traffic.is_empty()) else {
            return place::gang(self.locality(), wanted, stock, &room);
        };
        let weighed = self.weighed_in(network, wanted, &room);
        let met = weighed.iter().map(|(_, proposal)| proposal.candidate.unmet.len()).min()?;
        let (_, best) = weighed
            .iter()
            .filter(|(_, proposal)| proposal.candidate.unmet.len() == met)
            .min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        place::on_seats(stock, wanted, &best.candidate.nodes)
    }

    fn weighed_in(&self, network: &Topology, wanted: &Job, room: &[u32]) -> Vec<(f64, Proposal)> {
        let ask = Ask { capacity: room, members: wanted.parts, wants: &wanted.wants, most: PROPOSALS };
        let proposals = network.propose(&ask, &wanted.traffic).unwrap_or_default();
        let weigh = |proposal: Proposal| {
            let cost = cost(self.config.weights, &proposal.candidate.spread, proposal.contention.as_ref());
            (cost, proposal)
        };
        proposals.into_iter().map(weigh).collect()
    }

    /// The places that are weighed against each other for a gang, as if it were to start now, each with its cost; none where
    /// the network is not known or the job is no gang.
    pub fn weighed(&self, job: JobIndex) -> Vec<(f64, Proposal)> {
        let Some((network, entry)) = self.network.as_ref().zip(self.entries.get(job.index())) else {
            return Vec::new();
        };
        if entry.job.parts < 2 {
            return Vec::new();
        }
        self.weighed_in(network, &entry.job, &place::room_in(&self.cluster, &entry.job))
    }

    /// Counts what a job that starts puts on the network, and keeps how it lies there.
    pub(super) fn enter_network(&mut self, job: JobIndex) {
        let Some(network) = &mut self.network else { return };
        let entry = &mut self.entries[job.index()];
        let nodes = nodes_of(&entry.grants);
        if nodes.len() < 2 {
            return;
        }
        let mut seats: Vec<(NodeIndex, u32)> = nodes.iter().map(|&node| (node, 0)).collect();
        for grant in &entry.grants {
            if let Some(seat) = seats.iter_mut().find(|seat| seat.0 == grant.node) {
                seat.1 += 1;
            }
        }
        let spread = Spread::of(network.locality(), &seats);
        let load = network.load(&nodes, &entry.job.traffic);
        let contention = network.contention(&load).filter(|_| !entry.job.traffic.is_empty());
        network.start(&load);
        let cost = cost(self.config.weights, &spread, contention.as_ref());
        entry.fit = Some(Box::new(Fit { spread, contention, cost, load }));
    }

    /// Counts it no longer.
    pub(super) fn leave_network(&mut self, job: JobIndex) {
        let fit = self.entries[job.index()].fit.take();
        if let (Some(network), Some(fit)) = (&mut self.network, fit) {
            network.end(&fit.load);
        }
    }

    /// How a job that runs lies in the network; nothing where it is on one node, or the network is not known.
    pub fn fit(&self, job: JobIndex) -> Option<&Fit> {
        self.entries.get(job.index())?.fit.as_deref()
    }
}
