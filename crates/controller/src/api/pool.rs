//! `/api/v1/pool`: the stock of GPUs, in one answer and node by node.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pool::NodeIndex;
use pool::tenants::GPU;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Query, page_size};
use super::problem::Problem;
use crate::site::Site;
use crate::work::{NodeState, Picture, Refused, Work};

/// GPUs of one model.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Model {
    /// The model.
    pub name: String,
    /// How many there are.
    pub gpus: usize,
    /// Given out, shares by their part.
    pub allocated_gpus: f64,
    /// Free on nodes that take work.
    pub free_gpus: f64,
}

/// Nodes by whether they take work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct NodeCounts {
    /// All.
    pub all: usize,
    /// They take work.
    pub open: usize,
    /// They take work and have all GPUs free.
    pub idle: usize,
    /// Closed by an operator or the pool's file.
    pub closed: usize,
    /// Some of their links are lost.
    pub degraded: usize,
    /// All their links are lost.
    pub failed: usize,
    /// Kept for jobs that were promised a time, and for parts of nodes that fail.
    pub reserved: usize,
}

/// Who may hold how much; amounts are GPUs.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// The tenant above.
    pub parent: Option<String>,
    /// What is its own.
    pub quota: f64,
    /// The most that it may have beyond that; nothing where there is no limit.
    pub borrowing_limit: Option<f64>,
    /// What its jobs hold.
    pub held: f64,
    /// Of that, lent by others.
    pub borrowed: f64,
}

/// The pool in one answer.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Pool {
    /// Nodes.
    pub nodes: NodeCounts,
    /// GPUs.
    pub gpus: usize,
    /// GPUs given out, shares by their part.
    pub allocated_gpus: f64,
    /// GPUs free on nodes that take work.
    pub free_gpus: f64,
    /// Of those, on nodes that have others in use: no job that wants whole nodes can have them.
    pub fragmented_gpus: f64,
    /// By model.
    pub models: Vec<Model>,
    /// Tenants, each after its parent.
    pub tenants: Vec<Tenant>,
}

/// A node of the pool.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct PoolNode {
    /// Its name.
    pub name: String,
    /// Whether it takes work.
    pub state: NodeState,
    /// The model of its GPUs.
    pub model: Option<String>,
    /// What each of its GPUs has free, as a part of it.
    pub free: Vec<f64>,
    /// Jobs on it.
    pub jobs: Vec<u64>,
    /// Whether it is kept for a job that was promised a time, or for parts of nodes that fail.
    pub reserved: bool,
}

/// A page of nodes.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct PoolNodes {
    /// The nodes, in the pool's order.
    pub items: Vec<PoolNode>,
    /// Give this as `after` for the next page; nothing on the last one.
    pub next: Option<String>,
}

/// The host of jobs.
///
/// # Errors
/// Where this controller has none.
pub fn work(site: &Site) -> Result<&Work, Problem> {
    site.work.as_ref().ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "no-jobs-here",
            "this controller hosts no pool and no jobs",
            "start heddle up with --jobs embedded",
        )
    })
}

fn picture(site: &Site) -> Result<Arc<Picture>, Problem> {
    let why = || Refused::NotReady("the fabric is not up".to_owned());
    Ok(work(site)?.board.picture().ok_or_else(why)?)
}

/// The pool: nodes, GPUs by model, what is free and what lies in pieces, tenants and what they hold.
#[utoipa::path(
    get, path = "/pool", tag = "pool",
    responses(
        (status = 200, body = Pool),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn pool(State(site): State<Site>) -> Result<Json<Pool>, Problem> {
    let picture = picture(&site)?;
    let figures = picture.figures();
    let count = |state| picture.states.iter().filter(|&&other| other == state).count();
    let stock = &picture.stock;
    let models = stock.models().iter().map(|name| {
        let model = stock.find_model(name);
        let figures = picture.figures_of(|node| stock.model(node) == model);
        Model {
            name: name.clone(),
            gpus: figures.gpus,
            allocated_gpus: figures.allocated_gpus,
            free_gpus: figures.free_gpus,
        }
    });
    let tenants = &picture.tenants;
    let gpus = |amount: u64| amount as f64 / GPU as f64;
    Ok(Json(Pool {
        nodes: NodeCounts {
            all: picture.states.len(),
            open: count(NodeState::Open),
            idle: figures.idle_nodes,
            closed: count(NodeState::Closed),
            degraded: count(NodeState::Degraded),
            failed: count(NodeState::Failed),
            reserved: picture.reserved.len(),
        },
        gpus: figures.gpus,
        allocated_gpus: figures.allocated_gpus,
        free_gpus: figures.free_gpus,
        fragmented_gpus: figures.fragmented_gpus,
        models: models.filter(|model| model.gpus > 0).collect(),
        tenants: tenants
            .all()
            .map(|tenant| Tenant {
                name: tenants.name(tenant).to_owned(),
                parent: tenants.parent(tenant).map(|parent| tenants.name(parent).to_owned()),
                quota: gpus(tenants.quota(tenant)),
                borrowing_limit: tenants.borrowing_limit(tenant).map(gpus),
                held: gpus(tenants.held(tenant)),
                borrowed: gpus(tenants.borrowed(tenant)),
            })
            .collect(),
    }))
}

/// Which nodes.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Those after the node of this name
    after: Option<String>,
    /// Entries of a page [default: 100, most 1000]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// The pool's nodes: what each has free, and the jobs on it.
#[utoipa::path(
    get, path = "/pool/nodes", tag = "pool", params(Wanted),
    responses(
        (status = 200, body = PoolNodes),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn nodes(State(site): State<Site>, Query(wanted): Query<Wanted>) -> Result<Json<PoolNodes>, Problem> {
    let most = page_size(wanted.limit)?;
    let picture = picture(&site)?;
    let (stock, pool) = (&picture.stock, &picture.pool);
    let from = match &wanted.after {
        None => 0,
        Some(name) => {
            let node = pool.node_named(name).ok_or_else(|| {
                Problem::new(
                    StatusCode::BAD_REQUEST,
                    "wrong-cursor",
                    format!("the pool has no node \"{name}\""),
                    "give the `next` of the page before",
                )
            })?;
            node.0 + 1
        }
    };
    let items: Vec<PoolNode> = (from..stock.len() as u32)
        .map(NodeIndex)
        .take(most)
        .map(|node| PoolNode {
            name: pool.node_name(node).to_owned(),
            state: picture.states[node.index()],
            model: stock.model(node).and_then(|model| stock.models().get(model.index()).cloned()),
            free: stock.gpus_free_milli(node).iter().map(|&free| f64::from(free) / 1e3).collect(),
            jobs: picture.jobs.get(&node).cloned().unwrap_or_default(),
            reserved: picture.reserved.binary_search(&node).is_ok(),
        })
        .collect();
    let is_last = from as usize + items.len() >= stock.len();
    let next = items.last().filter(|_| !is_last).map(|last| last.name.clone());
    Ok(Json(PoolNodes { items, next }))
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(pool)).routes(routes!(nodes))
}
