//! The graph itself: nodes and ports in flat arrays, cables as pairs of ports that name each other.

use ib::{Guid, Lid, LinkRate};
use serde::{Deserialize, Serialize};

use crate::index::{NodeId, PortId};

/// What a node is to the fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Forwards by tables; port 0 is its management port.
    Switch,
    /// A host's channel adapter: an end point with a LID for each port.
    ChannelAdapter,
    /// Joins subnets; an end point to this one.
    Router,
    /// A switch's own engine for in-network reduction. It shows itself as a channel adapter, carries no job's
    /// point-to-point traffic and is no host.
    AggregationNode,
}

/// Why two ports cannot be cabled together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The node has no such external port.
    #[error("{node} has ports 1 to {ports}, not {port}")]
    NoSuchPort {
        /// The node's name.
        node: String,
        /// The port asked for.
        port: u8,
        /// How many ports the node has.
        ports: u8,
    },
    /// The port already has another cable.
    #[error("port {port} of {node} is already cabled to port {peer_port} of {peer}")]
    InUse {
        /// The node's name.
        node: String,
        /// The port asked for.
        port: u8,
        /// The node at the other end of the cable that is there.
        peer: String,
        /// The port there.
        peer_port: u8,
    },
    /// A cable needs two ends.
    #[error("port {port} of {node} cannot be cabled to itself")]
    Itself {
        /// The node's name.
        node: String,
        /// The port asked for.
        port: u8,
    },
}

const NONE: u32 = u32::MAX;

/// Nodes, ports and cables of one fabric.
///
/// One array a property, so that a pass over one property touches nothing else. A node's ports are contiguous.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    kind: Vec<NodeKind>,
    guid: Vec<Guid>,
    system_guid: Vec<Guid>,
    vendor_id: Vec<u32>,
    device_id: Vec<u16>,
    enhanced_port_zero: Vec<bool>,
    /// First port slot of each node, with one more entry than there are nodes.
    first_port: Vec<u32>,
    /// Where each node's name lies in `names`: start and end.
    name_at: Vec<(u32, u32)>,
    names: String,

    port_node: Vec<NodeId>,
    peer: Vec<u32>,
    rate: Vec<Option<LinkRate>>,
    port_guid: Vec<Guid>,
    lid: Vec<Lid>,
    lmc: Vec<u8>,
    links: u32,
    switches: u32,
}

impl Fabric {
    /// A fabric without nodes.
    pub fn new() -> Self {
        Self { first_port: vec![0], ..Self::default() }
    }

    /// A fabric without nodes that will not have to grow for `nodes` nodes with `ports` external ports in all.
    pub fn with_capacity(nodes: usize, ports: usize) -> Self {
        let slots = nodes + ports;
        let mut first_port = Vec::with_capacity(nodes + 1);
        first_port.push(0);
        Self {
            kind: Vec::with_capacity(nodes),
            guid: Vec::with_capacity(nodes),
            system_guid: Vec::with_capacity(nodes),
            vendor_id: Vec::with_capacity(nodes),
            device_id: Vec::with_capacity(nodes),
            enhanced_port_zero: Vec::with_capacity(nodes),
            first_port,
            name_at: Vec::with_capacity(nodes),
            names: String::with_capacity(nodes * 16),
            port_node: Vec::with_capacity(slots),
            peer: Vec::with_capacity(slots),
            rate: Vec::with_capacity(slots),
            port_guid: Vec::with_capacity(slots),
            lid: Vec::with_capacity(slots),
            lmc: Vec::with_capacity(slots),
            links: 0,
            switches: 0,
        }
    }

    /// Adds a node with `ports` external ports, numbered from 1. Its system GUID is `guid` until
    /// [`Fabric::set_system_guid`]; every port's GUID too.
    pub fn add_node(&mut self, kind: NodeKind, guid: Guid, ports: u8, name: &str) -> NodeId {
        let node = NodeId(self.kind.len() as u32);
        self.kind.push(kind);
        self.guid.push(guid);
        self.system_guid.push(guid);
        self.vendor_id.push(0);
        self.device_id.push(0);
        self.enhanced_port_zero.push(false);
        let start = self.names.len() as u32;
        self.names.push_str(name);
        self.name_at.push((start, self.names.len() as u32));
        let slots = self.port_node.len() + usize::from(ports) + 1;
        self.port_node.resize(slots, node);
        self.peer.resize(slots, NONE);
        self.rate.resize(slots, None);
        self.port_guid.resize(slots, guid);
        self.lid.resize(slots, Lid::NONE);
        self.lmc.resize(slots, 0);
        self.first_port.push(slots as u32);
        self.switches += u32::from(kind == NodeKind::Switch);
        node
    }

