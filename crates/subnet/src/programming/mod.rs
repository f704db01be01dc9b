//! Writes what differs: forwarding tables, switches, partitions. Builds the MAD of every request.

mod counts;

use fabric::{NodeId, NodeKind, PortId};
use ib::{
    ArbitrationEntry, AttributeId, LinearForwardingTable, Mad, PKeyTable, PartitionKey, SlToVlMapping,
    SwitchInfo, Time, VlArbitration, virtual_lanes,
};

pub(crate) use counts::{Counts, kind_name};

use crate::manager::{Phase, SubnetManager};
use crate::request::{Request, Subject};

/// Parts of an arbitration table, as the modifier counts them: low and high priority, the first 32 entries of each.
pub(crate) const ARBITRATION_PARTS: [u8; 2] = [1, 3];

impl SubnetManager {
    pub(crate) fn begin_programming(&mut self, now: Time) {
        self.enter(now, Phase::Program);
        self.cursor.clear();
        let nodes: Vec<NodeId> =
            self.devices.fabric.nodes().filter(|&node| self.reached[node.index()]).collect();
        for node in nodes {
            if self.devices.fabric.is_switch(node) {
                // Tables first: until its top is raised a fresh switch forwards nothing.
                self.schedule(node, Request::ProgramTables(node));
                if self.wanted_switch(node) != self.devices.switches[node.index()] {
                    self.schedule(node, Request::SetSwitch(node));
                }
            } else {
                self.program_adapter(node);
            }
        }
    }

    pub(crate) fn program_adapter(&mut self, node: NodeId) {
        let ports: Vec<_> =
            self.devices.fabric.ports(node).filter(|&p| self.devices.partitions.contains_key(&p)).collect();
        for port in ports {
            let held = self.devices.partitions[&port];
            if with_default(held) != held {
                self.schedule(node, Request::SetPartitions(port));
            }
            if self.config.qos && self.devices.fabric.kind(node) == NodeKind::ChannelAdapter {
                if self.devices.mappings.get(&port) != Some(&self.wanted_mapping(port)) {
                    self.schedule(node, Request::SetMapping(port));
                }
                for part in ARBITRATION_PARTS {
                    if self.devices.arbitration.get(&(port, part))
                        != Some(&self.wanted_arbitration(port, part))
                    {
                        self.schedule(node, Request::SetArbitration(port, part));
                    }
                }
            }
        }
    }

    /// Every lane that is going to be in use, in turn.
    fn wanted_mapping(&self, port: PortId) -> SlToVlMapping {
        SlToVlMapping::round_robin(virtual_lanes(self.configured(port).operational_vls))
    }

    fn wanted_arbitration(&self, port: PortId, part: u8) -> VlArbitration {
        let info = &self.devices.ports[port.index()];
        let cap = if part == 1 { info.vl_arbitration_low_cap } else { info.vl_arbitration_high_cap };
        even_arbitration(virtual_lanes(self.configured(port).operational_vls), cap)
    }

    /// What a switch is to hold. Where it holds it already, equal to what it holds.
    fn wanted_switch(&self, node: NodeId) -> SwitchInfo {
        let held = self.devices.switches[node.index()];
        let top = self.tables.as_ref().map_or(0, |tables| tables.top_lid(node));
        SwitchInfo {
            linear_fdb_top: ib::Lid(top),
            life_time_value: self.config.packet_life_time,
            // A bit that is set is written as a 1, which clears it: see `build`.
            state_change: false,
            ..held
        }
    }

