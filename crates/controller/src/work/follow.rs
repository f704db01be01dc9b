//! What the scheduler decides, done: recorded first, then acted upon.

use std::time::Duration;

use executor::{Order, Place};
use scheduler::job::JobIndex;
use scheduler::schedule::{Decision, Phase};

use super::grant::KeptGrant;
use super::host::Host;
use super::record::{Record, State};
use crate::event::{Kind, Severity};

impl Host {
    /// Lets the scheduler decide, and follows.
    pub(super) fn decide(&mut self) {
        let now_ms = self.now_ms();
        let Some(open) = &mut self.open else { return };
        for decision in open.scheduler.decide(now_ms) {
            self.follow(decision, None);
        }
    }

    fn number(&self, job: JobIndex) -> Option<u64> {
        self.open.as_ref()?.numbers.get(job.index()).copied()
    }

    /// What a job holds by the scheduler's books.
    fn take_grants(&mut self, number: u64) {
        let Some(open) = &self.open else { return };
        let Some(&index) = open.indices.get(&number) else { return };
        let pool = &open.room.pool;
        let grants = open.scheduler.grants(index).iter().map(|grant| KeptGrant::of(grant, pool)).collect();
        if let Some(record) = self.change(number) {
            record.grants = grants;
        }
    }

    /// A job that waits, or is held.
    pub(super) fn set_waiting_state(&mut self, number: u64) {
        let held = self.open.as_ref().is_some_and(|open| {
            let index = open.indices.get(&number);
            index.is_some_and(|&index| open.scheduler.phase(index) == Some(Phase::Held))
        });
        if let Some(record) = self.change(number) {
            record.state = if held { State::Held } else { State::Waiting };
            record.grants.clear();
            record.started = None;
        }
    }

    /// A job gets another run at its places.
    fn prepare(&mut self, number: u64, cause: Option<String>) {
        self.take_grants(number);
        let now = self.now();
        if let Some(record) = self.change(number) {
            record.attempt += 1;
            record.state = State::Starting;
            record.started = Some(now);
            record.cause = cause;
        }
        self.to_start.insert(number);
    }

    /// A run is given up: its processes are ended, and no other run of the job starts before they are.
    fn give_up(&mut self, number: u64) {
        if self.to_start.remove(&number) {
            return;
        }
        let Some(record) = self.change(number) else { return };
        let (run, grace) = (record.run(), record.spec.grace_ms());
        record.leaving.push(run.attempt);
        self.to_cancel.push((run, Duration::from_millis(grace)));
    }

    /// Follows a decision; `why` is what brought it about where the scheduler does not say.
    pub(super) fn follow(&mut self, decision: Decision, why: Option<&str>) {
        let Some(number) = self.number(decision.job()) else { return };
        let because = |by: Option<u64>| match (by, why) {
            (Some(by), _) => Some(format!("job {by} comes before it")),
            (None, Some(why)) => Some(why.to_owned()),
            (None, None) => Some("the time of the week turns".to_owned()),
        };
        match decision {
            Decision::Start { .. } => {
                self.prepare(number, None);
                let nodes = self.records.get(&number).map_or(0, |record| record.nodes().len());
                let text = format!("starts on {nodes} node{}", if nodes == 1 { "" } else { "s" });
                self.tell(number, Kind::JobStarted, Severity::Info, &text, None);
            }
            Decision::Stop { by, until_ms, .. } => {
                let cause = because(by.and_then(|by| self.number(by)));
                let grace = Duration::from_millis(until_ms.saturating_sub(self.now_ms()));
                if self.to_start.remove(&number) {
                    // Nothing of it runs yet.
                    self.stopped(number, cause);
                    return;
                }
                if let Some(record) = self.change(number) {
                    record.state = State::Stopping;
                    record.cause.clone_from(&cause);
                    let run = record.run();
                    self.to_cancel.push((run, grace));
                }
                self.tell(number, Kind::JobStopping, Severity::Info, "is asked to make room", cause);
            }
            Decision::Move { .. } => {
                self.give_up(number);
                let cause = because(None);
                self.prepare(number, cause.clone());
                self.tell(number, Kind::JobMoved, Severity::Warning, "goes on elsewhere", cause);
            }
            Decision::Requeue { .. } => {
                self.give_up(number);
                let cause = because(None);
                self.set_waiting_state(number);
                if let Some(record) = self.change(number) {
                    record.stops += 1;
                    record.cause.clone_from(&cause);
                }
                self.tell(
                    number,
                    Kind::JobRequeued,
                    Severity::Warning,
                    "has lost its place and waits again",
                    cause,
                );
            }
            // Jobs that come over the API have as many parts as they need and no more; where a node of several fails, what
            // is left is theirs.
            Decision::Grow { .. } | Decision::Shrink { .. } => self.take_grants(number),
        }
    }

