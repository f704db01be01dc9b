//! What a GPU is: its model, and where in the fabric it sits.

use ib::Guid;
use serde::Serialize;

/// A kind of GPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GpuModel {
    /// As the site calls it: `H100-80GB`.
    pub name: String,
    /// Memory of one GPU, MiB; 0: not known.
    pub memory_mib: u32,
}

/// The port of the fabric that a GPU sits beside: what its traffic leaves the node by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attachment {
    /// By the adapter's GUID and the number of the port on it.
    Port {
        /// Node GUID of the adapter.
        guid: Guid,
        /// The port on it, from 1.
        port: u8,
    },
    /// By name: the host is the node's own name, the adapter as the host calls it (`mlx5_3`).
    Adapter(String),
}
