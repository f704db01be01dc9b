//! A pool from a fabric: its hosts by name, each with GPUs beside its adapters.
//!
//! A fabric says which adapters there are, not which GPUs: their number and model are given. A host is the first word of its
//! adapters' names. GPU `i` sits beside the host's port `i` where there are as many ports as GPUs or more, else ports
//! are shared evenly, neighbours together; so GPUs of one number hang on one rail.

use std::collections::BTreeMap;

use fabric::Fabric;
use fabric::summary::machine;

use crate::FormatError;
use crate::gpu::Attachment;
use crate::node::{Gpu, Health, Node, Pool};

/// What a fabric does not say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equipment {
    /// GPUs of each host.
    pub gpus_per_node: u16,
    /// Their model.
    pub model: String,
    /// Memory of one, MiB; 0: not known.
    pub memory_mib: u32,
    /// NUMA nodes of each host, at least 1; GPUs are spread over them evenly, in order.
    pub numa: u16,
}

impl Default for Equipment {
    fn default() -> Self {
        Self { gpus_per_node: 8, model: "gpu".to_owned(), memory_mib: 0, numa: 2 }
    }
}

/// What the adapters of a host are ordered by: numbers in names count by their value, so that `mlx5_2` comes before `mlx5_10`.
pub fn in_order(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

/// The pool of a fabric's hosts, in the order of their names.
///
/// # Errors
/// Where no adapter has a name that a site gave, or the pool would be too large.
pub fn read(name: &str, fabric: &Fabric, equipment: &Equipment) -> Result<Pool, FormatError> {
    let mut hosts: BTreeMap<&str, Vec<fabric::NodeId>> = BTreeMap::new();
    for adapter in fabric.hosts() {
        if let Some(host) = machine(fabric, adapter) {
            hosts.entry(host).or_default().push(adapter);
        }
    }
    if hosts.is_empty() {
        let what = "no adapter of the fabric has a host's name".to_owned();
        let mend = "let rdma-ndd set node descriptions (`host mlx5_0`), or write the pool as TOML";
        return Err(FormatError::whole(name, what, mend));
    }
    let mut pool = Pool::new();
    let model = pool.model_named(&equipment.model, equipment.memory_mib);
    let (count, numa) = (usize::from(equipment.gpus_per_node), usize::from(equipment.numa.max(1)));
    for (host, mut adapters) in hosts {
        adapters.sort_by_key(|&adapter| in_order(fabric.name(adapter)));
        let mut ports = Vec::new();
        for adapter in adapters {
            for (port, _) in fabric.neighbors(adapter) {
                ports.push(Attachment::Port { guid: fabric.guid(adapter), port: fabric.port_number(port) });
            }
        }
        let domain = pool.node_count() as u32;
        let beside = |gpu: usize| {
            let at = if ports.len() >= count { gpu } else { gpu * ports.len() / count };
            ports.get(at).cloned()
        };
        let gpu = |gpu: usize| Gpu {
            model,
            nvlink: Some(domain),
            numa: (gpu * numa / count) as u16,
            attachment: beside(gpu),
            health: Health::default(),
        };
        let node = Node {
            name: host.to_owned(),
            cpu_milli: vec![0; numa],
            memory_mib: 0,
            health: Health::default(),
            gpus: (0..count).map(gpu).collect(),
        };
        pool.add_node(node)
            .map_err(|problem| FormatError::whole(name, problem.to_string(), "give fewer GPUs per node"))?;
    }
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use fabric::NodeKind;
    use ib::Guid;

    use super::*;

    fn small(adapters: u8) -> Fabric {
        let mut fabric = Fabric::new();
        let leaf = fabric.add_node(NodeKind::Switch, Guid(1), 40, "leaf");
        for adapter in (0..adapters).rev() {
            let guid = Guid(0x100 + u64::from(adapter));
            let node = fabric.add_node(NodeKind::ChannelAdapter, guid, 1, &format!("n1 mlx5_{adapter}"));
            fabric.connect((leaf, adapter + 1), (node, 1), None).unwrap();
        }
        fabric.add_node(NodeKind::ChannelAdapter, Guid(2), 1, "MT4129 ConnectX7 Mellanox Technologies");
        fabric
    }

    #[test]
    fn gpus_sit_beside_adapters() {
        let guids = |adapters| {
            let pool = read("f.net", &small(adapters), &Equipment::default()).unwrap();
            pool.check_invariants();
            assert_eq!((pool.node_count(), pool.gpu_count()), (1, 8));
            let guid = |gpu| match pool.attachment(gpu) {
                Some(Attachment::Port { guid, port: 1 }) => guid.0 - 0x100,
                other => panic!("{other:?}"),
            };
            pool.gpus().map(guid).collect::<Vec<_>>()
        };
        assert_eq!(guids(12), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(guids(4), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(guids(1), [0; 8]);
    }

    #[test]
    fn a_fabric_without_names_is_refused() {
        let error = read("f.net", &small(0), &Equipment::default()).unwrap_err().to_string();
        assert!(error.contains("rdma-ndd"), "{error}");
    }
}
