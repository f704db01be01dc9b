//! Judges any forwarding tables: does every end port reach every other, does a packet ever run in a circle, can
//! packets that wait for each other's buffers stop the fabric?
//!
//! Tables are walked, never trusted: an entry may name a port that the switch lacks, a dead one, or one that leads to
//! the wrong end. [`walk`] follows all paths to one destination at once; [`channels`] collects which lane of which link
//! waits for which and finds the circles.

pub mod channels;
pub mod walk;

use fabric::{Fabric, NodeKind, PortId};
use rayon::prelude::*;
use serde::Serialize;

use crate::lanes::Lanes;
use crate::routes::Routes;
use crate::tables::{Tables, lids_of};
use channels::Dependencies;
use walk::{Findings, Network, Target, Walker};

/// What the tables do.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Verification {
    /// End ports with a LID: hosts' ports, aggregation nodes and switches themselves.
    pub end_ports: u64,
    /// Ordered pairs of two different end ports: all are checked, on every LID of the second.
    pub pairs: u64,
    /// Pairs whose first port does not reach every LID of the second.
    pub unreachable: u64,
    /// Circles in which a packet for some LID would run for ever, counted for each LID.
    pub loops: u64,
    /// Knots of links' lanes that can wait for each other in a circle, over the paths between adapters: strongly connected
    /// parts of the channel dependency graph. Tables that come without lanes are judged on one.
    pub credit_loops: u64,
    /// Lengths of the paths between hosts.
    pub hops: Hops,
    /// One unreachable pair, if there is any.
    pub first_unreachable: Option<UnreachablePair>,
    /// The sending ports around one forwarding loop, if there is any.
    pub first_loop: Option<ForwardingLoop>,
    /// A short credit loop, if there is any.
    pub witness: Option<CreditLoop>,
}

impl Verification {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.unreachable == 0 && self.loops == 0 && self.credit_loops == 0
    }
}

/// How many switches the paths between hosts pass, as `ibdmchk` counts: 1 for two hosts on one switch.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Hops {
    /// Over all reachable ordered pairs of hosts' ports (and LIDs); 0 where there is no such pair.
    pub mean: f64,
    /// The longest path.
    pub max: u32,
}

/// Two end ports without a path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct UnreachablePair {
    /// The sending port, as `name[port]`.
    pub from: String,
    /// The port that is not reached.
    pub to: String,
    /// The LID that leads nowhere.
    pub lid: u32,
}

/// A circle that packets for one LID run in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ForwardingLoop {
    /// The LID.
    pub lid: u32,
    /// The sending ports, in order, as `name[port]`.
    pub ports: Vec<String>,
}

/// A circle of links each of which waits for buffers of the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CreditLoop {
    /// The sending ports, in order, as `name[port]`; the last waits for the first.
    pub ports: Vec<String>,
    /// The lane on each of them; empty where there is but one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<u8>,
}

/// Columns that are walked together, at least: two cache lines of each switch's row.
const GROUP: usize = 128;
/// And at most, where their LIDs lie far apart.
const MOST_GROUP: usize = 2048;
/// Entries that share a cache line of a row.
const LINE: u32 = 64;

/// Judges `tables` on `fabric`, all paths on one lane. Any tables will do: of another fabric, of random bytes.
///
/// Time grows with the number of table entries; memory is a small part of the tables'.
pub fn verify(fabric: &Fabric, tables: &Tables) -> Verification {
    judge(fabric, tables, None)
}

/// The same for tables with lanes: a credit loop is a circle of lanes of links.
pub fn verify_routes(fabric: &Fabric, routes: &Routes) -> Verification {
    judge(fabric, &routes.tables, Some(&routes.lanes).filter(|lanes| lanes.count() > 1))
}

