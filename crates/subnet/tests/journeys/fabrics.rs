//! Small fabrics to be at home in.

use fabric::generate::{FatTreeSpec, HypercubeSpec, RandomRegularSpec, TorusSpec};
use fabric::{Fabric, NodeId, NodeKind};
use ib::{Guid, LinkRate, LinkSpeed};

pub const NDR: Option<LinkRate> = Some(LinkRate::x4(LinkSpeed::Ndr));

/// A builder of fabrics by hand: nodes by name, cables by port.
pub struct Cabling {
    pub fabric: Fabric,
    next: u64,
}

impl Cabling {
    pub fn new() -> Self {
        Self { fabric: Fabric::new(), next: 0x0c42_a103_0000_1000 }
    }

    fn add(&mut self, kind: NodeKind, ports: u8, name: &str) -> NodeId {
        self.next += 0x100;
        self.fabric.add_node(kind, Guid(self.next), ports, name)
    }

    pub fn switch(&mut self, ports: u8, name: &str) -> NodeId {
        self.add(NodeKind::Switch, ports, name)
    }

    pub fn host(&mut self, name: &str) -> NodeId {
        self.add(NodeKind::ChannelAdapter, 1, name)
    }

    pub fn cable(&mut self, a: (NodeId, u8), b: (NodeId, u8)) {
        self.fabric.connect(a, b, NDR).expect("two free ports");
    }
}

/// Two levels of `radix`-port switches, all hosts cabled.
pub fn leaf_spine(radix: u8) -> Fabric {
    FatTreeSpec { levels: Some(2), radix, ..FatTreeSpec::default() }.build().unwrap()
}

pub fn tree(levels: u8, radix: u8, pods: Option<u32>) -> Fabric {
    FatTreeSpec { levels: Some(levels), radix, pods, ..FatTreeSpec::default() }.build().unwrap()
}

pub fn torus(sizes: &[u32]) -> Fabric {
    TorusSpec { dimensions: sizes.to_vec(), ..TorusSpec::default() }.build().unwrap()
}

pub fn hypercube(dimensions: u32) -> Fabric {
    HypercubeSpec { dimensions, ..HypercubeSpec::default() }.build().unwrap()
}

pub fn random_regular(switches: u32, degree: u32, hosts: u32, seed: u64) -> Fabric {
    RandomRegularSpec { switches, degree, hosts, seed, ..RandomRegularSpec::default() }.build().unwrap()
}

/// One switch with this many hosts.
pub fn star(hosts: u8) -> Fabric {
    let mut cabling = Cabling::new();
    let switch = cabling.switch(hosts.max(2), "switch");
    for number in 1..=hosts {
        let host = cabling.host(&format!("host-{number}"));
        cabling.cable((host, 1), (switch, number));
    }
    cabling.fabric
}

/// Two hosts cabled to each other.
pub fn pair() -> Fabric {
    let mut cabling = Cabling::new();
    let (a, b) = (cabling.host("left"), cabling.host("right"));
    cabling.cable((a, 1), (b, 1));
    cabling.fabric
}

/// The node with this name.
pub fn node(fabric: &Fabric, name: &str) -> NodeId {
    fabric.nodes().find(|&node| fabric.name(node) == name).unwrap_or_else(|| panic!("no node {name}"))
}
