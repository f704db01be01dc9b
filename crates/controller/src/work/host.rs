//! The thread that hosts pool, queue and executor: it hears, decides, records, and then acts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use executor::{Executor, RunId};
use fabric::Fabric;
use jiff::Timestamp;
use pool::NodeIndex;
use scheduler::job::JobIndex;
use scheduler::schedule::Scheduler;
use subnet::Phase;

use super::asked::Later;
use super::board::{Board, NodeState, Picture};
use super::record::{Record, State};
use super::stockroom::Stockroom;
use super::{Ask, Config, Refused};
use crate::event::{Draft, Kind, Severity};
use crate::session::Call;
use crate::site::Site;
use crate::store::{Batch, Space, Store, StoreError};

/// What is asked at once before the next decision.
const ASKS_AT_ONCE: usize = 256;
/// Runs are looked at so often while any are there, and all else where none are.
const LOOK: Duration = Duration::from_millis(50);
const IDLE_LOOK: Duration = Duration::from_millis(250);
/// The picture of the pool is made anew no more often.
const PICTURES: Duration = Duration::from_millis(200);
/// Jobs that are over are kept up to this number; older ones are taken out.
const KEPT: usize = 100_000;
/// How long to wait for the fabric's thread to give its tables.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long jobs have to end where the controller ends and they must not go on.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// What is known once the fabric is up.
pub(super) struct Open {
    pub room: Stockroom,
    pub scheduler: Scheduler,
    pub states: Vec<NodeState>,
    /// By the scheduler's number, the job's.
    pub numbers: Vec<u64>,
    /// By the job's number, the scheduler's; of jobs that are not over.
    pub indices: BTreeMap<u64, JobIndex>,
}

/// Hosts jobs.
pub(super) struct Host {
    pub config: Config,
    pub site: Site,
    store: Arc<dyn Store>,
    pub board: Arc<Board>,
    pub executor: Box<dyn Executor>,
    pub open: Option<Open>,
    /// All jobs that are kept.
    pub records: BTreeMap<u64, Record>,
    /// Jobs that are over, the oldest first.
    pub over: BTreeSet<(Timestamp, u64)>,
    pub next_number: u64,
    /// Jobs that differ from what is in the store.
    pub changed: BTreeSet<u64>,
    /// What is to be told of them.
    pub drafts: Vec<Draft>,
    /// Jobs whose run is recorded and may be started.
    pub to_start: BTreeSet<u64>,
    /// Runs that are to be ended, each within its grace, once that is recorded.
    pub to_cancel: Vec<(RunId, Duration)>,
    /// Why there is no pool yet.
    pub not_ready: String,
    now_ms: u64,
    pictured: Option<Instant>,
    is_picture_old: bool,
    seen: Option<Arc<crate::view::View>>,
}

impl Host {
    /// A host of the jobs that a store has.
    pub fn new(
        config: Config,
        site: Site,
        store: Arc<dyn Store>,
        board: Arc<Board>,
        executor: Box<dyn Executor>,
    ) -> Result<Self, StoreError> {
        let mut host = Self {
            config,
            site,
            store,
            board,
            executor,
            open: None,
            records: BTreeMap::new(),
            over: BTreeSet::new(),
            next_number: 1,
            changed: BTreeSet::new(),
            drafts: Vec::new(),
            to_start: BTreeSet::new(),
            to_cancel: Vec::new(),
            not_ready: "the fabric is not up yet".to_owned(),
            now_ms: 0,
            pictured: None,
            is_picture_old: true,
            seen: None,
        };
        host.read()?;
        Ok(host)
    }

