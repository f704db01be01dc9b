//! Jobs that belong together: arrays, of which only so many run at once, and services, whose replicas come and go.

use std::collections::VecDeque;

use fabric::index;

use super::{CallError, Phase, Scheduler};
use crate::job::{Job, JobIndex, Refusal};

index! {
    /// An array of jobs, or a service. Numbers are dense, in the order of submission.
    GroupIndex
}

/// Jobs that belong together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// What a further member is.
    job: Job,
    /// All that ever belonged to it, in order.
    members: Vec<JobIndex>,
    /// Members that wait until others are over.
    held: VecDeque<JobIndex>,
}

impl Scheduler {
    /// Submits an array: `count` jobs alike, of which at most `most_at_once` wait for room or run.
    ///
    /// # Errors
    /// As [`Scheduler::submit`]; then nothing was taken.
    pub fn submit_array(
        &mut self,
        job: Job,
        count: u32,
        most_at_once: u32,
        now_ms: u64,
    ) -> Result<GroupIndex, Refusal> {
        let group = self.new_group(&job, now_ms)?;
        for at in 0..count {
            self.add_member(group, now_ms, at >= most_at_once.max(1))?;
        }
        Ok(group)
    }

    /// Submits a service with so many replicas.
    ///
    /// # Errors
    /// As [`Scheduler::submit`]; then nothing was taken.
    pub fn submit_service(&mut self, job: Job, replicas: u32, now_ms: u64) -> Result<GroupIndex, Refusal> {
        self.submit_array(job, replicas, replicas, now_ms)
    }

    fn new_group(&mut self, job: &Job, now_ms: u64) -> Result<GroupIndex, Refusal> {
        // Whatever refuses one member refuses all.
        self.check(job, now_ms)?;
        self.groups.push(Group { job: job.clone(), members: Vec::new(), held: VecDeque::new() });
        Ok(GroupIndex(self.groups.len() as u32 - 1))
    }

    fn add_member(&mut self, group: GroupIndex, now_ms: u64, hold: bool) -> Result<(), Refusal> {
        let job = self.groups[group.index()].job.clone();
        let member = self.submit(job, now_ms)?;
        self.entries[member.index()].group = Some(group);
        self.groups[group.index()].members.push(member);
        if hold && self.entries[member.index()].phase == Phase::Waiting {
            self.unqueue(member);
            self.entries[member.index()].phase = Phase::Held;
            self.groups[group.index()].held.push_back(member);
        }
        Ok(())
    }

    /// Brings a service to so many replicas. What is too many goes: first those that wait, then those that came last. Those
    /// of them that hold something are returned: their places are given back, and the caller ends them.
    ///
    /// # Errors
    /// [`CallError::NoSuchGroup`].
    pub fn scale(
        &mut self,
        group: GroupIndex,
        replicas: u32,
        now_ms: u64,
    ) -> Result<Vec<JobIndex>, CallError> {
        let mut alive: Vec<JobIndex> = self
            .members(group)
            .ok_or(CallError::NoSuchGroup(group.0))?
            .iter()
            .copied()
            .filter(|member| !matches!(self.entries[member.index()].phase, Phase::Over { .. }))
            .collect();
        for _ in alive.len()..replicas as usize {
            // What was taken once is taken again: nothing of it can be refused.
            let _ = self.add_member(group, now_ms, false);
        }
        alive.sort_by_key(|member| {
            let waits = self.entries[member.index()].grants.is_empty();
            (waits, *member)
        });
        let mut gone = Vec::new();
        for member in alive.split_off(alive.len().min(replicas as usize)) {
            let holds = !self.entries[member.index()].grants.is_empty();
            if self.cancel(member, now_ms).is_ok() && holds {
                gone.push(member);
            }
        }
        Ok(gone)
    }

    /// All that ever belonged to a group, in order; nothing where there is no such group.
    pub fn members(&self, group: GroupIndex) -> Option<&[JobIndex]> {
        self.groups.get(group.index()).map(|group| &group.members[..])
    }

    /// A member is over: the next one that was held may wait for room.
    pub(super) fn next_of_group(&mut self, job: JobIndex) {
        let Some(group) = self.entries[job.index()].group else { return };
        let held = &mut self.groups[group.index()].held;
        if let Some(at) = held.iter().position(|&other| other == job) {
            // It took nobody's turn.
            held.remove(at);
            return;
        }
        while let Some(next) = self.groups[group.index()].held.pop_front() {
            if self.entries[next.index()].phase == Phase::Held {
                self.entries[next.index()].phase = Phase::Waiting;
                self.queue(next);
                return;
            }
        }
    }
}
