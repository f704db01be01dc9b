//! `/api/v1/topology`: the whole fabric in flat arrays, for who draws it; what changes in it comes as a stream.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use fabric::NodeKind;
use futures_util::stream::{self, Stream};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use super::{guid, name};
use crate::site::{Busy, Site};
use crate::view::{Inventory, LinkState, NodeIndex};

/// Nodes: an array a property, all of the same length, by GUID.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct TopologyNodes {
    /// GUIDs.
    pub guid: Vec<String>,
    /// Names.
    pub name: Vec<String>,
    /// Where in `kinds` each one's kind is.
    pub kind: Vec<u8>,
    /// A switch's rank from the hosts up, from 1; 0 of all else.
    pub tier: Vec<u8>,
    /// The pod, from 1: switches below the top tier that are cabled together, or serve the adapters of the same servers,
    /// with these adapters. 0 of what is in none.
    pub pod: Vec<u32>,
    /// External ports.
    pub ports: Vec<u8>,
}

/// Links: an array a property, all of the same length.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct TopologyLinks {
    /// Where among the nodes the end with the smaller GUID is.
    pub a: Vec<u32>,
    /// The port there.
    pub a_port: Vec<u8>,
    /// Where among the nodes the other end is.
    pub b: Vec<u32>,
    /// The port there.
    pub b_port: Vec<u8>,
    /// Where in `rates` each one's rate is.
    pub rate: Vec<u8>,
}

/// What is not in service, by place in the arrays of the shape. Whatever is not named is in service.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
pub struct TopologyStates {
    /// Which shape the places belong to: where it is another than that of the arrays at hand, they have to be had anew.
    pub shape: u64,
    /// Counts changes.
    pub revision: u64,
    /// Links that are lost.
    pub down: Vec<u32>,
    /// Links that flap and are left down for a while.
    pub held_down: Vec<u32>,
    /// Nodes that were there and are gone.
    pub absent: Vec<u32>,
}

/// The whole fabric.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Topology {
    /// The highest rank of a switch.
    pub tiers: u8,
    /// How many pods there are.
    pub pods: u32,
    /// Kinds of nodes.
    pub kinds: Vec<String>,
    /// Rates of links, as in `4xNDR`; the empty one is not known.
    pub rates: Vec<String>,
    /// Nodes.
    pub nodes: TopologyNodes,
    /// Links.
    pub links: TopologyLinks,
    /// What is not in service.
    pub states: TopologyStates,
}

