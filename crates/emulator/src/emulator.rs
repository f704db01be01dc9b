//! The emulator's face: clients attach, send and receive; time passes.

use std::collections::VecDeque;
use std::time::Duration;

use fabric::{Fabric, NodeId, PortId};
use ib::{Attribute, AttributeId, Packet, PortInfo, SlToVlMapping, SwitchInfo, Time, capability};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashMap;

use crate::Config;
use crate::queue::{Event, Queue};
use crate::state::State;
use crate::traps::Traps;
use crate::writes::Writes;

/// A client of the emulator: whoever sits at one port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub(crate) PortId);

/// Why nobody can sit at a port.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AttachError {
    /// The node has no such port.
    #[error("{node} has no port {port} to sit at: name a cabled port of an adapter, or port 0 of a switch")]
    NoSuchPort {
        /// The node's name.
        node: String,
        /// The port asked for.
        port: u8,
    },
    /// Another client is there.
    #[error("another client sits at port {port} of {node}: detach it first")]
    Taken {
        /// The node's name.
        node: String,
        /// The port asked for.
        port: u8,
    },
}

/// What the emulator has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Packets that clients sent.
    pub sent: u64,
    /// Packets that clients received.
    pub received: u64,
    /// Packets dropped because a port's buffers were taken.
    pub overruns: u64,
    /// Packets lost by chance on a link.
    pub lost: u64,
    /// Packets that had nowhere to go.
    pub discarded: u64,
}

/// An emulated fabric.
pub struct Emulator {
    pub(crate) config: Config,
    pub(crate) state: State,
    pub(crate) queue: Queue,
    pub(crate) traps: Traps,
    pub(crate) writes: Writes,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) now: Time,
    pub(crate) hop_latency: Duration,
    pub(crate) forward_time: Duration,
    pub(crate) agent_time: Duration,
    pub(crate) statistics: Statistics,
    clients: FxHashMap<PortId, bool>,
    inbox: VecDeque<(Time, ClientId, Packet)>,
}

impl Emulator {
    /// An emulated fabric with this cabling: every cabled link is up and waits to be configured.
    pub fn new(fabric: &Fabric, config: Config) -> Self {
        let mut queue = Queue::default();
        for (number, (after, _)) in config.faults.iter().enumerate() {
            queue.push(Time::ZERO + *after, Event::Fault(number as u32));
        }
        Self {
            state: State::new(fabric, &config),
            queue,
            traps: Traps::default(),
            writes: Writes::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            now: Time::ZERO,
            hop_latency: config.hop_latency,
            forward_time: config.forward_time,
            agent_time: config.agent_time,
            statistics: Statistics::default(),
            clients: FxHashMap::default(),
            inbox: VecDeque::new(),
            config,
        }
    }

    /// Seats a client at an adapter's port, or at port 0 of a switch.
    pub fn attach(&mut self, node: NodeId, port: u8) -> Result<ClientId, AttachError> {
        let name = || self.state.fabric.name(node).to_owned();
        let switch = self.state.fabric.is_switch(node);
        let Some(slot) = self.state.fabric.port(node, port).filter(|_| switch == (port == 0)) else {
            return Err(AttachError::NoSuchPort { node: name(), port });
        };
        if self.clients.contains_key(&slot) {
            return Err(AttachError::Taken { node: name(), port });
        }
        self.clients.insert(slot, false);
        Ok(ClientId(slot))
    }

    /// A client leaves. It no longer counts as a manager.
    pub fn detach(&mut self, client: ClientId) {
        self.set_is_manager(client, false);
        self.clients.remove(&client.0);
        self.inbox.retain(|(_, to, _)| *to != client);
    }

    /// Sets whether the client's port says that a subnet manager runs behind it; a change raises trap 144.
    pub fn set_is_manager(&mut self, client: ClientId, is_manager: bool) {
        let Some(entry) = self.clients.get_mut(&client.0) else { return };
        *entry = is_manager;
        self.show_manager(client.0, is_manager);
    }

    /// Sets a port's IsSM bit; a change is told to the manager.
    pub(crate) fn show_manager(&mut self, port: PortId, is_manager: bool) {
        let mask = &mut self.state.ports[port.index()].capability_mask;
        let before = *mask;
        *mask = if is_manager { before | capability::IS_SM } else { before & !capability::IS_SM };
        if *mask != before {
            self.raise_local_changes(port);
        }
    }

