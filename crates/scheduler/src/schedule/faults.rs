//! Nodes that fail, and nodes that are taken out of use.
//!
//! Parts that were on a node that failed go on elsewhere, with the least movement: the others stay where they are, and those
//! that move come as near to them as can be, on open nodes or on a hot spare. Where there is no such place the whole job
//! waits again, in its old place in the queue. An operator who closes a node moves nothing: what runs there stays.

use pool::NodeIndex;
use pool::stock::StockError;

use super::place::{self, Grants};
use super::{Decision, Phase, Scheduler};
use crate::job::JobIndex;
use crate::network::Level;

impl Scheduler {
    /// Opens a node for new work or closes it; what runs there stays.
    ///
    /// # Errors
    /// Where there is no such node.
    pub fn set_open(&mut self, node: NodeIndex, open: bool) -> Result<(), StockError> {
        self.cluster.set_open(node, open)?;
        self.spares.remove(&node);
        self.freed = true;
        self.stale = true;
        self.keep_spares();
        Ok(())
    }

    /// A node has failed: closes it, and says what becomes of the jobs on it. The caller has those that move go on from their
    /// last checkpoint.
    ///
    /// # Errors
    /// Where there is no such node.
    pub fn failed(&mut self, node: NodeIndex, now_ms: u64) -> Result<Vec<Decision>, StockError> {
        self.set_open(node, false)?;
        let on_it = |job: &JobIndex| {
            let grants = &self.entries[job.index()].grants;
            grants.iter().any(|grant| grant.node == node)
        };
        let mut jobs: Vec<JobIndex> = self.running.iter().map(|&(_, job)| job).filter(on_it).collect();
        // The largest first: it is the hardest to find room for.
        jobs.sort_by_key(|job| (std::cmp::Reverse(self.entries[job.index()].grants.len()), *job));
        let mut decisions = Vec::new();
        for job in jobs {
            self.lose(job, node, now_ms, &mut decisions);
        }
        Ok(decisions)
    }

    fn lose(&mut self, job: JobIndex, node: NodeIndex, now_ms: u64, decisions: &mut Vec<Decision>) {
        let entry = &self.entries[job.index()];
        let lost: Grants = entry.grants.iter().filter(|grant| grant.node == node).copied().collect();
        let left = entry.grants.len() - lost.len();
        if entry.phase == Phase::Running && left >= entry.job.parts as usize {
            self.shrink(job, &lost);
            decisions.push(Decision::Shrink { job, by: None, grants: lost });
            return;
        }
        let needed = (entry.job.parts as usize).saturating_sub(left);
        let moved = if entry.phase == Phase::Running { self.elsewhere(job, node, needed) } else { None };
        let Some(grants) = moved else {
            self.vacate(job, now_ms);
            self.entries[job.index()].phase = Phase::Waiting;
            self.entries[job.index()].stops += 1;
            self.queue(job);
            decisions.push(Decision::Requeue { job });
            return;
        };
        self.leave_network(job);
        self.release(&lost);
        self.discharge(job, &lost, false);
        // No more is charged than was given back.
        let _ = self.charge(job, grants.len() as u32);
        let held = &mut self.entries[job.index()].grants;
        held.retain(|grant| grant.node != node);
        held.extend(grants.iter().copied());
        self.count(job, &grants, false);
        self.enter_network(job);
        self.stale = true;
        decisions.push(Decision::Move { job, lost, grants });
    }

    /// Takes room for parts that have lost theirs, near those that have not.
    fn elsewhere(&mut self, job: JobIndex, failed: NodeIndex, parts: usize) -> Option<Grants> {
        let entry = &self.entries[job.index()];
        let stays: Vec<NodeIndex> =
            entry.grants.iter().map(|grant| grant.node).filter(|&node| node != failed).collect();
        let stock = self.cluster.stock();
        let mut near: Vec<(u32, u32, NodeIndex)> = stock
            .nodes()
            .filter(|&node| node != failed && (stock.is_open(node) || self.spares.contains(&node)))
            .map(|node| (self.hops_to(node, &stays, failed), place::idle(stock, node), node))
            .collect();
        near.sort_unstable();
        let mut grants = Grants::new();
        for (.., node) in near {
            // Where no part stays, the first that has a place again says where the others may be.
            let other = stays.first().copied().or(grants.first().map(|grant| grant.node));
            if other.is_some_and(|other| !self.may_be_beside(job, node, other)) {
                continue;
            }
            let is_spare = self.spares.contains(&node);
            if is_spare && self.cluster.set_open(node, true).is_err() {
                continue;
            }
            let entry = &self.entries[job.index()];
            let here = entry.grants.iter().filter(|grant| grant.node == node).count() as u32;
            let most = entry.job.most_a_node.map_or(u32::MAX, |most| most.saturating_sub(here));
            let stock = self.cluster.stock();
            let room = place::room_on(stock, node, &entry.job).min(most).min((parts - grants.len()) as u32);
            let here = place::on_node(stock, node, &entry.job, room);
            if self.allocate(&here) {
                grants.extend(here);
            }
            if is_spare {
                if room == 0 {
                    // It was open already, as the one before it.
                    let _ = self.cluster.set_open(node, false);
                } else {
                    self.spares.remove(&node);
                }
            }
            if grants.len() == parts {
                self.keep_spares();
                return Some(grants);
            }
        }
        self.release(&grants);
        self.keep_spares();
        None
    }

    /// Switches on the way to the parts that stay, or to where the lost ones were, in all.
    fn hops_to(&self, node: NodeIndex, stays: &[NodeIndex], failed: NodeIndex) -> u32 {
        let Some(locality) = self.locality() else { return node.0.abs_diff(failed.0) };
        let others = if stays.is_empty() { std::slice::from_ref(&failed) } else { stays };
        others.iter().map(|&other| u32::from(locality.hops(node, other))).sum()
    }

    /// Whether a job lets parts of it be on these two nodes.
    fn may_be_beside(&self, job: JobIndex, node: NodeIndex, other: NodeIndex) -> bool {
        let Some(locality) = self.locality() else { return true };
        let required = self.entries[job.index()].job.wants.iter().filter(|want| want.required);
        required
            .map(|want| want.level)
            .all(|level| locality.group(level, node) == locality.group(level, other))
    }

    /// Sets idle nodes aside, so that each pod has as many hot spares as the site wants, the last of each pod first.
    pub(super) fn keep_spares(&mut self) {
        let wanted = self.config.spares_a_pod;
        let Some(locality) = self.locality().filter(|_| wanted > 0) else { return };
        let mut chosen = Vec::new();
        for pod in 0..locality.group_count(Level::Pod) as u32 {
            let nodes: Vec<NodeIndex> = locality.nodes(Level::Pod, pod).collect();
            let have = nodes.iter().filter(|node| self.spares.contains(node)).count();
            let stock = self.cluster.stock();
            let idle = nodes.into_iter().rev().filter(|&node| {
                stock.is_open(node) && stock.gpus_free_milli(node).iter().all(|&free| free == 1000)
            });
            chosen.extend(idle.take(wanted.saturating_sub(have)));
        }
        for node in chosen {
            if self.cluster.set_open(node, false).is_ok() {
                self.spares.insert(node);
                self.stale = true;
            }
        }
    }

    /// Nodes that are kept for parts of nodes that fail.
    pub fn spares(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.spares.iter().copied()
    }
}
