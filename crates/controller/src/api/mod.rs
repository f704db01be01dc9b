//! The API over HTTP: `/api/v1` with a file a resource, its document made from the code, metrics for Prometheus.
//!
//! Readers are answered from the newest picture ([`crate::view`]); the subnet manager is asked only for what no picture
//! holds, and only for a short look.

mod events;
mod extract;
mod fabric;
mod gate;
mod jobs;
mod links;
mod nodes;
mod page;
mod paths;
mod pool;
mod problem;
mod serve;
mod session;
mod tls;
mod topology;
mod what_if;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use gate::{Gate, Rules};
pub use problem::Problem;
pub use serve::{Doors, ServeError, Server};
pub use tls::{Certificate, Files as TlsFiles, TlsError};

use crate::metrics::{Form, Metrics};
use crate::site::Site;

/// No request needs a larger body.
const LARGEST_BODY: usize = 1 << 20;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Heddle",
        description = "The controller of an InfiniBand GPU cluster: its fabric, its pool of GPUs, its jobs, and what \
            happens to them. Errors are problem details (RFC 9457). Where the controller asks for tokens, give one as \
            `Authorization: Bearer TOKEN`. Lists come in pages: give the `next` of one page for the next."
    ),
    tags(
        (name = "fabric", description = "What is cabled to what, and how it does"),
        (name = "pool", description = "The stock of GPUs: what there is, what is free, who may hold how much"),
        (name = "jobs", description = "What runs on the pool, and what waits for it"),
        (name = "events", description = "What has happened"),
        (name = "session", description = "Who calls"),
        (name = "emulator", description = "Faults on purpose, where the fabric is emulated"),
    )
)]
struct Document;

/// A GUID as the API writes it.
fn guid(guid: ib::Guid) -> String {
    format!("{:#018x}", guid.0)
}

/// The name of a plain enumeration's variant, as JSON has it.
fn name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

fn api() -> OpenApiRouter<Site> {
    let resources = OpenApiRouter::new()
        .merge(fabric::routes())
        .merge(nodes::routes())
        .merge(links::routes())
        .merge(paths::routes())
        .merge(topology::routes())
        .merge(what_if::routes())
        .merge(events::routes())
        .merge(session::routes())
        .merge(pool::routes())
        .merge(jobs::routes());
    OpenApiRouter::with_openapi(Document::openapi()).nest("/api/v1", resources)
}

/// The document of the API, as OpenAPI has it.
pub fn document() -> String {
    let (_, document) = api().split_for_parts();
    document.to_pretty_json().unwrap_or_default() + "\n"
}

async fn no_such_page(uri: Uri) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no-such-page",
        format!("there is nothing at {}", uri.path()),
        "see /api/v1/openapi.json for what there is",
    )
}

async fn wrong_method(uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong-method",
        format!("{} does not take this method", uri.path()),
        "see /api/v1/openapi.json for the methods that it takes",
    )
}

/// Whether the controller does its work: Kubernetes, systemd and load balancers ask.
async fn health(State(site): State<Site>) -> Response {
    match site.counts.store_failures() {
        0 => (StatusCode::OK, "ok\n").into_response(),
        failures => {
            let text = format!("the store has refused {failures} writes\n");
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    }
}

/// Everything that is served.
pub fn router(site: Site) -> Router {
    let (api, document) = api().split_for_parts();
    let document: Arc<str> = (document.to_json().unwrap_or_default()).into();
    let metrics =
        Arc::new(Metrics::new(Arc::clone(&site.newest), Arc::clone(&site.counts), site.work.as_ref()));
    api.route(
        "/api/v1/openapi.json",
        get(move || async move { ([(header::CONTENT_TYPE, "application/json")], document.to_string()) }),
    )
    .route(
        "/metrics",
        get(move |headers: HeaderMap| async move {
            let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
            let form = Form::accepted(accept.unwrap_or_default());
            ([(header::CONTENT_TYPE, form.content_type())], metrics.text(form))
        }),
    )
    .route("/healthz", get(health))
    .merge(page::routes())
    .fallback(no_such_page)
    .method_not_allowed_fallback(wrong_method)
    .layer(DefaultBodyLimit::max(LARGEST_BODY))
    .layer(axum::middleware::from_fn_with_state(Arc::clone(&site.gate), gate::pass))
    .with_state(site)
}
