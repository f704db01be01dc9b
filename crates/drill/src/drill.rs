//! One step after another: it happens, the manager heals, the oracle judges.

use std::time::Duration;

use emulator::{AttachError, TableWrite};
use fabric::{Fabric, NodeId};
use ib::Time;
use subnet::Event;

use crate::config::Config;
use crate::error::DrillError;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::outcome::{Outcome, Record};
use crate::plan::{Plan, Step};
use crate::transient::Transients;
use crate::weather::Sky;
use crate::world::World;

/// More virtual time than any bring-up takes.
const BRING_UP: Duration = Duration::from_secs(3600);

/// Hears what managers say, with the virtual time.
pub type Ear = Box<dyn FnMut(Time, &Event)>;

/// A manager begins something of its own within this time: a light sweep at the latest.
const LONGEST_REST: Duration = Duration::from_secs(120);

/// A drill on a fabric.
pub struct Drill<'f> {
    config: Config,
    plan: Plan<'f>,
    world: World,
    oracle: Oracle,
    transients: Option<Transients>,
    writes: Vec<TableWrite>,
    failures: u32,
}

/// What a step has cost so far.
#[derive(Default)]
struct Measure {
    last_write: Option<Time>,
    blocks: u64,
    /// When the manager had nothing left to do, and what it had sent by then: after the last write, or, without one,
    /// for the first time.
    done: Option<(Time, u64)>,
    was_busy: bool,
    /// What was wrong after a single write, where something was.
    transient: Option<String>,
}

impl<'f> Drill<'f> {
    /// Brings a fabric up whose manager sits at a port of `seat`, as it stands before the first step.
    pub fn new(fabric: &'f Fabric, seat: (NodeId, u8), mut config: Config) -> Result<Self, DrillError> {
        let mut plan = Plan::new(fabric, seat.0, &config.kinds, config.open, config.seed);
        if let Some(only) = config.only {
            for _ in 1..only {
                plan.next_step().ok_or(DrillError::NoSuchStep(only))?;
            }
        }
        let stands = plan.standing().into_iter().map(|fault| (Duration::ZERO, fault));
        config.emulated.faults.extend(stands);
        let no_such_port = || AttachError::NoSuchPort { node: fabric.name(seat.0).to_owned(), port: seat.1 };
        let own = fabric.port(seat.0, seat.1).ok_or_else(no_such_port)?;
        let mut drill = Self {
            oracle: Oracle::new(own),
            world: World::new(fabric, seat, &config)?,
            plan,
            transients: None,
            writes: Vec::new(),
            failures: 0,
            config,
        };
        drill.settle(drill.world.now() + BRING_UP, &mut Measure::default()).map_err(DrillError::NotUp)?;
        drill.judge().map_err(DrillError::NotUp)?;
        if drill.config.check_every_write {
            drill.transients = Some(Transients::new(&drill.world.emulator));
        }
        Ok(drill)
    }

    /// Lets `ear` hear what managers say from now on.
    pub fn listen(&mut self, ear: Ear) {
        self.world.ear = Some(ear);
    }

    /// Holds the drill; `watch` is told of every step, with how many failures there have been.
    pub fn run(&mut self, watch: &mut dyn FnMut(&Record, u32)) -> Result<Outcome, DrillError> {
        let mut records = Vec::new();
        while self.failures < self.config.failures {
            let step = self.plan.next_step().ok_or(DrillError::NothingToBreak)?;
            let record = self.hold(&step);
            self.failures += u32::from(step.kind != Kind::Mend);
            watch(&record, self.failures);
            let healed = record.wrong.is_none();
            records.push(record);
            if self.config.only.is_some() || !healed && !self.config.keep_going {
                break;
            }
            if !healed {
                self.start_afresh();
            }
        }
        Ok(Outcome::new(self.config.seed, records))
    }

    /// A fresh manager brings the fabric up as it stands, so that the next step is judged by itself.
    fn start_afresh(&mut self) {
        self.world.sky = Sky::fair();
        self.world.restart();
        // What is still wrong after that is the next step's to tell.
        let _ = self.settle(self.world.now() + BRING_UP, &mut Measure::default());
    }