    /// The next block of a switch's table that differs from what it holds.
    pub(crate) fn next_changed_block(&mut self, node: NodeId) -> Option<u32> {
        let tables = self.tables.as_ref()?;
        let top = tables.top_lid(node);
        let row = tables.row(node);
        let fresh = self.devices.switches[node.index()].linear_fdb_top.0 == 0;
        let held: Option<&[u8]> = match self.devices.tables.get(&node) {
            Some(table) => Some(table),
            None if fresh => None,
            None => self.former.as_ref().and_then(|former| {
                let old = former.nodes.get(&self.devices.fabric.guid(node))?;
                Some(former.tables.row(*old))
            }),
        };
        if self.cursor.len() <= node.index() {
            self.cursor.resize(node.index() + 1, 0);
        }
        let cursor = &mut self.cursor[node.index()];
        while *cursor <= top / 64 {
            let block = *cursor;
            *cursor += 1;
            let range = block as usize * 64..block as usize * 64 + 64;
            if held.and_then(|held| held.get(range.clone())) != Some(&row[range]) {
                return Some(block);
            }
        }
        None
    }

    /// The device that a request is for; none for what looks beyond a port.
    pub(crate) fn device(&self, request: Request) -> Option<NodeId> {
        match request.subject() {
            Subject::Own | Subject::Beyond(_) => None,
            Subject::Port(port) => Some(self.devices.fabric.node_of(port)),
            Subject::Node(node) => Some(node),
        }
    }

    /// The attribute modifier of a request.
    pub(crate) fn modifier(&self, request: Request) -> u32 {
        let fabric = &self.devices.fabric;
        match request {
            Request::GetPort(port)
            | Request::Examine(port)
            | Request::Refresh(port)
            | Request::GetEndPort(port)
            | Request::SetPort(port)
            | Request::Activate(port) => u32::from(fabric.port_number(port)),
            Request::GetTable(_, block) | Request::SetTable(_, block) => block,
            Request::GetArbitration(_, part) | Request::SetArbitration(_, part) => u32::from(part) << 16,
            _ => 0,
        }
    }

    /// The MAD of a request, without its transaction number; `None` where its route is longer than a MAD can hold.
    pub(crate) fn build(&self, request: Request) -> Option<Mad> {
        let devices = &self.devices;
        let route = match request.subject() {
            Subject::Own => ib::DirectedRoute::LOCAL,
            Subject::Beyond(port) => {
                devices.route(devices.fabric.node_of(port)).then(devices.fabric.port_number(port))?
            }
            Subject::Port(port) => devices.route_to_port(port),
            Subject::Node(node) => devices.route(node),
        };
        let id: AttributeId = request.attribute();
        let mut mad =
            Mad::directed(request.method(), id, self.modifier(request), &route, 0, self.config.m_key);
        match request {
            Request::SetSwitch(node) => {
                let held = devices.switches[node.index()];
                mad.put(&SwitchInfo { state_change: held.state_change, ..self.wanted_switch(node) });
            }
            Request::SetTable(node, block) => {
                mad.put(&LinearForwardingTable(*self.tables.as_ref()?.block(node, block)));
            }
            Request::SetPartitions(port) => mad.put(&with_default(*devices.partitions.get(&port)?)),
            Request::SetMapping(port) => mad.put(&self.wanted_mapping(port)),
            Request::SetArbitration(port, part) => mad.put(&self.wanted_arbitration(port, part)),
            Request::SetPort(port) => mad.put(&self.wanted_port(port)),
            Request::Activate(port) => mad.put(&self.activated_port(port)),
            _ => {}
        }
        Some(mad)
    }
}

/// The partitions of an end port with the default one in the first place.
fn with_default(mut held: PKeyTable) -> PKeyTable {
    if !held.0.contains(&PartitionKey::DEFAULT_FULL) {
        held.0[0] = PartitionKey::DEFAULT_FULL;
    }
    held
}

/// Every lane in turn with equal weight, as far as the table goes.
fn even_arbitration(lanes: u8, cap: u8) -> VlArbitration {
    VlArbitration(std::array::from_fn(|i| {
        let used = i < usize::from(lanes.min(cap));
        ArbitrationEntry { lane: if used { i as u8 } else { 0 }, weight: if used { 32 } else { 0 } }
    }))
}
