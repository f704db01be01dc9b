//! `/api/v1/links`: cables, with both ends and what became of them; where the fabric is emulated, they can be pulled.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use emulator::Fault;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Path, Query, page_size};
use super::guid;
use super::nodes::find;
use super::problem::Problem;
use crate::site::Site;
use crate::view::{End, Inventory, LinkIndex, LinkState};

/// One end of a link.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct LinkEnd {
    /// The node's GUID.
    pub guid: String,
    /// The node's name.
    pub name: String,
    /// The port.
    pub port: u8,
}

/// A cable.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Link {
    /// Its name, as in `0x0002c903000e0b72:40`: the end with the smaller GUID.
    pub id: String,
    /// Both ends.
    #[schema(min_items = 2, max_items = 2)]
    pub ends: Vec<LinkEnd>,
    /// What it is doing.
    pub state: LinkState,
    /// The rate, as in `4xNDR`.
    pub rate: Option<String>,
    /// What it carries one way, in Gbit/s.
    pub gbps: Option<f64>,
    /// Since when it is in this state.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// How often it was lost since the controller started.
    pub losses: u32,
}

/// A page of links.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Links {
    /// By their ends.
    pub items: Vec<Link>,
    /// Give this as `after` for the next page; nothing where this is the last.
    pub next: Option<String>,
}

/// Which links.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Those in this state
    #[param(inline)]
    state: Option<StateName>,
    /// Those of this node, by name or GUID
    node: Option<String>,
    /// Those after this one, by its `id`
    after: Option<String>,
    /// Entries of a page [default: 100, most 1000]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// What a link is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum StateName {
    Active,
    Down,
    HeldDown,
}

impl StateName {
    fn state(self) -> LinkState {
        match self {
            Self::Active => LinkState::Active,
            Self::Down => LinkState::Down,
            Self::HeldDown => LinkState::HeldDown,
        }
    }
}

fn id(inventory: &Inventory, end: End) -> String {
    format!("{}:{}", guid(inventory.node(end.node).guid), end.port)
}

fn show(inventory: &Inventory, link: LinkIndex) -> Link {
    let link = inventory.link(link);
    let end = |end: End| {
        let node = inventory.node(end.node);
        LinkEnd { guid: guid(node.guid), name: node.name.to_string(), port: end.port }
    };
    Link {
        id: id(inventory, link.ends[0]),
        ends: link.ends.map(end).into(),
        state: link.state,
        rate: link.rate.map(|rate| rate.to_string()),
        gbps: link.rate.map(ib::LinkRate::gbps),
        since: link.since,
        losses: link.losses,
    }
}

/// The link at a port.
///
/// # Errors
/// Where there is no such node, or its port has no link.
pub fn link_at(inventory: &Inventory, node: &str, port: u8) -> Result<LinkIndex, Problem> {
    let index = find(inventory, node)?;
    inventory.link_at(End { node: index, port }).ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "no-such-link",
            format!("port {port} of {node} has no link and had none"),
            format!("see /api/v1/nodes/{node} for its ports"),
        )
    })
}

fn wrong_cursor(after: &str) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "wrong-cursor",
        format!("\"{after}\" is no link"),
        "give the `next` of the page before",
    )
}

/// Where in the list a link lies, by its id.
fn place(inventory: &Inventory, after: &str) -> Option<LinkIndex> {
    let (node, port) = after.rsplit_once(':')?;
    let [node] = inventory.find(node)[..] else { return None };
    inventory.link_at(End { node, port: port.parse().ok()? })
}

