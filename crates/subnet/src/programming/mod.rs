//! Writes what differs: forwarding tables, switches, partitions. Builds the MAD of every request.

mod counts;

use fabric::{NodeId, NodeKind};
use ib::{
    ArbitrationEntry, AttributeId, LinearForwardingTable, Mad, PKeyTable, PartitionKey, SlToVlMapping,
    SwitchInfo, Time, VlArbitration,
};

pub(crate) use counts::{Counts, kind_name};

use crate::manager::{Phase, SubnetManager};
use crate::request::Request;

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

    fn program_adapter(&mut self, node: NodeId) {
        let ports: Vec<_> =
            self.devices.fabric.ports(node).filter(|&p| self.devices.partitions.contains_key(&p)).collect();
        for port in ports {
            let held = self.devices.partitions[&port];
            if with_default(held) != held {
                self.schedule(node, Request::SetPartitions(port));
            }
            if self.config.qos && self.devices.fabric.kind(node) == NodeKind::ChannelAdapter {
                self.schedule(node, Request::SetMapping(port));
                self.schedule(node, Request::SetArbitration(port, 1));
                self.schedule(node, Request::SetArbitration(port, 3));
            }
        }
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

    /// The attribute modifier of a request.
    pub(crate) fn modifier(&self, request: Request) -> u32 {
        let fabric = &self.devices.fabric;
        match request {
            Request::GetPort(port)
            | Request::GetEndPort(port)
            | Request::SetPort(port)
            | Request::Activate(port) => u32::from(fabric.port_number(port)),
            Request::GetTable(_, block) | Request::SetTable(_, block) => block,
            Request::SetArbitration(_, part) => u32::from(part) << 16,
            _ => 0,
        }
    }

    /// The MAD of a request, without its transaction number; `None` where its route is longer than a MAD can hold.
    pub(crate) fn build(&self, request: Request) -> Option<Mad> {
        let devices = &self.devices;
        let route = match request {
            Request::Local => ib::DirectedRoute::LOCAL,
            Request::Probe(port) => {
                devices.route(devices.fabric.node_of(port)).then(devices.fabric.port_number(port))?
            }
            Request::GetPort(port)
            | Request::GetEndPort(port)
            | Request::GetPartitions(port)
            | Request::GetManager(port)
            | Request::SetPartitions(port)
            | Request::SetMapping(port)
            | Request::SetArbitration(port, _)
            | Request::SetPort(port)
            | Request::Activate(port) => devices.route_to_port(port),
            Request::Description(node)
            | Request::GetSwitch(node)
            | Request::GetTable(node, _)
            | Request::SetSwitch(node)
            | Request::SetTable(node, _)
            | Request::Sweep(node)
            | Request::ProgramTables(node)
            | Request::ReadTables(node) => devices.route(node),
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
            Request::SetMapping(port) => {
                mad.put(&SlToVlMapping::round_robin(lanes(devices.ports[port.index()].operational_vls)));
            }
            Request::SetArbitration(port, part) => {
                let info = &devices.ports[port.index()];
                let cap = if part == 1 { info.vl_arbitration_low_cap } else { info.vl_arbitration_high_cap };
                mad.put(&even_arbitration(lanes(info.operational_vls), cap));
            }
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

/// How many lanes a code means.
fn lanes(code: u8) -> u8 {
    match code {
        2 => 2,
        3 => 4,
        4 => 8,
        5 => 15,
        _ => 1,
    }
}

/// Every lane in turn with equal weight, as far as the table goes.
fn even_arbitration(lanes: u8, cap: u8) -> VlArbitration {
    VlArbitration(std::array::from_fn(|i| {
        let used = i < usize::from(lanes.min(cap));
        ArbitrationEntry { lane: if used { i as u8 } else { 0 }, weight: if used { 32 } else { 0 } }
    }))
}
