//! The loop around a subnet manager: wait, feed, let it compute, send what it wants sent, hear what it says.

use std::io;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use ib::{Packet, Time};
use subnet::{Event, Input, Phase, SubnetManager};
use transport::{Wire, WireError};

use crate::aside::Aside;
use crate::recording::{Digest, Header, Recorder};
use crate::signals::Stop;

/// Signals are looked at this often at least.
const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// Where others may call into the session, it looks whether they do this often.
const CALLS_EVERY: Duration = Duration::from_millis(10);
/// Calls that are answered before the manager has its turn again.
const CALLS_AT_ONCE: usize = 16;

/// A call into a session from another thread: a short look at the manager and its wire, no more.
pub type Call = Box<dyn FnOnce(&SubnetManager, &mut dyn Wire) + Send>;

/// Until when a session runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Until the fabric is up, or cannot be brought up.
    Up,
    /// Until it is stopped.
    Stopped,
}

/// Why a session has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The fabric is up.
    Up,
    /// The fabric cannot be brought up as asked.
    Refused,
    /// Another manager is the master.
    Standby,
    /// It was stopped.
    Stopped,
}

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The wire.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The recording cannot be written.
    #[error("cannot write the recording: {0}")]
    Recording(#[from] io::Error),
}

/// Who watches a session.
pub trait Observer {
    /// The manager says something.
    fn event(&mut self, time: Time, event: &Event, manager: &SubnetManager);

    /// Time has passed: many times a second, while a bring-up runs.
    fn progress(&mut self, manager: &SubnetManager);
}

/// The real time of each phase of the bring-up under way or of the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Finding all devices.
    pub discover: Duration,
    /// LIDs, tables and their proof.
    pub route: Duration,
    /// Writing, arming, activating.
    pub program: Duration,
}

/// When each phase began, in real time: discover, route, program, up.
#[derive(Clone, Copy, Debug, Default)]
struct Marks([Option<Instant>; 4]);

impl Marks {
    fn enter(&mut self, phase: Phase) {
        let at = match phase {
            Phase::Discover => {
                *self = Self::default();
                0
            }
            Phase::Route => 1,
            Phase::Program => 2,
            Phase::Arm | Phase::Activate => return,
            Phase::Up | Phase::Standby | Phase::Refused => 3,
        };
        self.0[at].get_or_insert_with(Instant::now);
    }

    fn times(&self) -> Times {
        let between = |from: Option<Instant>, to: Option<Instant>| match (from, to) {
            (Some(from), Some(to)) => to.duration_since(from),
            _ => Duration::ZERO,
        };
        let [discover, route, program, up] = self.0;
        Times {
            discover: between(discover, route.or(up)),
            route: between(route, program.or(up)),
            program: between(program, up),
        }
    }
}

/// A subnet manager at a wire.
pub struct Session<W> {
    manager: SubnetManager,
    wire: W,
    recorder: Option<Recorder<Box<dyn io::Write>>>,
    stop: Stop,
    /// Once the fabric is up, let virtual time pass no faster than real time.
    paced: bool,
    /// Whether the fabric has been up.
    was_up: bool,
    config: subnet::Config,
    began: Time,
    marks: Marks,
    aside: Aside,
    calls: Option<Receiver<Call>>,
    inbox: Vec<Packet>,
    outbox: Vec<Packet>,
}

