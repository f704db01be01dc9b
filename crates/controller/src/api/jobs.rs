//! `/api/v1/jobs`: jobs are submitted, looked at, asked why, read, and ended.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use executor::{Outcome, RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Body, Path, Query, page_size};
use super::pool::work;
use super::problem::Problem;
use crate::access::Caller;
use crate::site::{Busy, Site};
use crate::work::{Ask, NodeOfJob, Record, Refused, Spec, State as JobState, Why};

/// The most of an output that one answer holds.
const OUTPUT_AT_ONCE: u64 = 1 << 20;
/// How long the whole output is, and where the next part begins.
const OUTPUT_SIZE: HeaderName = HeaderName::from_static("heddle-output-size");

/// How a job's last run ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct End {
    /// `exited`, `killed`, `timed-out`, `cancelled`, `not-started` or `lost`.
    pub kind: String,
    /// The exit code, where it exited.
    pub exit_code: Option<i32>,
    /// The signal, where one ended it.
    pub signal: Option<i32>,
    /// It in words.
    pub text: String,
}

/// A job.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Job {
    /// Its number.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// Who pays for it.
    pub tenant: Option<String>,
    /// Where it is in its life.
    pub state: JobState,
    /// Why, where there is more to say.
    pub cause: Option<String>,
    /// GPUs that it wants in all.
    pub gpus: f64,
    /// Its nodes in the order of ranks; after its end those of its last run.
    pub nodes: Vec<NodeOfJob>,
    /// When it was submitted.
    #[schema(value_type = String, format = DateTime)]
    pub submitted: Timestamp,
    /// When its last run started.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started: Option<Timestamp>,
    /// When it was over.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<Timestamp>,
    /// How many runs it has been given.
    pub attempt: u32,
    /// How often it was stopped for others or lost its place.
    pub stops: u32,
    /// How its last run ended.
    pub end: Option<End>,
    /// Its number in its array.
    pub array_index: Option<u32>,
    /// What was submitted.
    pub spec: Spec,
}

/// A page of jobs.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Jobs {
    /// The jobs, the newest first.
    pub items: Vec<Job>,
    /// Give this as `before` for the next page; nothing on the last one.
    pub next: Option<u64>,
}

/// What was submitted.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Submitted {
    /// The new jobs: one, or all of an array.
    pub items: Vec<Job>,
}

fn end(outcome: &Outcome) -> End {
    let (kind, exit_code, signal) = match outcome {
        Outcome::Exited { code } => ("exited", Some(*code), None),
        Outcome::Killed { signal } => ("killed", None, Some(*signal)),
        Outcome::TimedOut => ("timed-out", None, None),
        Outcome::Cancelled => ("cancelled", None, None),
        Outcome::NotStarted { .. } => ("not-started", None, None),
        Outcome::Lost => ("lost", None, None),
    };
    End { kind: kind.to_owned(), exit_code, signal, text: outcome.to_string() }
}

fn show(record: &Record) -> Job {
    Job {
        number: record.number,
        name: record.spec.name.clone(),
        tenant: record.spec.tenant.clone(),
        state: record.state,
        cause: record.cause.clone(),
        gpus: record.gpus(),
        nodes: record.nodes(),
        submitted: record.submitted,
        started: record.started,
        ended: record.ended,
        attempt: record.attempt,
        stops: record.stops,
        end: record.outcome.as_ref().map(end),
        array_index: record.array_index,
        spec: record.spec.clone(),
    }
}

/// Who is bound to a tenant acts for no other.
fn may_act_for(caller: Option<&Caller>, tenant: Option<&str>) -> Result<(), Problem> {
    let bound = caller.and_then(|caller| caller.tenant.as_deref());
    if bound.is_none_or(|bound| tenant == Some(bound)) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "not-your-tenant",
        format!("this token acts for the tenant {} alone", bound.unwrap_or_default()),
        "name that tenant, or ask with a token of an operator",
    ))
}

/// Which jobs.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Those in this state
    #[param(inline)]
    state: Option<JobState>,
    /// Those of this tenant
    tenant: Option<String>,
    /// Those before this number
    before: Option<u64>,
    /// Entries of a page [default: 100, most 1000]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A job that the caller may see: who is bound to a tenant sees that tenant's alone.
fn seen(site: &Site, caller: Option<&Caller>, number: u64) -> Result<Arc<Record>, Problem> {
    let record = work(site)?.board.job(number).ok_or(Refused::NoSuchJob(number))?;
    may_act_for(caller, record.spec.tenant.as_deref())?;
    Ok(record)
}

