//! The manager's face and its phases.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use fabric::{Fabric, NodeId, NodeKind};
use ib::{ManagementClass, Method, Packet, Time};
use routing::{Lanes, Tables, Verification};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::administrator::Administrator;
use crate::config::Config;
use crate::devices::Devices;
use crate::event::{Event, Input, Work};
use crate::exchange::{Exchange, Outcome, Target};
use crate::finding::{Finding, FindingKind};
use crate::healing::Healing;
use crate::in_service::InService;
use crate::programming::{Counts, HeldMappings, Programming};
use crate::report::{Progress, Report, Seconds, Verified};
use crate::request::Request;
use crate::standby::Others;
use crate::sweep::Sweeping;

/// After so many times in vain, early ones all of them, it is asked who is beside a device whether it is still there.
const DOUBTFUL: u8 = 3;

/// What the manager is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Finds every device.
    Discover,
    /// Gives out LIDs, computes tables and proves them.
    Route,
    /// Writes what differs.
    Program,
    /// Brings links from INIT to ARMED.
    Arm,
    /// Brings links from ARMED to ACTIVE.
    Activate,
    /// Everything is up; looks for changes.
    Up,
    /// Another manager is the master.
    Standby,
    /// The fabric cannot be brought up as asked; nothing was written.
    Refused,
}

/// The tables of the bring-up before this one, with the numbers that switches had in it.
pub(crate) struct Former {
    pub tables: Arc<Tables>,
    pub nodes: FxHashMap<ib::Guid, NodeId>,
    /// The order that their paths climb by.
    pub heights: Option<Vec<u32>>,
    /// The lanes that they took.
    pub lanes: Lanes,
}

/// A subnet manager.
pub struct SubnetManager {
    pub(crate) config: Config,
    pub(crate) phase: Phase,
    pub(crate) devices: Devices,
    pub(crate) exchange: Exchange,
    /// Answers to what others asked.
    pub(crate) replies: VecDeque<Packet>,
    events: VecDeque<Event>,
    pub(crate) findings: BTreeSet<Finding>,
    pub(crate) counts: Counts,
    pub(crate) tables: Option<Arc<Tables>>,
    pub(crate) former: Option<Former>,
    /// Which nodes the manager reaches.
    pub(crate) reached: Vec<bool>,
    /// The next block to look at, by node.
    pub(crate) cursor: Vec<u32>,
    pub(crate) routing: Option<String>,
    pub(crate) verification: Verification,
    pub(crate) lids_given: usize,
    pub(crate) refused: Option<String>,
    work: Option<Work>,
    started: Time,
    /// When each phase began: discover, route, program, up.
    marks: [Option<Time>; 4],
    done: u64,
    of: u64,
    pub(crate) sweeping: Sweeping,
    pub(crate) others: Others,
    pub(crate) healing: Healing,
    /// The order that the paths of `tables` climb by.
    pub(crate) heights: Option<Vec<u32>>,
    /// The lanes of the paths of `tables`.
    pub(crate) lanes: Lanes,
    /// What switches hold of lanes, as far as it is known.
    pub(crate) mappings: FxHashMap<ib::Guid, HeldMappings>,
    pub(crate) administrator: Administrator,
    pub(crate) programming: Programming,
    /// All tables were emptied in this bring-up, so that lanes could change.
    pub(crate) cleared: bool,
    /// Tables or lanes in service were changed in this bring-up.
    pub(crate) ways_changed: bool,
    /// Switches that did not confirm a block of their table: what they hold is not known.
    pub(crate) doubtful: FxHashSet<ib::Guid>,
    /// Those for whose sake the fabric was looked at anew already.
    pub(crate) mute: FxHashSet<ib::Guid>,
}