fn judge(fabric: &Fabric, tables: &Tables, lanes: Option<&Lanes>) -> Verification {
    let network = Network::new(fabric, tables);
    let dependencies = Dependencies::new(&network, lanes.map_or(1, Lanes::count));
    let targets = targets(fabric, &network);
    let groups: Vec<&[Target]> = groups(&targets);
    let findings = groups
        .par_iter()
        .map_init(
            || Walker::new(&network, &dependencies, lanes),
            |walker, group| {
                let mut findings = Findings::default();
                walker.walk(tables, group, &mut findings);
                findings
            },
        )
        .reduce(Findings::default, Findings::merge);
    let end_ports = targets.len() as u64;
    let (credit_loops, witness) = dependencies.circles(&network);
    let label = |slot: u32| fabric.port_label(network.fabric_port(slot));
    Verification {
        end_ports,
        pairs: end_ports * end_ports.saturating_sub(1),
        unreachable: findings.unreachable,
        loops: findings.loops,
        credit_loops,
        hops: findings.hops(),
        first_unreachable: findings.first_unreachable.map(|(target, lid, source)| UnreachablePair {
            from: fabric.port_label(PortId(source)),
            to: fabric.port_label(PortId(target)),
            lid,
        }),
        first_loop: findings
            .first_loop
            .map(|(lid, slots)| ForwardingLoop { lid, ports: slots.into_iter().map(label).collect() }),
        witness: witness.map(|channels| CreditLoop {
            ports: channels.iter().map(|&(slot, _)| label(slot)).collect(),
            lanes: channels.iter().map(|&(_, lane)| lane).filter(|_| lanes.is_some()).collect(),
        }),
    }
}

/// All end ports with a LID, by switch, since paths to all ports of one switch are alike. The switches are in the order
/// of their first hosts' LIDs: however LIDs are laid out, those of neighbours then lie together.
fn targets(fabric: &Fabric, network: &Network) -> Vec<Target> {
    let mut targets: Vec<Target> = fabric
        .end_ports()
        .filter_map(|port| {
            let lids = lids_of(fabric, port);
            let node = fabric.node_of(port);
            let door = if fabric.is_switch(node) { Some(port) } else { fabric.peer(port) };
            let door = door.filter(|&door| fabric.is_switch(fabric.node_of(door)));
            let host = matches!(fabric.kind(node), NodeKind::ChannelAdapter | NodeKind::Router);
            (!lids.is_empty()).then(|| Target {
                port: port.0,
                lids,
                switch: door.and_then(|door| network.switch_of(fabric.node_of(door))),
                door: door.map_or(0, |door| fabric.port_number(door)),
                host,
                adapter: fabric.kind(node) != NodeKind::Switch,
            })
        })
        .collect();
    targets.sort_by_key(|target| (!target.host, target.lids.start, target.port));
    let mut place = vec![usize::MAX; fabric.switch_count() + 1];
    let at = |target: &Target| target.switch.map_or(fabric.switch_count(), |switch| switch as usize);
    for (met, target) in targets.iter().enumerate() {
        place[at(target)] = place[at(target)].min(met);
    }
    targets.sort_by_key(|target| place[at(target)]);
    targets
}

/// Cuts the targets into groups whose LIDs make good use of the cache lines that they lie in: of those on one switch in
/// a row about [`GROUP`], more where the LIDs of each switch are spread over the rows.
fn groups(targets: &[Target]) -> Vec<&[Target]> {
    let top = targets.iter().map(|target| target.lids.end).max().unwrap_or(0);
    let mut met_by = vec![0; (top / LINE) as usize + 1];
    let mut groups = Vec::new();
    let (mut start, mut lids, mut lines) = (0, 0, 0);
    for (end, target) in targets.iter().enumerate() {
        let well_used = lids >= lines * LINE as usize / 2;
        if lids >= MOST_GROUP || (lids >= GROUP && well_used) {
            groups.push(&targets[start..end]);
            (start, lids, lines) = (end, 0, 0);
        }
        for lid in target.lids.clone() {
            let group = groups.len() + 1;
            lines += usize::from(std::mem::replace(&mut met_by[(lid / LINE) as usize], group) != group);
        }
        lids += target.lids.len();
    }
    if start < targets.len() {
        groups.push(&targets[start..]);
    }
    groups
}