    /// Holds one step.
    fn hold(&mut self, step: &Step) -> Record {
        let mut measure = Measure::default();
        self.pass(step, &mut measure);
        // Of what was before, only a wrong write counts.
        let mut measure = Measure { transient: measure.transient, ..Measure::default() };
        let began = self.world.now();
        let sent = self.world.sent;
        self.world.emulator.take_first_trap();
        for &(after, fault) in &step.faults {
            self.world.emulator.schedule(began + after, fault);
        }
        self.world.sky = Sky::new(step.weather, began, step.seed);
        self.world.kill_at = step.restart.map(|after| began + after);
        let healed = self.heal(step, began + self.config.patience, &mut measure);
        self.world.sky = Sky::fair();
        let trap = self.world.emulator.take_first_trap();
        let heard = trap.filter(|_| !step.weather.mute_traps).unwrap_or(began);
        let (done, mads) = measure.done.unwrap_or((heard, sent));
        Record {
            number: step.number,
            kind: step.kind,
            what: step.what.clone(),
            wrong: healed.err().or(measure.transient),
            ms: measure.last_write.unwrap_or(done).since(heard).as_nanos() as f64 * 1e-6,
            blocks: measure.blocks,
            mads: mads - sent,
            cut_off: self.oracle.parts_cut_off(&self.world.emulator),
        }
    }

    /// Waits until the oracle finds nothing wrong any more; what is still wrong at `limit`.
    fn heal(&mut self, step: &Step, limit: Time, measure: &mut Measure) -> Result<(), String> {
        // What is scheduled for now happens before anything is looked at.
        self.world.emulator.advance(self.world.now());
        let mut before: Option<String> = None;
        loop {
            self.settle(limit, measure).map_err(|restless| before.unwrap_or(restless))?;
            let due = step.number.is_multiple_of(self.config.judge_every.max(1))
                || self.failures + 1 >= self.config.failures
                || self.config.only.is_some();
            let judged = if due { self.judge() } else { Ok(()) };
            let Err(wrong) = judged else { return Ok(()) };
            let Some(deadline) = self.world.deadline().filter(|_| self.world.now() < limit) else {
                return Err(wrong);
            };
            before = Some(wrong);
            // A light sweep, or a second look that the manager has promised itself, may find what a trap did not tell.
            self.pass_until(deadline, measure, |_| false);
        }
    }

    fn judge(&mut self) -> Result<(), String> {
        if !self.world.is_up() {
            let phase = self.world.manager.phase();
            return Err(match &self.world.refused {
                Some(reason) => format!("the manager refuses: {reason}"),
                None => format!("the manager stands at {phase:?}"),
            });
        }
        self.oracle.judge(&self.world.emulator, &self.world.manager)
    }

    /// Lets time pass until all is quiet.
    fn settle(&mut self, limit: Time, measure: &mut Measure) -> Result<(), String> {
        while !self.world.is_quiet() {
            let phase = self.world.manager.phase();
            if self.world.is_stuck() {
                return Err(format!("the manager stands at {phase:?} and waits for what will never come"));
            }
            if self.world.is_spinning() {
                return Err(format!(
                    "the manager stands at {phase:?} and wants to be called again and again"
                ));
            }
            if self.world.now() >= limit {
                return Err(format!("the manager does not come to rest and stands at {phase:?}"));
            }
            self.turn(limit, measure);
        }
        Ok(())
    }

    /// Lets the time before a step pass.
    fn pass(&mut self, step: &Step, measure: &mut Measure) {
        let until = self.world.now() + step.pause;
        self.pass_until(until, measure, |_| false);
        let Some(after) = step.strikes_work else { return };
        let limit = self.world.now() + LONGEST_REST;
        self.pass_until(limit, measure, |world| !world.manager.is_settled());
        self.pass_until(self.world.now() + after, measure, |_| false);
    }

    /// A manager that spins is told of when it is to heal.
    fn pass_until(&mut self, until: Time, measure: &mut Measure, done: fn(&World) -> bool) {
        while self.world.now() < until && !done(&self.world) && !self.world.is_spinning() {
            self.turn(until, measure);
        }
    }

    fn turn(&mut self, until: Time, measure: &mut Measure) {
        self.world.turn(until);
        self.writes.clear();
        self.world.emulator.take_table_writes(&mut self.writes);
        let busy = !self.world.manager.is_settled();
        if let Some(last) = self.writes.last() {
            measure.last_write = Some(last.at);
            measure.blocks += self.writes.len() as u64;
            measure.done = None;
        }
        if !busy && measure.done.is_none() && (measure.was_busy || measure.last_write.is_some()) {
            measure.done = Some((self.world.now(), self.world.sent));
        }
        measure.was_busy |= busy;
        if let Some(transients) = &mut self.transients {
            transients.forget_what_is_off(&self.world.emulator);
            let judged = transients.judge(&self.world.emulator, &self.writes);
            measure.transient = measure.transient.take().or(judged.err());
        }
    }
}
