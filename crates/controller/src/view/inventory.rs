//! Every node and link that was ever there, with what became of it: a link that is lost is not gone from the list, it is
//! down.

use std::collections::BTreeMap;

use fabric::levels::Levels;
use fabric::{Fabric, NodeId, NodeKind, index};
use ib::{Guid, Lid, LinkRate};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

index! {
    /// A node of the inventory.
    NodeIndex
}

index! {
    /// A link of the inventory.
    LinkIndex
}

/// A device.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Its GUID.
    pub guid: Guid,
    /// Its name.
    pub name: Box<str>,
    /// What it is.
    pub kind: NodeKind,
    /// How many external ports it has.
    pub ports: u8,
    /// The LID of its first end port; 0 where it has none.
    pub lid: Lid,
    /// A switch's rank from the hosts up; 0 of all else.
    pub level: u8,
    /// Whether a cable leads to it.
    pub present: bool,
    /// Since when it is so.
    pub since: Timestamp,
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct End {
    /// The node.
    pub node: NodeIndex,
    /// The port there.
    pub port: u8,
}

/// What a link is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// Paths may use it.
    Active,
    /// It was there and is lost.
    Down,
    /// It flaps and is left down for a while.
    HeldDown,
}

/// A cable with its two ports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Its ends, the one with the smaller GUID first.
    pub ends: [End; 2],
    /// What it is doing.
    pub state: LinkState,
    /// The rate that its ends agreed on.
    pub rate: Option<LinkRate>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// How often it was lost since the controller started.
    pub losses: u32,
}

/// What is other than in the picture before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A link is lost.
    Lost(LinkIndex),
    /// A link is there that was not, or is back.
    Back(LinkIndex),
}

/// Every node and link that was ever there.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// By GUID.
    nodes: Vec<Node>,
    /// By their ends.
    links: Vec<Link>,
    /// First entry of each node in `cabled`, with one more entry than there are nodes.
    first_cabled: Vec<u32>,
    /// By node and port, the link there.
    cabled: Vec<(u8, LinkIndex)>,
    /// Nodes by name.
    by_name: Vec<NodeIndex>,
    /// Links in each state: active, down, held down.
    counts: [usize; 3],
    absent: usize,
    shape: u64,
    revision: u64,
}

impl Inventory {
    /// The picture after this one, and what is other in it than here. The first picture has no changes: all of it is new.
    pub fn next(&self, fabric: &Fabric, held: &[(Box<str>, u8)], now: Timestamp) -> (Self, Vec<Change>) {
        let (nodes, new_index) = self.next_nodes(fabric, now);
        let old_index: Vec<NodeIndex> = self
            .nodes
            .iter()
            .map(|node| NodeIndex(position(&nodes, node.guid).unwrap_or_default() as u32))
            .collect();
        let end =
            |port| End { node: new_index[fabric.node_of(port).index()], port: fabric.port_number(port) };
        let mut present: Vec<([End; 2], Option<LinkRate>)> = fabric
            .links()
            .map(|(a, b)| {
                let (a_end, b_end) = (end(a), end(b));
                ([a_end.min(b_end), a_end.max(b_end)], fabric.rate(a).or(fabric.rate(b)))
            })
            .collect();
        present.sort_unstable_by_key(|&(ends, _)| ends);
        // Ports that have a cable now: an old link at one of them was cabled otherwise, and is no more.
        let mut taken: Vec<End> = present.iter().flat_map(|&(ends, _)| ends).collect();
        taken.sort_unstable();
        let is_taken = |end: End| taken.binary_search(&end).is_ok();
        let mut links = Vec::with_capacity(present.len());
        let mut changed = Vec::new();
        let mut old = self.links.iter().map(|link| Link {
            ends: link.ends.map(|end| End { node: old_index[end.node.index()], port: end.port }),
            ..*link
        });
        let mut old_next = old.next();
        let mut present = present.into_iter().peekable();
        loop {
            let old_first = match (&old_next, present.peek()) {
                (None, None) => break,
                (Some(link), Some((ends, _))) => link.ends.cmp(ends),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
            };
            let was = if old_first.is_le() { std::mem::replace(&mut old_next, old.next()) } else { None };
            let is = if old_first.is_ge() { present.next() } else { None };
            match (was, is) {
                (Some(link), Some((_, rate))) => {
                    let back = link.state != LinkState::Active;
                    let since = if back { now } else { link.since };
                    links.push(Link { state: LinkState::Active, rate, since, ..link });
                    if back {
                        changed.push(Change::Back(LinkIndex(links.len() as u32 - 1)));
                    }
                }
                (None, Some((ends, rate))) => {
                    links.push(Link { ends, state: LinkState::Active, rate, since: now, losses: 0 });
                    if !self.nodes.is_empty() {
                        changed.push(Change::Back(LinkIndex(links.len() as u32 - 1)));
                    }
                }
                (Some(link), None) if link.ends.iter().any(|&end| is_taken(end)) => {}
                (Some(link), None) => {
                    let is_held = link.ends.iter().any(|end| {
                        let name = &nodes[end.node.index()].name;
                        held.iter().any(|(node, port)| node == name && *port == end.port)
                    });
                    let state = if is_held { LinkState::HeldDown } else { LinkState::Down };
                    let lost = link.state == LinkState::Active;
                    let since = if link.state == state { link.since } else { now };
                    links.push(Link { state, since, losses: link.losses + u32::from(lost), ..link });
                    if lost {
                        changed.push(Change::Lost(LinkIndex(links.len() as u32 - 1)));
                    }
                }
                (None, None) => {}
            }
        }
        let next = Self::indexed(nodes, links);
        let shape = self.shape + u64::from(!next.is_shaped_like(self));
        let is_other = shape != self.shape || !next.does_as(self);
        (Self { shape, revision: self.revision + u64::from(is_other), ..next }, changed)
    }

