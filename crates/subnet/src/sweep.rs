//! Looks for changes: a light sweep now and then, traps at once.

use std::collections::BTreeSet;
use std::time::Duration;

use fabric::{NodeId, PortId};
use ib::{Lid, Method, Notice, Packet, PhysicalState, PortState, SwitchInfo, Time, Trap};

use crate::event::Event;
use crate::manager::{Phase, SubnetManager};
use crate::request::Request;

/// How long to gather what comes with a change before looking at it: one fault is many traps.
const GATHER: Duration = Duration::from_millis(20);

/// Where the looking for changes stands.
#[derive(Default)]
pub(crate) struct Sweeping {
    /// When the next light sweep, or the next look at the master, is due.
    due: Option<Time>,
    /// When to look at the fabric anew, and why.
    anew: Option<(Time, String)>,
    /// What the sweep under way has found.
    changed: Option<String>,
    /// LIDs of switches that told while the fabric was being found.
    pub told: BTreeSet<Lid>,
    /// Switches found over links that were lost since: no other way to them is known yet.
    pub without_way: BTreeSet<NodeId>,
    /// Switches that told since the fabric was found.
    pub told_since: BTreeSet<NodeId>,
    /// Switches in service whose agents do not answer.
    pub hung: BTreeSet<NodeId>,
    /// Ports whose links are up with nothing beyond that could be managed: asked again in sweeps.
    orphans: Vec<PortId>,
    /// Whether a device was given up while it was written to.
    unfinished: bool,
    /// How often in a row the fabric was looked at anew for their sake, and sweeps to let pass before the next time.
    in_vain: u32,
    wait: u32,
}

/// Looks in vain double the sweeps between them, up to two to this.
const MOST_PATIENCE: u32 = 6;

impl Sweeping {
    /// Whether the fabric is about to be looked at anew.
    pub fn is_due_anew(&self) -> bool {
        self.anew.is_some()
    }

    /// What a sweep has found that needs a look at the whole fabric.
    pub fn take_change(&mut self) -> Option<String> {
        self.changed.take()
    }

    /// These ports are asked again in sweeps.
    pub fn look_for(&mut self, orphans: Vec<PortId>) {
        self.orphans = orphans;
    }

    /// Something did not come up as it should: the next sweeps look at it.
    pub fn look_again(&mut self) {
        self.unfinished = true;
    }

    /// Forgets all but the patience with devices that do not come up.
    pub fn restart(&mut self) {
        *self = Self { in_vain: self.in_vain, wait: self.wait, ..Self::default() };
    }
}

impl SubnetManager {
    pub(crate) fn sweep_later(&mut self, now: Time) {
        self.sweeping.due = Some(now + self.config.sweep_interval);
        self.sweeping.anew = None;
        self.sweeping.orphans = self.orphans();
        if self.sweeping.orphans.is_empty() && !self.sweeping.unfinished {
            (self.sweeping.in_vain, self.sweeping.wait) = (0, 0);
        }
    }

    /// Ports whose links are up with nothing beyond that could be managed, loopbacks and doubles left out.
    pub(crate) fn orphans(&self) -> Vec<PortId> {
        let devices = &self.devices;
        let fabric = &devices.fabric;
        let switches =
            fabric.switches().filter(|&node| self.reached.get(node.index()).is_some_and(|&reached| reached));
        let asks = switches.flat_map(|node| fabric.ports(node)).chain(devices.own);
        asks.filter(|&port| {
            let info = &devices.ports[port.index()];
            fabric.peer(port).is_none()
                && fabric.port_number(port) > 0
                && devices.knows_port(port)
                && !devices.odd.contains(&port)
                && !self.is_held_down(port)
                && info.physical_state == PhysicalState::LINK_UP
                && info.port_state != PortState::DOWN
        })
        .collect()
    }

    /// A device was given up while it was written to: it is looked at anew later.
    pub(crate) fn is_unfinished(&mut self) {
        self.sweeping.unfinished = true;
    }

    /// Something answers where nothing could be managed when the fabric was found.
    pub(crate) fn answers_again(&mut self, now: Time, port: PortId) {
        if self.may_heal() {
            self.suspect_port(now, port, "a device answers that did not");
            self.have_patience();
        } else if self.sweeping.changed.is_none() {
            self.sweeping.changed =
                Some(format!("a device answers beyond {}", self.devices.fabric.port_label(port)));
            self.have_patience();
        }
    }

