//! Looks for changes: a light sweep now and then, traps at once.

use std::time::Duration;

use fabric::NodeId;
use ib::{Lid, Method, Notice, Packet, SwitchInfo, Time, Trap};

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
}

impl SubnetManager {
    pub(crate) fn sweep_later(&mut self, now: Time) {
        self.sweeping = Sweeping { due: Some(now + self.config.sweep_interval), ..Sweeping::default() };
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
        if self.phase == Phase::Standby {
            self.watch_master();
            return;
        }
        let switches: Vec<NodeId> =
            self.devices.fabric.switches().filter(|&node| self.reached[node.index()]).collect();
        for node in switches {
            self.schedule(node, Request::Sweep(node));
        }
    }

    pub(crate) fn swept(&mut self, node: NodeId, info: SwitchInfo) {
        let held = self.devices.switches[node.index()];
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
        match request {
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
        self.sweeping = Sweeping::default();
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
        if matches!(trap, Trap::LinkStateChange { .. }) {
            self.sweep_soon(now, &text);
        }
    }

    fn name_of(&self, lid: Lid) -> String {
        let fabric = &self.devices.fabric;
        let port = fabric.end_ports().find(|&port| fabric.lid(port) == lid && lid != Lid::NONE);
        port.map_or_else(|| format!("LID {lid}"), |port| fabric.name(fabric.node_of(port)).to_owned())
    }
}