    fn read(&mut self) -> Result<(), StoreError> {
        let mut failure = None;
        let (records, over) = (&mut self.records, &mut self.over);
        self.store.scan(Space::Jobs, None, crate::store::Order::Up, &mut |_, value| {
            match serde_json::from_slice::<Record>(value) {
                Ok(record) => {
                    if record.state.is_over() {
                        over.insert((record.ended.unwrap_or(record.submitted), record.number));
                    }
                    records.insert(record.number, record);
                }
                Err(error) => failure = Some(StoreError::Broken { what: "read", why: error.to_string() }),
            }
            failure.is_none()
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.next_number = self.records.keys().next_back().map_or(1, |last| last + 1);
        self.board.show(self.records.values().cloned().map(Arc::new));
        Ok(())
    }

    /// The time of this turn in Unix milliseconds; it never goes back.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The same as a time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.now_ms as i64).unwrap_or_default()
    }

    /// A job that is about to change.
    pub fn change(&mut self, number: u64) -> Option<&mut Record> {
        self.changed.insert(number);
        self.records.get_mut(&number)
    }

    /// Tells of a job.
    pub fn tell(&mut self, number: u64, kind: Kind, severity: Severity, what: &str, cause: Option<String>) {
        let Some(record) = self.records.get(&number) else { return };
        let mut draft = Draft::new(kind, severity, format!("{} {what}", record.label()));
        draft.subject = Some(format!("job {number}"));
        draft.cause = cause;
        draft.data = serde_json::json!({
            "job": number,
            "state": record.state,
            "attempt": record.attempt,
            "nodes": record.nodes().into_iter().map(|node| node.name).collect::<Vec<_>>(),
        });
        self.drafts.push(draft);
    }

    /// Runs until it is asked to end.
    pub fn run(mut self, asked: &Receiver<Ask>) {
        loop {
            let first = match asked.recv_timeout(self.wait()) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ask::End),
            };
            self.now_ms = self.now_ms.max(Timestamp::now().as_millisecond().max(0) as u64);
            let mut answers: Vec<Later> = Vec::new();
            for ask in first.into_iter().chain(asked.try_iter().take(ASKS_AT_ONCE - 1)) {
                if matches!(ask, Ask::End) {
                    self.end();
                    return;
                }
                answers.extend(self.hear(ask));
            }
            self.look_at_fabric();
            for (run, outcome) in self.executor.poll() {
                self.ended(run, outcome);
            }
            self.decide();
            let written = self.record();
            for answer in answers {
                answer(&self.board, written.as_ref().err());
            }
            if written.is_ok() {
                self.act();
            }
            self.picture();
        }
    }

    /// How long nothing has to be done.
    fn wait(&self) -> Duration {
        let longest = if self.is_busy() { LOOK } else { IDLE_LOOK };
        let Some(open) = &self.open else { return IDLE_LOOK };
        let wake = open.scheduler.wake_ms(self.now_ms);
        wake.map_or(longest, |at_ms| {
            Duration::from_millis(at_ms.saturating_sub(self.now_ms).max(1)).min(longest)
        })
    }

    fn is_busy(&self) -> bool {
        let count = |state| self.board.count(state);
        count(State::Starting) + count(State::Running) + count(State::Stopping) > 0
            || !self.to_start.is_empty()
    }

    /// Writes what has changed and tells of it. What cannot be written is tried again with the next.
    fn record(&mut self) -> Result<(), StoreError> {
        while self.over.len() > KEPT
            && let Some((_, number)) = self.over.pop_first()
        {
            if let Some(record) = self.records.remove(&number) {
                for attempt in 1..=record.attempt {
                    self.executor.forget(RunId { job: number, attempt });
                }
            }
            self.changed.insert(number);
        }
        if !self.changed.is_empty() {
            let mut batch = Batch::default();
            for number in &self.changed {
                match self.records.get(number) {
                    Some(record) => {
                        batch.put(
                            Space::Jobs,
                            &number.to_be_bytes(),
                            serde_json::to_vec(record).unwrap_or_default(),
                        );
                    }
                    None => batch.remove(Space::Jobs, &number.to_be_bytes()),
                }
            }
            if let Err(error) = self.store.commit(&batch) {
                self.site.counts.store_failed(&error);
                return Err(error);
            }
            self.is_picture_old = true;
            let changed = std::mem::take(&mut self.changed);
            let shown = changed.iter().filter_map(|number| self.records.get(number)).cloned().map(Arc::new);
            self.board.show(shown);
            for number in changed.iter().filter(|number| !self.records.contains_key(number)) {
                self.board.forget(*number);
            }
        }
        if let Err(error) = self.site.journal.add(self.now(), std::mem::take(&mut self.drafts)) {
            self.site.counts.store_failed(&error);
        }
        Ok(())
    }

    /// Looks whether the fabric is another than before: opens the pool with the first, and follows what is lost and back.
    fn look_at_fabric(&mut self) {
        let view = self.site.newest.get();
        if self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &view)) {
            return;
        }
        if self.open.is_none() {
            let Some(fabric) = view.fabric.clone().filter(|_| view.phase() == Phase::Up) else { return };
            self.open_pool(&fabric);
        }
        if let Some(open) = &self.open
            && self.seen.as_ref().is_none_or(|seen| !Arc::ptr_eq(&seen.inventory, &view.inventory))
        {
            let states = open.room.states(&view.inventory);
            if states != open.states {
                self.follow_states(states);
            }
        }
        self.seen = Some(view);
    }

    fn open_pool(&mut self, fabric: &Arc<Fabric>) {
        let (answer, answered) = channel();
        // Where either thread has ended, the controller ends.
        let call: Call = Box::new(move |manager, _| drop(answer.send(manager.tables().cloned())));
        let asked = self.site.calls.send(call);
        let Ok(Ok(tables)) = asked.map(|()| answered.recv_timeout(PATIENCE)) else { return };
        match Stockroom::open(&self.config.source, &self.config.queue, fabric, tables.map(Arc::new)) {
            Ok((room, scheduler)) => {
                let states = room.pool.nodes().map(|_| NodeState::Open).collect();
                let text = format!(
                    "the pool is open: {} nodes with {} GPUs",
                    room.pool.node_count(),
                    room.pool.gpu_count()
                );
                self.drafts.push(Draft::new(Kind::PoolOpen, Severity::Info, text));
                let (numbers, indices) = (Vec::new(), BTreeMap::new());
                self.open = Some(Open { room, scheduler, states, numbers, indices });
                self.restore();
                self.is_picture_old = true;
            }
            Err(why) => {
                if self.not_ready != why {
                    self.drafts.push(Draft::new(
                        Kind::Finding,
                        Severity::Error,
                        format!("there is no pool: {why}"),
                    ));
                }
                self.not_ready = why;
            }
        }
    }

    /// Tells the scheduler which nodes have failed, are degraded or are back.
    fn follow_states(&mut self, states: Vec<NodeState>) {
        let now_ms = self.now_ms;
        let Some(open) = &mut self.open else { return };
        let old = std::mem::replace(&mut open.states, states.clone());
        let mut decisions = Vec::new();
        for (at, (&old, &new)) in old.iter().zip(&states).enumerate().filter(|(_, (old, new))| old != new) {
            let node = NodeIndex(at as u32);
            let name = open.room.pool.node_name(node).to_owned();
            // The node is one of the pool's.
            let _ = match new {
                NodeState::Failed => {
                    open.scheduler.failed(node, now_ms).map(|decided| decisions.extend(decided))
                }
                state => open.scheduler.set_open(node, state == NodeState::Open),
            };
            let (kind, severity, text) = match new {
                NodeState::Failed => {
                    (Kind::NodeLost, Severity::Error, "all its links to the fabric are lost")
                }
                NodeState::Degraded => {
                    (Kind::NodeClosed, Severity::Warning, "some of its links are lost: it takes no new work")
                }
                NodeState::Closed => (Kind::NodeClosed, Severity::Info, "it takes no new work"),
                NodeState::Open if old == NodeState::Open => continue,
                NodeState::Open => (Kind::NodeBack, Severity::Info, "it takes work again"),
            };
            self.drafts.push(Draft::new(kind, severity, format!("node {name}: {text}")).of(name));
        }
        self.is_picture_old = true;
        for decision in decisions {
            self.follow(decision, Some("a node has failed"));
        }
    }

    /// Shows the pool as it is now.
    fn picture(&mut self) {
        let is_due = self.pictured.is_none_or(|then| then.elapsed() >= PICTURES);
        let Some(open) = self.open.as_ref().filter(|_| self.is_picture_old && is_due) else { return };
        let mut jobs: BTreeMap<NodeIndex, Vec<u64>> = BTreeMap::new();
        let mut reserved: BTreeSet<NodeIndex> = open.scheduler.spares().collect();
        for (&number, &index) in &open.indices {
            for grant in open.scheduler.grants(index) {
                let here = jobs.entry(grant.node).or_default();
                if here.last() != Some(&number) {
                    here.push(number);
                }
            }
            reserved.extend(open.scheduler.reserved(index));
        }
        self.board.set_picture(Picture {
            pool: Arc::clone(&open.room.pool),
            stock: open.scheduler.stock().clone(),
            tenants: open.scheduler.tenants().clone(),
            states: open.states.clone(),
            reserved: reserved.into_iter().collect(),
            jobs,
        });
        self.pictured = Some(Instant::now());
        self.is_picture_old = false;
    }

    /// Ends: jobs that must not outlive it are ended.
    fn end(mut self) {
        if self.config.outlives {
            // What was heard and not yet written is told once more; where it cannot be, the next start knows of none of it.
            let _ = self.record();
            return;
        }
        let running: Vec<RunId> =
            self.records.values().filter(|record| record.state.holds()).map(Record::run).collect();
        let mut left: BTreeSet<RunId> = running.iter().copied().collect();
        for run in running {
            // What cannot be asked is left to its own limit.
            let _ = self.executor.cancel(run, LAST_GRACE);
        }
        let began = Instant::now();
        while !left.is_empty() && began.elapsed() < 2 * LAST_GRACE {
            for (run, _) in self.executor.poll() {
                left.remove(&run);
            }
            left.retain(|run| matches!(self.executor.adopt(*run), Ok(executor::Found::Running)));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Where a job is that must not be over.
    pub fn alive(&self, number: u64) -> Result<&Record, Refused> {
        let record = self.records.get(&number).ok_or(Refused::NoSuchJob(number))?;
        if record.state.is_over() { Err(Refused::Over(number, record.state)) } else { Ok(record) }
    }
}
