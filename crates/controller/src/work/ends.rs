//! What became of runs, and of their jobs.

use executor::{Outcome, RunId};

use super::host::Host;
use super::record::State;
use crate::event::{Kind, Severity};

impl Host {
    /// A run has ended.
    pub(super) fn ended(&mut self, run: RunId, outcome: Outcome) {
        let number = run.job;
        let Some(record) = self.records.get(&number) else { return };
        if record.leaving.contains(&run.attempt) {
            if let Some(record) = self.change(number) {
                record.leaving.retain(|&attempt| attempt != run.attempt);
            }
            return;
        }
        if record.attempt != run.attempt || !record.state.holds() {
            return;
        }
        let (unwanted, stopping, cause) =
            (record.unwanted, record.state == State::Stopping, record.cause.clone());
        let now_ms = self.now_ms();
        // What was asked to make room and did its work meanwhile is done; else it waits again, and so does one of which nobody
        // knows how it ended.
        if !unwanted && !outcome.is_success() {
            if stopping {
                return self.stopped(number, cause);
            }
            if outcome == Outcome::Lost {
                return self.lost(number);
            }
        }
        let state = match (&outcome, unwanted) {
            (outcome, _) if outcome.is_success() => State::Done,
            (_, true) => State::Cancelled,
            _ => State::Failed,
        };
        if let Some(open) = &mut self.open
            && let Some(&index) = open.indices.get(&number)
        {
            // It runs by the scheduler's books.
            let _ = open.scheduler.ended(index, state == State::Done, now_ms);
        }
        let cause = cause.filter(|_| state == State::Cancelled);
        self.finish(number, state, Some(outcome), cause);
    }

    /// Nobody knows how a run ended: its job waits again.
    fn lost(&mut self, number: u64) {
        let now_ms = self.now_ms();
        if let Some(open) = &mut self.open
            && let Some(&index) = open.indices.get(&number)
        {
            // It runs by the scheduler's books.
            let _ = open.scheduler.requeue(index, now_ms);
        }
        let cause = Some(Outcome::Lost.to_string());
        self.set_waiting_state(number);
        if let Some(record) = self.change(number) {
            record.stops += 1;
            record.cause.clone_from(&cause);
        }
        self.tell(number, Kind::JobRequeued, Severity::Warning, "waits again", cause);
    }

    /// A job is over, and with it those that waited for its success where it had none.
    pub(super) fn finish(
        &mut self,
        number: u64,
        state: State,
        outcome: Option<Outcome>,
        cause: Option<String>,
    ) {
        let now = self.now();
        let Some(record) = self.change(number) else { return };
        record.state = state;
        record.ended = Some(now);
        let text = match (&outcome, state) {
            (Some(outcome), State::Done | State::Failed) => format!("is over: {outcome}"),
            (_, state) => format!("is {}", state.name()),
        };
        record.outcome = outcome;
        record.cause.clone_from(&cause);
        self.over.insert((now, number));
        let severity = if state == State::Failed { Severity::Warning } else { Severity::Info };
        self.tell(number, Kind::JobOver, severity, &text, cause);
        if let Some(open) = &mut self.open {
            open.indices.remove(&number);
        }
        self.follow_others(number);
    }

    /// Jobs that waited for one that is over: they wait for room now, or will never run.
    fn follow_others(&mut self, over: u64) {
        let Some(open) = &self.open else { return };
        let mut changed = Vec::new();
        for (&number, &index) in &open.indices {
            let Some(record) = self.records.get(&number).filter(|record| record.state == State::Held) else {
                continue;
            };
            match open.scheduler.phase(index) {
                Some(scheduler::schedule::Phase::Over { .. }) => changed.push((number, true)),
                Some(scheduler::schedule::Phase::Waiting)
                    if record.spec.after.iter().any(|after| after.job == over) =>
                {
                    changed.push((number, false));
                }
                _ => {}
            }
        }
        for (number, is_over) in changed {
            if is_over {
                let cause = format!("job {over}, for whose success it waited, has not succeeded");
                self.finish(number, State::Cancelled, None, Some(cause));
            } else {
                self.set_waiting_state(number);
            }
        }
    }
}
