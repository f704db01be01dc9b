//! Follows the paths from everywhere to a few destinations, each entry once.

use std::ops::Range;

use fabric::{Fabric, NodeId, NodeKind, PortId};

use super::Hops;
use super::channels::Dependencies;
use crate::tables::{NO_ROUTE, Tables, lids_of};

/// No switch at the other end of a port.
pub(super) const DEAD: u32 = u32::MAX;

/// The switches as the verifier sees them: a slot for each port, numbered densely; what each leads to.
pub(super) struct Network {
    nodes: Vec<NodeId>,
    index_of: Vec<u32>,
    /// First slot of each switch, with one more entry than there are switches. Slot `first_slot[s] + p` is port `p`.
    pub(super) first_slot: Vec<u32>,
    /// The slot at the other end of each slot's cable, [`DEAD`] where no switch is there.
    pub(super) peer_slot: Vec<u32>,
    /// The switch of each slot.
    pub(super) switch_of_slot: Vec<u32>,
    fabric_port: Vec<PortId>,
    /// End ports with a LID on each switch, itself included, and the first two of them.
    sources: Vec<u32>,
    first_sources: Vec<[u32; 2]>,
    /// Of those, hosts' ports.
    hosts: Vec<u32>,
    /// End ports with a LID that are on no switch but cabled to another adapter: (port, peer).
    loose: Vec<(u32, u32)>,
    /// The row of each switch in the tables.
    rows: Vec<Option<usize>>,
}

impl Network {
    pub(super) fn new(fabric: &Fabric, tables: &Tables) -> Self {
        let nodes: Vec<NodeId> = fabric.switches().collect();
        let mut index_of = vec![DEAD; fabric.node_count()];
        let mut slot_of = vec![DEAD; fabric.port_slot_count()];
        let (mut first_slot, mut switch_of_slot, mut fabric_port) = (vec![0], Vec::new(), Vec::new());
        for (index, &node) in nodes.iter().enumerate() {
            index_of[node.index()] = index as u32;
            for port in fabric.port(node, 0).into_iter().chain(fabric.ports(node)) {
                slot_of[port.index()] = fabric_port.len() as u32;
                fabric_port.push(port);
                switch_of_slot.push(index as u32);
            }
            first_slot.push(fabric_port.len() as u32);
        }
        let peer_slot = fabric_port
            .iter()
            .map(|&port| fabric.peer(port).map_or(DEAD, |peer| slot_of[peer.index()]))
            .collect();
        let rows = nodes.iter().map(|&node| tables.row_index(node)).collect();
        let mut network = Self {
            sources: vec![0; nodes.len()],
            first_sources: vec![[DEAD; 2]; nodes.len()],
            hosts: vec![0; nodes.len()],
            loose: Vec::new(),
            nodes,
            index_of,
            first_slot,
            peer_slot,
            switch_of_slot,
            fabric_port,
            rows,
        };
        for port in fabric.end_ports().filter(|&port| !lids_of(fabric, port).is_empty()) {
            network.add_source(fabric, port);
        }
        network
    }

    fn add_source(&mut self, fabric: &Fabric, port: PortId) {
        let node = fabric.node_of(port);
        let peer = fabric.peer(port);
        let door = if fabric.is_switch(node) { Some(node) } else { peer.map(|peer| fabric.node_of(peer)) };
        let Some(switch) = door.and_then(|door| self.switch_of(door)) else {
            self.loose.extend(peer.map(|peer| (port.0, peer.0)));
            return;
        };
        let switch = switch as usize;
        if let Some(first) = self.first_sources[switch].get_mut(self.sources[switch] as usize) {
            *first = port.0;
        }
        self.sources[switch] += 1;
        let host = matches!(fabric.kind(node), NodeKind::ChannelAdapter | NodeKind::Router);
        self.hosts[switch] += u32::from(host);
    }

    pub(super) fn switch_of(&self, node: NodeId) -> Option<u32> {
        Some(self.index_of[node.index()]).filter(|&index| index != DEAD)
    }

    pub(super) fn fabric_port(&self, slot: u32) -> PortId {
        self.fabric_port[slot as usize]
    }

    /// The slot of a switch's port, if the switch has it.
    #[inline]
    pub(super) fn slot(&self, switch: usize, port: u8) -> Option<u32> {
        let slot = self.first_slot[switch] + u32::from(port);
        (slot < self.first_slot[switch + 1]).then_some(slot)
    }

