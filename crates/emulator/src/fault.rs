//! Faults on purpose. Nodes and ports are named by their place in the fabric.

use std::time::Duration;

use fabric::{NodeId, PortId};
use ib::{Lid, Mad, PortCountersExtended, Time};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::Emulator;
use crate::queue::Event;
use crate::state::Flap;

/// One fault, or the end of one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The cable at a port is pulled.
    Unlink {
        /// One of its ends.
        node: NodeId,
        /// The port there.
        port: u8,
    },
    /// The cable that was at a port is put back.
    Relink {
        /// One of its ends.
        node: NodeId,
        /// The port there.
        port: u8,
    },
    /// All links of a node go down, and its agent answers nothing.
    PowerOff {
        /// The node.
        node: NodeId,
    },
    /// A node that was off starts afresh.
    PowerOn {
        /// The node.
        node: NodeId,
    },
    /// A switch forgets its tables and its links train again.
    Reset {
        /// The node.
        node: NodeId,
    },
    /// How an agent behaves from now on.
    Agent {
        /// The node.
        node: NodeId,
        /// What it does with requests.
        behaviour: Behaviour,
    },
    /// A port's threshold of errors is reached: trap 129, 130 or 131.
    Threshold {
        /// The node.
        node: NodeId,
        /// The port.
        port: u8,
        /// Which trap.
        trap: u16,
    },
    /// The cable at a port comes and goes: it changes so many times, beginning now.
    Flap {
        /// One of its ends.
        node: NodeId,
        /// The port there.
        port: u8,
        /// Time from change to change.
        every: Duration,
        /// How many changes; an even number ends as it began.
        changes: u32,
    },
    /// A link loses packets, both ways.
    Loss {
        /// One of its ends.
        node: NodeId,
        /// The port there.
        port: u8,
        /// How many of a million; 0 ends it.
        per_million: u32,
    },
    /// A node shows another's GUID as its own and as that of its ports.
    CloneGuid {
        /// The node.
        node: NodeId,
        /// Whose GUID it shows; its own ends the fault.
        of: NodeId,
    },
    /// A port holds another LID than it was given.
    Lid {
        /// The node.
        node: NodeId,
        /// The port; 0 on a switch.
        port: u8,
        /// What it holds.
        lid: Lid,
    },
    /// A counter of a port is set.
    Count {
        /// The node.
        node: NodeId,
        /// The port.
        port: u8,
        /// Which counter.
        counter: Counter,
        /// What it shows.
        value: u64,
    },
}

/// A counter that a fault can set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // Named as in [`ib::PortCountersExtended`].
pub enum Counter {
    SymbolErrors,
    LinkErrorRecoveries,
    LinkDowned,
    ReceiveErrors,
    ReceiveRemotePhysicalErrors,
    ReceiveSwitchRelayErrors,
    TransmitDiscards,
    LocalLinkIntegrityErrors,
    ExcessiveBufferOverruns,
    Vl15Dropped,
    TransmitWait,
}

impl Counter {
    fn of(self, counters: &mut PortCountersExtended) -> &mut u64 {
        match self {
            Self::SymbolErrors => &mut counters.symbol_errors,
            Self::LinkErrorRecoveries => &mut counters.link_error_recoveries,
            Self::LinkDowned => &mut counters.link_downed,
            Self::ReceiveErrors => &mut counters.receive_errors,
            Self::ReceiveRemotePhysicalErrors => &mut counters.receive_remote_physical_errors,
            Self::ReceiveSwitchRelayErrors => &mut counters.receive_switch_relay_errors,
            Self::TransmitDiscards => &mut counters.transmit_discards,
            Self::LocalLinkIntegrityErrors => &mut counters.local_link_integrity_errors,
            Self::ExcessiveBufferOverruns => &mut counters.excessive_buffer_overruns,
            Self::Vl15Dropped => &mut counters.vl15_dropped,
            Self::TransmitWait => &mut counters.transmit_wait,
        }
    }
}

/// What an agent does with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// Answers.
    #[default]
    Sound,
    /// Takes requests and answers none.
    Silent,
    /// Answers after so many times its usual time.
    Slow(u32),
    /// Answers twice.
    Twice,
    /// Answers with random bytes in the data.
    Garbage,
    /// Answers with another attribute than asked for.
    WrongAttribute,
}

impl Emulator {
    /// Lets a fault happen later; at once, where its time has passed.
    pub fn schedule(&mut self, at: Time, fault: Fault) {
        let number = self.config.faults.len() as u32;
        self.config.faults.push((at.since(Time::ZERO), fault));
        self.queue.push(at, Event::Fault(number));
    }