    /// Whether the same nodes and links are listed, whatever they do.
    fn is_shaped_like(&self, other: &Self) -> bool {
        let node = |node: &Node| (node.guid, node.kind, node.ports, node.level);
        self.nodes.len() == other.nodes.len()
            && self.links.len() == other.links.len()
            && self.nodes.iter().zip(&other.nodes).all(|(a, b)| node(a) == node(b) && a.name == b.name)
            && self.links.iter().zip(&other.links).all(|(a, b)| (a.ends, a.rate) == (b.ends, b.rate))
    }

    /// Whether what is listed in both does the same.
    fn does_as(&self, other: &Self) -> bool {
        self.links.iter().zip(&other.links).all(|(a, b)| a.state == b.state)
            && self.nodes.iter().zip(&other.nodes).all(|(a, b)| a.present == b.present)
    }

    /// The nodes by GUID, and where each of the fabric's is among them.
    fn next_nodes(&self, fabric: &Fabric, now: Timestamp) -> (Vec<Node>, Vec<NodeIndex>) {
        let levels = Levels::of(fabric);
        let node = |id: NodeId| {
            let port_zero = fabric.port(id, 0).filter(|_| fabric.is_switch(id));
            let lid = port_zero
                .into_iter()
                .chain(fabric.ports(id))
                .map(|port| fabric.lid(port))
                .find(|lid| lid.0 != 0);
            Node {
                guid: fabric.guid(id),
                name: fabric.name(id).into(),
                kind: fabric.kind(id),
                ports: fabric.port_count(id),
                lid: lid.unwrap_or(Lid(0)),
                level: levels.rank(id).unwrap_or(0),
                present: fabric.neighbors(id).next().is_some(),
                since: now,
            }
        };
        let mut merged: BTreeMap<Guid, Node> =
            self.nodes.iter().map(|node| (node.guid, Node { present: false, ..node.clone() })).collect();
        for id in fabric.nodes() {
            let mut new = node(id);
            if let Some(at) = position(&self.nodes, new.guid) {
                let old = &self.nodes[at];
                if old.present == new.present {
                    new.since = old.since;
                }
                // What has no cable for now is still of its level.
                if new.level == 0 {
                    new.level = old.level;
                }
            }
            merged.insert(new.guid, new);
        }
        for (guid, node) in &mut merged {
            if !node.present
                && let Some(at) = position(&self.nodes, *guid)
                && self.nodes[at].present
            {
                node.since = now;
            }
        }
        let nodes: Vec<Node> = merged.into_values().collect();
        let index = fabric
            .nodes()
            .map(|id| NodeIndex(position(&nodes, fabric.guid(id)).unwrap_or_default() as u32))
            .collect();
        (nodes, index)
    }