impl SubnetManager {
    /// A manager that begins to look around at `now`.
    pub fn new(config: Config, now: Time) -> Self {
        let mut manager = Self {
            exchange: Exchange::new(&config),
            config,
            phase: Phase::Discover,
            devices: Devices::new(),
            replies: VecDeque::new(),
            events: VecDeque::new(),
            findings: BTreeSet::new(),
            counts: Counts::default(),
            tables: None,
            former: None,
            reached: Vec::new(),
            cursor: Vec::new(),
            routing: None,
            verification: Verification::default(),
            lids_given: 0,
            refused: None,
            work: None,
            started: now,
            marks: [None; 4],
            done: 0,
            of: 0,
            sweeping: Sweeping::default(),
            others: Others::default(),
            healing: Healing::default(),
            heights: None,
            lanes: Lanes::one(),
            mappings: FxHashMap::default(),
            administrator: Administrator::default(),
            programming: Programming::Plain,
            cleared: false,
            ways_changed: false,
            doubtful: FxHashSet::default(),
            mute: FxHashSet::default(),
        };
        manager.begin_discovery(now);
        manager
    }

    /// Takes in what came, or lets time pass.
    pub fn input(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Packet(packet) if packet.status != 0 => {
                if let Some(outcome) = self.exchange.failed(packet.mad.tid() as u32) {
                    self.came_to_nothing(now, outcome);
                }
            }
            Input::Packet(packet) => self.packet(now, packet),
            Input::Sweep => self.sweep_soon(now, "asked for"),
            Input::Tick => {
                while let Some(outcome) = self.exchange.expired(now) {
                    self.came_to_nothing(now, outcome);
                }
                self.tick_heal(now);
                self.tick_sweep(now);
            }
        }
        self.advance(now);
    }

    /// What the manager wants sent now, appended to `out`.
    pub fn poll_send(&mut self, now: Time, out: &mut Vec<Packet>) {
        out.extend(self.replies.drain(..));
        self.exchange.begin_sending(now);
        while let Some((request, tid)) = self.exchange.next_resend(now) {
            if let Some(mut mad) = self.build(request) {
                mad.set_tid(u64::from(tid));
                self.counts.retried(request);
                out.push(Packet::directed(mad));
            }
        }
        loop {
            while self.work.is_none()
                && let Some(target) = self.exchange.next_target()
            {
                self.take_turn(now, target, out);
            }
            if !self.advance(now) {
                break;
            }
        }
    }

    /// Sends what a target's turn is for.
    fn take_turn(&mut self, now: Time, target: Target, out: &mut Vec<Packet>) {
        let front = self.exchange.front(target);
        let (request, keep) = match front {
            Request::ProgramTables(node) => match self.next_changed_block(node) {
                Some(block) => (Request::SetTable(node, block), true),
                None => return self.exchange.drop_front(target),
            },
            Request::ReadTables(node) => match self.next_block_to_read(node) {
                Some(block) => (Request::GetTable(node, block), true),
                None => return self.exchange.drop_front(target),
            },
            Request::ProgramLanes(node) => match self.next_turn_to_write(node) {
                Some(turn) => (turn, true),
                None => return self.exchange.drop_front(target),
            },
            Request::ReadLanes(node) => match self.next_turn_to_read(node) {
                Some(turn) => (turn, true),
                None => return self.exchange.drop_front(target),
            },
            request => (request, false),
        };
        // A route longer than a MAD can hold: nothing to send, as if nobody had answered.
        let Some(mut mad) = self.build(request) else {
            self.exchange.drop_front(target);
            self.given_up(now, request, 0);
            return;
        };
        self.of += u64::from(keep);
        let tid = self.exchange.begin(now, target, request, mad.hop_count(), keep);
        mad.set_tid(u64::from(tid));
        self.counts.sent(request);
        out.push(Packet::directed(mad));
    }

    /// When the manager wants to be called again, if nothing comes before.
    pub fn next_deadline(&mut self) -> Option<Time> {
        let dues = [self.exchange.next_deadline(), self.next_sweep(), self.next_heal()];
        dues.into_iter().flatten().min()
    }

    /// What the manager has to compute before it goes on.
    pub fn poll_work(&self) -> Option<Work> {
        self.work
    }

    /// Computes it.
    pub fn do_work(&mut self, now: Time) {
        match self.work.take() {
            Some(Work::Route) => self.compute_paths(now),
            Some(Work::Repair) => self.repair(now),
            None => return,
        }
        self.advance(now);
    }

    /// What the manager has to say, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn say(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// What the manager is doing.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether nothing is left to do but to wait for changes.
    pub fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Up | Phase::Standby | Phase::Refused)
            && self.exchange.is_idle()
            && self.work.is_none()
            && self.replies.is_empty()
            && self.healing.is_idle()
            && self.healing.spreading.is_idle()
    }

    /// The fabric as found, with the LIDs that were given out.
    pub fn fabric(&self) -> &Fabric {
        &self.devices.fabric
    }

    /// The tables that were written.
    pub fn tables(&self) -> Option<&Tables> {
        self.tables.as_deref()
    }

    /// The routes in service, for who computes beside the manager.
    pub fn routes_in_service(&self) -> Option<InService> {
        let tables = Arc::downgrade(self.tables.as_ref()?);
        Some(InService::new(tables, self.heights.clone(), self.lanes.clone(), self.wanted_routes()))
    }

    /// How many data lanes the paths take.
    pub fn lanes(&self) -> u8 {
        self.lanes.count()
    }

    /// The service level that packets for a LID bear which enter the fabric at the switch with this GUID, as path records
    /// name it. None where there is no such switch.
    pub fn service_level(&self, switch: ib::Guid, lid: ib::Lid) -> Option<u8> {
        let node = self.devices.by_guid(switch)?;
        let row = self.tables.as_ref()?.row_index(node)?;
        Some(self.lanes.service_level(row, lid.0))
    }

    /// How many MADs are under way, and how many may be.
    pub fn window(&self) -> (usize, usize) {
        (self.exchange.under_way(), self.exchange.window())
    }

    /// How far the phase is.
    pub fn progress(&self) -> Progress {
        Progress { phase: self.phase, done: self.done, of: self.of, nodes: self.devices.fabric.node_count() }
    }

    /// What the manager has done.
    pub fn report(&self) -> Report {
        let fabric = &self.devices.fabric;
        let managed = |node: NodeId| self.reached.get(node.index()).copied().unwrap_or(true);
        let count = |kind| fabric.nodes().filter(|&n| managed(n) && fabric.kind(n) == kind).count();
        let links = fabric.links().filter(|&(a, _)| managed(fabric.node_of(a))).count();
        let between = |from: Option<Time>, to: Option<Time>| match (from, to) {
            (Some(from), Some(to)) => Seconds::of(to.since(from)),
            _ => 0.0,
        };
        let [discover, route, program, up] = self.marks;
        Report {
            state: self.phase,
            switches: count(NodeKind::Switch),
            hosts: count(NodeKind::ChannelAdapter),
            links,
            lids: self.lids_given,
            routing: self.routing.clone(),
            virtual_lanes: self.lanes.count(),
            mads: self.counts.mads(),
            lft_blocks_written: self.counts.blocks_written(),
            seconds: Seconds {
                discover: between(discover, route),
                route: between(route, program),
                program: between(program, up),
                total: between(Some(self.started), up),
            },
            verify: Verified {
                pairs: self.verification.pairs,
                unreachable: self.verification.unreachable,
                loops: self.verification.loops,
                credit_loops: self.verification.credit_loops,
            },
            refused: self.refused.clone(),
            findings: self.findings.iter().cloned().collect(),
        }
    }

    pub(crate) fn find(&mut self, kind: FindingKind, place: String, message: String, mend: &str) {
        let finding = Finding { kind, place, message, mend: mend.to_owned() };
        if self.findings.insert(finding.clone()) {
            self.say(Event::Finding(finding));
        }
    }

    pub(crate) fn schedule(&mut self, node: NodeId, request: Request) {
        // Blocks of tables are counted one by one, as they are sent.
        let counted_later = matches!(
            request,
            Request::ProgramTables(_)
                | Request::ReadTables(_)
                | Request::ProgramLanes(_)
                | Request::ReadLanes(_)
        );
        self.of += u64::from(!counted_later);
        let hops = self.devices.route(node);
        let own_is_switch = self
            .devices
            .own
            .is_some_and(|own| self.devices.fabric.is_switch(self.devices.fabric.node_of(own)));
        let at = usize::from(!own_is_switch);
        let branch = hops.hops().get(at).copied().unwrap_or(0);
        self.exchange.schedule(Target { node: node.0, branch }, request);
    }

    pub(crate) fn schedule_local(&mut self) {
        self.of += 1;
        self.exchange.schedule(Target { node: 0, branch: 0 }, Request::Local);
    }

    pub(crate) fn enter(&mut self, now: Time, phase: Phase) {
        self.phase = phase;
        (self.done, self.of) = (0, 0);
        let mark = match phase {
            Phase::Discover => {
                self.started = now;
                self.marks = [None; 4];
                0
            }
            Phase::Route => 1,
            Phase::Program => 2,
            _ => 3,
        };
        if mark == 3 || self.marks[mark].is_none() {
            self.marks[mark] = Some(now);
        }
        self.say(Event::Phase { phase });
    }

    /// Goes on to the next phase where this one has nothing left; says whether it did.
    pub(crate) fn advance(&mut self, now: Time) -> bool {
        if self.work.is_some() || !self.exchange.is_idle() {
            return false;
        }
        match self.phase {
            Phase::Discover => self.end_discovery(now),
            Phase::Program => self.end_programming(now),
            Phase::Arm => self.begin_activation(now),
            Phase::Activate => self.come_up(now),
            Phase::Up => return self.advance_heal(now) || self.end_sweep(now),
            Phase::Standby => return self.end_sweep(now),
            Phase::Route | Phase::Refused => return false,
        }
        true
    }

    pub(crate) fn want_work(&mut self, work: Work) {
        self.work = Some(work);
    }

    fn packet(&mut self, now: Time, packet: &Packet) {
        let mad = &packet.mad;
        if mad.class() == ManagementClass::SUBN_ADM {
            self.administer(packet);
            return;
        }
        match mad.method() {
            Method::GET_RESP => self.answer(now, packet),
            Method::TRAP => self.trap(now, packet),
            Method::GET | Method::SET => self.asked(now, packet),
            _ => self.counts.ignored(),
        }
    }

    fn answer(&mut self, now: Time, packet: &Packet) {
        let mad = &packet.mad;
        let tid = mad.tid() as u32;
        let Some(request) = self.exchange.peek(tid) else {
            self.counts.ignored();
            return;
        };
        if mad.attribute_id() != request.attribute()
            || mad.attribute_modifier() != self.modifier(request)
            || !matches!(mad.class().0, 0x01 | 0x81)
        {
            self.garbage(now, tid, request, "it answers another question than was asked");
            return;
        }
        let status = mad.status();
        if status == ib::Status::BUSY {
            if let Some(outcome) = self.exchange.failed(tid) {
                self.came_to_nothing(now, outcome);
            }
            return;
        }
        if status.is_ok()
            && let Err(why) = self.plausible(request, mad)
        {
            self.garbage(now, tid, request, why);
            return;
        }
        self.exchange.answered(now, tid);
        self.counts.answered(request);
        self.done += 1;
        if status.is_ok() {
            self.handle(now, request, mad);
        } else {
            self.refused_by_device(now, request, status);
        }
    }

    fn garbage(&mut self, now: Time, tid: u32, request: Request, why: &str) {
        self.counts.ignored();
        let place = self.place(request);
        self.find(
            FindingKind::Garbage,
            place,
            format!("an answer to {} makes no sense: {why}", crate::programming::kind_name(request)),
            "update the device's firmware, or replace it",
        );
        if let Some(outcome) = self.exchange.failed(tid) {
            self.came_to_nothing(now, outcome);
        }
    }

    fn came_to_nothing(&mut self, now: Time, outcome: Outcome) {
        match outcome {
            Outcome::Again(request, times) => {
                if times == DOUBTFUL {
                    match (self.device(request), request) {
                        (Some(node), _) => self.doubt(now, node),
                        (None, Request::Probe(port)) if self.phase == Phase::Discover => {
                            self.schedule(self.devices.fabric.node_of(port), Request::Examine(port));
                        }
                        _ => {}
                    }
                }
            }
            Outcome::GivenUp(request, times) => {
                self.done += 1;
                // A switch that does not answer once more has nothing to say to the rest either.
                if let Some(node) = self.device(request).filter(|&node| self.devices.fabric.is_switch(node)) {
                    self.done += self.exchange.drop_all(node.0) as u64;
                    self.of = self.of.max(self.done);
                }
                self.given_up(now, request, times);
            }
        }
    }
}
