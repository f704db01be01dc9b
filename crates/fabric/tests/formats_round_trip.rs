//! What is written is read back the same, in every format that is read: generated fabrics and random ones.

use fabric::compare::{Properties, compare};
use fabric::formats::{Format, read, write};
use fabric::generate::{DragonflyPlusSpec, FatTreeSpec, HypercubeSpec, RandomRegularSpec, TorusSpec};
use fabric::{Fabric, NodeKind};
use ib::{Guid, Lid, LinkRate, LinkSpeed, LinkWidth};
use proptest::prelude::*;

const FORMATS: [Format; 4] = [Format::Native, Format::IbsimNet, Format::Ibnetdiscover, Format::SubnetList];

fn survives(fabric: &Fabric) {
    for format in FORMATS {
        // The list holds cables alone: not what has none, nor LID masks and kinds of port 0.
        let list = format == Format::SubnetList;
        let mut wanted = fabric.clone();
        if list {
            if fabric.nodes().any(|node| fabric.neighbors(node).next().is_none()) {
                continue;
            }
            for node in fabric.nodes() {
                wanted.set_enhanced_port_zero(node, false);
                let zero = if fabric.is_switch(node) { fabric.port(node, 0) } else { None };
                for port in zero.into_iter().chain(fabric.ports(node)) {
                    let cabled = fabric.peer(port).is_some();
                    let own = fabric.is_switch(node) || cabled;
                    wanted.set_lid(port, if own { fabric.lid(port) } else { Lid::NONE }, 0);
                    if !own {
                        wanted.set_port_guid(port, fabric.guid(node));
                    }
                }
            }
        }
        if matches!(format, Format::IbsimNet | Format::Ibnetdiscover) {
            for node in fabric.nodes().filter(|&node| !fabric.is_switch(node)) {
                for port in fabric.ports(node).filter(|&port| fabric.peer(port).is_none()) {
                    // Ports without a cable have no line, so neither LID nor GUID.
                    wanted.set_lid(port, Lid::NONE, 0);
                    let number = u64::from(fabric.port_number(port));
                    let counted = if format == Format::IbsimNet { number } else { 0 };
                    wanted.set_port_guid(port, Guid(fabric.guid(node).0.wrapping_add(counted)));
                }
            }
        }
        let text = write(fabric, format).unwrap();
        let back = read("back", text.as_bytes()).unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
        assert_eq!(back.format, format, "{text}");
        back.fabric.check_invariants();
        let differences = compare(&wanted, &back.fabric, Properties::ALL);
        assert!(differences.is_empty(), "{format}: {}\n{text}", differences[0]);
        assert_eq!(write(&back.fabric, format).unwrap(), write(&back.fabric, format).unwrap());
    }
}

#[test]
fn generated_fabrics_survive() {
    let rate = LinkRate::x4(LinkSpeed::Ndr);
    let tree = FatTreeSpec {
        levels: Some(3),
        radix: 8,
        pods: Some(3),
        hosts: None,
        taper: vec![],
        parallel: vec![],
        rate,
    };
    survives(&tree.build().unwrap());
    survives(&TorusSpec { dimensions: vec![3, 4], hosts: 2, parallel: 2, rate }.build().unwrap());
    survives(&HypercubeSpec { dimensions: 4, hosts: 1, rate }.build().unwrap());
    survives(&RandomRegularSpec { switches: 12, degree: 3, hosts: 1, seed: 7, rate }.build().unwrap());
    let groups = DragonflyPlusSpec { groups: 3, leaves: 2, spines: 2, hosts: 2, global_links: 2, rate };
    survives(&groups.build().unwrap());
}

/// A node as chance gives it: kind, ports, name, enhanced port 0, LID mask control, device.
type Chance = (u8, u8, String, bool, u8, u16);

fn rates() -> impl Strategy<Value = Option<LinkRate>> {
    proptest::option::of(
        (0..5usize, 0..9usize).prop_map(|(width, speed)| LinkRate {
            width: LinkWidth::ALL[width],
            speed: LinkSpeed::ALL[speed],
        }),
    )
}

fn fabric_of(nodes: &[Chance], cables: &[(u16, u16, Option<LinkRate>)], lids: bool) -> Fabric {
    let mut fabric = Fabric::new();
    for (index, (kind, ports, name, enhanced, lmc, device)) in nodes.iter().enumerate() {
        let kind = match kind {
            0..=3 => NodeKind::Switch,
            4..=7 => NodeKind::ChannelAdapter,
            8 => NodeKind::Router,
            _ => NodeKind::AggregationNode,
        };
        let aggregation = kind == NodeKind::AggregationNode;
        let guid = Guid(0x0002_c903_0000_0000 + ((index as u64) << 9));
        let node = fabric.add_node(kind, guid, *ports, if aggregation { "Aggregation Node" } else { name });
        fabric.set_system_guid(node, Guid(guid.0 + 511 - u64::from(*lmc)));
        fabric.set_device(node, u32::from(*device) << 5, *device % 0xc000);
        let lid = |port: u32| if lids { Lid(1 + index as u32 * 2048 + port * 128) } else { Lid::NONE };
        let lmc = if lids { *lmc } else { 0 };
        if kind == NodeKind::Switch {
            fabric.set_enhanced_port_zero(node, *enhanced);
            fabric.set_lid(fabric.port(node, 0).unwrap(), lid(0), lmc);
        } else {
            for port in fabric.ports(node) {
                let number = u32::from(fabric.port_number(port));
                fabric.set_lid(port, lid(number), lmc);
                fabric.set_port_guid(port, Guid(guid.0 + u64::from(number) * u64::from(*enhanced)));
            }
        }
    }
    let ports: Vec<_> = fabric.nodes().flat_map(|node| fabric.ports(node)).collect();
    for &(one, other, rate) in cables {
        let ends = [one, other].map(|at| {
            let port = ports[usize::from(at) % ports.len()];
            (fabric.node_of(port), fabric.port_number(port))
        });
        // Chance takes some ports twice; the graph refuses those.
        let _ = fabric.connect(ends[0], ends[1], rate);
    }
    fabric
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn random_fabrics_survive(
        nodes in proptest::collection::vec(
            (0u8..10, 1u8..9, "[ -~]{0,20}|[a-z]{1,3}", any::<bool>(), 0u8..8, any::<u16>()), 2..20),
        cables in proptest::collection::vec((any::<u16>(), any::<u16>(), rates()), 1..60),
        lids in any::<bool>(),
    ) {
        let fabric = fabric_of(&nodes, &cables, lids);
        survives(&fabric);
    }
}
