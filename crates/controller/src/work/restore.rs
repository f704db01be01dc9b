//! Jobs of a controller before this one: those that run are found again, those that wait wait on.

use executor::{Found, RunId};
use scheduler::schedule::Grants;

use super::Refused;
use super::host::Host;
use super::record::{Record, State};
use crate::event::{Kind, Severity};

impl Host {
    /// Takes all jobs up that are not over. Called once, when the pool is open.
    pub(super) fn restore(&mut self) {
        let numbers: Vec<u64> = self
            .records
            .values()
            .filter(|record| !record.state.is_over())
            .map(|record| record.number)
            .collect();
        for number in numbers {
            self.restore_one(number);
        }
    }

    fn restore_one(&mut self, number: u64) {
        let Some(record) = self.records.get(&number).cloned() else { return };
        let submitted_ms = record.submitted.as_millisecond().max(0) as u64;
        // A deadline that has passed meanwhile is no reason to drop a job.
        let entered = self.job_of(&record).and_then(|job| self.enter(number, job, submitted_ms));
        if let Err(refused) = entered {
            let why = match refused {
                Refused::Job { what, .. } => what,
                other => format!("{other:?}"),
            };
            self.abandon(&record);
            let cause = Some(format!("the pool has changed: {why}"));
            return self.finish(number, State::Failed, None, cause);
        }
        for &attempt in &record.leaving {
            let run = RunId { job: number, attempt };
            match self.executor.adopt(run) {
                Ok(Found::Running) => self.to_cancel.push((run, std::time::Duration::ZERO)),
                _ => {
                    if let Some(record) = self.change(number) {
                        record.leaving.retain(|&other| other != attempt);
                    }
                }
            }
        }
        if !record.state.holds() {
            return self.set_waiting_state(number);
        }
        let found = self.executor.adopt(record.run());
        if !self.hold_again(&record) {
            self.abandon(&record);
            self.set_waiting_state(number);
            let cause =
                Some("the controller has started again, and its place is not there any more".to_owned());
            if let Some(record) = self.change(number) {
                record.stops += 1;
                record.cause.clone_from(&cause);
            }
            return self.tell(number, Kind::JobRequeued, Severity::Warning, "waits again", cause);
        }
        match found {
            Ok(Found::Running) => {
                if record.state == State::Stopping {
                    let grace = std::time::Duration::from_millis(record.spec.grace_ms());
                    self.to_cancel.push((record.run(), grace));
                } else if let Some(record) = self.change(number) {
                    record.state = State::Running;
                }
            }
            // It was to be started and was not, or nobody can tell: whoever starts it now starts it once.
            Ok(Found::Nothing) | Err(_) if record.state != State::Stopping => {
                self.to_start.insert(number);
            }
            Ok(Found::Nothing) | Err(_) => self.ended(record.run(), executor::Outcome::Cancelled),
            Ok(Found::Over(outcome)) => self.ended(record.run(), outcome),
        }
    }

    /// Gives a job what it held by the books, and says whether that is still there.
    fn hold_again(&mut self, record: &Record) -> bool {
        let Some(open) = &mut self.open else { return false };
        let Some(&index) = open.indices.get(&record.number) else { return false };
        let stock = open.scheduler.stock();
        let grants: Option<Grants> =
            record.grants.iter().map(|kept| kept.grant(&open.room.pool, stock)).collect();
        let started_ms = record.started.unwrap_or(record.submitted).as_millisecond().max(0) as u64;
        grants.is_some_and(|grants| open.scheduler.resume(index, grants, started_ms).is_ok())
    }

    /// Ends what may run of a job that cannot go on where it is.
    fn abandon(&mut self, record: &Record) {
        if let Ok(Found::Running) = self.executor.adopt(record.run()) {
            if let Some(record) = self.change(record.number) {
                record.leaving.push(record.attempt);
            }
            self.to_cancel.push((record.run(), std::time::Duration::from_millis(record.spec.grace_ms())));
        }
    }
}
