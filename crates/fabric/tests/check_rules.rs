//! Each rule finds the fault that was planted, names both its ends, and nothing else; a sound fabric has none.

use fabric::check::{Finding, FindingKind, Severity, check};
use fabric::formats::Loaded;
use fabric::generate::{
    DragonflyPlusSpec, FatTreeSpec, Generation, HypercubeSpec, RandomRegularSpec, SuperpodSpec, TorusSpec,
};
use fabric::{Fabric, NodeKind, PortId};
use ib::{Guid, Lid, LinkRate, LinkSpeed, LinkWidth};

const NDR: LinkRate = LinkRate::x4(LinkSpeed::Ndr);

fn findings(fabric: &Fabric) -> Vec<Finding> {
    check(&Loaded::from_fabric(fabric.clone()))
}

fn tree(levels: u8, taper: Vec<f64>, hosts: Option<u32>) -> Fabric {
    let levels = hosts.is_none().then_some(levels);
    FatTreeSpec { levels, radix: 16, pods: None, hosts, taper, parallel: vec![], rate: NDR }.build().unwrap()
}

/// The only finding of a fabric.
fn only(fabric: &Fabric) -> Finding {
    let mut findings = findings(fabric);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

fn link_between_switches(fabric: &Fabric, nth: usize) -> (PortId, PortId) {
    let is_switch = |port| fabric.is_switch(fabric.node_of(port));
    fabric.links().filter(|&(one, other)| is_switch(one) && is_switch(other)).nth(nth).unwrap()
}

#[test]
fn sound_fabrics_have_no_findings() {
    let mut sound = vec![
        tree(2, vec![], None),
        tree(3, vec![], None),
        tree(2, vec![3.0], None),
        tree(3, vec![1.0, 3.0], None),
        tree(3, vec![], Some(500)),
        tree(3, vec![], Some(77)),
        TorusSpec { dimensions: vec![4, 5], hosts: 3, parallel: 2, rate: NDR }.build().unwrap(),
        HypercubeSpec { dimensions: 5, hosts: 4, rate: NDR }.build().unwrap(),
        RandomRegularSpec { switches: 30, degree: 5, hosts: 4, seed: 3, rate: NDR }.build().unwrap(),
        DragonflyPlusSpec { groups: 5, leaves: 4, spines: 4, hosts: 8, global_links: 4, rate: NDR }
            .build()
            .unwrap(),
    ];
    for units in [1, 2, 3, 4] {
        for generation in [Generation::Ndr, Generation::Xdr] {
            if let Ok(fabric) = (SuperpodSpec { units, generation }).build() {
                sound.push(fabric);
            }
        }
    }
    for (index, fabric) in sound.iter().enumerate() {
        let found = findings(fabric);
        assert!(found.is_empty(), "fabric {index}: {}", found[0]);
    }
}

#[test]
fn a_slow_or_narrow_link_between_switches() {
    let mut fabric = tree(3, vec![], None);
    let (one, other) = link_between_switches(&fabric, 100);
    fabric.set_rate(one, Some(LinkRate::x4(LinkSpeed::Hdr)));
    let finding = only(&fabric);
    assert_eq!(finding.kind, FindingKind::SlowLink);
    assert_eq!(finding.ends, [fabric.port_label(one), fabric.port_label(other)]);
    fabric.set_rate(one, Some(LinkRate { width: LinkWidth::X1, speed: LinkSpeed::Ndr }));
    assert_eq!(only(&fabric).kind, FindingKind::NarrowLink);
}

#[test]
fn a_slow_host_among_its_kind_but_not_a_slower_kind() {
    let mut fabric = tree(2, vec![], None);
    let host = fabric.hosts().nth(5).unwrap();
    let port = fabric.ports(host).next().unwrap();
    fabric.set_rate(port, Some(LinkRate::x4(LinkSpeed::Edr)));
    let finding = only(&fabric);
    assert_eq!((finding.kind, finding.severity), (FindingKind::SlowLink, Severity::Warning));
    // All of them slower than the switches' links: that is what was bought.
    let hosts: Vec<PortId> = fabric.hosts().flat_map(|host| fabric.ports(host)).collect();
    for port in hosts {
        fabric.set_rate(port, Some(LinkRate::x4(LinkSpeed::Hdr)));
    }
    assert_eq!(findings(&fabric), []);
}

#[test]
fn a_missing_uplink_and_one_too_many() {
    let mut fabric = tree(2, vec![], None);
    let (one, other) = link_between_switches(&fabric, 20);
    let names = [one, other].map(|port| fabric.name(fabric.node_of(port)).to_owned());
    fabric.disconnect(one);
    let finding = only(&fabric);
    assert_eq!((finding.kind, &finding.ends[..]), (FindingKind::UnequalUplinks, &names[..]));
    assert!(finding.message.contains("7 uplinks") && finding.message.contains("have 8"), "{finding}");
}

#[test]
fn parallel_links_that_differ_where_neither_is_unusual() {
    let mut fabric = Fabric::new();
    let one = fabric.add_node(NodeKind::Switch, Guid(1), 8, "a");
    let other = fabric.add_node(NodeKind::Switch, Guid(2), 8, "b");
    for (index, speed) in [LinkSpeed::Hdr, LinkSpeed::Edr, LinkSpeed::Edr, LinkSpeed::Edr, LinkSpeed::Edr]
        .into_iter()
        .enumerate()
    {
        let port = index as u8 + 1;
        fabric.connect((one, port), (other, port), Some(LinkRate::x4(speed))).unwrap();
    }
    let finding = only(&fabric);
    assert_eq!(finding.kind, FindingKind::ParallelLinksDiffer);
    assert_eq!(finding.ends, ["a[2]", "b[2]"]);
}

#[test]
fn islands_and_nodes_without_a_cable() {
    let mut fabric = tree(2, vec![], None);
    fabric.add_node(NodeKind::ChannelAdapter, Guid(9), 1, "idle");
    let finding = only(&fabric);
    assert_eq!((finding.kind, &finding.ends[..]), (FindingKind::NotCabled, &["idle".to_owned()][..]));
    let leaf = fabric.add_node(NodeKind::Switch, Guid(10), 4, "far");
    let idle = fabric.nodes().nth(fabric.node_count() - 2).unwrap();
    fabric.connect((leaf, 1), (idle, 1), Some(NDR)).unwrap();
    let finding = only(&fabric);
    assert_eq!((finding.kind, finding.severity), (FindingKind::Island, Severity::Critical));
    assert!(finding.message.contains("1 switches and 1 other nodes"), "{finding}");
}

#[test]
fn guids_and_lids_that_two_hold() {
    let mut fabric = tree(2, vec![], None);
    let [one, other] = [3, 9].map(|nth| fabric.hosts().nth(nth).unwrap());
    let ports = [one, other].map(|host| fabric.ports(host).next().unwrap());
    for (index, node) in fabric.nodes().collect::<Vec<_>>().into_iter().enumerate() {
        let port = if fabric.is_switch(node) { 0 } else { 1 };
        fabric.set_lid(fabric.port(node, port).unwrap(), Lid(index as u32 + 1), 0);
    }
    assert_eq!(findings(&fabric), []);
    fabric.set_lid(ports[0], fabric.lid(ports[1]), 0);
    let finding = only(&fabric);
    assert_eq!((finding.kind, finding.ends.len()), (FindingKind::DuplicateLid, 2));
    fabric.set_lid(ports[0], Lid(5000), 0);
    fabric.set_port_guid(ports[0], fabric.port_guid(ports[1]));
    let finding = only(&fabric);
    assert_eq!((finding.kind, finding.severity), (FindingKind::DuplicateGuid, Severity::Critical));
    fabric.add_node(NodeKind::ChannelAdapter, fabric.guid(one), 1, "clone");
    let found = findings(&fabric);
    assert_eq!(found[0].kind, FindingKind::DuplicateGuid);
    assert!(found[0].ends.contains(&"clone".to_owned()), "{found:#?}");
    // Most important first.
    assert!(found.is_sorted_by_key(|finding| (finding.severity, finding.kind)));
}

#[test]
fn hosts_on_spines_and_cables_to_itself() {
    let mut fabric = Fabric::new();
    let switch =
        |fabric: &mut Fabric, guid: u64, name: &str| fabric.add_node(NodeKind::Switch, Guid(guid), 12, name);
    let leaves = [1, 2, 3].map(|n| switch(&mut fabric, n, &format!("leaf-{n}")));
    let spines = [4, 5].map(|n| switch(&mut fabric, n, &format!("spine-{n}")));
    for (i, &leaf) in leaves.iter().enumerate() {
        for (j, &spine) in spines.iter().enumerate() {
            fabric.connect((leaf, j as u8 + 1), (spine, i as u8 + 1), Some(NDR)).unwrap();
        }
        for port in 3..11 {
            let guid = Guid(100 + i as u64 * 16 + u64::from(port));
            let host = fabric.add_node(NodeKind::ChannelAdapter, guid, 1, &format!("n{i}-{port}"));
            fabric.connect((leaf, port), (host, 1), Some(NDR)).unwrap();
        }
    }
    assert_eq!(findings(&fabric), []);
    let manager = fabric.add_node(NodeKind::ChannelAdapter, Guid(500), 1, "manager");
    fabric.connect((spines[1], 9), (manager, 1), Some(LinkRate::x4(LinkSpeed::Edr))).unwrap();
    let finding = only(&fabric);
    assert_eq!((finding.kind, finding.severity), (FindingKind::HostOnSpine, Severity::Info));
    assert_eq!(finding.ends, ["manager[1]", "spine-5[9]"]);
    fabric.connect((spines[1], 10), (spines[1], 11), Some(LinkRate::x4(LinkSpeed::Sdr))).unwrap();
    let found = findings(&fabric);
    assert_eq!(
        found.iter().map(|finding| finding.kind).collect::<Vec<_>>(),
        [FindingKind::HostOnSpine, FindingKind::SelfLoop]
    );
}

#[test]
fn nodes_of_one_name_are_told_apart_by_guid() {
    let mut fabric = Fabric::new();
    let one = fabric.add_node(NodeKind::Switch, Guid(1), 4, "switch");
    let other = fabric.add_node(NodeKind::Switch, Guid(2), 4, "switch");
    for port in 1..4 {
        fabric.connect((one, port), (other, port), Some(NDR)).unwrap();
    }
    fabric.set_rate(fabric.port(one, 2).unwrap(), Some(LinkRate::x4(LinkSpeed::Sdr)));
    assert_eq!(only(&fabric).ends, ["switch (0x0000000000000001)[2]", "switch (0x0000000000000002)[2]"]);
}
