//! The manager and the emulated fabric under one virtual clock.
//!
//! A door in small: it waits for the next arrival or deadline, feeds the manager, lets it compute, sends what it
//! wants sent. The time that the manager really computes passes in the fabric too, where a clock is given.

use std::collections::BTreeMap;
use std::time::Duration;

use emulator::{AttachError, ClientId, Emulator};
use fabric::{Fabric, NodeId};
use ib::{Packet, Time};
use subnet::{Event, Input, Phase, Solution, SubnetManager, Task};

use crate::config::{Clock, Config};
use crate::drill::Ear;
use crate::weather::Sky;

/// Nothing is going to happen for so long: all is quiet.
const QUIET: Duration = Duration::from_secs(1);

/// How long a computation beside the manager takes where real time is not counted: long enough for failures to strike
/// meanwhile.
const ASIDE: Duration = Duration::from_millis(3);

/// Times that a manager may compute in a row without time passing for it.
const MOST_WORK: u32 = 1000;

/// More turns without time passing and without anything coming in than there is a reason for.
const MOST_IDLE_TURNS: u32 = 10_000;

/// A manager at a port of an emulated fabric.
pub(crate) struct World {
    pub emulator: Emulator,
    pub manager: SubnetManager,
    pub sky: Sky,
    /// When the manager is killed next.
    pub kill_at: Option<Time>,
    /// Packets that managers have sent.
    pub sent: u64,
    /// Why the manager refused, where it did.
    pub refused: Option<String>,
    /// Who hears what managers say.
    pub ear: Option<Ear>,
    client: ClientId,
    seat: (NodeId, u8),
    managed: subnet::Config,
    clock: Option<Clock>,
    /// Packets that the weather holds back, by time and number.
    held: BTreeMap<(Time, u64), Packet>,
    numbered: u64,
    /// What is computed beside the manager, and when it is done.
    aside: Option<(Time, Solution)>,
    deadline: Option<Time>,
    /// Turns in a row in which no time has passed and nothing has come in.
    idle_turns: u32,
    inbox: Vec<Packet>,
    outbox: Vec<Packet>,
}

impl World {
    /// A manager that begins now, on a fabric that stands as the configuration's faults leave it.
    pub fn new(fabric: &Fabric, seat: (NodeId, u8), config: &Config) -> Result<Self, AttachError> {
        let mut emulator = Emulator::new(fabric, config.emulated.clone());
        emulator.advance(Time::ZERO);
        let client = emulator.attach(seat.0, seat.1)?;
        emulator.set_is_manager(client, true);
        emulator.keep_table_writes(true);
        let mut world = Self {
            manager: SubnetManager::new(config.managed.clone(), emulator.now()),
            emulator,
            sky: Sky::fair(),
            kill_at: None,
            sent: 0,
            refused: None,
            ear: None,
            client,
            seat,
            managed: config.managed.clone(),
            clock: config.clock,
            held: BTreeMap::new(),
            numbered: 0,
            aside: None,
            deadline: None,
            idle_turns: 0,
            inbox: Vec::new(),
            outbox: Vec::new(),
        };
        world.act();
        Ok(world)
    }

    pub fn now(&self) -> Time {
        self.emulator.now()
    }

    /// When the manager wants to be called next, if nothing comes before.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Kills the manager and starts a fresh one in its place, which knows nothing but the LIDs that were given out.
    pub fn restart(&mut self) {
        self.kill_at = None;
        self.held.clear();
        self.aside = None;
        self.emulator.detach(self.client);
        if let Ok(client) = self.emulator.attach(self.seat.0, self.seat.1) {
            self.client = client;
            self.emulator.set_is_manager(client, true);
        }
        self.refused = None;
        self.manager = SubnetManager::new(self.managed.clone(), self.now());
        self.act();
    }

    /// Whether neither the manager nor the fabric has anything to do for a while.
    pub fn is_quiet(&self) -> bool {
        self.manager.is_settled()
            && self.kill_at.is_none()
            && self.held.is_empty()
            && self.emulator.next_event().is_none()
            && self.deadline.is_none_or(|deadline| deadline > self.now() + QUIET)
    }

    /// Whether nothing is going to happen ever, though the manager has something left to do.
    pub fn is_stuck(&self) -> bool {
        self.deadline.is_none()
            && self.kill_at.is_none()
            && self.held.is_empty()
            && self.aside.is_none()
            && self.emulator.next_event().is_none()
            && !self.manager.is_settled()
    }

