//! The links that packets take, followed through the forwarding tables.
//!
//! A node's bytes to another go over all rails that both have, in equal shares, each from a rail's port to the port of the same
//! rail; where they share no rail's number, first to first, second to second. Packets for one port that come by one leaf take one way
//! from there, so that all a leaf's nodes send to one port is followed once.

use std::sync::Arc;

use fabric::{Fabric, NodeId, PortId};
use ib::Lid;
use pool::NodeIndex;
use routing::{NO_ROUTE, Tables};
use smallvec::SmallVec;

use super::{Contention, Load, Loads, Traffic};
use crate::network::ports::{NodePorts, Rail};

/// Switches on the longest way that is followed: a subnet manager reaches no further.
const LONGEST: usize = 64;

/// Bytes per second that a link counts for where no link's rate is known.
const UNKNOWN_SPEED: f64 = 1e9;

/// The tables in force, with the cabling that they are for and the speed of each link.
#[derive(Clone, Debug)]
pub struct Ways {
    fabric: Arc<Fabric>,
    tables: Arc<Tables>,
    /// Bytes per second by the port that sends; a rate that is not known counts as the fastest that is.
    speed: Vec<f64>,
}

/// What is for one port and comes by one leaf.
#[derive(Clone, Copy, Debug)]
struct Stream {
    to: PortId,
    leaf: NodeId,
    bytes: u64,
}

/// The load of a job in the making.
struct Making<'a> {
    ways: &'a Ways,
    links: Vec<(PortId, u64)>,
    lost: u64,
    path: Vec<PortId>,
    /// What the last receiver gets, a stream a rail, for as long as it comes by the same leaf.
    streams: Vec<Stream>,
}

/// The rails that two nodes send to each other by: pairs of places in their rails.
fn common(from: &[Rail], to: &[Rail]) -> SmallVec<[(usize, usize); 8]> {
    let mut pairs = SmallVec::new();
    let (mut a, mut b) = (0, 0);
    while a < from.len() && b < to.len() {
        match from[a].number.cmp(&to[b].number) {
            std::cmp::Ordering::Less => a += 1,
            std::cmp::Ordering::Greater => b += 1,
            std::cmp::Ordering::Equal => {
                pairs.push((a, b));
                a += 1;
                b += 1;
            }
        }
    }
    if pairs.is_empty() {
        pairs.extend((0..from.len().min(to.len())).map(|at| (at, at)));
    }
    pairs
}

impl Ways {
    /// The ways of tables that were made for this cabling.
    pub fn new(fabric: Arc<Fabric>, tables: Arc<Tables>) -> Self {
        let known: Vec<f64> = (0..fabric.port_slot_count() as u32)
            .map(|port| fabric.rate(PortId(port)).map_or(0.0, |rate| rate.gbps() * 1e9 / 8.0))
            .collect();
        let fastest = known.iter().copied().fold(0.0, f64::max);
        let unknown = if fastest > 0.0 { fastest } else { UNKNOWN_SPEED };
        let speed = known.into_iter().map(|speed| if speed > 0.0 { speed } else { unknown }).collect();
        Self { fabric, tables, speed }
    }

    /// What a link carries, bytes per second, by the port that sends.
    pub fn speed(&self, port: PortId) -> f64 {
        self.speed[port.index()]
    }

    /// The ports that packets for the end port `to` leave by, from a switch on; says whether they arrive.
    fn follow(&self, leaf: NodeId, to: PortId, path: &mut Vec<PortId>) -> bool {
        path.clear();
        let lid = self.fabric.lid(to);
        if lid == Lid::NONE {
            return false;
        }
        let mut at = leaf;
        for _ in 0..LONGEST {
            let number = self.tables.get(at, lid.0);
            let out = self.fabric.port(at, number).filter(|_| number != 0 && number != NO_ROUTE);
            let Some((out, peer)) = out.and_then(|out| Some((out, self.fabric.peer(out)?))) else {
                return false;
            };
            path.push(out);
            if peer == to {
                return true;
            }
            at = self.fabric.node_of(peer);
            if !self.fabric.is_switch(at) {
                return false;
            }
        }
        false
    }

    /// What a gang puts on each link; `nodes` in the order of ranks.
    pub fn load(&self, ports: &NodePorts, nodes: &[NodeIndex], traffic: &[Traffic]) -> Load {
        let mut making =
            Making { ways: self, links: Vec::new(), lost: 0, path: Vec::new(), streams: Vec::new() };
        let first: Vec<usize> = nodes
            .iter()
            .scan(0, |next, &node| Some(std::mem::replace(next, *next + ports.rails(node).len())))
            .collect();
        let mut sent = vec![0u64; nodes.iter().map(|&node| ports.rails(node).len()).sum()];
        for collective in traffic {
            collective.each_pair(nodes.len() as u32, |from, to, bytes| {
                let (from, to) = (from as usize, to as usize);
                let (out, into) = (ports.rails(nodes[from]), ports.rails(nodes[to]));
                let rails = common(out, into);
                if rails.is_empty() {
                    making.lost = making.lost.saturating_add(bytes);
                    return;
                }
                let (share, rest) = (bytes / rails.len() as u64, bytes % rails.len() as u64);
                for (at, &(a, b)) in rails.iter().enumerate() {
                    let bytes = share + u64::from((at as u64) < rest);
                    sent[first[from] + a] = sent[first[from] + a].saturating_add(bytes);
                    making.add(b, Stream { to: into[b].port, leaf: out[a].leaf, bytes });
                }
            });
        }
        making.finish();
        let rails = nodes.iter().flat_map(|&node| ports.rails(node));
        making
            .links
            .extend(rails.zip(sent).filter(|&(_, bytes)| bytes > 0).map(|(rail, bytes)| (rail.port, bytes)));
        making.links.sort_unstable();
        making.links.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Load { links: making.links, lost: making.lost }
    }

    /// How full the links of a load would be beside what is on them, and how many of them `is_avoided` names.
    pub fn contention(&self, load: &Load, loads: &Loads, is_avoided: impl Fn(PortId) -> bool) -> Contention {
        let mut found = Contention { lost: load.lost(), ..Contention::default() };
        let mut sum = 0.0;
        for &(port, bytes) in load.links() {
            let full = loads.on(port).saturating_add(bytes) as f64 / self.speed(port);
            sum += full;
            if full > found.worst {
                found.worst = full;
                found.worst_link = Some(port);
            }
            found.avoided_links += u32::from(is_avoided(port));
        }
        found.mean = if load.links().is_empty() { 0.0 } else { sum / load.links().len() as f64 };
        found
    }
}

impl Making<'_> {
    fn add(&mut self, rail: usize, stream: Stream) {
        while self.streams.len() <= rail {
            self.streams.push(Stream { bytes: 0, ..stream });
        }
        let open = &mut self.streams[rail];
        if (open.to, open.leaf) == (stream.to, stream.leaf) {
            open.bytes = open.bytes.saturating_add(stream.bytes);
        } else {
            let done = std::mem::replace(open, stream);
            self.send(done);
        }
    }

    /// Puts a stream on its links, those of the switches.
    fn send(&mut self, stream: Stream) {
        if stream.bytes == 0 {
            return;
        }
        if self.ways.follow(stream.leaf, stream.to, &mut self.path) {
            self.links.extend(self.path.iter().map(|&port| (port, stream.bytes)));
        } else {
            self.lost = self.lost.saturating_add(stream.bytes);
        }
    }

    fn finish(&mut self) {
        for stream in std::mem::take(&mut self.streams) {
            self.send(stream);
        }
    }
}