    /// The slot at which a packet arrives that leaves a switch by `port`, [`DEAD`] where no switch is there.
    #[inline]
    fn next_slot(&self, switch: usize, port: u8) -> u32 {
        self.slot(switch, port).map_or(DEAD, |slot| self.peer_slot[slot as usize])
    }
}

/// An end port with its LIDs.
pub(super) struct Target {
    /// The port.
    pub(super) port: u32,
    /// Its LIDs.
    pub(super) lids: Range<u32>,
    /// The switch that must deliver; `None` where the port is cabled to another adapter.
    pub(super) switch: Option<u32>,
    /// The port that it must deliver by, 0 for the switch itself.
    pub(super) door: u8,
    /// Whether hosts' traffic goes there.
    pub(super) host: bool,
}

/// What walking found so far.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) unreachable: u64,
    pub(super) loops: u64,
    hop_sum: u64,
    hop_pairs: u64,
    hop_max: u32,
    /// Target port, LID, source port.
    pub(super) first_unreachable: Option<(u32, u32, u32)>,
    /// LID, slots around the loop.
    pub(super) first_loop: Option<(u32, Vec<u32>)>,
}

impl Findings {
    pub(super) fn merge(self, later: Self) -> Self {
        Self {
            unreachable: self.unreachable + later.unreachable,
            loops: self.loops + later.loops,
            hop_sum: self.hop_sum + later.hop_sum,
            hop_pairs: self.hop_pairs + later.hop_pairs,
            hop_max: self.hop_max.max(later.hop_max),
            first_unreachable: self.first_unreachable.or(later.first_unreachable),
            first_loop: self.first_loop.or(later.first_loop),
        }
    }

    pub(super) fn hops(&self) -> Hops {
        let mean = if self.hop_pairs == 0 { 0.0 } else { self.hop_sum as f64 / self.hop_pairs as f64 };
        Hops { mean, max: self.hop_max }
    }
}

const UNKNOWN: u32 = u32::MAX;
const LOST: u32 = u32::MAX - 1;
const ON_PATH: u32 = u32::MAX - 2;