    /// Cables two external ports together at `rate` (`None`: not known).
    pub fn connect(
        &mut self,
        (a, a_port): (NodeId, u8),
        (b, b_port): (NodeId, u8),
        rate: Option<LinkRate>,
    ) -> Result<(), ConnectError> {
        let from = self.free_port(a, a_port)?;
        let to = self.free_port(b, b_port)?;
        if from == to {
            return Err(ConnectError::Itself { node: self.name(a).to_owned(), port: a_port });
        }
        self.peer[from.index()] = to.0;
        self.peer[to.index()] = from.0;
        self.rate[from.index()] = rate;
        self.rate[to.index()] = rate;
        self.links += 1;
        Ok(())
    }

    fn free_port(&self, node: NodeId, number: u8) -> Result<PortId, ConnectError> {
        let Some(port) = self.port(node, number).filter(|_| number > 0) else {
            return Err(ConnectError::NoSuchPort {
                node: self.name(node).to_owned(),
                port: number,
                ports: self.port_count(node),
            });
        };
        match self.peer(port) {
            None => Ok(port),
            Some(peer) => Err(ConnectError::InUse {
                node: self.name(node).to_owned(),
                port: number,
                peer: self.name(self.node_of(peer)).to_owned(),
                peer_port: self.port_number(peer),
            }),
        }
    }

    /// Takes away the cable at `port`; says whether there was one.
    pub fn disconnect(&mut self, port: PortId) -> bool {
        let peer = std::mem::replace(&mut self.peer[port.index()], NONE);
        if peer == NONE {
            return false;
        }
        self.peer[peer as usize] = NONE;
        self.rate[port.index()] = None;
        self.rate[peer as usize] = None;
        self.links -= 1;
        true
    }

    // Sizes.

