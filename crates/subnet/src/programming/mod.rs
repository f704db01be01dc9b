//! Writes what differs: forwarding tables, switches, partitions. Builds the MAD of every request.

mod counts;

use fabric::{NodeId, NodeKind, PortId};
use ib::{
    ArbitrationEntry, AttributeId, LinearForwardingTable, Mad, PKeyTable, PartitionKey, SlToVlMapping,
    SwitchInfo, Time, VlArbitration, virtual_lanes,
};

pub(crate) use counts::{Counts, kind_name};

use routing::{NO_ROUTE, Patch};

use crate::manager::{Phase, SubnetManager};
use crate::request::{Request, Subject};

/// Parts of an arbitration table, as the modifier counts them: low and high priority, the first 32 entries of each.
pub(crate) const ARBITRATION_PARTS: [u8; 2] = [1, 3];

/// How tables are being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Programming {
    /// Block by block, switch by switch: nothing is in service yet, or nothing that could mix with it.
    #[default]
    Plain,
    /// Entries that are going to change drop their packets first; then all are written. Old and new ways never mix, so no
    /// circle of links can wait for each other.
    Drain,
    /// Wave by wave, so that no pair that works breaks.
    Waves,
}

impl SubnetManager {
    pub(crate) fn begin_programming(&mut self, now: Time) {
        self.enter(now, Phase::Program);
        let in_service = |node: &NodeId| self.devices.tables.contains_key(node);
        let drain = self.former.is_some() || self.reached_switches().iter().any(in_service);
        self.programming = if drain { Programming::Drain } else { Programming::Plain };
        self.program_adapters();
        self.program_switches();
    }

    /// Writes waves of entries that come from tables in service, one after another.
    pub(crate) fn program_gently(&mut self, now: Time, patch: &Patch) {
        self.enter(now, Phase::Program);
        self.programming = Programming::Waves;
        self.write_in_waves(patch);
        self.program_adapters();
    }

    /// What could be written so far is: the next wave, or the second half after a drain, or on to the ports.
    pub(crate) fn end_programming(&mut self, now: Time) {
        // A step rests on the one before: where that is not whole, or the fabric has changed under it, all begins anew.
        if self.programming != Programming::Plain
            && let Some(cause) = self.healing.anew.take().or_else(|| self.sweeping.take_change())
        {
            if self.programming == Programming::Drain {
                // What the switches hold is neither the old nor the new: it is read.
                (self.tables, self.former, self.heights) = (None, None, None);
            }
            self.look_anew(now, cause);
            return;
        }
        if self.programming == Programming::Waves && self.begin_wave() {
            return;
        }
        match self.programming {
            Programming::Waves | Programming::Drain => {
                self.programming = Programming::Plain;
                self.program_switches();
            }
            Programming::Plain => self.begin_arming(now),
        }
    }

    fn reached_switches(&self) -> Vec<NodeId> {
        self.devices.fabric.switches().filter(|&node| self.reached[node.index()]).collect()
    }

    fn program_switches(&mut self) {
        self.cursor.clear();
        for node in self.reached_switches() {
            self.schedule(node, Request::ProgramTables(node));
            // Tables first: until its top is raised a fresh switch forwards nothing.
            let differs = self.wanted_switch(node) != self.devices.switches[node.index()];
            if differs && self.programming == Programming::Plain {
                self.schedule(node, Request::SetSwitch(node));
            }
        }
    }

    fn program_adapters(&mut self) {
        let adapters = self
            .devices
            .fabric
            .nodes()
            .filter(|&node| self.reached[node.index()] && !self.devices.fabric.is_switch(node));
        for node in adapters.collect::<Vec<_>>() {
            self.program_adapter(node);
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

    /// What a switch held before, as far as it is known: none of it where it is fresh.
    pub(crate) fn held_row(&self, node: NodeId) -> Option<&[u8]> {
        let fresh = self.devices.switches[node.index()].linear_fdb_top.0 == 0;
        match self.devices.tables.get(&node) {
            Some(table) => Some(table),
            None if fresh => None,
            None => {
                let former = self.former.as_ref()?;
                let old = former.nodes.get(&self.devices.fabric.guid(node))?;
                Some(former.tables.row(*old))
            }
        }
    }

    /// A block as it is written now.
    fn block_to_write(&self, node: NodeId, block: u32) -> Option<[u8; 64]> {
        let wanted = *self.tables.as_ref()?.block(node, block);
        if self.programming != Programming::Drain {
            return Some(wanted);
        }
        let start = block as usize * 64;
        let held: &[u8; 64] = self.held_row(node)?.get(start..)?.first_chunk()?;
        Some(std::array::from_fn(|i| if held[i] == wanted[i] { held[i] } else { NO_ROUTE }))
    }

    /// The next block of a switch's table that differs from what it holds.
    pub(crate) fn next_changed_block(&mut self, node: NodeId) -> Option<u32> {
        let top = self.tables.as_ref()?.top_lid(node);
        let mut block = *self.cursor_of(node);
        let found = loop {
            if block > top / 64 {
                break None;
            }
            let start = block as usize * 64;
            let held = self.held_row(node).and_then(|held| held.get(start..start + 64));
            let wanted = self.block_to_write(node, block);
            block += 1;
            let differs = match (held, &wanted) {
                (Some(held), Some(wanted)) => held != wanted,
                // There is nothing to drain in what is not known or fresh.
                (None, _) => self.programming != Programming::Drain,
                (Some(_), None) => false,
            };
            if differs {
                break Some(block - 1);
            }
        };
        *self.cursor_of(node) = block;
        found
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
                mad.put(&LinearForwardingTable(self.block_to_write(node, block)?));
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