/// Links, a page at a time.
#[utoipa::path(
    get, path = "/links", tag = "fabric", params(Wanted),
    responses(
        (status = 200, body = Links),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn links(State(site): State<Site>, Query(wanted): Query<Wanted>) -> Result<Json<Links>, Problem> {
    let most = page_size(wanted.limit)?;
    let view = site.newest.get();
    let inventory = &view.inventory;
    let after = match &wanted.after {
        None => None,
        Some(after) => Some(place(inventory, after).ok_or_else(|| wrong_cursor(after))?),
    };
    let state = wanted.state.map(StateName::state);
    let is_wanted = |link: &LinkIndex| {
        after.is_none_or(|after| *link > after)
            && state.is_none_or(|state| inventory.link(*link).state == state)
    };
    let candidates: Vec<LinkIndex> = match &wanted.node {
        None => Vec::new(),
        Some(node) => {
            let mut links: Vec<_> =
                inventory.links_of(find(inventory, node)?).iter().map(|&(_, link)| link).collect();
            links.sort_unstable();
            links.dedup();
            links
        }
    };
    let from = after.map_or(0, |after| after.0 + 1);
    let all = (from..inventory.links().len() as u32).map(LinkIndex);
    let mut found: Box<dyn Iterator<Item = LinkIndex>> = match wanted.node {
        Some(_) => Box::new(candidates.into_iter().filter(is_wanted)),
        None => Box::new(all.filter(is_wanted)),
    };
    let items: Vec<Link> = found.by_ref().take(most).map(|link| show(inventory, link)).collect();
    let next = found.next().and_then(|_| items.last()).map(|last| last.id.clone());
    drop(found);
    Ok(Json(Links { items, next }))
}

/// The link at a port.
#[utoipa::path(
    get, path = "/links/{node}/{port}", tag = "fabric",
    params(("node" = String, Path, description = "Name or GUID of either end"), ("port" = u8, Path)),
    responses(
        (status = 200, body = Link),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn link(
    State(site): State<Site>,
    Path((node, port)): Path<(String, u8)>,
) -> Result<Json<Link>, Problem> {
    let view = site.newest.get();
    let link = link_at(&view.inventory, &node, port)?;
    Ok(Json(show(&view.inventory, link)))
}

/// Breaks the emulated fabric at a port, or mends it.
async fn emulate(
    site: &Site,
    (node, port): (String, u8),
    fault: impl FnOnce(fabric::NodeId, u8) -> Fault + Send + 'static,
) -> Result<StatusCode, Problem> {
    let real = || {
        Problem::new(
            StatusCode::CONFLICT,
            "real-fabric",
            "this fabric is not emulated: its cables are pulled by hand",
            "start heddle up without --umad and --ibsim to have an emulated one",
        )
    };
    if !site.is_emulated {
        return Err(real());
    }
    let guid = {
        let view = site.newest.get();
        link_at(&view.inventory, &node, port)?;
        view.inventory.node(find(&view.inventory, &node)?).guid
    };
    let done = site.ask(move |_, wire| {
        let emulator = wire.emulated()?;
        let cabling = emulator.fabric();
        let node = cabling.nodes().find(|&node| cabling.guid(node) == guid)?;
        emulator.apply(fault(node, port));
        Some(())
    });
    done.await?.map(|()| StatusCode::ACCEPTED).ok_or_else(real)
}

/// Pulls the cable at a port of the emulated fabric.
#[utoipa::path(
    post, path = "/emulator/links/{node}/{port}/pull", tag = "emulator",
    params(("node" = String, Path, description = "Name or GUID of either end"), ("port" = u8, Path)),
    responses(
        (status = 202, description = "It is pulled; the heal follows"),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn pull(State(site): State<Site>, Path(at): Path<(String, u8)>) -> Result<StatusCode, Problem> {
    emulate(&site, at, |node, port| Fault::Unlink { node, port }).await
}

/// Puts the cable that was at a port of the emulated fabric back.
#[utoipa::path(
    post, path = "/emulator/links/{node}/{port}/mend", tag = "emulator",
    params(("node" = String, Path, description = "Name or GUID of either end"), ("port" = u8, Path)),
    responses(
        (status = 202, description = "It is back; links train, and paths follow"),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn mend(State(site): State<Site>, Path(at): Path<(String, u8)>) -> Result<StatusCode, Problem> {
    emulate(&site, at, |node, port| Fault::Relink { node, port }).await
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new()
        .routes(routes!(links))
        .routes(routes!(link))
        .routes(routes!(pull))
        .routes(routes!(mend))
}
