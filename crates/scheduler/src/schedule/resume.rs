//! Jobs that ran already when the queue was made: a controller that starts again takes them up where they are.

use pool::tenants::ChargeError;

use super::look::Look;
use super::place::Grants;
use super::{CallError, Phase, Scheduler, UNKNOWN_MS};
use crate::job::JobIndex;

/// Why a job cannot be taken up where it is. It waits.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResumeError {
    /// It does not wait.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What it held is no longer there, or somebody else's.
    #[error("what it held is not free")]
    Taken,
    /// Its tenant may no longer hold so much.
    #[error(transparent)]
    Quota(#[from] ChargeError),
}

impl Scheduler {
    /// Takes a job up that was submitted anew and has run since `started_ms` on these grants. To be called for each before the
    /// first [`Scheduler::decide`].
    ///
    /// # Errors
    /// Where it cannot hold them; then it waits.
    pub fn resume(&mut self, job: JobIndex, grants: Grants, started_ms: u64) -> Result<(), ResumeError> {
        let entry = self.entry(job)?;
        if entry.phase != Phase::Waiting {
            return Err(CallError::Phase(job.0, entry.phase).into());
        }
        let until_ms = entry.left_ms.map_or(UNKNOWN_MS, |left| started_ms.saturating_add(left));
        if !self.allocate(&grants) {
            return Err(ResumeError::Taken);
        }
        // Whether it may hold so much is looked at here; its start charges it.
        if let Err(error) = self.charge(job, grants.len() as u32) {
            self.release(&grants);
            return Err(error.into());
        }
        let entry = &self.entries[job.index()];
        if let Some(tenant) = entry.job.tenant.filter(|_| !self.tenants.is_empty()) {
            // What was charged can be given back.
            let _ = self.tenants.release(tenant, entry.job.amounts(grants.len() as u32));
        }
        self.fresh.retain(|&fresh| fresh != job);
        self.start(job, grants, started_ms, until_ms, &mut Look::default());
        Ok(())
    }

    /// A job that ran does so no longer, and nobody knows how it ended: it waits again, in its old place.
    ///
    /// # Errors
    /// Where it holds nothing.
    pub fn requeue(&mut self, job: JobIndex, now_ms: u64) -> Result<(), CallError> {
        match self.entry(job)?.phase {
            Phase::Running | Phase::Stopping { .. } => {
                self.vacate(job, now_ms);
                self.entries[job.index()].phase = Phase::Waiting;
                self.entries[job.index()].stops += 1;
                self.queue(job);
                Ok(())
            }
            phase => Err(CallError::Phase(job.0, phase)),
        }
    }
}

#[cfg(test)]
mod tests {
    use pool::NodeIndex;
    use pool::Stock;
    use pool::stock::{Capacity, Demand, GpuSet, Grant};

    use super::*;
    use crate::job::Job;
    use crate::schedule::{Config, Decision};

    fn queue(nodes: u32) -> Scheduler {
        let mut stock = Stock::new();
        let model = stock.model_named("gpu").unwrap();
        for _ in 0..nodes {
            let node = Capacity { cpu_milli: 0, memory_mib: 0, gpus: 8, model: Some(model) };
            stock.add_node(&node).unwrap();
        }
        Scheduler::new(Config::default(), stock, Default::default(), [])
    }

    fn job(parts: u32) -> Job {
        let demand = Demand { gpus: 8, gpu_milli: 1000, ..Demand::default() };
        Job { parts, most_parts: parts, limit_ms: Some(60_000), ..Job::new("job", demand) }
    }

    fn on(nodes: impl IntoIterator<Item = u32>) -> Grants {
        let all = GpuSet(0xff);
        nodes.into_iter().map(|node| Grant::new(NodeIndex(node), &job(1).demand, all)).collect()
    }

    #[test]
    fn a_job_that_ran_keeps_its_place_and_others_wait_for_its_end() {
        let mut queue = queue(2);
        let running = queue.submit(job(2), 1_000).unwrap();
        let waiting = queue.submit(job(1), 2_000).unwrap();
        queue.resume(running, on([1, 0]), 5_000).unwrap();
        assert_eq!(queue.phase(running), Some(Phase::Running));
        assert_eq!(queue.decide(10_000), []);
        assert_eq!(queue.promised_ms(waiting), Some(65_000));
        queue.requeue(running, 15_000).unwrap();
        assert!(matches!(queue.decide(15_000)[..], [Decision::Start { job, .. }] if job == running));
        assert!(queue.requeue(waiting, 15_000).is_err());
        queue.ended(running, true, 20_000).unwrap();
        assert!(matches!(queue.decide(20_000)[..], [Decision::Start { job, .. }] if job == waiting));
    }

    #[test]
    fn what_is_not_free_is_not_taken_and_the_job_waits() {
        let mut queue = queue(2);
        let (first, second) = (queue.submit(job(1), 0).unwrap(), queue.submit(job(1), 0).unwrap());
        queue.resume(first, on([0]), 0).unwrap();
        assert_eq!(queue.resume(second, on([0]), 0), Err(ResumeError::Taken));
        assert_eq!(queue.phase(second), Some(Phase::Waiting));
        assert!(matches!(queue.resume(first, on([1]), 0), Err(ResumeError::Call(_))));
        assert!(matches!(queue.decide(0)[..], [Decision::Start { job, .. }] if job == second));
    }
}
