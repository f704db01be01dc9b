//! What others want of the host: to take jobs, to end one, to say why.

use std::sync::Arc;

use scheduler::job::{After, Job};

use super::host::Host;
use super::record::{Record, State};
use super::spec::Spec;
use super::why::Why;
use super::{Answer, Ask, Board, Refused};
use crate::event::{Kind, Severity};
use crate::store::StoreError;

/// An answer that is given once all that was done is recorded.
pub(super) type Later = Box<dyn FnOnce(&Board, Option<&StoreError>) + Send>;

fn shown(numbers: Vec<u64>, answer: Answer<Vec<Arc<Record>>>) -> Later {
    Box::new(move |board, failure| {
        let shown = match failure {
            Some(error) => Err(Refused::Store(error.to_string())),
            None => Ok(numbers.iter().filter_map(|&number| board.job(number)).collect()),
        };
        // Who asked may have gone.
        let _ = answer.send(shown);
    })
}

impl Host {
    /// Hears one. What changes something is answered later.
    pub(super) fn hear(&mut self, ask: Ask) -> Option<Later> {
        // Who asked may have gone: then nobody wants the answer.
        match ask {
            Ask::Submit { spec, answer } => match self.submit(*spec) {
                Ok(numbers) => return Some(shown(numbers, answer)),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Ask::Cancel { number, answer } => match self.cancel(number) {
                Ok(()) => {
                    return Some(Box::new(move |board, failure| {
                        let record = board.job(number).ok_or(Refused::NoSuchJob(number));
                        let refused = failure.map(|error| Refused::Store(error.to_string()));
                        drop(answer.send(refused.map_or(record, Err)));
                    }));
                }
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Ask::Why { number, answer } => drop(answer.send(self.why(number).map(Box::new))),
            Ask::End => {}
        }
        None
    }

    /// What the scheduler is told of a job that the store has or is to have.
    pub(super) fn job_of(&self, record: &Record) -> Result<Job, Refused> {
        let open = self.open.as_ref().ok_or_else(|| Refused::NotReady(self.not_ready.clone()))?;
        let mut job = record.spec.job(open.scheduler.stock(), open.scheduler.tenants())?;
        for after in &record.spec.after {
            let other = self.records.get(&after.job).ok_or_else(|| Refused::Job {
                what: format!("it waits for job {}, which there is not", after.job),
                mend: "name jobs that were submitted before it".to_owned(),
            })?;
            match other.state {
                State::Done => {}
                State::Failed | State::Cancelled if after.succeeded => {
                    return Err(Refused::Job {
                        what: format!(
                            "it waits for the success of job {}, which is {}",
                            after.job,
                            other.state.name()
                        ),
                        mend: "wait for its end alone, or for another job".to_owned(),
                    });
                }
                State::Failed | State::Cancelled => {}
                _ => {
                    if let Some(&index) = open.indices.get(&after.job) {
                        job.after.push(After { job: index, succeeded: after.succeeded });
                    }
                }
            }
        }
        Ok(job)
    }

    fn submit(&mut self, spec: Spec) -> Result<Vec<u64>, Refused> {
        let now = self.now();
        let first = self.next_number;
        let count = spec.count();
        let is_array = spec.array.is_some();
        let record = Record::new(first, spec, None, now);
        let job = self.job_of(&record)?;
        let mut numbers = Vec::with_capacity(count as usize);
        for at in 0..count {
            let number = self.next_number;
            // What is taken once is taken again: either the first is refused or none.
            self.enter(number, job.clone(), self.now_ms())?;
            let array_index = is_array.then(|| record.spec.array_from.saturating_add(at));
            self.next_number += 1;
            self.records.insert(number, Record { number, array_index, ..record.clone() });
            self.set_waiting_state(number);
            let cause = record.spec.tenant.as_ref().map(|tenant| format!("submitted for {tenant}"));
            self.tell(number, Kind::JobSubmitted, Severity::Info, "has come", cause);
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Gives a job to the scheduler.
    pub(super) fn enter(&mut self, number: u64, job: Job, submitted_ms: u64) -> Result<(), Refused> {
        let open = self.open.as_mut().ok_or_else(|| Refused::NotReady(self.not_ready.clone()))?;
        let index = open.scheduler.submit(job, submitted_ms).map_err(|refusal| Refused::Job {
            what: refusal.to_string(),
            mend: "ask for what the pool has: see `heddle pool status`".to_owned(),
        })?;
        open.numbers.resize(index.index(), 0);
        open.numbers.push(number);
        open.indices.insert(number, index);
        Ok(())
    }

    fn cancel(&mut self, number: u64) -> Result<(), Refused> {
        let (state, run) = self.alive(number).map(|record| (record.state, record.run()))?;
        let now_ms = self.now_ms();
        let open = self.open.as_mut().ok_or_else(|| Refused::NotReady(self.not_ready.clone()))?;
        let cause = "somebody has asked for it".to_owned();
        if state.holds() && !self.to_start.contains(&number) {
            let grace = std::time::Duration::from_millis(
                self.records.get(&number).map_or(0, |record| record.spec.grace_ms()),
            );
            if let Some(record) = self.change(number) {
                record.unwanted = true;
                record.state = State::Stopping;
                record.cause = Some(cause.clone());
            }
            self.to_cancel.push((run, grace));
            self.tell(number, Kind::JobStopping, Severity::Info, "is asked to end", Some(cause));
            return Ok(());
        }
        self.to_start.remove(&number);
        if let Some(&index) = open.indices.get(&number) {
            // It is not over: that was looked at.
            let _ = open.scheduler.cancel(index, now_ms);
        }
        self.finish(number, State::Cancelled, None, Some(cause));
        Ok(())
    }

    fn why(&self, number: u64) -> Result<Why, Refused> {
        let record = self.records.get(&number).ok_or(Refused::NoSuchJob(number))?;
        let known = self.open.as_ref().and_then(|open| Some((open, *open.indices.get(&number)?)));
        let Some((open, index)) = known else { return Ok(Why::of(record)) };
        let reasons = open.scheduler.explain(index, self.now_ms());
        Ok(reasons.map_or_else(
            || Why::of(record),
            |reasons| {
                let numbers = |job: scheduler::job::JobIndex| open.numbers.get(job.index()).copied();
                Why::explained(record, &reasons, &open.room.pool, numbers)
            },
        ))
    }
}
