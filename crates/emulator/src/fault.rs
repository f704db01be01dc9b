//! Faults on purpose. Nodes and ports are named by their place in the fabric.

use fabric::NodeId;
use ib::Mad;
use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::Emulator;

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
            Fault::PowerOn { node } if self.has(node) => {
                self.state.off[node.index()] = false;
                self.state.forget(node);
                for port in self.state.fabric.ports(node) {
                    self.put_cable_back(port);
                }
            }
            Fault::Reset { node } if self.has(node) => {
                self.state.forget(node);
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
            _ => {}
        }
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
