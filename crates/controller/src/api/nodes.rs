//! `/api/v1/nodes`: switches and adapters, with their ports.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Path, Query, page_size};
use super::problem::Problem;
use super::{guid, name};
use crate::site::Site;
use crate::view::{Inventory, LinkState, NodeIndex};

/// A device.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Node {
    /// Its GUID, as in `0x0002c903000e0b72`.
    pub guid: String,
    /// Its name.
    pub name: String,
    /// `switch`, `channel-adapter`, `router` or `aggregation-node`.
    pub kind: String,
    /// A switch's rank from the hosts up; 0 of all else.
    pub level: u8,
    /// The LID of its first end port; 0 where it has none.
    pub lid: u32,
    /// How many external ports it has.
    pub ports: u8,
    /// How many of them have a link in service.
    pub links: usize,
    /// Whether a cable leads to it.
    pub present: bool,
    /// Since when it is so.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
}

/// A port that has or had a link.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Port {
    /// Its number.
    pub port: u8,
    /// What its link is doing.
    pub state: LinkState,
    /// The rate, as in `4xNDR`.
    pub rate: Option<String>,
    /// The node at the other end.
    pub peer_guid: String,
    /// That node's name.
    pub peer_name: String,
    /// The port there.
    pub peer_port: u8,
}

/// A device with its ports.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct NodeDetail {
    /// The device.
    #[serde(flatten)]
    pub node: Node,
    /// Its ports that have or had a link.
    pub cabled: Vec<Port>,
}

/// A page of devices.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Nodes {
    /// By GUID.
    pub items: Vec<Node>,
    /// Give this as `after` for the next page; nothing where this is the last.
    pub next: Option<String>,
}

/// Which nodes.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Of this kind alone: `switch`, `channel-adapter`, `router` or `aggregation-node`
    kind: Option<String>,
    /// Switches of this rank alone
    level: Option<u8>,
    /// Those that are there, or those that are gone
    present: Option<bool>,
    /// Those whose names contain this
    name: Option<String>,
    /// Those after this GUID
    after: Option<String>,
    /// Entries of a page [default: 100, most 1000]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// The one node that a person means.
///
/// # Errors
/// Where there is none, or several have the name.
pub fn find(inventory: &Inventory, wanted: &str) -> Result<NodeIndex, Problem> {
    match inventory.find(wanted)[..] {
        [node] => Ok(node),
        [] => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "no-such-node",
            format!("there is no node \"{wanted}\""),
            "give a node's name or GUID as /api/v1/nodes has them",
        )),
        ref several => {
            let guids: Vec<_> = several.iter().take(8).map(|&node| guid(inventory.node(node).guid)).collect();
            Err(Problem::new(
                StatusCode::CONFLICT,
                "ambiguous-node",
                format!("{} nodes are named \"{wanted}\"", several.len()),
                format!("give a GUID: {}", guids.join(", ")),
            ))
        }
    }
}

fn show(inventory: &Inventory, index: NodeIndex) -> Node {
    let node = inventory.node(index);
    let is_active =
        |&&(_, link): &&(u8, crate::view::LinkIndex)| inventory.link(link).state == LinkState::Active;
    Node {
        guid: guid(node.guid),
        name: node.name.to_string(),
        kind: name(node.kind),
        level: node.level,
        lid: node.lid.0,
        ports: node.ports,
        links: inventory.links_of(index).iter().filter(is_active).count(),
        present: node.present,
        since: node.since,
    }
}

/// Switches and adapters, a page at a time.
#[utoipa::path(
    get, path = "/nodes", tag = "fabric", params(Wanted),
    responses((status = 200, body = Nodes), (status = 400, body = Problem, content_type = "application/problem+json")),
)]
async fn nodes(State(site): State<Site>, Query(wanted): Query<Wanted>) -> Result<Json<Nodes>, Problem> {
    let most = page_size(wanted.limit)?;
    let view = site.newest.get();
    let inventory = &view.inventory;
    let from = match &wanted.after {
        None => 0,
        Some(after) => {
            let digits = after.strip_prefix("0x").unwrap_or(after);
            let after = u64::from_str_radix(digits, 16).map_err(|_| {
                Problem::new(
                    StatusCode::BAD_REQUEST,
                    "wrong-cursor",
                    format!("\"{after}\" is no GUID"),
                    "give the `next` of the page before",
                )
            })?;
            inventory.nodes().partition_point(|node| node.guid.0 <= after)
        }
    };
    let mut found = (from as u32..inventory.nodes().len() as u32).map(NodeIndex).filter(|&index| {
        let node = inventory.node(index);
        wanted.kind.as_ref().is_none_or(|kind| *kind == name(node.kind))
            && wanted.level.is_none_or(|level| node.level == level)
            && wanted.present.is_none_or(|present| node.present == present)
            && wanted.name.as_ref().is_none_or(|part| node.name.contains(&**part))
    });
    let items: Vec<Node> = found.by_ref().take(most).map(|index| show(inventory, index)).collect();
    let next = found.next().and_then(|_| items.last()).map(|last| last.guid.clone());
    Ok(Json(Nodes { items, next }))
}

/// A device with its ports.
#[utoipa::path(
    get, path = "/nodes/{node}", tag = "fabric", params(("node" = String, Path, description = "Name or GUID")),
    responses(
        (status = 200, body = NodeDetail),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn node(State(site): State<Site>, Path(wanted): Path<String>) -> Result<Json<NodeDetail>, Problem> {
    let view = site.newest.get();
    let inventory = &view.inventory;
    let index = find(inventory, &wanted)?;
    let cabled = inventory.links_of(index).iter().map(|&(port, link)| {
        let link = inventory.link(link);
        let [a, b] = link.ends;
        let peer = if a.node == index && a.port == port { b } else { a };
        Port {
            port,
            state: link.state,
            rate: link.rate.map(|rate| rate.to_string()),
            peer_guid: guid(inventory.node(peer.node).guid),
            peer_name: inventory.node(peer.node).name.to_string(),
            peer_port: peer.port,
        }
    });
    Ok(Json(NodeDetail { node: show(inventory, index), cabled: cabled.collect() }))
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(nodes)).routes(routes!(node))
}