    /// Lets a fault happen now. Ports and nodes that the fabric does not have are passed over.
    pub fn apply(&mut self, fault: Fault) {
        match fault {
            Fault::Unlink { node, port } => {
                if let Some(port) = self.port(node, port) {
                    self.pull_cable(port);
                }
            }
            Fault::Relink { node, port } => {
                if let Some(port) = self.port(node, port) {
                    self.put_cable_back(port);
                }
            }
            Fault::PowerOff { node } if self.has(node) => {
                self.state.off[node.index()] = true;
                for port in self.state.fabric.ports(node) {
                    self.pull_cable(port);
                }
            }
            Fault::PowerOn { node } if self.has(node) && self.state.off[node.index()] => {
                self.state.off[node.index()] = false;
                self.begin_afresh(node);
                for port in self.state.fabric.ports(node) {
                    self.put_cable_back(port);
                }
            }
            Fault::Reset { node } if self.has(node) && !self.state.off[node.index()] => {
                self.begin_afresh(node);
                for port in self.state.fabric.ports(node) {
                    self.retrain(port);
                }
            }
            Fault::Agent { node, behaviour } if self.has(node) => {
                self.state.behaviour[node.index()] = behaviour;
            }
            Fault::Threshold { node, port, trap } => {
                if let Some(port) = self.port(node, port) {
                    self.raise_threshold(port, trap);
                }
            }
            Fault::Flap { node, port, every, changes } => {
                if let Some(port) = self.port(node, port) {
                    // One that flaps already goes on with the new numbers.
                    if self.state.flaps.insert(port, Flap { every, changes }).is_none() {
                        self.flap(port);
                    }
                }
            }
            Fault::Loss { node, port, per_million } => {
                if let Some(port) = self.port(node, port) {
                    let peer = self.state.cable[port.index()].map(|(peer, _)| peer);
                    for end in [Some(port), peer].into_iter().flatten() {
                        if per_million > 0 {
                            self.state.losses.insert(end, per_million);
                        } else {
                            self.state.losses.remove(&end);
                        }
                    }
                }
            }
            Fault::CloneGuid { node, of } if self.has(node) && self.has(of) => {
                if node == of {
                    self.state.guids.remove(&node);
                } else {
                    self.state.guids.insert(node, self.state.fabric.guid(of));
                }
            }
            Fault::Lid { node, port, lid } => {
                if let Some(port) = self.port(node, port) {
                    self.state.ports[port.index()].lid = lid;
                }
            }
            Fault::Count { node, port, counter, value } => {
                if let Some(port) = self.port(node, port) {
                    *counter.of(self.counters(port)) = value;
                }
            }
            _ => {}
        }
    }

    /// A node forgets what it was told. Whether a manager sits at it is not its to forget.
    fn begin_afresh(&mut self, node: NodeId) {
        self.state.forget(node);
        let slots = self.state.places_of(node);
        for port in slots.map(|slot| PortId(slot as u32)) {
            if self.is_manager(port) {
                self.show_manager(port, true);
            }
        }
    }

    /// A link that comes and goes does the next of its changes.
    pub(crate) fn flap(&mut self, port: PortId) {
        let Some(flap) = self.state.flaps.get_mut(&port).filter(|flap| flap.changes > 0) else {
            self.state.flaps.remove(&port);
            return;
        };
        flap.changes -= 1;
        let next = self.now + flap.every;
        if self.state.fabric.peer(port).is_some() {
            self.pull_cable(port);
        } else {
            self.put_cable_back(port);
        }
        self.queue.push(next, Event::Flap(port));
    }

    fn has(&self, node: NodeId) -> bool {
        node.index() < self.state.fabric.node_count()
    }

    fn port(&self, node: NodeId, port: u8) -> Option<fabric::PortId> {
        if self.has(node) { self.state.fabric.port(node, port) } else { None }
    }

    /// Spoils an answer as the node's behaviour says.
    pub(crate) fn spoil(&mut self, behaviour: Behaviour, mad: &mut Mad) {
        match behaviour {
            Behaviour::Garbage => {
                for word in mad.0[64..128].chunks_exact_mut(8) {
                    word.copy_from_slice(&self.random.next_u64().to_be_bytes());
                }
            }
            Behaviour::WrongAttribute => {
                mad.set_attribute_id(ib::AttributeId(mad.attribute_id().0 ^ 0x5));
            }
            _ => {}
        }
    }
}
