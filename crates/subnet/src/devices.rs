//! What the manager knows of every device: the cabling, and beside it what ports and switches have said.

use fabric::{Fabric, NodeId, NodeKind, PortId};
use ib::{
    DirectedRoute, Guid, NodeInfo, NodeType, PKeyTable, PortInfo, PortState, SlToVlMapping, SwitchInfo,
    VlArbitration,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The device number by which aggregation nodes of switches are known.
const AGGREGATION_DEVICE: u16 = 0xcf09;

/// Everything found so far.
#[derive(Default)]
pub(crate) struct Devices {
    /// The cabling.
    pub fabric: Fabric,
    by_guid: FxHashMap<Guid, NodeId>,
    /// The way to each switch, and by which each adapter was found first.
    routes: Vec<DirectedRoute>,
    /// What each port last said; only where `port_known`.
    pub ports: Vec<PortInfo>,
    port_known: Vec<bool>,
    /// What each switch last said; only where `switch_known`.
    pub switches: Vec<SwitchInfo>,
    switch_known: Vec<bool>,
    /// The table that a switch was found with, where it was read.
    pub tables: FxHashMap<NodeId, Vec<u8>>,
    /// The partitions that an end port was found with.
    pub partitions: FxHashMap<PortId, PKeyTable>,
    /// The mapping of service levels and the arbitration that an adapter's port was found with.
    pub mappings: FxHashMap<PortId, SlToVlMapping>,
    pub arbitration: FxHashMap<(PortId, u8), VlArbitration>,
    /// Ports that lead to themselves, or to a device whose GUID another one has.
    pub odd: FxHashSet<PortId>,
    /// The end port that the manager itself sits at.
    pub own: Option<PortId>,
}

impl Devices {
    pub fn new() -> Self {
        Self { fabric: Fabric::new(), ..Self::default() }
    }

    /// Takes in a node that was not known.
    pub fn add(&mut self, info: &NodeInfo, route: DirectedRoute) -> NodeId {
        let kind = match info.node_type {
            NodeType::SWITCH => NodeKind::Switch,
            NodeType::ROUTER => NodeKind::Router,
            _ if info.device_id == AGGREGATION_DEVICE => NodeKind::AggregationNode,
            _ => NodeKind::ChannelAdapter,
        };
        let node = self.fabric.add_node(kind, info.node_guid, info.port_count, "");
        self.fabric.set_system_guid(node, info.system_image_guid);
        self.fabric.set_device(node, info.vendor_id, info.device_id);
        self.by_guid.insert(info.node_guid, node);
        self.routes.push(route);
        let slots = self.fabric.port_slot_count();
        self.ports.resize(slots, PortInfo::default());
        self.port_known.resize(slots, false);
        self.switches.push(SwitchInfo::default());
        self.switch_known.push(false);
        node
    }

    pub fn by_guid(&self, guid: Guid) -> Option<NodeId> {
        self.by_guid.get(&guid).copied()
    }

    pub fn set_port(&mut self, port: PortId, info: PortInfo) {
        self.ports[port.index()] = info;
        self.port_known[port.index()] = true;
    }

    pub fn knows_port(&self, port: PortId) -> bool {
        self.port_known[port.index()]
    }

    pub fn set_switch(&mut self, node: NodeId, info: SwitchInfo) {
        self.switches[node.index()] = info;
        self.switch_known[node.index()] = true;
    }

    pub fn knows_switch(&self, node: NodeId) -> bool {
        self.switch_known[node.index()]
    }

    /// The way to a node: a switch's own, an adapter's by the port that it was found by.
    pub fn route(&self, node: NodeId) -> DirectedRoute {
        self.routes[node.index()]
    }

    /// The way to a node as it is now: an adapter's by the switch beside it, whose way may have changed since the adapter was found.
    pub fn way_to(&self, node: NodeId) -> DirectedRoute {
        let is_own = self.own.is_some_and(|own| self.fabric.node_of(own) == node);
        let cabled = self.fabric.neighbors(node).next().filter(|_| !self.fabric.is_switch(node) && !is_own);
        cabled.map_or(self.route(node), |(port, _)| self.route_to_port(port))
    }

    /// The way to a port. An adapter's ports are devices of their own: each is asked and written through itself alone.
    pub fn route_to_port(&self, port: PortId) -> DirectedRoute {
        let node = self.fabric.node_of(port);
        if self.fabric.is_switch(node) || self.own == Some(port) {
            return self.route(node);
        }
        self.fabric
            .peer(port)
            .and_then(|peer| self.route(self.fabric.node_of(peer)).then(self.fabric.port_number(peer)))
            .unwrap_or(self.route(node))
    }

    /// The port at the other end of the last link on the manager's way to a switch.
    pub fn last_hop(&self, switch: NodeId) -> Option<PortId> {
        let way = self.route(switch);
        self.fabric.neighbors(switch).map(|(_, peer)| peer).find(|&peer| {
            let node = self.fabric.node_of(peer);
            self.fabric.is_switch(node) && self.route(node).then(self.fabric.port_number(peer)) == Some(way)
        })
    }

    /// The nearer end of each link on the manager's way to a node, from the manager on.
    pub fn links_on_the_way(&self, node: NodeId) -> Vec<PortId> {
        let mut at = self.own.map(|own| self.fabric.node_of(own));
        let mut ends = Vec::new();
        for &number in self.route(node).hops() {
            let Some(port) = at.and_then(|at| self.fabric.port(at, number)) else { break };
            ends.push(port);
            at = self.fabric.peer(port).map(|peer| self.fabric.node_of(peer));
        }
        ends
    }

    /// Switches that the manager's way leads over the link between two ports to.
    pub fn ways_over(&self, a: PortId, b: PortId) -> Vec<NodeId> {
        let over = |port: PortId| {
            let node = self.fabric.node_of(port);
            let passes = self.fabric.is_switch(node) || self.own == Some(port);
            self.route(node).then(self.fabric.port_number(port)).filter(|_| passes)
        };
        let over: Vec<DirectedRoute> = [a, b].into_iter().filter_map(over).collect();
        let leads = |&node: &NodeId| over.iter().any(|way| self.route(node).hops().starts_with(way.hops()));
        self.fabric.switches().filter(leads).collect()
    }

    /// Finds other ways to switches whose ways lead over links that the graph does not have any more.
    pub fn mend_ways(&mut self, reached: &[bool]) {
        let own = self.own.map(|own| self.fabric.node_of(own));
        let end = |node: NodeId| {
            self.route(node).hops().iter().try_fold(own?, |at, &number| {
                let port = self.fabric.port(at, number)?;
                self.fabric.peer(port).map(|peer| self.fabric.node_of(peer))
            })
        };
        let is_void = |&node: &NodeId| reached[node.index()] && end(node) != Some(node);
        let void: Vec<NodeId> = self.fabric.switches().filter(is_void).collect();
        self.reroute(&void, reached);
    }

    /// Finds other ways to switches whose ways are void, from those that are `reached`; returns those without any.
    pub fn reroute(&mut self, void: &[NodeId], reached: &[bool]) -> Vec<NodeId> {
        let mut waits = vec![false; self.fabric.node_count()];
        for &node in void {
            waits[node.index()] = true;
        }
        let own = self.own.map(|own| self.fabric.node_of(own));
        let passes = |devices: &Self, node: NodeId, port: PortId| {
            reached[node.index()]
                && (devices.fabric.is_switch(node) || own == Some(node) && devices.own == Some(port))
        };
        // By length of the way, so that every way is a shortest one from where it leaves the ways that hold.
        let mut next: std::collections::BTreeMap<(usize, NodeId), DirectedRoute> = Default::default();
        let offer = |devices: &Self, waits: &[bool], from: (NodeId, PortId), to: NodeId| {
            let (node, port) = from;
            let fits = waits[to.index()] && !waits[node.index()] && passes(devices, node, port);
            fits.then(|| devices.route(node).then(devices.fabric.port_number(port))).flatten()
        };
        for &node in void {
            for (_, peer) in self.fabric.neighbors(node) {
                if let Some(way) = offer(self, &waits, (self.fabric.node_of(peer), peer), node) {
                    next.entry((way.hops().len(), node)).or_insert(way);
                }
            }
        }
        while let Some(((_, node), way)) = next.pop_first() {
            if !std::mem::replace(&mut waits[node.index()], false) {
                continue;
            }
            self.routes[node.index()] = way;
            for (port, peer) in self.fabric.neighbors(node) {
                let beyond = self.fabric.node_of(peer);
                if let Some(way) = offer(self, &waits, (node, port), beyond) {
                    next.entry((way.hops().len(), beyond)).or_insert(way);
                }
            }
        }
        void.iter().copied().filter(|node| waits[node.index()]).collect()
    }

    /// The slot that holds a switch's LID.
    pub fn management_port(&self, node: NodeId) -> PortId {
        self.fabric.port(node, 0).expect("slot 0 is there")
    }

    /// A place for a person: name and port, GUID, route.
    pub fn place(&self, port: PortId) -> String {
        let node = self.fabric.node_of(port);
        let number = self.fabric.port_number(port);
        let name = self.fabric.name(node);
        let name = if name.is_empty() { "a device without a name" } else { name };
        format!("{name} port {number} ({}, route {})", self.fabric.guid(node), self.route_to_port(port))
    }

    /// Numbers nodes by GUID. Until now they are in the order in which they happened to answer, and LIDs and tables shall
    /// not depend on that. Every number of a node or port that was taken before is void.
    pub fn renumber(&mut self) {
        let old = &self.fabric;
        let mut order: Vec<NodeId> = old.nodes().collect();
        order.sort_by_key(|&node| (old.guid(node), node));
        let slots = old.port_slot_count();
        let mut fabric = Fabric::with_capacity(old.node_count(), slots - old.node_count());
        let mut new_of = vec![PortId(0); slots];
        for &node in &order {
            let ports = old.port_count(node);
            let new = fabric.add_node(old.kind(node), old.guid(node), ports, old.name(node));
            fabric.set_system_guid(new, old.system_guid(node));
            fabric.set_device(new, old.vendor_id(node), old.device_id(node));
            fabric.set_enhanced_port_zero(new, old.has_enhanced_port_zero(node));
            for number in 0..=ports {
                if let (Some(from), Some(to)) = (old.port(node, number), fabric.port(new, number)) {
                    new_of[from.index()] = to;
                    fabric.set_port_guid(to, old.port_guid(from));
                }
            }
        }
        for (a, b) in old.links() {
            let end = |port: PortId| {
                let port = new_of[port.index()];
                (fabric.node_of(port), fabric.port_number(port))
            };
            let (a, b, rate) = (end(a), end(b), old.rate(a));
            // Both ports were free in the old numbering's stead, so they are here.
            let cabled = fabric.connect(a, b, rate);
            debug_assert!(cabled.is_ok());
        }
        let mut next = Self { own: self.own.map(|own| new_of[own.index()]), ..Self::new() };
        next.by_guid = fabric.nodes().map(|node| (fabric.guid(node), node)).collect();
        next.ports = vec![PortInfo::default(); slots];
        next.port_known = vec![false; slots];
        for (from, &to) in new_of.iter().enumerate() {
            next.ports[to.index()] = self.ports[from];
            next.port_known[to.index()] = self.port_known[from];
        }
        for (new, &node) in order.iter().enumerate() {
            next.routes.push(self.routes[node.index()]);
            next.switches.push(self.switches[node.index()]);
            next.switch_known.push(self.switch_known[node.index()]);
            if let Some(table) = self.tables.remove(&node) {
                next.tables.insert(NodeId(new as u32), table);
            }
        }
        next.partitions = std::mem::take(&mut self.partitions)
            .into_iter()
            .map(|(port, keys)| (new_of[port.index()], keys))
            .collect();
        let at = |port: PortId| new_of[port.index()];
        next.mappings =
            std::mem::take(&mut self.mappings).into_iter().map(|(port, held)| (at(port), held)).collect();
        next.arbitration = std::mem::take(&mut self.arbitration)
            .into_iter()
            .map(|((port, part), held)| ((at(port), part), held))
            .collect();
        next.odd = std::mem::take(&mut self.odd).into_iter().map(at).collect();
        next.fabric = fabric;
        *self = next;
    }

    /// Takes out of the cabling what cannot be managed: links whose ends did not both answer, switches that did not.
    /// Returns which nodes the manager still reaches.
    pub fn prune(&mut self) -> Vec<bool> {
        let links: Vec<(PortId, PortId)> = self.fabric.links().collect();
        for (a, b) in links {
            let sound = [a, b].into_iter().all(|end| {
                let node = self.fabric.node_of(end);
                let up = self.knows_port(end) && self.ports[end.index()].port_state != PortState::DOWN;
                up && (!self.fabric.is_switch(node) || self.manageable(node))
            });
            if !sound {
                self.fabric.disconnect(a);
            }
        }
        let mut reached = vec![false; self.fabric.node_count()];
        let mut left: Vec<NodeId> = self.own.map(|own| self.fabric.node_of(own)).into_iter().collect();
        while let Some(node) = left.pop() {
            if std::mem::replace(&mut reached[node.index()], true) {
                continue;
            }
            left.extend(self.fabric.neighbors(node).map(|(_, peer)| self.fabric.node_of(peer)));
        }
        reached
    }

    fn manageable(&self, node: NodeId) -> bool {
        self.knows_switch(node) && self.knows_port(self.management_port(node))
    }
}
