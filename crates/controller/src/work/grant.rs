//! What a job holds, as it is kept: by the names of nodes, for their numbers may be others after a restart.

use pool::stock::{GpuSet, Grant, Pin};
use pool::{Pool, Stock};
use serde::{Deserialize, Serialize};

/// Where on its node CPU and memory are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeptPin {
    Floating,
    Domain(u8),
    Beside,
}

/// What a part of a job holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeptGrant {
    /// The node's name.
    pub node: String,
    cpu_milli: u32,
    memory_mib: u32,
    gpus: u64,
    gpu_milli: u16,
    pin: KeptPin,
}

impl KeptGrant {
    /// A grant with the names of a pool.
    pub fn of(grant: &Grant, pool: &Pool) -> Self {
        Self {
            node: pool.node_name(grant.node).to_owned(),
            cpu_milli: grant.cpu_milli,
            memory_mib: grant.memory_mib,
            gpus: grant.gpus.0,
            gpu_milli: grant.gpu_milli,
            pin: match grant.pin {
                Pin::Floating => KeptPin::Floating,
                Pin::Domain(domain) => KeptPin::Domain(domain),
                Pin::Beside => KeptPin::Beside,
            },
        }
    }

    /// The grant in a pool; nothing where the pool has no such node, or fewer GPUs there.
    pub fn grant(&self, pool: &Pool, stock: &Stock) -> Option<Grant> {
        let node = pool.node_named(&self.node)?;
        let gpus = GpuSet(self.gpus);
        let has = stock.gpus_free_milli(node).len();
        let is_there = gpus.iter().all(|gpu| gpu < has);
        is_there.then_some(Grant {
            node,
            cpu_milli: self.cpu_milli,
            memory_mib: self.memory_mib,
            gpus,
            gpu_milli: self.gpu_milli,
            pin: match self.pin {
                KeptPin::Floating => Pin::Floating,
                KeptPin::Domain(domain) => Pin::Domain(domain),
                KeptPin::Beside => Pin::Beside,
            },
            instances: None,
        })
    }

    /// The GPUs, by their numbers on the node.
    pub fn gpus(&self) -> impl Iterator<Item = u32> {
        GpuSet(self.gpus).iter().map(|gpu| gpu as u32)
    }
}
