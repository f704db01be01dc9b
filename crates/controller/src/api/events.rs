//! `/api/v1/events`: what has happened, by pages and as a stream that misses nothing.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Query, page_size};
use super::problem::Problem;
use crate::event::{Kind, Record, Severity};
use crate::journal::Filter;
use crate::site::Site;

/// A page of events.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Events {
    /// The events: the newest first, or with `after` the oldest first.
    pub items: Vec<Record>,
    /// Give this as `before` (with `after`: as `after`) for the next page; nothing where there are no more for now.
    pub next: Option<u64>,
}

/// Which events.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Those of this kind
    #[param(inline)]
    kind: Option<Kind>,
    /// Those of this severity and above
    #[param(inline)]
    severity: Option<Severity>,
    /// Those after this number, the oldest first
    after: Option<u64>,
    /// Those before this number, the newest first
    before: Option<u64>,
    /// Entries of a page [default: 100, most 1000]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Events, the newest first; with `after` the oldest first.
#[utoipa::path(
    get, path = "/events", tag = "events", params(Wanted),
    responses(
        (status = 200, body = Events),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 500, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn events(State(site): State<Site>, Query(wanted): Query<Wanted>) -> Result<Json<Events>, Problem> {
    let most = page_size(wanted.limit)?;
    let filter = Filter { kind: wanted.kind, severity: wanted.severity };
    if wanted.after.is_some() && wanted.before.is_some() {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "wrong-request",
            "`after` and `before` are two ways to read",
            "give one of them",
        ));
    }
    let journal = Arc::clone(&site.journal);
    // Old events are read from the disk.
    let read = tokio::task::spawn_blocking(move || match wanted.after {
        Some(after) => {
            let (items, seen) = journal.after(after, filter, most)?;
            let next = (items.len() == most).then_some(seen);
            let items = items.iter().map(|record| (**record).clone()).collect();
            Ok::<_, crate::store::StoreError>(Events { items, next })
        }
        None => {
            let items = journal.before(wanted.before, filter, most)?;
            let items: Vec<_> = items.iter().map(|record| (**record).clone()).collect();
            let next = items.last().filter(|last| items.len() == most && last.number > 1);
            Ok(Events { next: next.map(|last| last.number), items })
        }
    });
    Ok(Json(read.await.map_err(|_| crate::site::Busy)??))
}

/// Which events of the stream.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct WantedStream {
    /// Those of this kind
    #[param(inline)]
    kind: Option<Kind>,
    /// Those of this severity and above
    #[param(inline)]
    severity: Option<Severity>,
    /// Begin after this number [default: now]; the header Last-Event-ID says the same
    after: Option<u64>,
}

/// Events read for the stream at once.
const AT_ONCE: usize = 256;

struct Reading {
    site: Site,
    filter: Filter,
    seen: u64,
    pending: std::vec::IntoIter<Arc<Record>>,
    newest: tokio::sync::watch::Receiver<u64>,
}

impl Reading {
    /// The next event, once there is one; nothing when the controller ends or the store cannot be read.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(record) = self.pending.next() {
                let text = serde_json::to_string(&*record).unwrap_or_default();
                let event = Event::default().id(record.number.to_string()).data(text);
                return Some((Ok(event), self));
            }
            let newest = *self.newest.borrow_and_update();
            if self.seen < newest {
                let (journal, seen, filter) = (Arc::clone(&self.site.journal), self.seen, self.filter);
                let read = tokio::task::spawn_blocking(move || journal.after(seen, filter, AT_ONCE));
                let (records, seen) = read.await.ok()?.ok()?;
                self.seen = seen.max(self.seen);
                self.pending = records.into_iter();
                continue;
            }
            let ended = self.site.ending.wait_for(|&ending| ending);
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                _ = ended => return None,
            }
        }
    }
}

/// Events as they happen, as server-sent events: the data is an event as JSON, the id its number. A stream that is taken
/// up again with Last-Event-ID misses none.
#[utoipa::path(
    get, path = "/events/stream", tag = "events", params(WantedStream),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 400, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn stream_events(
    State(site): State<Site>,
    headers: HeaderMap,
    Query(wanted): Query<WantedStream>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let last = match headers.get("last-event-id") {
        None => None,
        Some(value) => {
            Some(value.to_str().ok().and_then(|text| text.trim().parse().ok()).ok_or_else(|| {
                Problem::new(
                    StatusCode::BAD_REQUEST,
                    "wrong-request",
                    "Last-Event-ID is no number",
                    "give the id of the last event that came, or none",
                )
            })?)
        }
    };
    let newest = site.journal.newest();
    let seen = last.or(wanted.after).unwrap_or_else(|| *newest.borrow());
    let filter = Filter { kind: wanted.kind, severity: wanted.severity };
    let reading = Reading { site, filter, seen, pending: Vec::new().into_iter(), newest };
    Ok(Sse::new(stream::unfold(reading, Reading::next)).keep_alive(KeepAlive::default()))
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(events)).routes(routes!(stream_events))
}
