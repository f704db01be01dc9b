//! Follows the paths from everywhere to a few destinations, each entry once.

use std::ops::Range;

use fabric::{Fabric, NodeId, NodeKind, PortId};

use super::Hops;
use super::channels::Dependencies;
use crate::lanes::{Lanes, SERVICE_LEVELS};
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
    /// The same and the switch that has it, one past the last where none is there.
    leads_to: Vec<[u32; 2]>,
    /// The switch of each slot.
    pub(super) switch_of_slot: Vec<u32>,
    fabric_port: Vec<PortId>,
    /// End ports with a LID on each switch, itself included, and the first two of them.
    sources: Vec<u32>,
    first_sources: Vec<[u32; 2]>,
    /// Of those, hosts' ports.
    hosts: Vec<u32>,
    /// Of those, adapters' ports of every kind: what they send waits for buffers.
    adapters: Vec<u32>,
    /// The ports that lead to them.
    doors: Vec<Vec<u8>>,
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
        let peer_slot: Vec<u32> = fabric_port
            .iter()
            .map(|&port| fabric.peer(port).map_or(DEAD, |peer| slot_of[peer.index()]))
            .collect();
        let switch_at = |slot: u32| switch_of_slot.get(slot as usize).copied().unwrap_or(nodes.len() as u32);
        let leads_to = peer_slot.iter().map(|&slot| [slot, switch_at(slot)]).collect();
        let rows = nodes.iter().map(|&node| tables.row_index(node)).collect();
        let mut network = Self {
            sources: vec![0; nodes.len()],
            first_sources: vec![[DEAD; 2]; nodes.len()],
            hosts: vec![0; nodes.len()],
            adapters: vec![0; nodes.len()],
            doors: vec![Vec::new(); nodes.len()],
            loose: Vec::new(),
            nodes,
            index_of,
            first_slot,
            peer_slot,
            leads_to,
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
        if fabric.kind(node) != NodeKind::Switch {
            self.adapters[switch] += 1;
            self.doors[switch].extend(peer.map(|door| fabric.port_number(door)));
        }
    }

    pub(super) fn switch_of(&self, node: NodeId) -> Option<u32> {
        Some(self.index_of[node.index()]).filter(|&index| index != DEAD)
    }

    pub(super) fn fabric_port(&self, slot: u32) -> PortId {
        self.fabric_port[slot as usize]
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
    /// Whether it is a host's or a router's port.
    pub(super) host: bool,
    /// Whether it is an adapter's port of any kind: packets on their way there wait for buffers.
    pub(super) adapter: bool,
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
    /// Which lane each path takes, where there are several.
    lanes: Option<&'a Lanes>,
    /// The group's LIDs, ascending, each with the place of its column.
    lids: Vec<(u32, u32)>,
    /// The columns one after another: a byte a switch.
    columns: Vec<u8>,
    /// For the column at hand: the slot that packets from each switch arrive at next and the switch that has it;
    /// [`DEAD`] and one past the last switch where they are dropped or delivered.
    next_slot: Vec<u32>,
    next: Vec<u32>,
    /// Switches passed after each one until delivery, or one of the marks above. One more entry than switches: lost.
    distance: Vec<u32>,
    /// The switches in an order in which an earlier column's paths led from later ones to earlier ones. Paths to the
    /// hosts of one switch are alike, so mostly it serves the next column too, and each takes one straight pass.
    order: Vec<u32>,
    /// Whether `order` serves the column at hand.
    in_order: bool,
    any_lost: bool,
    /// Switches with adapters.
    holders: Vec<u32>,
    /// The first LID of the target that is lost from each switch, or 0.
    lost_lid: Vec<u32>,
    carries: Vec<bool>,
    /// For each switch and service level the lanes that its packets leave on, a bit each.
    carried: Vec<[u16; SERVICE_LEVELS]>,
    path: Vec<u32>,
    /// Where the next switch at each distance goes, in sorting.
    place: Vec<u32>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(
        network: &'a Network,
        dependencies: &'a Dependencies,
        lanes: Option<&'a Lanes>,
    ) -> Self {
        let switches = network.nodes.len();
        Self {
            network,
            dependencies,
            lanes,
            lids: Vec::new(),
            columns: Vec::new(),
            next_slot: vec![DEAD; switches],
            next: vec![switches as u32; switches],
            distance: vec![UNKNOWN; switches + 1],
            order: (0..switches as u32).collect(),
            in_order: false,
            any_lost: false,
            holders: (0..switches as u32).filter(|&switch| network.adapters[switch as usize] > 0).collect(),
            lost_lid: vec![0; switches],
            carries: vec![false; switches],
            carried: vec![[0; SERVICE_LEVELS]; if lanes.is_some() { switches } else { 0 }],
            path: Vec::new(),
            place: Vec::new(),
        }
    }

    pub(super) fn walk(&mut self, tables: &Tables, group: &[Target], findings: &mut Findings) {
        self.gather(tables, group);
        let switches = self.network.nodes.len();
        let columns = std::mem::take(&mut self.columns);
        let mut rest = &columns[..];
        for target in group {
            let mut any_lost = false;
            for lid in target.lids.clone() {
                let (column, after) = rest.split_at(switches);
                rest = after;
                self.look_up(column, target);
                self.measure(target, lid, findings);
                self.tally(target, findings);
                if self.any_lost {
                    self.note_lost(lid, !any_lost);
                    any_lost = true;
                }
                match self.lanes.filter(|_| target.adapter) {
                    Some(lanes) => self.depend_on_lanes(lanes, column, target, lid),
                    None if target.adapter => self.depend(column, target),
                    None => {}
                }
            }
            if any_lost {
                self.count_lost(target, findings);
            }
            self.count_loose(target, findings);
        }
        self.columns = columns;
    }

    /// Copies the group's columns out of the rows, so that each row's cache lines are met once: a few rows at a time,
    /// so that the columns' are too.
    fn gather(&mut self, tables: &Tables, group: &[Target]) {
        const ROWS: usize = 16;
        let switches = self.network.nodes.len();
        self.lids.clear();
        self.lids.extend(group.iter().flat_map(|target| target.lids.clone()).zip(0..));
        self.lids.sort_unstable();
        self.columns.clear();
        self.columns.resize(self.lids.len() * switches, NO_ROUTE);
        for start in (0..switches).step_by(ROWS) {
            let end = (start + ROWS).min(switches);
            let mut rows: [&[u8]; ROWS] = [&[]; ROWS];
            for (row, at) in rows.iter_mut().zip(&self.network.rows[start..end]) {
                *row = at.map_or(&[], |at| tables.row_at(at));
            }
            for &(lid, place) in &self.lids {
                let column = place as usize * switches;
                for (entry, row) in self.columns[column + start..column + end].iter_mut().zip(rows) {
                    *entry = row.get(lid as usize).copied().unwrap_or(NO_ROUTE);
                }
            }
        }
    }

    /// Finds where each switch's entry leads.
    fn look_up(&mut self, column: &[u8], target: &Target) {
        let network = self.network;
        let dropped = column.len() as u32;
        let entries = column.iter().zip(network.first_slot.windows(2));
        for ((next, next_slot), (&port, slots)) in self.next.iter_mut().zip(&mut self.next_slot).zip(entries)
        {
            let slot = slots[0] + u32::from(port);
            [*next_slot, *next] =
                if slot < slots[1] { network.leads_to[slot as usize] } else { [DEAD, dropped] };
        }
        self.distance.fill(UNKNOWN);
        self.distance[column.len()] = LOST;
        if let Some(switch) = target.switch.map(|switch| switch as usize)
            && column[switch] == target.door
        {
            (self.next_slot[switch], self.next[switch]) = (DEAD, dropped);
            self.distance[switch] = 0;
        }
    }

    /// Finds for every switch how far the target is, or that its packets are lost.
    fn measure(&mut self, target: &Target, lid: u32, findings: &mut Findings) {
        self.any_lost = false;
        self.in_order = true;
        for &switch in &self.order {
            let switch = switch as usize;
            let after = self.distance[self.next[switch] as usize];
            if after < ON_PATH {
                self.distance[switch] = after + 1;
            } else if self.distance[switch] == UNKNOWN {
                self.in_order = false;
                break;
            }
        }
        if self.in_order {
            return;
        }
        // Some paths go another way than before, or get lost.
        let delivers = target.switch.filter(|&switch| self.distance[switch as usize] == 0);
        self.distance[..self.next.len()].fill(UNKNOWN);
        if let Some(switch) = delivers {
            self.distance[switch as usize] = 0;
        }
        self.follow(lid, findings);
        if !self.any_lost {
            self.sort();
            self.in_order = true;
        }
    }

    /// Puts the nearest switches first, by counting: distances are few.
    fn sort(&mut self) {
        let distance = &self.distance[..self.next.len()];
        let farthest = distance.iter().copied().max().unwrap_or(0);
        self.place.clear();
        self.place.resize(farthest as usize + 2, 0);
        for &distance in distance {
            self.place[distance as usize + 1] += 1;
        }
        for at in 1..self.place.len() {
            self.place[at] += self.place[at - 1];
        }
        for (switch, &distance) in distance.iter().enumerate() {
            let place = &mut self.place[distance as usize];
            self.order[*place as usize] = switch as u32;
            *place += 1;
        }
    }

    /// Follows every path until it meets one that was followed before.
    fn follow(&mut self, lid: u32, findings: &mut Findings) {
        for start in 0..self.next.len() {
            let mut at = start;
            while self.distance[at] == UNKNOWN {
                self.distance[at] = ON_PATH;
                self.path.push(at as u32);
                at = self.next[at] as usize;
            }
            let mut end = self.distance[at];
            if end == ON_PATH {
                findings.loops += 1;
                if findings.first_loop.is_none() {
                    findings.first_loop = Some((lid, self.circle(at)));
                }
                end = LOST;
            }
            self.any_lost |= end == LOST;
            while let Some(switch) = self.path.pop() {
                if end != LOST {
                    end += 1;
                }
                self.distance[switch as usize] = end;
            }
        }
    }

    /// The sending slots around the forwarding loop through `start`.
    fn circle(&self, start: usize) -> Vec<u32> {
        let mut slots = Vec::new();
        let mut at = start;
        loop {
            let arrives = self.next_slot[at];
            if arrives == DEAD {
                return slots;
            }
            slots.push(self.network.peer_slot[arrives as usize]);
            at = self.next[at] as usize;
            if at == start {
                return slots;
            }
        }
    }

    /// Counts the hops of all hosts' paths.
    fn tally(&mut self, target: &Target, findings: &mut Findings) {
        if !target.host {
            return;
        }
        for &switch in &self.holders {
            let distance = self.distance[switch as usize];
            let own = u32::from(target.switch == Some(switch));
            let hosts = self.network.hosts[switch as usize] - own;
            if distance != LOST && hosts > 0 {
                findings.hop_sum += u64::from(hosts) * u64::from(distance + 1);
                findings.hop_pairs += u64::from(hosts);
                findings.hop_max = findings.hop_max.max(distance + 1);
            }
        }
    }

    /// Notes which link waits for which on the paths from adapters to the target.
    fn depend(&mut self, column: &[u8], target: &Target) {
        self.carries.fill(false);
        for &switch in &self.holders {
            let own = u32::from(target.switch == Some(switch));
            self.carries[switch as usize] = self.network.adapters[switch as usize] > own;
        }
        if self.in_order {
            // Farthest first: all that a switch has to carry is known when its turn comes.
            for &switch in self.order.iter().rev() {
                let next = self.next[switch as usize] as usize;
                if self.carries[switch as usize] && next < column.len() {
                    if self.next_slot[next] != DEAD {
                        self.dependencies.note(self.next_slot[switch as usize], column[next]);
                    }
                    self.carries[next] = true;
                }
            }
            return;
        }
        for start in 0..column.len() {
            let mut at = start;
            let mut fresh = self.carries[start];
            while fresh {
                let next = self.next[at] as usize;
                if next == column.len() {
                    break;
                }
                if self.next_slot[next] != DEAD {
                    self.dependencies.note(self.next_slot[at], column[next]);
                }
                fresh = !std::mem::replace(&mut self.carries[next], true);
                at = next;
            }
        }
    }

    /// The same where paths have lanes: follows what each adapter's switch sends from each of its adapters' ports until
    /// the same level on the same lane has been on the link before.
    fn depend_on_lanes(&mut self, lanes: &Lanes, column: &[u8], target: &Target, lid: u32) {
        let network = self.network;
        let row = |switch: usize| network.rows[switch].unwrap_or(usize::MAX);
        self.carried.fill([0; SERVICE_LEVELS]);
        for &switch in &self.holders {
            let switch = switch as usize;
            let level = lanes.service_level(row(switch), lid);
            for &door in &network.doors[switch] {
                if target.switch == Some(switch as u32) && door == target.door {
                    continue;
                }
                let (mut at, mut lane) = (switch, lanes.lane(row(switch), door, column[switch], level));
                while self.next_slot[at] != DEAD && self.carried[at][usize::from(level)] & 1 << lane == 0 {
                    self.carried[at][usize::from(level)] |= 1 << lane;
                    let (next, slot) = (self.next[at] as usize, self.next_slot[at]);
                    let (in_port, out_port) = ((slot - network.first_slot[next]) as u8, column[next]);
                    let leaving = lanes.lane(row(next), in_port, out_port, level);
                    if self.next_slot[next] != DEAD {
                        self.dependencies.note_lanes((slot, lane), (out_port, leaving));
                    }
                    (at, lane) = (next, leaving);
                }
            }
        }
    }

    fn note_lost(&mut self, lid: u32, first: bool) {
        if first {
            self.lost_lid.fill(0);
        }
        for (lost, &distance) in self.lost_lid.iter_mut().zip(&self.distance) {
            if distance == LOST && *lost == 0 {
                *lost = lid;
            }
        }
    }

    /// Counts the end ports on switches from which the target is not reached.
    fn count_lost(&self, target: &Target, findings: &mut Findings) {
        for (switch, &lid) in self.lost_lid.iter().enumerate() {
            let own = u32::from(target.switch == Some(switch as u32));
            let sources = self.network.sources[switch].saturating_sub(own);
            if lid > 0 && sources > 0 {
                findings.unreachable += u64::from(sources);
                let firsts = self.network.first_sources[switch];
                let source = if firsts[0] == target.port { firsts[1] } else { firsts[0] };
                findings.first_unreachable.get_or_insert((target.port, lid, source));
            }
        }
    }

    /// Counts the end ports that hang on no switch: they reach only the port at the other end of their cable.
    fn count_loose(&self, target: &Target, findings: &mut Findings) {
        for &(port, peer) in &self.network.loose {
            if port != target.port && peer != target.port {
                findings.unreachable += 1;
                findings.first_unreachable.get_or_insert((target.port, target.lids.start, port));
            }
        }
    }
}
