//! Finds every node and port over directed routes.
//!
//! ```text
//! NodeInfo at the own port
//!   └ each new switch: NodeDescription, SwitchInfo, PortInfo of every port
//!       └ each port that is up: NodeInfo beyond it, unless the other end is known already
//!           └ each new adapter: NodeDescription, PortInfo, partitions
//! ```
//! NodeInfo names the port that the question came in by, so one question finds both ends of a link. A switch whose
//! table is in use has it read, so that only the difference is written later; a fresh one costs nothing.

mod check;
mod told;

use fabric::{NodeId, NodeKind, PortId};
use ib::{
    DirectedRoute, LinearForwardingTable, Mad, NodeDescription, NodeInfo, NodeType, PKeyTable, PhysicalState,
    PortInfo, PortState, SmInfo, SwitchInfo, Time, capability,
};

use crate::devices::Devices;
use crate::event::Work;
use crate::finding::FindingKind;
use crate::manager::{Phase, SubnetManager};
use crate::programming::ARBITRATION_PARTS;
use crate::request::Request;

impl SubnetManager {
    /// Forgets what is known but LIDs and tables, and looks around anew.
    pub(crate) fn begin_discovery(&mut self, now: Time) {
        self.exchange.clear();
        self.devices = Devices::new();
        self.reached.clear();
        self.cursor.clear();
        self.findings.clear();
        self.refused = None;
        self.others.forget();
        self.enter(now, Phase::Discover);
        self.schedule_local();
    }

    /// Everything that answers is known: who masters, then the tables.
    pub(crate) fn end_discovery(&mut self, now: Time) {
        if self.devices.own.is_none() {
            self.refuse(
                now,
                "the manager's own port does not answer: name another port with --device and --port"
                    .to_owned(),
            );
            return;
        }
        if self.look_again_at_told() || self.stand_by(now) {
            return;
        }
        self.enter(now, Phase::Route);
        self.want_work(Work::Route);
    }

    /// What an answer says.
    pub(crate) fn handle(&mut self, now: Time, request: Request, mad: &Mad) {
        match request {
            Request::Local => self.found_own(&mad.get()),
            Request::Probe(port) => self.found(now, port, &mad.get()),
            Request::Description(node) => self.named(node, &mad.get()),
            Request::GetSwitch(node) => self.switch_answered(node, mad.get()),
            Request::GetPort(port) | Request::GetEndPort(port) => self.port_answered(port, mad.get()),
            Request::GetTable(node, block) => self.table_answered(node, block, &mad.get()),
            Request::GetPartitions(port) | Request::SetPartitions(port) => {
                self.devices.partitions.insert(port, mad.get::<PKeyTable>());
            }
            Request::GetManager(port) => self.manager_answered(now, port, mad.get::<SmInfo>()),
            Request::SetSwitch(node) => self.devices.set_switch(node, mad.get()),
            Request::SetPort(port) | Request::Activate(port) => self.port_was_set(request, port, mad.get()),
            Request::Sweep(node) if self.is_coming_up() => self.seen_again(node, mad.get()),
            Request::Sweep(node) => self.swept(now, node, mad.get()),
            Request::Examine(port) if self.is_coming_up() => self.examined_meanwhile(now, port, mad.get()),
            Request::Examine(port) => self.examined(now, port, mad.get()),
            Request::Identify(port) => self.identified(port, &mad.get()),
            Request::Refresh(port) => self.devices.set_port(port, mad.get()),
            Request::GetMapping(port) | Request::SetMapping(port) => {
                self.devices.mappings.insert(port, mad.get());
            }
            Request::GetArbitration(port, part) | Request::SetArbitration(port, part) => {
                self.devices.arbitration.insert((port, part), mad.get());
            }
            Request::GetTurn(..) | Request::SetTurn(..) | Request::SetTurnsTo(_) | Request::SetTurns(_) => {
                self.turn_answered(request, &mad.get());
            }
            Request::SetTable(..) => {}
            Request::ProgramTables(_)
            | Request::ReadTables(_)
            | Request::ProgramLanes(_)
            | Request::ReadLanes(_) => {}
        }
    }

    fn found_own(&mut self, info: &NodeInfo) {
        let node = self.devices.add(info, DirectedRoute::LOCAL);
        let switch = info.node_type == NodeType::SWITCH;
        let number = if switch { 0 } else { info.local_port };
        self.devices.own = self.devices.fabric.port(node, number);
        self.ask_about(node, number, info);
    }

    /// A node is new, or an adapter shows another of its ports: asks what it is.
    pub(crate) fn ask_about(&mut self, node: NodeId, number: u8, info: &NodeInfo) {
        if info.node_type == NodeType::SWITCH {
            self.schedule(node, Request::Description(node));
            self.schedule(node, Request::GetSwitch(node));
            for number in 0..=info.port_count {
                if let Some(port) = self.devices.fabric.port(node, number) {
                    self.schedule(node, Request::GetPort(port));
                }
            }
            return;
        }
        let Some(port) = self.devices.fabric.port(node, number) else { return };
        if self.devices.fabric.name(node).is_empty() {
            self.schedule(node, Request::Description(node));
        }
        self.devices.fabric.set_port_guid(port, info.port_guid);
        self.schedule(node, Request::GetEndPort(port));
        if self.devices.fabric.kind(node) != NodeKind::Router {
            self.schedule(node, Request::GetPartitions(port));
        }
        if self.config.qos && self.devices.fabric.kind(node) == NodeKind::ChannelAdapter {
            self.schedule(node, Request::GetMapping(port));
            for part in ARBITRATION_PARTS {
                self.schedule(node, Request::GetArbitration(port, part));
            }
        }
    }