/// Scratch for walking one group of targets after another.
pub(super) struct Walker<'a> {
    network: &'a Network,
    dependencies: &'a Dependencies,
    /// The group's columns, one after another: a byte a switch.
    columns: Vec<u8>,
    /// Switches passed after each one until delivery, or one of the marks above.
    distance: Vec<u32>,
    /// Whether the target is lost to some of its LIDs from each switch: the first such LID, or 0.
    lost_lid: Vec<u32>,
    carries: Vec<bool>,
    path: Vec<u32>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(network: &'a Network, dependencies: &'a Dependencies) -> Self {
        let switches = network.nodes.len();
        Self {
            network,
            dependencies,
            columns: Vec::new(),
            distance: vec![UNKNOWN; switches],
            lost_lid: vec![0; switches],
            carries: vec![false; switches],
            path: Vec::new(),
        }
    }

    pub(super) fn walk(&mut self, tables: &Tables, group: &[Target], findings: &mut Findings) {
        self.gather(tables, group);
        let switches = self.network.nodes.len();
        let mut columns = std::mem::take(&mut self.columns);
        let mut rest = &columns[..];
        for target in group {
            self.lost_lid.fill(0);
            for lid in target.lids.clone() {
                let (column, after) = rest.split_at(switches);
                rest = after;
                self.measure(column, target, lid, findings);
                if target.host {
                    self.depend(column, target);
                }
            }
            self.count(target, findings);
        }
        columns.clear();
        self.columns = columns;
    }

    /// Copies the group's columns out of the rows, so that each row's cache lines are met once.
    fn gather(&mut self, tables: &Tables, group: &[Target]) {
        let switches = self.network.nodes.len();
        let lids: usize = group.iter().map(|target| target.lids.len()).sum();
        self.columns.clear();
        self.columns.resize(lids * switches, NO_ROUTE);
        for (switch, row) in self.network.rows.iter().enumerate() {
            let Some(row) = row.map(|row| tables.row_at(row)) else { continue };
            let entries = group.iter().flat_map(|target| target.lids.clone());
            for (place, lid) in entries.enumerate() {
                if let Some(&port) = row.get(lid as usize) {
                    self.columns[place * switches + switch] = port;
                }
            }
        }
    }

    /// Finds for every switch how far the target is, or that its packets are lost.
    fn measure(&mut self, column: &[u8], target: &Target, lid: u32, findings: &mut Findings) {
        let network = self.network;
        self.distance.fill(UNKNOWN);
        if let Some(switch) = target.switch {
            let delivers = column[switch as usize] == target.door;
            self.distance[switch as usize] = if delivers { 0 } else { UNKNOWN };
        }
        for start in 0..column.len() {
            if self.distance[start] != UNKNOWN {
                continue;
            }
            let mut at = start;
            let mut end;
            loop {
                self.distance[at] = ON_PATH;
                self.path.push(at as u32);
                let next = network.next_slot(at, column[at]);
                if next == DEAD {
                    end = LOST;
                    break;
                }
                at = network.switch_of_slot[next as usize] as usize;
                end = self.distance[at];
                if end == ON_PATH {
                    findings.loops += 1;
                    if findings.first_loop.is_none() {
                        findings.first_loop = Some((lid, self.circle(column, at)));
                    }
                    end = LOST;
                    break;
                }
                if end != UNKNOWN {
                    break;
                }
            }
            while let Some(switch) = self.path.pop() {
                if end != LOST {
                    end += 1;
                }
                self.distance[switch as usize] = end;
            }
        }
        self.tally(target, lid, findings);
    }

    /// The sending slots around the forwarding loop through `start`.
    fn circle(&self, column: &[u8], start: usize) -> Vec<u32> {
        let mut slots = Vec::new();
        let mut at = start;
        loop {
            slots.extend(self.network.slot(at, column[at]));
            let next = self.network.next_slot(at, column[at]);
            if next == DEAD {
                return slots;
            }
            at = self.network.switch_of_slot[next as usize] as usize;
            if at == start {
                return slots;
            }
        }
    }

    fn tally(&mut self, target: &Target, lid: u32, findings: &mut Findings) {
        for (switch, &distance) in self.distance.iter().enumerate() {
            if distance == LOST {
                if self.lost_lid[switch] == 0 {
                    self.lost_lid[switch] = lid;
                }
                continue;
            }
            let mut hosts = self.network.hosts[switch];
            if !target.host || hosts == 0 {
                continue;
            }
            if target.switch == Some(switch as u32) {
                hosts -= 1;
            }
            if hosts > 0 {
                findings.hop_sum += u64::from(hosts) * u64::from(distance + 1);
                findings.hop_pairs += u64::from(hosts);
                findings.hop_max = findings.hop_max.max(distance + 1);
            }
        }
    }

    /// Notes which link waits for which on the paths from hosts to the target.
    fn depend(&mut self, column: &[u8], target: &Target) {
        let network = self.network;
        self.carries.fill(false);
        for start in 0..column.len() {
            let own = u32::from(target.switch == Some(start as u32));
            if network.hosts[start] == own || self.carries[start] {
                continue;
            }
            let mut at = start;
            let mut arrived_by = DEAD;
            loop {
                let delivered = target.switch == Some(at as u32) && column[at] == target.door;
                if delivered {
                    break;
                }
                let next = network.next_slot(at, column[at]);
                if next == DEAD {
                    break;
                }
                if arrived_by != DEAD {
                    self.dependencies.note(arrived_by, column[at]);
                }
                if std::mem::replace(&mut self.carries[at], true) {
                    break;
                }
                arrived_by = next;
                at = network.switch_of_slot[next as usize] as usize;
            }
        }
    }

    /// Counts the end ports from which the target is not reached.
    fn count(&self, target: &Target, findings: &mut Findings) {
        for &(port, peer) in &self.network.loose {
            if port != target.port && peer != target.port {
                findings.unreachable += 1;
                findings.first_unreachable.get_or_insert((target.port, target.lids.start, port));
            }
        }
        for (switch, &lid) in self.lost_lid.iter().enumerate() {
            if lid == 0 {
                continue;
            }
            let own = u32::from(target.switch == Some(switch as u32));
            let sources = self.network.sources[switch] - own;
            if sources > 0 {
                findings.unreachable += u64::from(sources);
                let firsts = self.network.first_sources[switch];
                let source = if firsts[0] == target.port { firsts[1] } else { firsts[0] };
                findings.first_unreachable.get_or_insert((target.port, lid, source));
            }
        }
    }
}
