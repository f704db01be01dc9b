//! The live cabling between switches by rows of the tables: what a repair walks over. Flat arrays, one slot a port.

use fabric::{Fabric, NodeId, PortId};

use super::NeedsEngine;
use crate::tables::{Tables, lids_of};

/// Longest path that is followed.
pub(super) const MOST_HOPS: usize = 64;
/// No switch beyond a port.
pub(super) const NONE: u32 = u32::MAX;

/// Where a destination's packets leave the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Home {
    /// The switch that delivers.
    pub row: u32,
    /// Its port to the destination; 0 where it is the destination itself.
    pub port: u8,
    /// Whether packets from other adapters go there, so that they must keep to the order.
    pub adapter: bool,
}

/// Ports, by row.
pub(super) type Ports = Vec<(u32, u8)>;

pub(super) struct Network {
    /// First slot of each row, and one more.
    first_slot: Vec<u32>,
    /// The row beyond each slot's port now, or [`NONE`].
    peer: Vec<u32>,
    /// The row that was last beyond each slot's port, link or no link.
    last_peer: Vec<u32>,
    pub heights: Vec<u32>,
    /// Rows from the lowest to the highest.
    pub ascending: Vec<u32>,
    /// The port that holds each LID, or [`NONE`].
    owner: Vec<u32>,
    /// The adapter's port beyond each slot's port, or [`NONE`].
    adapter: Vec<u32>,
    /// Whether each row's switch has or had adapters: their packets must keep to the order, now and when they are back.
    pub holders: Vec<bool>,
}

impl Network {
    pub fn new(fabric: &Fabric, tables: &Tables, heights: &[u32]) -> Self {
        let rows = tables.switches().len();
        let mut first_slot = Vec::with_capacity(rows + 1);
        first_slot.push(0);
        for &node in tables.switches() {
            first_slot.push(first_slot[first_slot.len() - 1] + u32::from(fabric.port_count(node)) + 1);
        }
        let slots = first_slot[rows] as usize;
        let mut ascending = vec![0; rows];
        for (row, &height) in heights.iter().enumerate() {
            ascending[height as usize] = row as u32;
        }
        let mut owner = vec![NONE; tables.width()];
        for port in fabric.end_ports() {
            for lid in lids_of(fabric, port) {
                if let Some(owner) = owner.get_mut(lid as usize) {
                    *owner = port.0;
                }
            }
        }
        let mut network = Self {
            first_slot,
            peer: vec![NONE; slots],
            last_peer: vec![NONE; slots],
            heights: heights.to_vec(),
            ascending,
            owner,
            adapter: vec![NONE; slots],
            holders: vec![false; rows],
        };
        for row in 0..rows {
            network.refresh(fabric, tables, row);
        }
        network
    }

    /// Takes in the rows that `tables` have beyond those known, without cables yet, and new LIDs. The `low` ones go below all
    /// others, the rest above: no path between others has to change.
    pub fn grow(&mut self, fabric: &Fabric, tables: &Tables, low: &[NodeId]) {
        let known = self.rows();
        let new = &tables.switches()[known..];
        for &node in new {
            let end = self.first_slot[self.first_slot.len() - 1];
            self.first_slot.push(end + u32::from(fabric.port_count(node)) + 1);
        }
        let slots = self.first_slot[self.first_slot.len() - 1] as usize;
        for beyond in [&mut self.peer, &mut self.last_peer, &mut self.adapter] {
            beyond.resize(slots, NONE);
        }
        self.holders.resize(tables.switches().len(), false);
        let is_low = |&row: &u32| low.contains(&tables.switches()[row as usize]);
        let (below, above): (Vec<u32>, Vec<u32>) =
            (known as u32..tables.switches().len() as u32).partition(is_low);
        self.ascending = [&below, &self.ascending, &above].into_iter().flatten().copied().collect();
        self.heights.resize(self.ascending.len(), 0);
        for (height, &row) in self.ascending.iter().enumerate() {
            self.heights[row as usize] = height as u32;
        }
        self.owner.resize(tables.width(), NONE);
    }

    /// Notes the LIDs of a switch itself.
    pub fn take_own(&mut self, fabric: &Fabric, node: NodeId) {
        let Some(port) = fabric.port(node, 0) else { return };
        for lid in lids_of(fabric, port) {
            if let Some(owner) = self.owner.get_mut(lid as usize) {
                *owner = port.0;
            }
        }
    }

    pub fn rows(&self) -> usize {
        self.heights.len()
    }