    /// Beyond a port sits this node.
    fn found(&mut self, now: Time, via: PortId, info: &NodeInfo) {
        if self.phase == Phase::Up {
            self.answers_again(now, via);
            return;
        }
        let fabric = &self.devices.fabric;
        let from = fabric.node_of(via);
        let Some(route) = self.devices.route(from).then(fabric.port_number(via)) else { return };
        let known = self.devices.by_guid(info.node_guid);
        let node = match known {
            Some(node) => node,
            None => self.devices.add(info, route),
        };
        let here = (from, self.devices.fabric.port_number(via));
        let there = (node, info.local_port);
        if self.devices.fabric.peer(via).is_some() {
            return;
        }
        if here == there {
            self.devices.odd.insert(via);
            let place = self.devices.place(via);
            self.find(
                FindingKind::Loopback,
                place,
                "the port is cabled to itself".to_owned(),
                "take the loopback plug out",
            );
            return;
        }
        let same_kind = self.devices.fabric.port_count(node) == info.port_count;
        let rate = Some(via).filter(|&p| self.devices.knows_port(p));
        let rate = rate.and_then(|p| self.devices.ports[p.index()].link_rate());
        if !same_kind || self.devices.fabric.connect(here, there, rate).is_err() {
            self.devices.odd.insert(via);
            let first = self.devices.route(node);
            self.find(
                FindingKind::DuplicateGuid,
                format!("{} (routes {first} and {route})", info.node_guid),
                format!("two devices have one GUID; the one at {route} is left out"),
                "give one of them another GUID: its maker's tools can",
            );
            return;
        }
        self.find_other_ways();
        if known.is_none() || info.node_type != NodeType::SWITCH {
            self.ask_about(node, info.local_port, info);
        }
    }

    fn named(&mut self, node: NodeId, description: &NodeDescription) {
        let text = description.text();
        if text.contains("Aggregation Node") && self.devices.fabric.kind(node) == NodeKind::ChannelAdapter {
            self.devices.fabric.set_kind(node, NodeKind::AggregationNode);
        }
        self.devices.fabric.set_name(node, &text);
    }

    fn switch_answered(&mut self, node: NodeId, info: SwitchInfo) {
        self.devices.set_switch(node, info);
        self.devices.fabric.set_enhanced_port_zero(node, info.enhanced_port_0);
        let former = self.is_former(node, info.linear_fdb_top);
        if !former {
            self.forget_mappings(node);
        }
        // What forwards already is looked at with all the rest.
        if info.linear_fdb_top.0 != 0 && !former && self.phase != Phase::Up {
            self.schedule(node, Request::ReadTables(node));
        }
    }

    /// Whether the switch holds what was written to it in the bring-up before this one.
    pub(crate) fn is_former(&self, node: NodeId, top: ib::Lid) -> bool {
        let doubtful = self.doubtful.contains(&self.devices.fabric.guid(node));
        !doubtful
            && self.former.as_ref().is_some_and(|former| {
                former
                    .nodes
                    .get(&self.devices.fabric.guid(node))
                    .is_some_and(|&old| former.tables.top_lid(old) == top.0)
            })
    }

    fn port_answered(&mut self, port: PortId, info: PortInfo) {
        self.devices.set_port(port, info);
        let node = self.devices.fabric.node_of(port);
        let number = self.devices.fabric.port_number(port);
        let switch = self.devices.fabric.is_switch(node);
        let is_end_port = !switch || number == 0;
        if is_end_port && info.capability_mask & capability::IS_SM != 0 && self.devices.own != Some(port) {
            if self.phase == Phase::Up {
                // Who is the master is settled with a look at all.
                self.comes_with_a_manager(port);
                return;
            }
            self.schedule(node, Request::GetManager(port));
        }
        if number == 0 {
            return;
        }
        if self.devices.fabric.peer(port).is_some() {
            if self.devices.fabric.rate(port).is_none() {
                self.devices.fabric.set_rate(port, info.link_rate());
            }
            return;
        }
        if self.phase == Phase::Up && self.is_returning(port) {
            return;
        }
        let up = info.physical_state == PhysicalState::LINK_UP && info.port_state != PortState::DOWN;
        // Only switches pass probes on, and the manager's own adapter sends them.
        let own = self.devices.own == Some(port);
        if up && (switch || own) {
            let new = self.phase == Phase::Up;
            self.schedule(node, if new { Request::Identify(port) } else { Request::Probe(port) });
        }
    }

    pub(crate) fn next_block_to_read(&mut self, node: NodeId) -> Option<u32> {
        let top = self.devices.switches[node.index()].linear_fdb_top.0;
        let cursor = self.cursor_of(node);
        let block = *cursor;
        if block > top / 64 {
            *cursor = 0;
            let guid = self.devices.fabric.guid(node);
            self.doubtful.remove(&guid);
            return None;
        }
        *cursor += 1;
        Some(block)
    }

    fn table_answered(&mut self, node: NodeId, block: u32, entries: &LinearForwardingTable) {
        let table = self.devices.tables.entry(node).or_default();
        let start = block as usize * 64;
        if table.len() < start + 64 {
            table.resize(start + 64, ib::NO_ROUTE);
        }
        table[start..start + 64].copy_from_slice(&entries.0);
    }

    pub(crate) fn cursor_of(&mut self, node: NodeId) -> &mut u32 {
        if self.cursor.len() <= node.index() {
            self.cursor.resize(node.index() + 1, 0);
        }
        &mut self.cursor[node.index()]
    }
}
