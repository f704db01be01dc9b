//! Writes what differs: forwarding tables, lanes, switches, partitions. Builds the MAD of every request.

mod counts;
mod lanes;

use fabric::{NodeId, NodeKind, PortId};
use ib::{
    ArbitrationEntry, AttributeId, LinearForwardingTable, Mad, PKeyTable, PartitionKey, SlToVlMapping,
    SwitchInfo, Time, VlArbitration, capability, virtual_lanes,
};

pub(crate) use counts::{Counts, kind_name};
pub(crate) use lanes::HeldMappings;

use routing::{NO_ROUTE, Patch};

use crate::manager::{Phase, SubnetManager};
use crate::request::{Request, Subject};

/// Parts of an arbitration table, as the modifier counts them: low and high priority, the first 32 entries of each.
pub(crate) const ARBITRATION_PARTS: [u8; 2] = [1, 3];

/// In the modifier of SLtoVLMappingTable: the write is for all ports in.
const ALL_IN: u32 = 1 << 17;
/// And for all ports out.
const ALL_OUT: u32 = 1 << 16;

/// How tables are being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Programming {
    /// Block by block, switch by switch: nothing is in service yet, or nothing that could mix with it.
    #[default]
    Plain,
    /// Entries that are going to change drop their packets first; then all are written. Old and new ways never mix, so no
    /// circle of links can wait for each other.
    Drain,
    /// Nothing is written yet: what devices in service hold of lanes is read.
    Learn,
    /// Every entry of every table drops its packets, for the lanes are going to change under them.
    Clear,
    /// Lanes are written, before the tables that need them.
    Lanes,
    /// Wave by wave, so that no pair that works breaks.
    Waves,
}

impl SubnetManager {
    pub(crate) fn begin_programming(&mut self, now: Time) {
        self.enter(now, Phase::Program);
        self.cleared = false;
        self.ways_changed = self.former.as_ref().is_some_and(|former| former.lanes != self.lanes);
        if self.has_lanes() {
            self.programming = Programming::Learn;
            self.read_lanes();
            return;
        }
        self.program_adapters();
        self.begin_tables();
    }

    /// Whether something is in service that what is written could mix with.
    fn is_to_drain(&self) -> bool {
        let in_service = |node: &NodeId| self.devices.tables.contains_key(node);
        self.former.is_some() || self.reached_switches().iter().any(in_service)
    }

    fn begin_tables(&mut self) {
        let drain = !self.cleared && self.is_to_drain();
        self.programming = if drain { Programming::Drain } else { Programming::Plain };
        self.program_switches();
    }

    /// What devices hold of lanes is known: writes the lanes, behind a stop of all traffic where that is needed.
    fn begin_lanes(&mut self) {
        self.program_adapters();
        if self.is_to_drain() && self.some_mapping_in_service_differs() {
            self.programming = Programming::Clear;
            self.ways_changed = true;
            self.program_switches();
        } else {
            self.program_lanes();
        }
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
            if self.programming != Programming::Waves {
                self.forget_written();
            }
            self.look_anew(now, cause);
            return;
        }
        if self.programming == Programming::Waves && self.begin_wave() {
            return;
        }
        match self.programming {
            Programming::Learn => self.begin_lanes(),
            Programming::Clear => {
                self.cleared = true;
                self.program_lanes();
            }
            Programming::Lanes => {
                if self.lanes_are_written(now) {
                    self.begin_tables();
                }
            }
            Programming::Waves | Programming::Drain => {
                self.programming = Programming::Plain;
                self.program_switches();
            }
            Programming::Plain => self.begin_arming(now),
        }
    }

    pub(crate) fn reached_switches(&self) -> Vec<NodeId> {
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
            let can_map = self.devices.ports[port.index()].capability_mask & capability::HAS_SL_MAPPING != 0;
            if self.has_lanes() && !self.config.qos {
                if can_map && self.devices.mappings.get(&port) != Some(&self.wanted_mapping(port)) {
                    self.schedule(node, Request::SetMapping(port));
                }
                self.program_arbitration(port);
            } else if self.config.qos && self.devices.fabric.kind(node) == NodeKind::ChannelAdapter {
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

    /// Every lane in turn. Without quality of service all are of low priority, and none of high.
    pub(crate) fn wanted_arbitration(&self, port: PortId, part: u8) -> VlArbitration {
        if !self.config.qos && part != ARBITRATION_PARTS[0] {
            return VlArbitration::default();
        }
        let info = &self.devices.ports[port.index()];
        let cap = if part == 1 { info.vl_arbitration_low_cap } else { info.vl_arbitration_high_cap };
        even_arbitration(virtual_lanes(self.configured(port).operational_vls), cap)
    }

    /// What a switch is to hold. Where it holds it already, equal to what it holds.
    fn wanted_switch(&self, node: NodeId) -> SwitchInfo {
        let held = self.devices.switches[node.index()];
        // One that started afresh forwards nothing until its table is written.
        let tables = self.tables.as_ref().filter(|_| !self.is_blank(node));
        let top = tables.map_or(0, |tables| tables.top_lid(node));
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
        if self.cleared || self.holds_who_knows(node) {
            return None;
        }
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
        if self.programming == Programming::Clear {
            return Some([NO_ROUTE; 64]);
        }
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
        let mut top = self.tables.as_ref()?.top_lid(node);
        if self.programming == Programming::Clear {
            top = self.held_row(node)?.len().saturating_sub(1) as u32;
        }
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
                (None, _) => !matches!(self.programming, Programming::Drain | Programming::Clear),
                (Some(_), None) => false,
            };
            if differs {
                break Some(block - 1);
            }
        };
        *self.cursor_of(node) = block;
        self.ways_changed |= found.is_some();
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
            Request::GetArbitration(port, part) | Request::SetArbitration(port, part) => {
                let switch = fabric.is_switch(fabric.node_of(port));
                u32::from(part) << 16 | if switch { u32::from(fabric.port_number(port)) } else { 0 }
            }
            Request::GetTurn(out, in_port) | Request::SetTurn(out, in_port) => {
                u32::from(in_port) << 8 | u32::from(fabric.port_number(out))
            }
            Request::SetTurnsTo(out) => ALL_IN | u32::from(fabric.port_number(out)),
            Request::SetTurns(_) => ALL_IN | ALL_OUT,
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
            Subject::Node(node) => devices.way_to(node),
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
            Request::SetTurn(..) | Request::SetTurnsTo(_) | Request::SetTurns(_) => {
                mad.put(&self.turn_to_write(request)?);
            }
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
