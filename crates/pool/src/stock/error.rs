//! Why the stock refuses.

use thiserror::Error;

use super::demand::{MOST_GPUS_A_NODE, MOST_MODELS};

/// Why the stock refused. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum StockError {
    /// No node lies there.
    #[error("there is no node {0}; the stock has {1}")]
    NoSuchNode(u32, usize),
    /// The node takes no work: cordoned, draining or failed.
    #[error("node {0} takes no work")]
    Closed(u32),
    /// A node lacks CPU.
    #[error("node {node} has {free} thousandths of a core free, {wanted} are wanted")]
    Cpu {
        /// The node.
        node: u32,
        /// Thousandths of a core that are free.
        free: u32,
        /// Thousandths of a core that are wanted.
        wanted: u32,
    },
    /// A node lacks memory.
    #[error("node {node} has {free} MiB free, {wanted} are wanted")]
    Memory {
        /// The node.
        node: u32,
        /// MiB that are free.
        free: u32,
        /// MiB that are wanted.
        wanted: u32,
    },
    /// A GPU has less left, or is not there.
    #[error("GPU {gpu} of node {node} has {free} thousandths free, {wanted} are wanted")]
    Gpu {
        /// The node.
        node: u32,
        /// The GPU, by its place on the node.
        gpu: usize,
        /// Thousandths that are free; 0 where there is no such GPU.
        free: u16,
        /// Thousandths that are wanted.
        wanted: u16,
    },
    /// A NUMA domain lacks CPU or memory that is to be pinned there, or is not there.
    #[error(
        "NUMA domain {domain} of node {node} cannot have {cpu_milli} thousandths of a core and {memory_mib} MiB pinned"
    )]
    Domain {
        /// The node.
        node: u32,
        /// The domain.
        domain: usize,
        /// Thousandths of a core that are wanted.
        cpu_milli: u32,
        /// MiB that are wanted.
        memory_mib: u32,
    },
    /// A GPU cannot bear an instance: it is not whole and idle, the profile is none of its model's, or it would overlap.
    #[error("GPU {gpu} of node {node} has no place for the instance from memory slice {start} on")]
    Instance {
        /// The node.
        node: u32,
        /// The GPU, by its place on the node.
        gpu: usize,
        /// The memory slice at which it would begin.
        start: u8,
    },
    /// What was told of a node's NUMA domains contradicts what the node has.
    #[error("NUMA domains of node {0}: {1}")]
    Domains(u32, &'static str),
    /// More MIG profiles than the stock may know.
    #[error("there are more than {} MIG profiles", u8::MAX)]
    TooManyProfiles,
    /// More is given back than was taken.
    #[error("more {0} is given back to node {1} than was taken from it")]
    NotTaken(&'static str, u32),
    /// More GPUs than a node may have.
    #[error("a node has {0} GPUs; {MOST_GPUS_A_NODE} is the most")]
    TooManyGpus(usize),
    /// More models than the stock may know.
    #[error("there are more than {MOST_MODELS} models of GPU")]
    TooManyModels,
    /// One node has GPUs of several models.
    #[error("its GPUs are of several models: make it a node for each")]
    SeveralModels,
    /// What the stock cannot hold of a node.
    #[error("node {0}: {1}")]
    Node(String, Box<StockError>),
    /// GPUs without a model, or a model that the stock does not know.
    #[error("the node's GPUs are of no model that the stock knows")]
    NoModel,
}