/// Sets that are joined two by two.
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    fn find(&mut self, of: u32) -> u32 {
        let mut at = of;
        while self.0[at as usize] != at {
            let above = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = above;
            at = above;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// The switches that lie below the top tier.
fn is_low(inventory: &Inventory, node: NodeIndex, top: u8) -> bool {
    let node = inventory.node(node);
    node.kind == NodeKind::Switch && node.level > 0 && node.level < top
}

/// The server of an adapter: the first word of its name, as in `dgx-0001 mlx5_0`.
fn server(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or_default()
}

/// Sets of switches below the top tier, joined over links and, with `servers`, over servers with adapters on several.
fn groups(inventory: &Inventory, top: u8, servers: bool) -> Sets {
    let mut sets = Sets::new(inventory.nodes().len());
    let mut first_of: BTreeMap<&str, u32> = BTreeMap::new();
    for link in inventory.links() {
        let [a, b] = link.ends.map(|end| end.node);
        match (is_low(inventory, a, top), is_low(inventory, b, top)) {
            (true, true) => sets.join(a.0, b.0),
            (false, false) => {}
            (is_a, _) => {
                let (switch, other) = if is_a { (a, b) } else { (b, a) };
                let other = inventory.node(other);
                if servers && other.kind == NodeKind::ChannelAdapter {
                    let first = *first_of.entry(server(&other.name)).or_insert(switch.0);
                    sets.join(first, switch.0);
                }
            }
        }
    }
    sets
}

/// The pod of each node, and how many there are. Pods are numbered in the order of their switches' names.
fn pods(inventory: &Inventory, top: u8) -> (Vec<u32>, u32) {
    let number = |mut sets: Sets| {
        let mut of_root: BTreeMap<u32, u32> = BTreeMap::new();
        let mut pod = vec![0; inventory.nodes().len()];
        for &node in inventory.by_name().iter().filter(|&&node| is_low(inventory, node, top)) {
            let next = of_root.len() as u32 + 1;
            pod[node.index()] = *of_root.entry(sets.find(node.0)).or_insert(next);
        }
        (pod, of_root.len() as u32)
    };
    let (mut pod, mut count) = number(groups(inventory, top, true));
    if count == 1 {
        // Servers with adapters in all places join everything: then they say nothing.
        (pod, count) = number(groups(inventory, top, false));
    }
    for link in inventory.links() {
        let [a, b] = link.ends.map(|end| end.node);
        for (from, to) in [(a, b), (b, a)] {
            let is_switch = inventory.node(to).kind == NodeKind::Switch;
            if !is_switch && pod[to.index()] == 0 {
                pod[to.index()] = pod[from.index()];
            }
        }
    }
    (pod, count)
}

/// Where in `list` something is; it is added where it is not there yet.
fn place(list: &mut Vec<String>, wanted: impl Into<String>) -> u8 {
    let wanted = wanted.into();
    let at = list.iter().position(|has| *has == wanted).unwrap_or_else(|| {
        list.push(wanted);
        list.len() - 1
    });
    u8::try_from(at).unwrap_or(u8::MAX)
}

fn states(inventory: &Inventory) -> TopologyStates {
    let links = |state| {
        let all = inventory.links().iter().zip(0..);
        let is_so = |&(link, _): &(&crate::view::Link, u32)| link.state == state;
        if inventory.count(state) == 0 { Vec::new() } else { all.filter(is_so).map(|(_, at)| at).collect() }
    };
    let nodes = inventory.nodes().iter().zip(0..);
    TopologyStates {
        shape: inventory.shape(),
        revision: inventory.revision(),
        down: links(LinkState::Down),
        held_down: links(LinkState::HeldDown),
        absent: nodes.filter(|(node, _)| !node.present).map(|(_, at)| at).collect(),
    }
}

fn show(inventory: &Inventory) -> Topology {
    let tiers = inventory.nodes().iter().map(|node| node.level).max().unwrap_or(0);
    let (pod, pods) = pods(inventory, tiers);
    let (mut kinds, mut rates) = (Vec::new(), Vec::new());
    let mut nodes = TopologyNodes { pod, ..TopologyNodes::default() };
    for node in inventory.nodes() {
        nodes.guid.push(guid(node.guid));
        nodes.name.push(node.name.to_string());
        nodes.kind.push(place(&mut kinds, name(node.kind)));
        nodes.tier.push(node.level);
        nodes.ports.push(node.ports);
    }
    let mut links = TopologyLinks::default();
    for link in inventory.links() {
        let [a, b] = link.ends;
        links.a.push(a.node.0);
        links.a_port.push(a.port);
        links.b.push(b.node.0);
        links.b_port.push(b.port);
        let rate = link.rate.map(|rate| rate.to_string()).unwrap_or_default();
        links.rate.push(place(&mut rates, rate));
    }
    Topology { tiers, pods, kinds, rates, nodes, links, states: states(inventory) }
}

/// The whole fabric in flat arrays: nodes with their tiers and pods, links with their ends, and what is not in service.
#[utoipa::path(
    get, path = "/topology", tag = "fabric",
    responses(
        (status = 200, body = Topology),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn topology(State(site): State<Site>) -> Result<Json<Topology>, Problem> {
    let view = site.newest.get();
    // Large fabrics take some milliseconds: others are answered meanwhile.
    let shown = tokio::task::spawn_blocking(move || show(&view.inventory));
    Ok(Json(shown.await.map_err(|_| Busy)?))
}

struct Watching {
    site: Site,
    pictures: tokio::sync::watch::Receiver<u64>,
    told: Option<u64>,
}

impl Watching {
    /// What is out of service, at first and after each change; nothing more when the controller ends.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            // Marked as seen first: what comes meanwhile is looked at next.
            self.pictures.borrow_and_update();
            let inventory = Arc::clone(&self.site.newest.get().inventory);
            let revision = inventory.revision();
            if self.told != Some(revision) {
                self.told = Some(revision);
                let text = serde_json::to_string(&states(&inventory)).unwrap_or_default();
                return Some((Ok(Event::default().id(revision.to_string()).data(text)), self));
            }
            let ended = self.site.ending.wait_for(|&ending| ending);
            tokio::select! {
                changed = self.pictures.changed() => changed.ok()?,
                _ = ended => return None,
            }
        }
    }
}

/// What is not in service, at first and whenever that changes, as server-sent events: the data is the `states` of
/// `/api/v1/topology` as JSON. Each one is whole, so that none that is missed matters.
#[utoipa::path(
    get, path = "/topology/stream", tag = "fabric",
    responses((status = 200, content_type = "text/event-stream", body = String)),
)]
async fn stream_states(State(site): State<Site>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let pictures = site.newest.changes();
    let watching = Watching { site, pictures, told: None };
    Sse::new(stream::unfold(watching, Watching::next)).keep_alive(KeepAlive::default())
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(topology)).routes(routes!(stream_states))
}

