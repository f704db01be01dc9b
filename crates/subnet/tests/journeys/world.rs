//! An emulated fabric with managers at it, and time that passes for both.
//!
//! [`World::run`] is a door in small: it drains each manager, lets it compute, lets time pass to the next arrival or
//! deadline, and feeds what has come. All of it is values; nothing waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use emulator::{ClientId, Emulator};
use fabric::{Fabric, NodeId};
use ib::{Guid, Lid, Method, Packet, Time};
use subnet::{Event, Finding, FindingKind, Input, Phase, Solution, SubnetManager};

use crate::mischief::{Forger, Mischief, Wire};

pub const SECOND: Duration = Duration::from_secs(1);

/// More virtual time than any bring-up here takes.
pub const LONG: Duration = Duration::from_secs(3600);

/// A manager at a port.
pub struct Seat {
    pub manager: SubnetManager,
    pub client: ClientId,
    pub at: (NodeId, u8),
    /// What it has said.
    pub events: Vec<Event>,
    /// Requests that it has sent, by whether they write.
    pub gets: u64,
    pub sets: u64,
    /// The most packets that it has sent at one moment, and had under way.
    pub largest_burst: usize,
    pub most_under_way: usize,
    pub widest_window: usize,
    /// A digest of everything sent.
    pub digest: u64,
    /// What is computed beside it, and when that is done.
    aside: Option<(Time, Solution)>,
    /// The next tick it wants: fed when due, whatever else arrives.
    deadline: Option<Time>,
    is_dead: bool,
}

/// An emulated fabric with managers at it.
pub struct World {
    pub emulator: Emulator,
    pub seats: Vec<Seat>,
    pub wire: Wire,
    pub forger: Option<Forger>,
    /// How long a computation beside the manager takes.
    pub aside_takes: Duration,
    /// Deliveries that the wire holds back: by time and number, to a client.
    held: BTreeMap<(Time, u64), (ClientId, Packet)>,
    numbered: u64,
    outbox: Vec<Packet>,
    /// Packets that came to clients without a manager.
    pub strays: VecDeque<(ClientId, Packet)>,
}

impl World {
    pub fn new(fabric: &Fabric, config: emulator::Config) -> Self {
        Self {
            emulator: Emulator::new(fabric, config),
            seats: Vec::new(),
            wire: Wire::new(Mischief::default()),
            forger: None,
            aside_takes: Duration::from_millis(5),
            held: BTreeMap::new(),
            numbered: 0,
            outbox: Vec::new(),
            strays: VecDeque::new(),
        }
    }

    /// A healthy fabric with one manager at its first host, else its first switch.
    pub fn healthy(fabric: &Fabric) -> Self {
        Self::with(fabric, emulator::Config::default(), subnet::Config::default())
    }

    pub fn with(fabric: &Fabric, emulated: emulator::Config, config: subnet::Config) -> Self {
        let mut world = Self::new(fabric, emulated);
        let (node, port) = first_seat(fabric);
        world.sit(node, port, config);
        world
    }

    pub fn mischief(mut self, mischief: Mischief) -> Self {
        self.wire = Wire::new(mischief);
        self
    }

    pub fn now(&self) -> Time {
        self.emulator.now()
    }

    /// Seats a manager that begins now; its number.
    pub fn sit(&mut self, node: NodeId, port: u8, config: subnet::Config) -> usize {
        let client = self.emulator.attach(node, port).expect("a free port to sit at");
        self.emulator.set_is_manager(client, true);
        self.seats.push(Seat {
            manager: SubnetManager::new(config, self.now()),
            client,
            at: (node, port),
            events: Vec::new(),
            gets: 0,
            sets: 0,
            largest_burst: 0,
            most_under_way: 0,
            widest_window: 0,
            digest: 0,
            aside: None,
            deadline: None,
            is_dead: false,
        });
        self.seats.len() - 1
    }

    /// A manager dies without a word.
    pub fn kill(&mut self, seat: usize) {
        let client = self.seats[seat].client;
        self.emulator.detach(client);
        self.seats[seat].is_dead = true;
        self.seats[seat].deadline = None;
    }

    /// A new manager in the place of the first one: what was known of the fabric is what the devices hold.
    pub fn restart(&mut self, config: subnet::Config) {
        let (node, port) = self.seats[0].at;
        self.kill(0);
        self.seats.clear();
        self.held.clear();
        self.sit(node, port, config);
    }

    pub fn manager(&self) -> &SubnetManager {
        &self.seats[0].manager
    }

