//! Jobs that can use more parts than they need grow while nobody waits for room; who needs the room gets it back.

use pool::NodeIndex;

use super::place::{self, Grants};
use super::{Decision, Phase, Scheduler};
use crate::job::JobIndex;

impl Scheduler {
    /// Gives free room to elastic jobs, a part at a time, first to who has fewest beyond its need.
    pub(super) fn grow(&mut self, now_ms: u64, decisions: &mut Vec<Decision>) {
        let mut growing: Vec<JobIndex> = self.elastic.iter().copied().collect();
        let mut grown: Vec<(JobIndex, Grants)> = Vec::new();
        while !growing.is_empty() {
            growing.sort_by_key(|job| {
                let entry = &self.entries[job.index()];
                (entry.grants.len() - (entry.job.parts as usize).min(entry.grants.len()), *job)
            });
            growing.retain(|&job| {
                let Some(grant) = self.one_part_more(job, now_ms) else { return false };
                match grown.iter_mut().find(|(other, _)| *other == job) {
                    Some((_, grants)) => grants.push(grant),
                    None => grown.push((job, Grants::from_slice(&[grant]))),
                }
                true
            });
        }
        for (job, _) in &grown {
            self.leave_network(*job);
            self.enter_network(*job);
        }
        decisions.extend(grown.into_iter().map(|(job, grants)| Decision::Grow { job, grants }));
    }

    fn one_part_more(&mut self, job: JobIndex, now_ms: u64) -> Option<pool::stock::Grant> {
        let entry = &self.entries[job.index()];
        if entry.phase != Phase::Running || entry.grants.len() >= entry.job.most_parts as usize {
            return None;
        }
        let (class, amount) = (entry.class, entry.job.gpu_milli(1));
        // What it has beyond its need it gives back at once, so only the lead time before a turn is in its way.
        let (work, turns) = (entry.job.work, self.turns.as_ref());
        if turns.is_some_and(|turns| turns.bars((work, false), amount, now_ms, entry.ends_ms).is_some()) {
            return None;
        }
        let grant = match self.near(job) {
            Some(nodes) => {
                let entry = &self.entries[job.index()];
                let stock = self.cluster.stock();
                let room = |node: &NodeIndex| place::room_on(stock, *node, &entry.job);
                let fullest =
                    nodes.into_iter().filter(|node| room(node) > 0).min_by_key(|node| (room(node), *node));
                place::on_node(stock, fullest?, &entry.job, 1).pop()?
            }
            None => self.policy.choose(&self.cluster, &self.classes, class)?,
        };
        let entry = &self.entries[job.index()];
        let here = entry.grants.iter().filter(|other| other.node == grant.node).count();
        if entry.job.most_a_node.is_some_and(|most| here >= most as usize) || self.charge(job, 1).is_err() {
            return None;
        }
        // The policy chooses only where there is room.
        let _ = self.cluster.allocate(&grant);
        let entry = &mut self.entries[job.index()];
        entry.grants.push(grant);
        self.count(job, &[grant], true);
        Some(grant)
    }

    /// The nodes that a job requires its parts to be on, by where those it has are; nothing where it requires none.
    fn near(&self, job: JobIndex) -> Option<Vec<NodeIndex>> {
        let entry = &self.entries[job.index()];
        let locality = self.locality()?;
        let level = entry.job.wants.iter().filter(|want| want.required).map(|want| want.level).min()?;
        let node = entry.grants.first()?.node;
        Some(locality.nodes(level, locality.group(level, node)).collect())
    }

    /// Takes places beyond its need away from an elastic job.
    pub(super) fn shrink(&mut self, job: JobIndex, grants: &[pool::stock::Grant]) {
        for grant in grants {
            let held = &mut self.entries[job.index()].grants;
            let Some(at) = held.iter().rposition(|other| other == grant) else { continue };
            held.remove(at);
            let ends_ms = self.entries[job.index()].ends_ms;
            self.release(&[*grant]);
            self.discharge(job, &[*grant], true);
            self.promises.left(&[*grant], ends_ms);
        }
        self.leave_network(job);
        self.enter_network(job);
    }
}
