//! Brings ports into service: addresses and sizes with INIT to ARMED in one write, then ARMED to ACTIVE.

use fabric::{NodeId, PortId};
use ib::{Mtu, PhysicalState, PortInfo, PortState, Time, capability};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::event::Event;
use crate::finding::FindingKind;
use crate::manager::{Former, Phase, SubnetManager};
use crate::request::Request;

impl SubnetManager {
    pub(crate) fn begin_arming(&mut self, now: Time) {
        self.enter(now, Phase::Arm);
        self.cleared = false;
        let asks_again = self.who_must_ask_again();
        for port in self.managed_ports() {
            let held = self.devices.ports[port.index()];
            if asks_again.contains(&port) || self.needs_writing(port, &held) {
                self.schedule(self.devices.fabric.node_of(port), Request::SetPort(port));
            }
        }
    }

    pub(crate) fn begin_activation(&mut self, now: Time) {
        self.enter(now, Phase::Activate);
        for port in self.managed_ports() {
            if self.devices.ports[port.index()].port_state == PortState::ARMED {
                self.schedule(self.devices.fabric.node_of(port), Request::Activate(port));
            }
        }
    }

    pub(crate) fn come_up(&mut self, now: Time) {
        self.enter(now, Phase::Up);
        if self.doubtful.is_empty() {
            self.mute.clear();
        }
        self.healing.anew = None;
        self.sweep_later(now);
        let report = self.report();
        self.say(Event::Up { switches: report.switches, hosts: report.hosts, links: report.links });
        self.heal_what_was_told(now);
    }

    /// Keeps the tables for the next bring-up, which writes only what differs from them.
    pub(crate) fn keep_tables(&mut self) {
        let Some(tables) = self.tables.take() else { return };
        let fabric = &self.devices.fabric;
        let nodes: FxHashMap<ib::Guid, NodeId> =
            tables.switches().iter().map(|&node| (fabric.guid(node), node)).collect();
        let lanes = std::mem::replace(&mut self.lanes, routing::Lanes::one());
        self.former = Some(Former { tables, nodes, heights: self.heights.take(), lanes });
    }

    /// The service level of packets from an end port to a LID.
    pub(crate) fn service_level_to(&self, port: PortId, lid: ib::Lid) -> u8 {
        let fabric = &self.devices.fabric;
        let own = fabric.node_of(port);
        let entry = if fabric.is_switch(own) {
            Some(own)
        } else {
            fabric.peer(port).map(|peer| fabric.node_of(peer))
        };
        let row = entry.zip(self.tables.as_ref()).and_then(|(node, tables)| tables.row_index(node));
        row.map_or(0, |row| self.lanes.service_level(row, lid.0))
    }

    /// Ports in service whose hosts keep service levels of former paths: they are told to ask again.
    fn who_must_ask_again(&self) -> FxHashSet<PortId> {
        let had_lanes = self.former.as_ref().is_some_and(|former| former.lanes.count() > 1);
        if !self.ways_changed || !(self.has_lanes() || had_lanes) {
            return FxHashSet::default();
        }
        let asks = |port: &PortId| {
            let info = &self.devices.ports[port.index()];
            !self.devices.fabric.is_switch(self.devices.fabric.node_of(*port))
                && info.port_state == PortState::ACTIVE
                && info.capability_mask & capability::HAS_CLIENT_REREGISTRATION != 0
        };
        self.managed_ports().into_iter().filter(asks).collect()
    }

    /// Every port that the manager configures: a switch's port 0, and both ends of every link.
    fn managed_ports(&self) -> Vec<PortId> {
        let devices = &self.devices;
        let fabric = &devices.fabric;
        let mut ports = Vec::new();
        for node in fabric.nodes().filter(|&node| self.reached[node.index()]) {
            if fabric.is_switch(node) {
                ports.push(devices.management_port(node));
            }
            ports.extend(
                fabric.neighbors(node).map(|(port, _)| port).filter(|&port| devices.knows_port(port)),
            );
        }
        ports
    }

    fn is_end_port(&self, port: PortId) -> bool {
        let fabric = &self.devices.fabric;
        !fabric.is_switch(fabric.node_of(port)) || fabric.port_number(port) == 0
    }