    pub(crate) fn have_patience(&mut self) {
        self.sweeping.in_vain = (self.sweeping.in_vain + 1).min(MOST_PATIENCE);
        self.sweeping.wait = 1 << self.sweeping.in_vain;
    }

    /// The next light sweep is due now.
    pub(crate) fn sweep_at(&mut self, now: Time) {
        self.sweeping.due = Some(now);
    }

    pub(crate) fn sweep_soon(&mut self, now: Time, cause: &str) {
        if self.phase == Phase::Up && self.sweeping.anew.is_none() {
            self.sweeping.anew = Some((now + GATHER, cause.to_owned()));
        } else if self.phase != Phase::Standby && self.sweeping.changed.is_none() {
            // What changed while the fabric was being brought up is looked at when it is up.
            self.sweeping.changed = Some(cause.to_owned());
        }
    }

    pub(crate) fn next_sweep(&self) -> Option<Time> {
        if !matches!(self.phase, Phase::Up | Phase::Standby) {
            return None;
        }
        let anew = self.sweeping.anew.as_ref().map(|(at, _)| *at);
        match (anew, self.sweeping.due) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub(crate) fn tick_sweep(&mut self, now: Time) {
        if !matches!(self.phase, Phase::Up | Phase::Standby) {
            return;
        }
        if self.sweeping.anew.as_ref().is_some_and(|(at, _)| *at <= now)
            && let Some((_, cause)) = self.sweeping.anew.take()
        {
            self.look_anew(now, cause);
            return;
        }
        if self.sweeping.due.is_none_or(|due| due > now) {
            return;
        }
        self.sweeping.due = Some(now + self.config.sweep_interval);
        if !self.exchange.is_idle() {
            // The sweep before this one still waits for somebody.
            return;
        }
        if self.phase == Phase::Standby {
            self.watch_master();
            return;
        }
        let hung = &self.sweeping.hung;
        let answers = |node: &NodeId| self.reached[node.index()] && !hung.contains(node);
        let switches: Vec<NodeId> = self.devices.fabric.switches().filter(answers).collect();
        for node in switches {
            self.schedule(node, Request::Sweep(node));
        }
        self.sweeping.wait = self.sweeping.wait.saturating_sub(1);
        if self.sweeping.wait > 0 {
            return;
        }
        if self.sweeping.unfinished {
            self.sweeping.changed = Some("a device did not take what was written to it".to_owned());
            self.have_patience();
        }
        for switch in self.sweeping.hung.clone() {
            if self.reached[switch.index()] {
                self.schedule(switch, Request::Sweep(switch));
            }
        }
        for port in self.sweeping.orphans.clone() {
            self.schedule(self.devices.fabric.node_of(port), Request::Probe(port));
        }
    }

    pub(crate) fn swept(&mut self, now: Time, node: NodeId, info: SwitchInfo) {
        self.hangs_no_more(node);
        if self.looked_at(node, info) {
            return;
        }
        let is_afresh = self.is_afresh(node, info);
        if is_afresh && self.healing.is_asking_returned() {
            self.look_at_fresh(node, info);
            return;
        }
        let held = self.devices.switches[node.index()];
        if is_afresh || info.state_change && info.linear_fdb_top == held.linear_fdb_top {
            let what = if is_afresh { "it has started afresh" } else { "a port changed its state" };
            let cause = format!("{}: {what}", self.devices.fabric.name(node));
            if self.suspect(now, node, &cause) {
                return;
            }
        }
        if info.state_change || info.linear_fdb_top != held.linear_fdb_top {
            let what = if info.state_change { "a port changed its state" } else { "its table was reset" };
            self.sweeping.changed = Some(format!("{}: {what}", self.devices.fabric.name(node)));
        }
    }

    /// The sweep under way is over: looks at the fabric anew where it found a change.
    pub(crate) fn end_sweep(&mut self, now: Time) -> bool {
        if self.phase != Phase::Up {
            return false;
        }
        match self.sweeping.changed.take() {
            Some(cause) => {
                self.look_anew(now, cause);
                true
            }
            None => false,
        }
    }

    /// Whether nobody's answer is itself the answer.
    pub(crate) fn silence_means_something(&mut self, now: Time, request: Request) -> bool {
        let mut is_unfinished = request.method() == Method::SET;
        if let Request::SetTable(node, _) = request {
            let guid = self.devices.fabric.guid(node);
            self.doubtful.insert(guid);
            let is_first = self.mute.insert(guid);
            if is_first && self.is_unsure_of(node) {
                is_unfinished = false;
            } else if is_first {
                let name = self.devices.fabric.name(node);
                self.healing
                    .anew
                    .get_or_insert_with(|| format!("{name} did not confirm a block of its table"));
            }
        }
        if is_unfinished {
            self.is_unfinished();
        }
        match request {
            // Still nobody there: that was told when the fabric was found.
            Request::Probe(_) => self.phase == Phase::Up,
            // A sweep asks again.
            Request::Identify(_) => true,
            // It answered before. The fabric comes up without it, or as it was written so far.
            Request::Examine(_) | Request::Sweep(_) if self.is_coming_up() => false,
            Request::Examine(_) | Request::Refresh(_) | Request::Sweep(_) if self.may_heal() => {
                if let Some(node) = self.device(request) {
                    self.hangs(node);
                }
                false
            }
            Request::Examine(port) | Request::Refresh(port) => {
                let label = self.devices.fabric.port_label(port);
                self.sweeping.changed = Some(format!("{label} does not answer"));
                true
            }
            Request::Sweep(node) => {
                self.sweeping.changed = Some(format!("{} does not answer", self.devices.fabric.name(node)));
                true
            }
            Request::GetManager(_) => {
                self.master_is_silent(now);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn look_anew(&mut self, now: Time, cause: String) {
        self.say(Event::Resweep { cause });
        self.keep_tables();
        self.healing.restart();
        self.sweeping.restart();
        self.begin_discovery(now);
    }

    /// A trap came: says that it was heard, and acts on it.
    pub(crate) fn trap(&mut self, now: Time, packet: &Packet) {
        let mut repress = packet.mad;
        repress.make_response();
        debug_assert_eq!(repress.method(), Method::TRAP_REPRESS);
        repress.set_m_key(self.config.m_key);
        self.replies.push_back(Packet::to_lid(packet.slid, repress));
        let notice: Notice = packet.mad.get();
        let trap = notice.trap();
        let text = match trap {
            Trap::LinkStateChange { lid } => format!("a port of {} changed its state", self.name_of(lid)),
            Trap::LocalLinkIntegrity { lid, port } => {
                format!("port {port} of {} has too many local errors", self.name_of(lid))
            }
            Trap::BufferOverrun { lid, port } => {
                format!("buffers overrun at port {port} of {}", self.name_of(lid))
            }
            Trap::FlowControlWatchdog { lid, port } => {
                format!("port {port} of {} hears no flow control", self.name_of(lid))
            }
            Trap::LocalChanges { lid, .. } => {
                format!("{} changed its name or what it can do", self.name_of(lid))
            }
            Trap::SystemImageGuid { lid, .. } => format!("{} changed its system GUID", self.name_of(lid)),
            Trap::BadMKey { lid, .. } => format!("{} was asked with a wrong M_Key", self.name_of(lid)),
            Trap::BadKey { number, from, to, .. } => {
                let key = if number == 257 { "P_Key" } else { "Q_Key" };
                format!("a packet from {} to {} had a wrong {key}", self.name_of(from), self.name_of(to))
            }
            Trap::BadPKeyAtSwitch { lid, port, .. } => {
                format!("port {port} of {} saw a wrong P_Key", self.name_of(lid))
            }
            other => format!("{other:?}"),
        };
        self.say(Event::Trap { number: notice.number, from: packet.slid, text: text.clone() });
        if let Trap::LinkStateChange { lid } = trap {
            if self.is_coming_up() && self.told_meanwhile(lid) {
                return;
            }
            let switch = self.owner_of(lid).map(|port| self.devices.fabric.node_of(port));
            if !switch.is_some_and(|switch| self.suspect(now, switch, &text)) {
                self.sweep_soon(now, &text);
            }
        }
    }

    fn name_of(&self, lid: Lid) -> String {
        let fabric = &self.devices.fabric;
        self.owner_of(lid)
            .map_or_else(|| format!("LID {lid}"), |port| fabric.name(fabric.node_of(port)).to_owned())
    }
}