    pub(crate) fn is_client(&self, port: PortId) -> bool {
        self.clients.contains_key(&port)
    }

    pub(crate) fn is_manager(&self, port: PortId) -> bool {
        self.clients.get(&port).copied().unwrap_or(false)
    }

    pub(crate) fn deliver(&mut self, port: PortId, packet: Packet) {
        self.statistics.received += 1;
        self.inbox.push_back((self.now, ClientId(port), packet));
    }

    /// Sends a packet from a client's port. `now` may not lie before what has passed.
    pub fn send(&mut self, now: Time, client: ClientId, packet: &Packet) {
        self.advance(now);
        self.statistics.sent += 1;
        self.inject(self.now, client.0, packet);
    }

    /// When something happens next by itself.
    pub fn next_event(&self) -> Option<Time> {
        let inbox = self.inbox.front().map(|(at, _, _)| *at);
        match (inbox, self.queue.next_time()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Lets time pass up to and including `to`.
    pub fn advance(&mut self, to: Time) {
        while let Some((at, event)) = self.queue.pop(to) {
            self.now = at;
            match event {
                Event::Arrive(slot) => self.arrive(slot),
                Event::Deliver(slot) => {
                    let under_way = *self.queue.packet(slot);
                    self.queue.end(slot);
                    if self.is_client(under_way.at) {
                        self.deliver(under_way.at, under_way.packet);
                    }
                }
                Event::Trained(port) => self.trained(port),
                Event::Trap(node) => self.trap_due(node),
                Event::Flap(port) => self.flap(port),
                Event::Fault(number) => {
                    if let Some((_, fault)) = self.config.faults.get(number as usize) {
                        self.apply(*fault);
                    }
                }
            }
        }
        self.now = self.now.max(to);
    }

    /// Lets time pass until a client has received something, up to and including `to` at the most.
    pub fn advance_to_delivery(&mut self, to: Time) {
        while self.inbox.is_empty() {
            match self.queue.next_time() {
                Some(at) if at <= to => self.advance(at),
                _ => break,
            }
        }
        if self.inbox.is_empty() {
            self.now = self.now.max(to);
        }
    }

    /// The next packet that a client has received, with the time of its arrival.
    pub fn receive(&mut self) -> Option<(Time, ClientId, Packet)> {
        self.inbox.pop_front()
    }

    /// The time that has passed.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What has been counted.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// How many packets are under way.
    pub fn under_way(&self) -> usize {
        self.queue.under_way()
    }

    /// The cabling as it stands.
    pub fn fabric(&self) -> &Fabric {
        &self.state.fabric
    }

    /// Whether a node has lost its power.
    pub fn is_off(&self, node: NodeId) -> bool {
        self.state.off[node.index()]
    }

    /// What a port holds.
    pub fn port_info(&self, port: PortId) -> &PortInfo {
        &self.state.ports[port.index()]
    }

    /// What a switch holds.
    pub fn switch_info(&self, node: NodeId) -> &SwitchInfo {
        &self.state.switches[node.index()]
    }

    /// Panics where the emulator's own books contradict each other. For tests, after every step.
    pub fn check_invariants(&self) {
        self.state.check_invariants();
    }

    /// The lane that a switch gives to each service level of packets that came in by one port and leave by another. None
    /// where it has no such ports.
    pub fn lane_mapping(&self, node: NodeId, in_port: u8, out_port: u8) -> Option<SlToVlMapping> {
        self.state.fabric.port(node, in_port)?;
        let output = self.state.fabric.port(node, out_port)?;
        let modifier = u32::from(in_port) << 8 | u32::from(out_port);
        let held = self.state.blocks.get(&(output, AttributeId::SL_TO_VL_MAPPING.0, modifier));
        Some(held.map_or_else(|| self.fresh_mapping(output), |block| Attribute::parse(&block[..])))
    }

    /// The linear forwarding table that a switch holds, as far as it was written.
    pub fn forwarding_table(&self, node: NodeId) -> &[u8] {
        &self.state.tables[node.index()]
    }
}