impl<W: Wire> Session<W> {
    /// A manager that begins now, at `wire`.
    pub fn new(mut wire: W, config: subnet::Config, stop: Stop) -> Self {
        let began = wire.now();
        Self {
            manager: SubnetManager::new(config.clone(), began),
            wire,
            recorder: None,
            stop,
            paced: false,
            was_up: false,
            config,
            began,
            marks: Marks::default(),
            aside: Aside::default(),
            calls: None,
            inbox: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// Records the session, which has not run yet. `door` is for people who read the recording.
    pub fn record(&mut self, door: &str, out: Box<dyn io::Write>) -> io::Result<()> {
        let header = Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            door: door.to_owned(),
            began: self.began,
            config: self.config.clone(),
        };
        self.recorder = Some(Recorder::new(out, &header)?);
        Ok(())
    }

    /// Lets virtual time pass no faster than real time, once the fabric is up.
    pub fn pace(&mut self) {
        self.paced = true;
    }

    /// Lets others call into the session while it runs. A call must be short: meanwhile nothing is healed.
    pub fn hear(&mut self, calls: Receiver<Call>) {
        self.calls = Some(calls);
    }

    /// The manager.
    pub fn manager(&self) -> &SubnetManager {
        &self.manager
    }

    /// The wire.
    pub fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    /// The real time of each phase.
    pub fn times(&self) -> Times {
        self.marks.times()
    }

    /// Runs the session; may be called again, to go on.
    pub fn run(&mut self, until: Until, observer: &mut dyn Observer) -> Result<End, SessionError> {
        let mut shown = Instant::now();
        loop {
            let now = self.wire.now();
            if let Some(end) = self.drain(now, observer)? {
                self.was_up |= end == End::Up;
                if until == Until::Up || end == End::Refused {
                    return Ok(end);
                }
            }
            if self.stop.wanted() {
                return Ok(End::Stopped);
            }
            self.answer_calls();
            if shown.elapsed() > Duration::from_millis(50) {
                observer.progress(&self.manager);
                shown = Instant::now();
            }
            if self.manager.poll_work().is_some() {
                observer.progress(&self.manager);
                self.compute()?;
            } else if !self.compute_aside()? {
                self.wait_and_feed()?;
            }
        }
    }

    /// Ends the recording in order.
    pub fn finish(&mut self) -> Result<(), SessionError> {
        if let Some(mut recorder) = self.recorder.take() {
            recorder.end(self.wire.now())?;
        }
        Ok(())
    }

    /// Lets the manager compute.
    fn compute(&mut self) -> Result<(), SessionError> {
        let now = self.wire.now();
        if let Some(recorder) = &mut self.recorder {
            recorder.work(now)?;
        }
        self.manager.do_work(now);
        Ok(())
    }

    fn answer_calls(&mut self) {
        let Some(calls) = &self.calls else { return };
        for call in calls.try_iter().take(CALLS_AT_ONCE) {
            call(&self.manager, &mut self.wire);
        }
    }

    /// Begins what can be computed beside the manager, or gives it what came of that; says whether there was any.
    fn compute_aside(&mut self) -> Result<bool, SessionError> {
        let now = self.wire.now();
        if let Some(task) = self.manager.poll_task() {
            if let Some(recorder) = &mut self.recorder {
                recorder.task(now)?;
            }
            self.aside.begin(task, self.wire.has_virtual_clock());
            return Ok(true);
        }
        let Some(solution) = self.aside.take() else { return Ok(false) };
        if let Some(recorder) = &mut self.recorder {
            recorder.solved(now)?;
        }
        self.manager.solved(now, solution);
        Ok(true)
    }

    /// Sends what is to be sent, shows what is said; returns how the bring-up ended where it did.
    fn drain(&mut self, now: Time, observer: &mut dyn Observer) -> Result<Option<End>, SessionError> {
        self.outbox.clear();
        self.manager.poll_send(now, &mut self.outbox);
        let mut digest = self.recorder.as_ref().map(|_| Digest::default());
        if let Some(digest) = &mut digest {
            self.outbox.iter().for_each(|packet| digest.packet(packet));
        }
        if !self.outbox.is_empty() {
            self.wire.send(&self.outbox)?;
        }
        let mut end = None;
        while let Some(event) = self.manager.poll_event() {
            if let Some(digest) = &mut digest {
                digest.event(&event);
            }
            if let Event::Phase { phase } = event {
                self.marks.enter(phase);
            }
            observer.event(now, &event, &self.manager);
            match event {
                Event::Up { .. } => end = Some(End::Up),
                Event::Refused { .. } => end = Some(End::Refused),
                Event::Standby { .. } => end = Some(End::Standby),
                _ => {}
            }
        }
        if let (Some(recorder), Some(digest)) = (&mut self.recorder, digest) {
            recorder.drain(now, digest.finish())?;
        }
        Ok(end)
    }

    /// Waits for packets or the manager's deadline, and gives it what has come.
    fn wait_and_feed(&mut self) -> Result<(), SessionError> {
        let began = self.wire.now();
        let deadline = self.manager.next_deadline();
        let longest = if self.calls.is_some() { CALLS_EVERY } else { LONGEST_WAIT };
        let look = began + longest;
        let until = deadline.map_or(look, |deadline| deadline.min(look));
        self.inbox.clear();
        let now = self.wire.receive(&mut self.inbox, Some(until))?;
        if self.was_up && self.paced {
            std::thread::sleep(now.since(began).min(longest));
        }
        for packet in &self.inbox {
            let input = Input::Packet(packet);
            if let Some(recorder) = &mut self.recorder {
                recorder.input(now, &input)?;
            }
            self.manager.input(now, input);
        }
        if deadline.is_some_and(|deadline| now >= deadline) {
            if let Some(recorder) = &mut self.recorder {
                recorder.input(now, &Input::Tick)?;
            }
            self.manager.input(now, Input::Tick);
        }
        Ok(())
    }
}