    fn indexed(nodes: Vec<Node>, links: Vec<Link>) -> Self {
        let mut at_ends: Vec<(End, LinkIndex)> = links
            .iter()
            .enumerate()
            .flat_map(|(at, link)| link.ends.map(|end| (end, LinkIndex(at as u32))))
            .collect();
        at_ends.sort_unstable();
        let mut first_cabled = vec![0; nodes.len() + 1];
        for (end, _) in &at_ends {
            first_cabled[end.node.index() + 1] += 1;
        }
        for node in 0..nodes.len() {
            first_cabled[node + 1] += first_cabled[node];
        }
        let mut by_name: Vec<NodeIndex> = (0..nodes.len() as u32).map(NodeIndex).collect();
        by_name.sort_unstable_by_key(|node| (&nodes[node.index()].name, *node));
        let mut counts = [0; 3];
        for link in &links {
            counts[link.state as usize] += 1;
        }
        let cabled = at_ends.into_iter().map(|(end, link)| (end.port, link)).collect();
        let absent = nodes.iter().filter(|node| !node.present).count();
        Self { nodes, links, first_cabled, cabled, by_name, counts, absent, shape: 0, revision: 0 }
    }

    /// Counts the changes of which nodes and links are listed: indices hold as long as it stays.
    pub fn shape(&self) -> u64 {
        self.shape
    }

    /// Counts the changes of the shape, of what links do, and of which nodes are there.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// All nodes, by GUID.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All links, by their ends.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// A node.
    pub fn node(&self, node: NodeIndex) -> &Node {
        &self.nodes[node.index()]
    }

    /// A link.
    pub fn link(&self, link: LinkIndex) -> &Link {
        &self.links[link.index()]
    }

    /// How many links are in a state.
    pub fn count(&self, state: LinkState) -> usize {
        self.counts[state as usize]
    }

    /// All nodes in the order of their names.
    pub fn by_name(&self) -> &[NodeIndex] {
        &self.by_name
    }

    /// How many nodes were there and are gone.
    pub fn absent(&self) -> usize {
        self.absent
    }

    /// The links of a node by port.
    pub fn links_of(&self, node: NodeIndex) -> &[(u8, LinkIndex)] {
        let range = self.first_cabled[node.index()] as usize..self.first_cabled[node.index() + 1] as usize;
        &self.cabled[range]
    }

    /// The link at a port.
    pub fn link_at(&self, end: End) -> Option<LinkIndex> {
        let links = self.links_of(end.node);
        let at = links.binary_search_by_key(&end.port, |&(port, _)| port).ok()?;
        Some(links[at].1)
    }

    /// The nodes that a person means: by GUID, with or without `0x`, or all of that name.
    pub fn find(&self, wanted: &str) -> Vec<NodeIndex> {
        let from = self.by_name.partition_point(|node| &*self.nodes[node.index()].name < wanted);
        let named: Vec<_> = self.by_name[from..]
            .iter()
            .copied()
            .take_while(|node| &*self.nodes[node.index()].name == wanted)
            .collect();
        if !named.is_empty() {
            return named;
        }
        let digits = wanted.strip_prefix("0x").unwrap_or(wanted);
        let guid = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
        let at = guid.and_then(|guid| position(&self.nodes, Guid(guid)));
        at.map(|at| NodeIndex(at as u32)).into_iter().collect()
    }

    /// A link's end as `node[port]`.
    pub fn label(&self, end: End) -> String {
        format!("{}[{}]", self.node(end.node).name, end.port)
    }
}

fn position(nodes: &[Node], guid: Guid) -> Option<usize> {
    nodes.binary_search_by_key(&guid, |node| node.guid).ok()
}