#[cfg(test)]
mod tests {
    use fabric::generate::{FatTreeSpec, SuperpodSpec};
    use jiff::Timestamp;

    use super::*;

    fn inventory(fabric: &fabric::Fabric) -> Inventory {
        Inventory::default().next(fabric, &[], Timestamp::UNIX_EPOCH).0
    }

    #[test]
    fn units_of_a_superpod_are_pods_and_its_spines_are_in_none() {
        let shown = show(&inventory(&SuperpodSpec { units: 2, ..SuperpodSpec::default() }.build().unwrap()));
        assert_eq!((shown.tiers, shown.pods), (2, 2));
        for (name, (&pod, &tier)) in
            shown.nodes.name.iter().zip(shown.nodes.pod.iter().zip(&shown.nodes.tier))
        {
            let wanted = match name.as_str() {
                name if name.starts_with("spine") => (0, 2),
                name if name.starts_with("leaf-su01") => (1, 1),
                name if name.starts_with("leaf-su02") => (2, 1),
                name if name < "dgx-0033" => (1, 0),
                _ => (2, 0),
            };
            assert_eq!((pod, tier), wanted, "{name}");
        }
        let links = &shown.links;
        let lengths = [&links.a_port, &links.b_port, &links.rate].map(Vec::len);
        assert_eq!((links.a.len(), links.b.len(), lengths), (1024, 1024, [1024; 3]));
        assert_eq!((shown.rates, shown.states.down), (vec!["4xNDR".to_owned()], vec![]));
    }

    #[test]
    fn a_tree_of_three_levels_has_its_pods_and_what_is_lost_is_told_by_place() {
        let mut fabric = FatTreeSpec { levels: Some(3), radix: 4, ..FatTreeSpec::default() }.build().unwrap();
        let first = inventory(&fabric);
        let shown = show(&first);
        assert_eq!((shown.tiers, shown.pods), (3, 4));
        for pod in 1..=4 {
            let is_in = |&(_, &of): &(&u8, &u32)| of == pod;
            let tiers = shown.nodes.tier.iter().zip(&shown.nodes.pod).filter(is_in).map(|(&tier, _)| tier);
            let mut tiers: Vec<_> = tiers.collect();
            tiers.sort_unstable();
            assert_eq!(tiers, [0, 0, 0, 0, 1, 1, 2, 2]);
        }
        let port = fabric.links().next().unwrap().0;
        fabric.disconnect(port);
        let (second, _) = first.next(&fabric, &[], Timestamp::UNIX_EPOCH);
        let told = states(&second);
        assert_eq!((told.shape, told.revision, told.down.len()), (1, 2, 1));
        let end = fabric.guid(fabric.node_of(port));
        let at = told.down[0] as usize;
        let ends = [shown.links.a[at], shown.links.b[at]].map(|node| &shown.nodes.guid[node as usize]);
        assert!(ends.contains(&&guid(end)), "{ends:?}");
    }
}
