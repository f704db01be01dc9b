//! Virtual lanes: SLtoVLMappingTable and VLArbitrationTable of switches and adapters.
//!
//! Only where the paths take more than one lane: on one, any mapping will do, since paths that close no circle of links
//! close none of lanes either. A switch maps by the port that a packet came in by and the one that it leaves by: a write
//! a pair of ports that are cabled, where the pair does not hold it already. A switch with
//! OptimizedSLtoVLMappingProgramming takes one write for all ports in (bit 17 of the modifier, as OpenSM's `osm_qos.c` has
//! it), or for all ports in and out (bit 16 as well).
//!
//! *In service*: what the switches hold is read first. Where some mapping differs, every entry of every table is made to
//! drop its packets, then mappings are written, then tables: no packet ever meets old entries under new mappings or the other
//! way round, so no mixture of them can close a circle. Where no mapping differs, entries that change are drained as ever:
//! what is left of the old tables waits for less than they did, and after the drain what is written waits for no more than
//! the new ones do. That holds for packets that bear the service level which path records name now; hosts are therefore
//! told to ask again (ClientReregister) once the new tables stand.
//!
//! A lane to a host, or from it, is on no circle: there the device's lanes are simply used in turn.

use fabric::{NodeId, PortId};
use ib::{SlToVlMapping, Time, capability, virtual_lanes};

use super::{ARBITRATION_PARTS, Programming};
use crate::finding::FindingKind;
use crate::manager::SubnetManager;
use crate::request::Request;

/// A mapping that was not read: no device has it, for it drops everything.
const UNKNOWN: u64 = u64::MAX;

/// The mappings that a switch holds, by port in and port out, four bits a service level.
pub(crate) struct HeldMappings {
    ports: usize,
    mappings: Vec<u64>,
}

impl HeldMappings {
    fn new(external: u8) -> Self {
        let ports = usize::from(external) + 1;
        Self { ports, mappings: vec![UNKNOWN; ports * ports] }
    }

    fn get(&self, in_port: u8, out_port: u8) -> u64 {
        self.mappings[usize::from(in_port) * self.ports + usize::from(out_port)]
    }

    fn set(&mut self, in_port: u8, out_port: u8, mapping: u64) {
        self.mappings[usize::from(in_port) * self.ports + usize::from(out_port)] = mapping;
    }
}

fn packed(mapping: &SlToVlMapping) -> u64 {
    mapping.0.iter().rev().fold(0, |packed, &lane| packed << 4 | u64::from(lane & 15))
}

impl SubnetManager {
    /// Data lanes that a port is going to run.
    fn data_lanes(&self, port: PortId) -> u8 {
        virtual_lanes(self.configured(port).operational_vls).max(1)
    }

    /// The fewest data lanes on the links between switches, and a port that has no more.
    pub(crate) fn lanes_offered(&self) -> (u8, Option<PortId>) {
        let devices = &self.devices;
        let fabric = &devices.fabric;
        let mut fewest = (routing::MOST_LANES, None);
        for port in fabric.links().flat_map(|(a, b)| [a, b]) {
            let node = fabric.node_of(port);
            let between = fabric.is_switch(node)
                && fabric.peer(port).is_some_and(|peer| fabric.is_switch(fabric.node_of(peer)));
            if !between || !self.reached[node.index()] {
                continue;
            }
            let info = &devices.ports[port.index()];
            let mut lanes = virtual_lanes(info.vl_cap.min(self.config.max_operational_vls)).max(1);
            // A lane that the arbitration has no entry for is never served.
            if info.vl_arbitration_low_cap > 0 {
                lanes = lanes.min(info.vl_arbitration_low_cap);
            }
            let zero = &devices.ports[devices.management_port(node).index()];
            if zero.capability_mask & capability::HAS_SL_MAPPING == 0 {
                lanes = 1;
            }
            if lanes < fewest.0 {
                fewest = (lanes, Some(port));
            }
        }
        fewest
    }

    /// Whether the paths take lanes that have to be written.
    pub(crate) fn has_lanes(&self) -> bool {
        self.lanes.count() > 1
    }

    /// The mapping of a switch's pair of ports: of the routes between switches, all lanes in turn towards a host.
    fn wanted_turn(&self, node: NodeId, in_port: u8, out: PortId) -> u64 {
        let fabric = &self.devices.fabric;
        let leads_to_switch = fabric.peer(out).is_some_and(|peer| fabric.is_switch(fabric.node_of(peer)));
        let row = self.tables.as_ref().and_then(|tables| tables.row_index(node));
        match row.filter(|_| leads_to_switch && !self.lanes.is_uniform()) {
            Some(row) => packed(&SlToVlMapping(self.lanes.mapping(row, in_port, fabric.port_number(out)))),
            None => packed(&SlToVlMapping::round_robin(self.data_lanes(out))),
        }
    }