    /// Whether the manager wants to be called at once, again and again, and does nothing then.
    pub fn is_spinning(&self) -> bool {
        self.idle_turns > MOST_IDLE_TURNS
    }

    /// Whether the manager says that its fabric is up.
    pub fn is_up(&self) -> bool {
        self.manager.phase() == Phase::Up
    }

    /// Lets time pass to what comes next, but not beyond `until`; feeds what has come and lets the manager act on it.
    pub fn turn(&mut self, until: Time) {
        let held = self.held.keys().next().map(|&(at, _)| at);
        // A manager at rest is looked at after all that happens, to see when all is quiet.
        let event = self.emulator.next_event().filter(|_| self.manager.is_settled());
        let solved = self.aside.as_ref().map(|&(at, _)| at);
        let next =
            [self.deadline, held, self.kill_at, event, solved].into_iter().flatten().fold(until, Time::min);
        let before = self.now();
        self.emulator.advance_to_delivery(next.max(before));
        self.gather();
        let idle = self.now() == before && self.inbox.is_empty();
        self.idle_turns = if idle { self.idle_turns + 1 } else { 0 };
        if self.kill_at.is_some_and(|at| at <= self.now()) {
            self.restart();
            return;
        }
        self.feed();
        self.act();
    }

    /// Takes in what has come to the port and what the weather held back until now.
    fn gather(&mut self) {
        self.inbox.clear();
        while let Some((at, client, packet)) = self.emulator.receive() {
            if client != self.client {
                continue;
            }
            for time in self.sky.lets_in(at, &packet).into_iter().flatten() {
                if time <= self.emulator.now() {
                    self.inbox.push(packet);
                } else {
                    self.numbered += 1;
                    self.held.insert((time, self.numbered), packet);
                }
            }
        }
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= self.emulator.now()) {
            self.inbox.push(first.remove());
        }
    }

    fn feed(&mut self) {
        let began = self.clock.map(|clock| clock());
        let now = self.now();
        for packet in &self.inbox {
            self.manager.input(now, Input::Packet(packet));
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.manager.input(now, Input::Tick);
        }
        if let Some((_, solution)) = self.aside.take_if(|(at, _)| *at <= now) {
            self.manager.solved(now, solution);
        }
        self.charge(began);
    }

    /// Lets the manager send, compute and speak, until it wants nothing more for now.
    fn act(&mut self) {
        for _ in 0..MOST_WORK {
            let began = self.clock.map(|clock| clock());
            self.outbox.clear();
            let now = self.now();
            self.manager.poll_send(now, &mut self.outbox);
            self.charge(began);
            self.send();
            if self.manager.poll_work().is_none() {
                break;
            }
            let began = self.clock.map(|clock| clock());
            self.manager.do_work(self.now());
            self.charge(began);
        }
        if let Some(task) = self.manager.poll_task() {
            self.compute_aside(task);
        }
        while let Some(event) = self.manager.poll_event() {
            if let Some(ear) = &mut self.ear {
                ear(self.emulator.now(), &event);
            }
            match event {
                Event::LidsAssigned { lids, .. } => self.managed.known_lids.extend(lids),
                Event::Refused { reason } => self.refused = Some(reason),
                _ => {}
            }
        }
        self.deadline = self.manager.next_deadline();
    }

    /// Computes what the manager does not wait for: it has it when so much time has passed as that took.
    fn compute_aside(&mut self, task: Task) {
        let began = self.clock.map(|clock| clock());
        let solution = task.compute();
        let took =
            self.clock.zip(began).map_or(ASIDE, |(clock, began)| clock().saturating_duration_since(began));
        self.aside = Some((self.now() + took, solution));
    }

    fn send(&mut self) {
        let now = self.now();
        self.sent += self.outbox.len() as u64;
        for packet in &self.outbox {
            if self.sky.lets_out(now) {
                self.emulator.send(now, self.client, packet);
            }
        }
    }

    /// Lets as much time pass in the fabric as has really passed since `began`.
    fn charge(&mut self, began: Option<std::time::Instant>) {
        if let (Some(clock), Some(began)) = (self.clock, began) {
            let took = clock().saturating_duration_since(began);
            self.emulator.advance(self.now() + took);
        }
    }
}