    /// Lets every manager say and send what it wants.
    fn drain(&mut self) {
        let now = self.now();
        for seat in self.seats.iter_mut().filter(|seat| !seat.is_dead) {
            self.outbox.clear();
            for round in 0.. {
                assert!(round < 1000, "a manager that computes and never sends");
                seat.manager.poll_send(now, &mut self.outbox);
                if seat.manager.poll_work().is_none() {
                    break;
                }
                seat.manager.do_work(now);
            }
            if let Some(task) = seat.manager.poll_task() {
                seat.aside = Some((now + self.aside_takes, task.compute()));
            }
            while let Some(event) = seat.manager.poll_event() {
                seat.events.push(event);
            }
            let (under_way, window) = seat.manager.window();
            seat.most_under_way = seat.most_under_way.max(under_way);
            seat.widest_window = seat.widest_window.max(window);
            seat.largest_burst = seat.largest_burst.max(self.outbox.len());
            for packet in &self.outbox {
                match packet.mad.method() {
                    Method::GET => seat.gets += 1,
                    Method::SET => seat.sets += 1,
                    _ => {}
                }
                seat.digest = digest(seat.digest, now, packet);
                if let Some(forged) = self.forger.as_mut().and_then(|forge| forge(packet)) {
                    self.numbered += 1;
                    let at = now + Duration::from_micros(10);
                    self.held.insert((at, self.numbered), (seat.client, forged));
                    continue;
                }
                self.emulator.send(now, seat.client, packet);
            }
            seat.deadline = seat.manager.next_deadline();
        }
    }

    /// Lets time pass to the next arrival, deadline or `until`; feeds what has come.
    fn step(&mut self, until: Time) {
        let seats = || self.seats.iter().filter(|seat| !seat.is_dead);
        let asides = seats().filter_map(|seat| seat.aside.as_ref().map(|&(at, _)| at));
        let deadlines = seats().filter_map(|seat| seat.deadline).chain(asides);
        let held = self.held.keys().next().map(|&(at, _)| at);
        let next = deadlines.chain(held).min().unwrap_or(until).min(until).max(self.now());
        self.emulator.advance_to_delivery(next);
        while let Some((at, client, packet)) = self.emulator.receive() {
            for (late, packet) in self.wire.cross(&packet) {
                self.numbered += 1;
                self.held.insert((at + late, self.numbered), (client, packet));
            }
        }
        let now = self.now();
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            let (client, packet) = entry.remove();
            match self.seats.iter_mut().find(|seat| seat.client == client && !seat.is_dead) {
                Some(seat) => seat.manager.input(now, Input::Packet(&packet)),
                None => self.strays.push_back((client, packet)),
            }
        }
        for seat in &mut self.seats {
            if !seat.is_dead && seat.deadline.is_some_and(|deadline| deadline <= now) {
                seat.manager.input(now, Input::Tick);
            }
            if let Some((_, solution)) = seat.aside.take_if(|(at, _)| !seat.is_dead && *at <= now) {
                seat.manager.solved(now, solution);
            }
        }
    }

    /// Lets time pass until `done`, but no longer than `most`; says whether it came to that.
    pub fn run(&mut self, most: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        let until = self.now() + most;
        loop {
            self.drain();
            if done(self) {
                return true;
            }
            if self.now() >= until {
                return false;
            }
            self.step(until);
        }
    }

    /// Lets time pass until every manager has nothing left to do but wait.
    pub fn settle(&mut self) {
        let settled =
            self.run(LONG, |world| world.seats.iter().all(|seat| seat.is_dead || seat.manager.is_settled()));
        let at: Vec<_> = self.seats.iter().map(|seat| seat.manager.progress()).collect();
        assert!(settled, "not settled after {LONG:?}: {at:?}");
    }

    /// Lets `time` pass, whatever happens.
    pub fn pass(&mut self, time: Duration) {
        self.run(time, |_| false);
    }

    /// Runs until the first manager's fabric is up, and says what it found wrong.
    pub fn bring_up(&mut self) -> Vec<Finding> {
        self.settle();
        let report = self.manager().report();
        assert_eq!(report.state, Phase::Up, "{:?}\n{:#?}", report.refused, report.findings);
        report.findings
    }

    /// The LIDs that the first manager has given out, to know them at the next start.
    pub fn known_lids(&self) -> BTreeMap<Guid, Lid> {
        let given = self.seats[0].events.iter().rev().find_map(|event| match event {
            Event::LidsAssigned { lids, .. } => Some(lids.clone()),
            _ => None,
        });
        given.unwrap_or_default()
    }

    /// How often the first manager came up.
    pub fn times_up(&self) -> usize {
        self.seats[0]
            .events
            .iter()
            .filter(|event| matches!(event, Event::Up { .. } | Event::Healed { .. }))
            .count()
    }
}

/// Findings of one kind.
pub fn of_kind(findings: &[Finding], kind: FindingKind) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.kind == kind).collect()
}

/// Where a manager sits by default: the first cabled port of the first cabled host, else the first switch.
pub fn first_seat(fabric: &Fabric) -> (NodeId, u8) {
    let host = fabric.hosts().find_map(|node| {
        let (port, _) = fabric.neighbors(node).next()?;
        Some((node, fabric.port_number(port)))
    });
    host.or_else(|| Some((fabric.switches().next()?, 0))).expect("somewhere to sit")
}

fn digest(so_far: u64, now: Time, packet: &Packet) -> u64 {
    let mut digest = so_far;
    let mut mix = |word: u64| digest = (digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    mix(now.0);
    mix(u64::from(packet.dlid.0) << 32 | u64::from(packet.dest_qp));
    packet.mad.0.chunks_exact(8).for_each(|word| mix(u64::from_be_bytes(word.try_into().unwrap())));
    digest
}