    /// What a port is to hold, with what may change in it and nothing else.
    pub(crate) fn configured(&self, port: PortId) -> PortInfo {
        let devices = &self.devices;
        let fabric = &devices.fabric;
        let held = devices.ports[port.index()];
        let mut wanted = held;
        if self.is_end_port(port) {
            if wanted.gid_prefix == 0 {
                wanted.gid_prefix = ib::Gid::DEFAULT_PREFIX;
            }
            wanted.lid = fabric.lid(port);
            wanted.sm_lid = devices.own.map_or(ib::Lid::NONE, |own| fabric.lid(own));
            wanted.sm_sl = devices.own.map_or(0, |own| self.service_level_to(port, fabric.lid(own)));
            wanted.lmc = 0;
            wanted.subnet_timeout = self.config.subnet_timeout;
            wanted.m_key = self.config.m_key;
        }
        if let Some(peer) = fabric.peer(port) {
            let other = &devices.ports[peer.index()];
            let common = Mtu(held.mtu_cap.0.min(other.mtu_cap.0));
            if common.bytes().is_some() {
                wanted.neighbor_mtu = common;
            }
            let lanes = held.vl_cap.min(other.vl_cap).min(self.config.max_operational_vls);
            if lanes > 0 {
                wanted.operational_vls = lanes;
            }
            if fabric.is_switch(fabric.node_of(port)) {
                let leads_to_switch = fabric.is_switch(fabric.node_of(peer));
                wanted.head_of_queue_life = if leads_to_switch {
                    self.config.head_of_queue_life
                } else {
                    self.config.leaf_head_of_queue_life
                };
                wanted.vl_stall_count = self.config.vl_stall_count;
            }
        }
        wanted
    }

    fn needs_writing(&self, port: PortId, held: &PortInfo) -> bool {
        let external = self.devices.fabric.port_number(port) > 0;
        if external && held.port_state == PortState::INITIALIZE {
            return true;
        }
        let mut wanted = self.configured(port);
        if self.config.has_default_timers() {
            // Devices differ in which times they keep. Where nobody asks for others, what a port in service has will do.
            wanted.subnet_timeout = held.subnet_timeout;
            wanted.head_of_queue_life = held.head_of_queue_life;
            wanted.vl_stall_count = held.vl_stall_count;
        }
        wanted != *held
    }

    /// The Set that configures a port and takes it to ARMED where it is in INIT. What is left as it is says so.
    pub(crate) fn wanted_port(&self, port: PortId) -> PortInfo {
        let held = &self.devices.ports[port.index()];
        let external = self.devices.fabric.port_number(port) > 0;
        let mut wanted = unchanged(self.configured(port));
        if external && held.port_state == PortState::INITIALIZE {
            wanted.port_state = PortState::ARMED;
        }
        let can_register = held.capability_mask & capability::HAS_CLIENT_REREGISTRATION != 0;
        wanted.client_reregister = can_register && external && self.is_end_port(port);
        wanted
    }

    /// The Set that takes a port to ACTIVE.
    pub(crate) fn activated_port(&self, port: PortId) -> PortInfo {
        let mut wanted = unchanged(self.configured(port));
        wanted.port_state = PortState::ACTIVE;
        wanted
    }

    pub(crate) fn port_was_set(&mut self, request: Request, port: PortId, mut answer: PortInfo) {
        let external = self.devices.fabric.port_number(port) > 0;
        let wanted =
            if matches!(request, Request::Activate(_)) { PortState::ACTIVE } else { PortState::ARMED };
        if external && answer.port_state < wanted {
            let place = self.devices.place(port);
            self.find(
                FindingKind::StuckState,
                place,
                format!("the port stays in {} and does not become {wanted}", answer.port_state),
                "see whether the link flaps; pull the cable and put it back, or replace it",
            );
        }
        // An order, not a state: devices give it back or not.
        answer.client_reregister = false;
        self.devices.set_port(port, answer);
    }
}

/// A Set's fields that leave links and states as they are.
fn unchanged(mut info: PortInfo) -> PortInfo {
    info.port_state = PortState::NO_CHANGE;
    info.physical_state = PhysicalState::NO_CHANGE;
    info.link_down_default_state = PhysicalState::NO_CHANGE;
    info.link_width_enabled = 0;
    info.link_speed_enabled = 0;
    info.link_speed_ext_enabled = 0;
    info.link_speed_ext_enabled2 = 0;
    info
}