    /// How many nodes of every kind.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.kind.len()
    }

    /// How many port slots of all nodes, slot 0 of each included: one past the largest [`PortId`].
    #[inline]
    pub fn port_slot_count(&self) -> usize {
        self.port_node.len()
    }

    /// How many cables.
    #[inline]
    pub fn link_count(&self) -> usize {
        self.links as usize
    }

    /// How many switches.
    #[inline]
    pub fn switch_count(&self) -> usize {
        self.switches as usize
    }

    // Passes.

    /// Every node, in the order of adding.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + Clone + use<> {
        (0..self.kind.len() as u32).map(NodeId)
    }

    /// Every switch, in the order of adding.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.nodes().filter(|&n| self.is_switch(n))
    }

    /// Every channel adapter that is a host's, in the order of adding.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.nodes().filter(|&n| self.kind(n) == NodeKind::ChannelAdapter)
    }

    /// The external ports of a node, from port 1 on.
    #[inline]
    pub fn ports(
        &self,
        node: NodeId,
    ) -> impl ExactSizeIterator<Item = PortId> + DoubleEndedIterator + Clone + use<> {
        (self.first_port[node.index()] + 1..self.first_port[node.index() + 1]).map(PortId)
    }

    /// The cabled external ports of a node with the port at the other end of each, from port 1 on.
    #[inline]
    pub fn neighbors(&self, node: NodeId) -> impl Iterator<Item = (PortId, PortId)> + Clone + '_ {
        self.ports(node).filter_map(|port| Some((port, self.peer(port)?)))
    }

    /// Every cable once, as the pair of its ends, the smaller [`PortId`] first.
    pub fn links(&self) -> impl Iterator<Item = (PortId, PortId)> + Clone + '_ {
        self.peer
            .iter()
            .enumerate()
            .filter(|&(port, &peer)| peer != NONE && (port as u32) < peer)
            .map(|(port, &peer)| (PortId(port as u32), PortId(peer)))
    }

    // Nodes.

    /// What the node is.
    #[inline]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.kind[node.index()]
    }

    /// Whether the node is a switch.
    #[inline]
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.kind[node.index()] == NodeKind::Switch
    }

    /// The node's GUID.
    #[inline]
    pub fn guid(&self, node: NodeId) -> Guid {
        self.guid[node.index()]
    }

    /// The GUID of the enclosure that the node sits in.
    #[inline]
    pub fn system_guid(&self, node: NodeId) -> Guid {
        self.system_guid[node.index()]
    }

    /// The node's description, as a person gave it.
    pub fn name(&self, node: NodeId) -> &str {
        let (start, end) = self.name_at[node.index()];
        &self.names[start as usize..end as usize]
    }

    /// Gives a node another name.
    pub fn set_name(&mut self, node: NodeId, name: &str) {
        let start = self.names.len() as u32;
        self.names.push_str(name);
        self.name_at[node.index()] = (start, self.names.len() as u32);
    }

    /// IEEE vendor number, 0 where not known.
    pub fn vendor_id(&self, node: NodeId) -> u32 {
        self.vendor_id[node.index()]
    }

    /// The vendor's device number, 0 where not known.
    pub fn device_id(&self, node: NodeId) -> u16 {
        self.device_id[node.index()]
    }

    /// Whether a switch's port 0 is an enhanced one: a full end port, as on every managed switch.
    pub fn has_enhanced_port_zero(&self, node: NodeId) -> bool {
        self.enhanced_port_zero[node.index()]
    }

    /// How many external ports the node has.
    #[inline]
    pub fn port_count(&self, node: NodeId) -> u8 {
        (self.first_port[node.index() + 1] - self.first_port[node.index()] - 1) as u8
    }

    /// The slot of the node's port `number`; `None` where the node has no such port. Number 0 is a switch's
    /// management port.
    #[inline]
    pub fn port(&self, node: NodeId, number: u8) -> Option<PortId> {
        let port = self.first_port[node.index()] + u32::from(number);
        (port < self.first_port[node.index() + 1]).then_some(PortId(port))
    }

    /// Changes what a node is known as.
    pub fn set_kind(&mut self, node: NodeId, kind: NodeKind) {
        let was_switch = self.is_switch(node);
        self.kind[node.index()] = kind;
        self.switches = self.switches - u32::from(was_switch) + u32::from(kind == NodeKind::Switch);
    }

    /// Sets the enclosure's GUID.
    pub fn set_system_guid(&mut self, node: NodeId, guid: Guid) {
        self.system_guid[node.index()] = guid;
    }

    /// Sets IEEE vendor number and the vendor's device number.
    pub fn set_device(&mut self, node: NodeId, vendor_id: u32, device_id: u16) {
        self.vendor_id[node.index()] = vendor_id;
        self.device_id[node.index()] = device_id;
    }

    /// Says whether a switch's port 0 is an enhanced one.
    pub fn set_enhanced_port_zero(&mut self, node: NodeId, enhanced: bool) {
        self.enhanced_port_zero[node.index()] = enhanced;
    }

    // Ports.

    /// The node that a port belongs to.
    #[inline]
    pub fn node_of(&self, port: PortId) -> NodeId {
        self.port_node[port.index()]
    }

    /// The port's number on its node.
    #[inline]
    pub fn port_number(&self, port: PortId) -> u8 {
        (port.0 - self.first_port[self.port_node[port.index()].index()]) as u8
    }

    /// The port at the other end of the cable.
    #[inline]
    pub fn peer(&self, port: PortId) -> Option<PortId> {
        let peer = self.peer[port.index()];
        (peer != NONE).then_some(PortId(peer))
    }

    /// Width and speed that the link runs at; `None` where there is no cable or it is not known.
    #[inline]
    pub fn rate(&self, port: PortId) -> Option<LinkRate> {
        self.rate[port.index()]
    }

    /// Sets the rate of the link at `port`, at both its ends.
    pub fn set_rate(&mut self, port: PortId, rate: Option<LinkRate>) {
        self.rate[port.index()] = rate;
        if let Some(peer) = self.peer(port) {
            self.rate[peer.index()] = rate;
        }
    }

    /// The port's GUID. On a switch every port has the node's.
    #[inline]
    pub fn port_guid(&self, port: PortId) -> Guid {
        self.port_guid[port.index()]
    }

    /// Sets one port's GUID.
    pub fn set_port_guid(&mut self, port: PortId, guid: Guid) {
        self.port_guid[port.index()] = guid;
    }

    /// The port's base LID ([`Lid::NONE`]: none yet). A switch has its LID at port 0.
    #[inline]
    pub fn lid(&self, port: PortId) -> Lid {
        self.lid[port.index()]
    }

    /// The port's LID mask control: it answers to 2^LMC LIDs from its base LID on.
    #[inline]
    pub fn lmc(&self, port: PortId) -> u8 {
        self.lmc[port.index()]
    }

    /// Gives a port its base LID and LID mask control.
    pub fn set_lid(&mut self, port: PortId, lid: Lid, lmc: u8) {
        self.lid[port.index()] = lid;
        self.lmc[port.index()] = lmc;
    }

    /// The ports that hold a LID of their own: a switch's port 0, every cabled port of any other node.
    pub fn end_ports(&self) -> impl Iterator<Item = PortId> + '_ {
        self.nodes().flat_map(move |node| {
            let first = PortId(self.first_port[node.index()]);
            let switch = self.is_switch(node);
            let own = switch.then_some(first);
            let cabled = (!switch).then(|| self.ports(node).filter(|&p| self.peer(p).is_some()));
            own.into_iter().chain(cabled.into_iter().flatten())
        })
    }

    /// A port for a person: `name[number]`.
    pub fn port_label(&self, port: PortId) -> String {
        format!("{}[{}]", self.name(self.node_of(port)), self.port_number(port))
    }

    /// Panics where the arrays contradict each other. For tests and for the simulator, after every step.
    pub fn check_invariants(&self) {
        let nodes = self.kind.len();
        assert_eq!(self.first_port.len(), nodes + 1);
        assert_eq!(self.first_port.last().copied().unwrap_or(0) as usize, self.port_node.len());
        assert_eq!(self.switches().count(), self.switch_count());
        let mut ends = 0;
        for (port, &peer) in self.peer.iter().enumerate() {
            if peer == NONE {
                continue;
            }
            ends += 1;
            assert_ne!(peer as usize, port, "a cable needs two ends");
            assert_eq!(self.peer[peer as usize] as usize, port, "a cable's ends name each other");
            assert_ne!(self.port_number(PortId(port as u32)), 0, "port 0 has no cable");
            assert_eq!(self.rate[port], self.rate[peer as usize], "a cable runs at one rate");
        }
        assert_eq!(ends, 2 * self.link_count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Fabric, NodeId, NodeId) {
        let mut fabric = Fabric::new();
        let switch = fabric.add_node(NodeKind::Switch, Guid(1), 4, "leaf");
        let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(2), 1, "host");
        (fabric, switch, host)
    }

    #[test]
    fn a_cable_has_two_ends() {
        let (mut fabric, switch, host) = two();
        fabric.connect((switch, 4), (host, 1), None).unwrap();
        let port = fabric.port(switch, 4).unwrap();
        assert_eq!(fabric.peer(port), fabric.port(host, 1));
        assert_eq!(fabric.link_count(), 1);
        fabric.check_invariants();
        assert!(fabric.disconnect(port));
        assert!(!fabric.disconnect(port));
        assert_eq!(fabric.link_count(), 0);
        fabric.check_invariants();
    }

    #[test]
    fn a_port_takes_one_cable_and_exists() {
        let (mut fabric, switch, host) = two();
        fabric.connect((switch, 4), (host, 1), None).unwrap();
        let error = fabric.connect((switch, 4), (switch, 3), None).unwrap_err();
        assert_eq!(error.to_string(), "port 4 of leaf is already cabled to port 1 of host");
        let error = fabric.connect((switch, 5), (switch, 3), None).unwrap_err();
        assert_eq!(error.to_string(), "leaf has ports 1 to 4, not 5");
        assert!(fabric.connect((switch, 0), (switch, 3), None).is_err());
        assert!(fabric.connect((switch, 3), (switch, 3), None).is_err());
        fabric.connect((switch, 2), (switch, 3), None).unwrap();
        fabric.check_invariants();
    }

    #[test]
    fn names_and_end_ports_follow_their_nodes() {
        let (mut fabric, switch, host) = two();
        let idle = fabric.add_node(NodeKind::ChannelAdapter, Guid(3), 2, "");
        fabric.connect((switch, 1), (host, 1), None).unwrap();
        assert_eq!((fabric.name(switch), fabric.name(host), fabric.name(idle)), ("leaf", "host", ""));
        let ends: Vec<_> = fabric.end_ports().collect();
        assert_eq!(ends, [fabric.port(switch, 0).unwrap(), fabric.port(host, 1).unwrap()]);
    }
}