#[cfg(test)]
mod tests {
    use fabric::generate::SuperpodSpec;
    use fabric::{NodeKind, PortId};
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn small() -> Fabric {
        let mut fabric = Fabric::new();
        let spine = fabric.add_node(NodeKind::Switch, Guid(0x30), 4, "spine");
        let leaves = [0x20, 0x10]
            .map(|guid| fabric.add_node(NodeKind::Switch, Guid(guid), 4, &format!("leaf-{guid:x}")));
        for (leaf, port) in leaves.into_iter().zip(1..) {
            fabric.connect((spine, port), (leaf, 4), None).unwrap();
            let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(0x100 + u64::from(port)), 1, "host");
            fabric.connect((leaf, 1), (host, 1), None).unwrap();
        }
        fabric
    }

    fn uplink(fabric: &Fabric) -> PortId {
        fabric.port(NodeId(0), 1).unwrap()
    }

    #[test]
    fn a_lost_link_is_down_and_comes_back() {
        let mut fabric = small();
        let (first, changes) = Inventory::default().next(&fabric, &[], at(1));
        assert_eq!((first.nodes().len(), first.links().len(), changes), (5, 4, vec![]));
        fabric.disconnect(uplink(&fabric));
        let (second, changes) = first.next(&fabric, &[], at(2));
        let [Change::Lost(lost)] = changes[..] else { panic!("{changes:?}") };
        let link = *second.link(lost);
        assert_eq!(second.label(link.ends[0]), "leaf-20[4]");
        assert_eq!((link.state, link.since, link.losses), (LinkState::Down, at(2), 1));
        assert_eq!((second.count(LinkState::Active), second.count(LinkState::Down)), (3, 1));
        assert_eq!((first.shape(), first.revision()), (1, 1));
        assert_eq!((second.shape(), second.revision()), (1, 2));
        let (same, _) = second.next(&fabric, &[], at(3));
        assert_eq!((same.shape(), same.revision()), (1, 2));
        let (third, changes) = second.next(&fabric, &[("spine".into(), 1)], at(3));
        assert_eq!(changes, []);
        assert_eq!((third.link(lost).state, third.link(lost).since), (LinkState::HeldDown, at(3)));
        let (fourth, changes) = third.next(&small(), &[], at(4));
        assert_eq!(changes, [Change::Back(lost)]);
        assert_eq!((fourth.link(lost).state, fourth.link(lost).losses), (LinkState::Active, 1));
    }

    #[test]
    fn a_port_that_was_cabled_otherwise_keeps_no_old_link() {
        let mut fabric = small();
        let (first, _) = Inventory::default().next(&fabric, &[], at(1));
        fabric.disconnect(uplink(&fabric));
        fabric.connect((NodeId(0), 3), (NodeId(1), 4), None).unwrap();
        let (second, changes) = first.next(&fabric, &[], at(2));
        assert_eq!(second.links().len(), 4);
        let [Change::Back(link)] = changes[..] else { panic!("{changes:?}") };
        assert_eq!(second.label(second.link(link).ends[1]), "spine[3]");
        assert_eq!((second.shape(), second.revision()), (2, 2));
    }

    #[test]
    fn a_node_that_is_gone_is_kept_as_absent_and_nodes_are_found() {
        let fabric = small();
        let (first, _) = Inventory::default().next(&fabric, &[], at(1));
        let mut without = Fabric::new();
        without.add_node(NodeKind::Switch, Guid(0x30), 4, "spine");
        let (second, changes) = first.next(&without, &[], at(2));
        assert_eq!(changes.len(), 4);
        let [leaf] = second.find("leaf-20")[..] else { panic!() };
        assert_eq!(second.find("0x20"), [leaf]);
        assert_eq!((second.node(leaf).present, second.node(leaf).since), (false, at(2)));
        assert_eq!(second.find("host").len(), 2);
        for nothing in ["", "0x", "no", "+20"] {
            assert_eq!(second.find(nothing), [], "{nothing}");
        }
        let (third, _) = second.next(&fabric, &[], at(3));
        assert!(third.node(leaf).present && third.nodes().len() == 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn links_are_up_as_they_are_in_the_fabric_and_every_change_is_told(
            steps in prop::collection::vec(prop::collection::vec(0..400_usize, 0..5), 1..6),
        ) {
            let whole = SuperpodSpec { units: 1, ..SuperpodSpec::default() }.build().unwrap();
            let ports: Vec<_> = whole.links().map(|(port, _)| port).collect();
            let (mut inventory, _) = Inventory::default().next(&whole, &[], at(0));
            let total = inventory.links().len();
            for (second, pulled) in (1..).zip(steps) {
                let mut fabric = whole.clone();
                for at in pulled {
                    fabric.disconnect(ports[at % ports.len()]);
                }
                let before = inventory.count(LinkState::Active);
                let (next, changes) = inventory.next(&fabric, &[], at(second));
                let back = changes.iter().filter(|change| matches!(change, Change::Back(_))).count();
                let lost = changes.len() - back;
                prop_assert_eq!(next.links().len(), total);
                prop_assert_eq!(next.count(LinkState::Active), fabric.link_count());
                prop_assert_eq!(before + back - lost, fabric.link_count());
                for (at, link) in next.links().iter().enumerate() {
                    for end in link.ends {
                        prop_assert_eq!(next.link_at(end), Some(LinkIndex(at as u32)));
                    }
                }
                inventory = next;
            }
        }
    }
}
