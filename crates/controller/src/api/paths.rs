//! `/api/v1/paths`: the way that the tables give from one host to another, asked of the subnet manager itself.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fabric::{Fabric, NodeId, PortId};
use serde::{Deserialize, Serialize};
use subnet::SubnetManager;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::guid;
use super::nodes::find;
use super::problem::Problem;
use crate::site::Site;

/// Switches that a way may pass; one that is longer goes in a circle.
const MOST_HOPS: usize = 64;

/// One link of a way.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Hop {
    /// The node that it leaves.
    pub from_guid: String,
    /// That node's name.
    pub from_name: String,
    /// The port that it leaves by.
    pub from_port: u8,
    /// The node that it comes to.
    pub to_guid: String,
    /// That node's name.
    pub to_name: String,
    /// The port that it comes in by.
    pub to_port: u8,
    /// What the link carries one way, in Gbit/s.
    pub gbps: Option<f64>,
}

/// The way from one end port to another.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Way {
    /// The LID that it begins at.
    pub from_lid: u32,
    /// The LID that it ends at.
    pub to_lid: u32,
    /// The service level that packets take; nothing where the tables do not lead there.
    pub service_level: Option<u8>,
    /// Its links in order.
    pub hops: Vec<Hop>,
    /// Whether it arrives.
    pub arrives: bool,
}

/// From where to where.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// A node, by name or GUID: its first port with a LID
    from: String,
    /// A node, by name or GUID: its first port with a LID
    to: String,
}

fn end_port(fabric: &Fabric, node: NodeId) -> Option<PortId> {
    let zero = fabric.port(node, 0).filter(|_| fabric.is_switch(node));
    zero.into_iter().chain(fabric.ports(node)).find(|&port| fabric.lid(port).0 != 0)
}

fn follow(manager: &SubnetManager, from: ib::Guid, to: ib::Guid) -> Option<Way> {
    let fabric = manager.fabric();
    let by_guid = |guid| fabric.nodes().find(|&node| fabric.guid(node) == guid);
    let (source, target) = (end_port(fabric, by_guid(from)?)?, end_port(fabric, by_guid(to)?)?);
    let to_lid = fabric.lid(target);
    let mut hops = Vec::new();
    let mut at = fabric.node_of(source);
    let end = fabric.node_of(target);
    let first_switch = if fabric.is_switch(at) {
        Some(at)
    } else {
        fabric.peer(source).map(|peer| fabric.node_of(peer)).filter(|&node| fabric.is_switch(node))
    };
    while at != end && hops.len() < MOST_HOPS {
        let out = match manager.tables() {
            Some(tables) if fabric.is_switch(at) => fabric.port(at, tables.get(at, to_lid.0)),
            _ if at == fabric.node_of(source) => Some(source),
            _ => None,
        };
        let Some((out, peer)) = out.and_then(|out| Some((out, fabric.peer(out)?))) else { break };
        let next = fabric.node_of(peer);
        hops.push(Hop {
            from_guid: guid(fabric.guid(at)),
            from_name: fabric.name(at).to_owned(),
            from_port: fabric.port_number(out),
            to_guid: guid(fabric.guid(next)),
            to_name: fabric.name(next).to_owned(),
            to_port: fabric.port_number(peer),
            gbps: fabric.rate(out).or(fabric.rate(peer)).map(ib::LinkRate::gbps),
        });
        at = next;
    }
    Some(Way {
        from_lid: fabric.lid(source).0,
        to_lid: to_lid.0,
        service_level: first_switch.and_then(|switch| manager.service_level(fabric.guid(switch), to_lid)),
        hops,
        arrives: at == end,
    })
}

/// The way that the programmed tables give from one node to another.
#[utoipa::path(
    get, path = "/paths", tag = "fabric", params(Wanted),
    responses(
        (status = 200, body = Way),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn path(State(site): State<Site>, Query(wanted): Query<Wanted>) -> Result<Json<Way>, Problem> {
    let (from, to) = {
        let view = site.newest.get();
        let guid_of = |name: &str| Ok::<_, Problem>(view.inventory.node(find(&view.inventory, name)?).guid);
        (guid_of(&wanted.from)?, guid_of(&wanted.to)?)
    };
    let way = site.ask(move |manager, _| follow(manager, from, to)).await?;
    way.map(Json).ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "no-lid",
            format!("{} or {} has no LID now", wanted.from, wanted.to),
            "see /api/v1/nodes for what is present",
        )
    })
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(path))
}