/// Jobs, the newest first; to who is bound to a tenant, that tenant's.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(Wanted),
    responses(
        (status = 200, body = Jobs),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn jobs(
    State(site): State<Site>,
    caller: Option<Extension<Caller>>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Jobs>, Problem> {
    let most = page_size(wanted.limit)?;
    let bound = caller.and_then(|Extension(caller)| caller.tenant);
    let is_wanted = |record: &Record| {
        wanted.state.is_none_or(|state| record.state == state)
            && [&wanted.tenant, &bound].into_iter().all(|tenant| {
                tenant.as_ref().is_none_or(|tenant| record.spec.tenant.as_ref() == Some(tenant))
            })
    };
    let found = work(&site)?.board.jobs(wanted.before, most + 1, is_wanted);
    let items: Vec<Job> = found.iter().take(most).map(|record| show(record)).collect();
    let next = items.last().filter(|_| found.len() > most).map(|last| last.number);
    Ok(Json(Jobs { items, next }))
}

/// Submits a job, or an array of jobs alike.
#[utoipa::path(
    post, path = "/jobs", tag = "jobs", request_body = Spec,
    responses(
        (status = 201, body = Submitted),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 500, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn submit(
    State(site): State<Site>,
    caller: Option<Extension<Caller>>,
    Body(mut spec): Body<Spec>,
) -> Result<(StatusCode, Json<Submitted>), Problem> {
    let caller = caller.map(|Extension(caller)| caller);
    spec.tenant = spec.tenant.or_else(|| caller.as_ref().and_then(|caller| caller.tenant.clone()));
    may_act_for(caller.as_ref(), spec.tenant.as_deref())?;
    let work = work(&site)?;
    let records = work.ask(|answer| Ask::Submit { spec: Box::new(spec), answer }).await?;
    let items = records.iter().map(|record| show(record)).collect();
    Ok((StatusCode::CREATED, Json(Submitted { items })))
}

/// A job.
#[utoipa::path(
    get, path = "/jobs/{number}", tag = "jobs", params(("number" = u64, Path)),
    responses(
        (status = 200, body = Job),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn job(
    State(site): State<Site>,
    caller: Option<Extension<Caller>>,
    Path(number): Path<u64>,
) -> Result<Json<Job>, Problem> {
    Ok(Json(show(&*seen(&site, caller.as_deref(), number)?)))
}

/// Ends a job: one that waits is gone at once, one that runs is asked to end and ended after its grace.
#[utoipa::path(
    delete, path = "/jobs/{number}", tag = "jobs", params(("number" = u64, Path)),
    responses(
        (status = 202, body = Job),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 500, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn cancel(
    State(site): State<Site>,
    caller: Option<Extension<Caller>>,
    Path(number): Path<u64>,
) -> Result<(StatusCode, Json<Job>), Problem> {
    seen(&site, caller.as_deref(), number)?;
    let record = work(&site)?.ask(|answer| Ask::Cancel { number, answer }).await?;
    Ok((StatusCode::ACCEPTED, Json(show(&record))))
}

/// Why a job waits, or is where it is, with the scheduler's numbers.
#[utoipa::path(
    get, path = "/jobs/{number}/why", tag = "jobs", params(("number" = u64, Path)),
    responses(
        (status = 200, body = Why),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn why(
    State(site): State<Site>,
    caller: Option<Extension<Caller>>,
    Path(number): Path<u64>,
) -> Result<Json<Why>, Problem> {
    seen(&site, caller.as_deref(), number)?;
    let why = work(&site)?.ask(|answer| Ask::Why { number, answer }).await?;
    Ok(Json(*why))
}

/// Which part of an output.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Part {
    /// From this byte on [default: 0]
    offset: Option<u64>,
}

/// What a job has written, from a byte on: at most 1 MiB of it. The header `heddle-output-size` says how much there is.
#[utoipa::path(
    get, path = "/jobs/{number}/output", tag = "jobs", params(("number" = u64, Path), Part),
    responses(
        (status = 200, content_type = "application/octet-stream", body = Vec<u8>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn output(
    State(site): State<Site>,
    caller: Option<Extension<Caller>>,
    Path(number): Path<u64>,
    Query(part): Query<Part>,
) -> Result<Response, Problem> {
    let work = work(&site)?;
    let record = seen(&site, caller.as_deref(), number)?;
    let run = RunId { job: number, attempt: record.attempt };
    let folder = work.folder.to_path_buf();
    let read = tokio::task::spawn_blocking(move || {
        let path = executor::output_of(&folder, run)?;
        let mut file = std::fs::File::open(path).ok()?;
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(part.offset.unwrap_or(0))).ok()?;
        let mut bytes = Vec::new();
        file.take(OUTPUT_AT_ONCE).read_to_end(&mut bytes).ok()?;
        Some((size, bytes))
    });
    // A run that has not begun has written nothing.
    let (size, bytes) = read.await.map_err(|_| Busy)?.unwrap_or_default();
    let form = "application/octet-stream";
    Ok(([(header::CONTENT_TYPE, form.to_owned()), (OUTPUT_SIZE, size.to_string())], bytes).into_response())
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new()
        .routes(routes!(jobs, submit))
        .routes(routes!(job, cancel))
        .routes(routes!(why))
        .routes(routes!(output))
}