    /// A job that was told to stop has stopped: it waits again.
    pub(super) fn stopped(&mut self, number: u64, cause: Option<String>) {
        let now_ms = self.now_ms();
        if let Some(open) = &mut self.open
            && let Some(&index) = open.indices.get(&number)
        {
            // It was told to stop.
            let _ = open.scheduler.stopped(index, now_ms);
        }
        self.set_waiting_state(number);
        if let Some(record) = self.change(number) {
            record.stops += 1;
            record.cause.clone_from(&cause);
        }
        self.tell(number, Kind::JobRequeued, Severity::Info, "has stopped and waits again", cause);
    }

    /// Does what was recorded: ends runs, starts others whose former runs are gone.
    pub(super) fn act(&mut self) {
        for (run, grace) in std::mem::take(&mut self.to_cancel) {
            if let Err(error) = self.executor.cancel(run, grace) {
                self.tell(
                    run.job,
                    Kind::JobTrouble,
                    Severity::Error,
                    "cannot be ended",
                    Some(error.to_string()),
                );
            }
        }
        let ready: Vec<u64> = self
            .to_start
            .iter()
            .copied()
            .filter(|number| self.records.get(number).is_some_and(|record| record.leaving.is_empty()))
            .collect();
        for number in ready {
            self.to_start.remove(&number);
            let Some(record) = self.records.get(&number) else { continue };
            let order = order(record);
            let waited_ms = self.now_ms().saturating_sub(record.submitted.as_millisecond().max(0) as u64);
            match self.executor.start(&order) {
                Ok(()) => {
                    if let Some(record) = self.change(number) {
                        record.state = State::Running;
                    }
                    self.board.started(waited_ms);
                }
                Err(error) => {
                    let outcome = executor::Outcome::NotStarted { why: error.to_string() };
                    self.ended(order.run, outcome);
                }
            }
        }
    }
}

/// What the executor is told of a job's last run.
fn order(record: &Record) -> Order {
    let spec = &record.spec;
    let mut environment = spec.environment.clone();
    if let Some(index) = record.array_index {
        environment.insert("HEDDLE_ARRAY_INDEX".to_owned(), index.to_string());
    }
    let index = record.array_index.map_or_else(String::new, |index| index.to_string());
    let output = spec.output.as_ref().map(|path| {
        path.replace("%j", &record.number.to_string()).replace("%a", &index).replace("%x", &spec.name).into()
    });
    Order {
        run: record.run(),
        name: spec.name.clone(),
        script: spec.script.clone(),
        command: spec.command.clone(),
        directory: spec.directory.clone(),
        environment,
        output,
        places: record
            .nodes()
            .into_iter()
            .map(|node| Place { node: node.name, gpus: node.gpus, parts: node.parts })
            .collect(),
        tasks: spec.tasks,
        limit_ms: spec.limit_ms(),
        memory_mib: spec.memory_mib.map(u64::from),
        grace_ms: spec.grace_ms(),
    }
}