    /// Looks at a row's cables again: which ports to switches were lost, which came back, and whether an adapter has
    /// come.
    pub fn refresh(&mut self, fabric: &Fabric, tables: &Tables, row: usize) -> (Ports, Ports, bool) {
        let (mut lost, mut back) = (Vec::new(), Vec::new());
        let node = tables.switches()[row];
        let first = self.first_slot[row] as usize;
        let mut hosts_back = false;
        for port in fabric.ports(node) {
            let number = fabric.port_number(port);
            let slot = first + usize::from(number);
            let beyond = fabric.peer(port);
            let next = beyond.map(|beyond| fabric.node_of(beyond));
            let peer = next.and_then(|next| tables.row_index(next)).filter(|&next| next != row);
            let peer = peer.map_or(NONE, |peer| peer as u32);
            let adapter = beyond.filter(|&beyond| !fabric.is_switch(fabric.node_of(beyond)));
            let adapter = adapter.map_or(NONE, |adapter| adapter.0);
            if adapter != NONE {
                hosts_back |= adapter != self.adapter[slot];
                self.holders[row] = true;
            }
            self.adapter[slot] = adapter;
            let before = std::mem::replace(&mut self.peer[slot], peer);
            if before != peer {
                if before != NONE {
                    lost.push((row as u32, number));
                }
                if peer != NONE {
                    back.push((row as u32, number));
                }
            }
            if peer != NONE {
                self.last_peer[slot] = peer;
            }
        }
        (lost, back, hosts_back)
    }

    /// LIDs of adapters at a row's switch that its entries do not lead to.
    pub fn moved_to(
        &mut self,
        fabric: &Fabric,
        tables: &Tables,
        row: usize,
    ) -> Result<Vec<u32>, NeedsEngine> {
        let node = tables.switches()[row];
        let mut moved = Vec::new();
        for (door, port) in fabric.neighbors(node) {
            if fabric.is_switch(fabric.node_of(port)) {
                continue;
            }
            for lid in lids_of(fabric, port) {
                let Some(&entry) = tables.row_at(row).get(lid as usize) else {
                    let why =
                        format!("{} has a LID that the tables do not reach to", fabric.port_label(port));
                    return Err(NeedsEngine { why });
                };
                self.owner[lid as usize] = port.0;
                if entry != fabric.port_number(door) {
                    moved.push(lid);
                }
            }
        }
        Ok(moved)
    }

    /// Whether some port has or had the LID.
    pub fn is_owned(&self, lid: u32) -> bool {
        self.owner.get(lid as usize).is_some_and(|&port| port != NONE)
    }

    /// The row beyond a port, or [`NONE`].
    #[inline]
    pub fn next(&self, row: u32, port: u8) -> u32 {
        let slot = self.first_slot[row as usize] + u32::from(port);
        if slot < self.first_slot[row as usize + 1] { self.peer[slot as usize] } else { NONE }
    }

    /// Whether any link to a switch is left.
    pub fn is_cabled(&self, row: u32) -> bool {
        self.links(row).next().is_some()
    }

    /// Whether a link to a switch is at the port.
    pub fn serves(&self, row: u32, port: u8) -> bool {
        self.next(row, port) != NONE
    }

    /// The row that was last beyond a port, link or no link, or [`NONE`].
    pub fn last_led_to(&self, row: u32, port: u8) -> u32 {
        let slot = self.first_slot[row as usize] + u32::from(port);
        if slot < self.first_slot[row as usize + 1] { self.last_peer[slot as usize] } else { NONE }
    }

    /// Whether the port leads up, or did while its link was there.
    pub fn led_up(&self, row: u32, port: u8) -> bool {
        let slot = self.first_slot[row as usize] + u32::from(port);
        if slot >= self.first_slot[row as usize + 1] {
            return false;
        }
        let peer = self.last_peer[slot as usize];
        peer != NONE && self.heights[peer as usize] > self.heights[row as usize]
    }

    /// The ports of a row that lead to switches now, with the rows there.
    #[inline]
    pub fn links(&self, row: u32) -> impl DoubleEndedIterator<Item = (u8, u32)> + '_ {
        let slots = self.first_slot[row as usize] as usize..self.first_slot[row as usize + 1] as usize;
        let ports = self.peer[slots].iter().enumerate();
        ports.filter(|&(_, &peer)| peer != NONE).map(|(port, &peer)| (port as u8, peer))
    }

    /// Where packets for a LID leave the fabric; `None` where no cabled port holds it.
    pub fn home(&self, fabric: &Fabric, tables: &Tables, lid: u32) -> Option<Home> {
        let port = PortId(*self.owner.get(lid as usize).filter(|&&port| port != NONE)?);
        let node = fabric.node_of(port);
        if fabric.is_switch(node) {
            return Some(Home { row: tables.row_index(node)? as u32, port: 0, adapter: false });
        }
        let door = fabric.peer(port)?;
        let row = tables.row_index(fabric.node_of(door))? as u32;
        Some(Home { row, port: fabric.port_number(door), adapter: true })
    }
}
