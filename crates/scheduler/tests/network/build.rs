//! Fabrics and pools for these tests.

use fabric::Fabric;
use fabric::generate::{
    DragonflyPlusSpec, FatTreeSpec, HypercubeSpec, RandomRegularSpec, SuperpodSpec, TorusSpec,
};
use ib::Lid;
use pool::formats::{Equipment, from_fabric};
use pool::{Gpu, Health, Node, Pool};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::{Options, Tables, engine_by_name};
use scheduler::network::{Locality, NodePorts};

/// A fabric, its hosts as a pool, and their groups.
pub struct Site {
    pub fabric: Fabric,
    pub pool: Pool,
    pub ports: NodePorts,
    pub locality: Locality,
}

/// The site of a fabric, every end port with a LID.
pub fn site(fabric: Fabric) -> Site {
    let pool = from_fabric("test", &fabric, &Equipment::default()).unwrap();
    joined(fabric, pool)
}

/// The site of a fabric with a pool of its own.
pub fn joined(mut fabric: Fabric, pool: Pool) -> Site {
    let ports: Vec<_> = fabric.end_ports().collect();
    for (number, port) in ports.into_iter().enumerate() {
        fabric.set_lid(port, Lid(number as u32 + 1), 0);
    }
    let ports = NodePorts::of(&fabric, &pool);
    let locality = Locality::new(&fabric, &pool, &ports);
    Site { fabric, pool, ports, locality }
}

pub fn superpod(units: u32) -> Fabric {
    SuperpodSpec { units, ..Default::default() }.build().unwrap()
}

pub fn dragonfly() -> Fabric {
    let spec = DragonflyPlusSpec {
        groups: 3,
        leaves: 2,
        spines: 2,
        hosts: 2,
        global_links: 2,
        ..Default::default()
    };
    spec.build().unwrap()
}

/// Small fabrics of many kinds.
pub fn small(kind: usize) -> Fabric {
    let built = match kind % 7 {
        0 => FatTreeSpec { levels: Some(2), radix: 8, ..Default::default() }.build(),
        1 => FatTreeSpec { levels: Some(3), radix: 4, ..Default::default() }.build(),
        2 => FatTreeSpec { levels: Some(2), radix: 9, taper: vec![2.0], ..Default::default() }.build(),
        3 => TorusSpec { dimensions: vec![4, 3], hosts: 2, ..Default::default() }.build(),
        4 => HypercubeSpec { dimensions: 3, hosts: 2, ..Default::default() }.build(),
        5 => RandomRegularSpec { switches: 10, degree: 3, hosts: 2, seed: 5, ..Default::default() }.build(),
        _ => return dragonfly(),
    };
    built.unwrap()
}

/// Takes away about `per_cent` of all cables, hosts' too.
pub fn degraded(mut fabric: Fabric, per_cent: u32, seed: u64) -> Fabric {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let links: Vec<_> = fabric.links().collect();
    for (port, _) in links {
        if chance.next_u32() % 100 < per_cent {
            fabric.disconnect(port);
        }
    }
    fabric
}

/// The pool of a fabric's hosts with NVLink domains of `nodes_per_domain` nodes, in the order of their names from `start` on,
/// and a node that the fabric does not show.
pub fn with_domains(fabric: &Fabric, nodes_per_domain: u32, start: u32) -> Pool {
    let plain = from_fabric("test", fabric, &Equipment::default()).unwrap();
    let mut pool = Pool::new();
    let model = pool.model_named("gpu", 0);
    let mut add = |name: &str, domain, attachments: Vec<Option<pool::Attachment>>| {
        let gpu = |attachment| Gpu { model, nvlink: domain, numa: 0, attachment, health: Health::default() };
        pool.add_node(Node {
            name: name.to_owned(),
            cpu_milli: vec![0],
            memory_mib: 0,
            health: Health::default(),
            gpus: attachments.into_iter().map(gpu).collect(),
        })
        .unwrap();
    };
    for node in plain.nodes() {
        let attachments = plain.gpus_of(node).map(|gpu| plain.attachment(gpu).cloned()).collect();
        add(plain.node_name(node), Some((node.0 + start) / nodes_per_domain), attachments);
    }
    add("elsewhere", None, vec![None; 8]);
    pool
}

/// Tables along shortest paths; `None` where the fabric cannot be routed as it is cabled.
pub fn routed(fabric: &Fabric) -> Option<Tables> {
    let engine = engine_by_name("min-hop").unwrap();
    engine.route(fabric, &Options::default()).ok().map(|routes| routes.tables)
}