    /// Ports that packets leave a switch by, and those that they come in by: its own first.
    fn outs(&self, node: NodeId) -> impl Iterator<Item = PortId> + '_ {
        self.devices.fabric.neighbors(node).map(|(port, _)| port)
    }

    fn ins(&self, node: NodeId, out: PortId) -> impl Iterator<Item = u8> + '_ {
        let number = |port| self.devices.fabric.port_number(port);
        let others = self.outs(node).filter(move |&port| port != out).map(number);
        std::iter::once(0).chain(others)
    }

    fn held_turn(&self, node: NodeId, in_port: u8, out_port: u8) -> u64 {
        let held = self.mappings.get(&self.devices.fabric.guid(node));
        held.map_or(UNKNOWN, |held| held.get(in_port, out_port))
    }

    fn turn_differs(&self, node: NodeId, in_port: u8, out: PortId) -> bool {
        let held = self.held_turn(node, in_port, self.devices.fabric.port_number(out));
        held != self.wanted_turn(node, in_port, out)
    }

    fn holds_its_lanes(&self, node: NodeId) -> bool {
        self.outs(node).all(|out| self.ins(node, out).all(|in_port| !self.turn_differs(node, in_port, out)))
    }

    fn is_in_service(&self, node: NodeId) -> bool {
        self.devices.switches[node.index()].linear_fdb_top.0 != 0
    }

    /// Whether a switch that forwards packets maps their service levels otherwise than the routes say.
    pub(crate) fn some_mapping_in_service_differs(&self) -> bool {
        self.reached_switches()
            .into_iter()
            .any(|node| self.is_in_service(node) && !self.holds_its_lanes(node))
    }

    /// Asks what devices in service hold. Of fresh ones nothing is known, and nothing is asked: they are written.
    pub(crate) fn read_lanes(&mut self) {
        self.cursor.clear();
        for node in self.reached_switches() {
            if !self.is_in_service(node) {
                continue;
            }
            if !self.mappings.contains_key(&self.devices.fabric.guid(node)) {
                self.schedule(node, Request::ReadLanes(node));
            }
            for port in self.outs(node).collect::<Vec<_>>() {
                self.read_arbitration(port);
            }
        }
        for port in self.adapter_ports() {
            if self.devices.ports[port.index()].port_state < ib::PortState::ARMED {
                continue;
            }
            if !self.devices.mappings.contains_key(&port) {
                self.schedule(self.devices.fabric.node_of(port), Request::GetMapping(port));
            }
            self.read_arbitration(port);
        }
    }

    /// Cabled ports of adapters that are there.
    fn adapter_ports(&self) -> Vec<PortId> {
        let fabric = &self.devices.fabric;
        let adapters = fabric.nodes().filter(|&node| self.reached[node.index()] && !fabric.is_switch(node));
        let ports = adapters.flat_map(|node| fabric.neighbors(node).map(|(port, _)| port));
        ports.filter(|&port| self.devices.knows_port(port)).collect()
    }

    fn read_arbitration(&mut self, port: PortId) {
        for part in self.arbitration_parts(port) {
            if !self.devices.arbitration.contains_key(&(port, part)) {
                self.schedule(self.devices.fabric.node_of(port), Request::GetArbitration(port, part));
            }
        }
    }

    /// The parts of a port's arbitration that it has.
    fn arbitration_parts(&self, port: PortId) -> Vec<u8> {
        let info = &self.devices.ports[port.index()];
        let caps = [info.vl_arbitration_low_cap, info.vl_arbitration_high_cap];
        let one_lane = info.vl_cap <= 1;
        ARBITRATION_PARTS
            .into_iter()
            .zip(caps)
            .filter(|&(_, cap)| cap > 0 && !one_lane)
            .map(|(p, _)| p)
            .collect()
    }

    /// Writes arbitration, where it differs.
    pub(crate) fn program_arbitration(&mut self, port: PortId) {
        for part in self.arbitration_parts(port) {
            if self.devices.arbitration.get(&(port, part)) != Some(&self.wanted_arbitration(port, part)) {
                self.schedule(self.devices.fabric.node_of(port), Request::SetArbitration(port, part));
            }
        }
    }

    /// Writes mappings and arbitration of switches.
    pub(crate) fn program_lanes(&mut self) {
        self.programming = Programming::Lanes;
        self.cursor.clear();
        for node in self.reached_switches() {
            if !self.holds_its_lanes(node) {
                self.schedule(node, Request::ProgramLanes(node));
            }
            for port in self.outs(node).collect::<Vec<_>>() {
                self.program_arbitration(port);
            }
        }
    }

    /// The next pair of ports of a switch to ask about.
    pub(crate) fn next_turn_to_read(&mut self, node: NodeId) -> Option<Request> {
        let width = u32::from(self.devices.fabric.port_count(node)) + 1;
        let mut at = *self.cursor_of(node);
        loop {
            let out = self.outs(node).nth((at / width) as usize)?;
            let next = (at % width) as u8;
            let found = self.ins(node, out).find(|&in_port| in_port >= next);
            if let Some(in_port) = found {
                *self.cursor_of(node) = at - u32::from(next) + u32::from(in_port) + 1;
                return Some(Request::GetTurn(out, in_port));
            }
            at = (at / width + 1) * width;
        }
    }

    /// The next write that a switch needs to hold the routes' lanes.
    pub(crate) fn next_turn_to_write(&mut self, node: NodeId) -> Option<Request> {
        let short = self.devices.switches[node.index()].optimized_sl_to_vl_mapping != 0;
        let outs: Vec<PortId> = self.outs(node).collect();
        let first = *self.cursor_of(node);
        let of_column = |manager: &Self, out: PortId| {
            let mut wanted = manager.ins(node, out).map(|in_port| manager.wanted_turn(node, in_port, out));
            let first = wanted.next()?;
            wanted.all(|mapping| mapping == first).then_some(first)
        };
        if short && first == 0 {
            let same = outs.first().and_then(|&out| of_column(self, out));
            if same.is_some() && outs.iter().all(|&out| of_column(self, out) == same) {
                *self.cursor_of(node) = u32::MAX;
                return Some(Request::SetTurns(node));
            }
        }
        // One cursor over pairs: the port out, then the port in.
        let width = u32::from(self.devices.fabric.port_count(node)) + 1;
        let mut at = first;
        while let Some(&out) = outs.get((at / width) as usize) {
            let column = at / width;
            if short && at.is_multiple_of(width) && of_column(self, out).is_some() {
                let differ = self.ins(node, out).filter(|&i| self.turn_differs(node, i, out)).count();
                if differ > 1 {
                    *self.cursor_of(node) = (column + 1) * width;
                    return Some(Request::SetTurnsTo(out));
                }
            }
            let next = (at % width) as u8;
            let found = self.ins(node, out).filter(|&i| i >= next).find(|&i| self.turn_differs(node, i, out));
            match found {
                Some(in_port) => {
                    *self.cursor_of(node) = column * width + u32::from(in_port) + 1;
                    return Some(Request::SetTurn(out, in_port));
                }
                None => at = (column + 1) * width,
            }
        }
        None
    }

    /// The mapping that a request writes.
    pub(crate) fn turn_to_write(&self, request: Request) -> Option<SlToVlMapping> {
        let mapping = match request {
            Request::SetTurn(out, in_port) => {
                self.wanted_turn(self.devices.fabric.node_of(out), in_port, out)
            }
            Request::SetTurnsTo(out) => {
                let node = self.devices.fabric.node_of(out);
                self.wanted_turn(node, self.ins(node, out).next()?, out)
            }
            Request::SetTurns(node) => {
                let out = self.outs(node).next()?;
                self.wanted_turn(node, self.ins(node, out).next()?, out)
            }
            _ => return None,
        };
        Some(SlToVlMapping(std::array::from_fn(|level| (mapping >> (4 * level) & 15) as u8)))
    }

    /// What a switch says that it holds, or has been given.
    pub(crate) fn turn_answered(&mut self, request: Request, mapping: &SlToVlMapping) {
        let fabric = &self.devices.fabric;
        let (node, pairs): (NodeId, Vec<(u8, u8)>) = match request {
            Request::GetTurn(out, in_port) | Request::SetTurn(out, in_port) => {
                (fabric.node_of(out), vec![(in_port, fabric.port_number(out))])
            }
            Request::SetTurnsTo(out) => {
                let node = fabric.node_of(out);
                let out = fabric.port_number(out);
                (node, (0..=fabric.port_count(node)).map(|i| (i, out)).collect())
            }
            Request::SetTurns(node) => {
                let ports = || 0..=fabric.port_count(node);
                (node, ports().flat_map(|i| ports().map(move |out| (i, out))).collect())
            }
            _ => return,
        };
        let ports = fabric.port_count(node);
        let held = self.mappings.entry(fabric.guid(node)).or_insert_with(|| HeldMappings::new(ports));
        for (in_port, out_port) in pairs {
            held.set(in_port, out_port, packed(mapping));
        }
    }

    /// A switch was reset, or somebody else has written to it: its mappings are not known.
    pub(crate) fn forget_mappings(&mut self, node: NodeId) {
        self.mappings.remove(&self.devices.fabric.guid(node));
    }

    /// Mappings are written: whether every switch holds them. Else nothing may be sent by the tables.
    pub(crate) fn lanes_are_written(&mut self, now: Time) -> bool {
        let without = self.reached_switches().into_iter().find(|&node| !self.holds_its_lanes(node));
        let Some(node) = without else { return true };
        let guid = self.devices.fabric.guid(node);
        let place = self.devices.place(self.devices.management_port(node));
        self.forget_written();
        self.forget_mappings(node);
        if self.mute.insert(guid) {
            self.look_anew(now, format!("{place} did not take its lanes"));
            return false;
        }
        let said = format!("{place} does not map service levels to the lanes that it was given");
        let mend = "update the switch's firmware, or take an engine for one lane, as --engine up-down";
        self.find(FindingKind::Refused, place, said.clone(), mend);
        self.refuse(now, format!("{said}: {mend}"));
        false
    }

    /// What switches hold is neither the old nor the new: it is read the next time.
    pub(crate) fn forget_written(&mut self) {
        (self.tables, self.former, self.heights) = (None, None, None);
        self.cleared = false;
    }
}
