//! `/api/v1/session`: a browser comes in. Its token goes into a cookie that no script can read, since a stream of events
//! cannot carry one in a header.

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Body;
use super::gate::COOKIE;
use super::problem::Problem;
use crate::access::Caller;
use crate::site::Site;

/// Who the caller is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Session {
    /// Whether this controller asks for tokens.
    pub asks: bool,
    /// The token's name; nothing where none was given.
    pub name: Option<String>,
    /// `viewer`, `submitter`, `operator` or `admin`; nothing where no token was given.
    pub role: Option<String>,
    /// The tenant that the caller is bound to.
    pub tenant: Option<String>,
}

/// A token.
#[derive(Deserialize, ToSchema)]
struct Entry {
    /// As `heddle token` printed it
    token: String,
}

fn of(caller: Option<Caller>, asks: bool) -> Session {
    let (name, role, tenant) = match caller {
        Some(caller) => (Some(caller.name), Some(caller.role.word().to_owned()), caller.tenant),
        None => (None, None, None),
    };
    Session { asks, name, role, tenant }
}

/// Who calls.
#[utoipa::path(get, path = "/session", tag = "session", responses((status = 200, body = Session)))]
async fn session(State(site): State<Site>, caller: Option<Extension<Caller>>) -> Json<Session> {
    Json(of(caller.map(|Extension(caller)| caller), site.gate.asks()))
}

fn cookie(value: &str, is_secure: bool, rest: &str) -> Option<HeaderValue> {
    let secure = if is_secure { "; Secure" } else { "" };
    HeaderValue::from_str(&format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{rest}")).ok()
}

/// Comes in: the token is kept in a cookie until the browser ends.
#[utoipa::path(
    post, path = "/session", tag = "session", request_body = Entry,
    responses(
        (status = 200, body = Session),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn enter(State(site): State<Site>, Body(entry): Body<Entry>) -> Result<Response, Problem> {
    let unknown = || {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "no-token",
            "this token is not known",
            "give one as `heddle token` printed it",
        )
    };
    let caller = site.gate.who(&entry.token).ok_or_else(unknown)?;
    let cookie = cookie(&entry.token, site.is_secure, "").ok_or_else(unknown)?;
    let headers = HeaderMap::from_iter([(header::SET_COOKIE, cookie)]);
    Ok((headers, Json(of(Some(caller), true))).into_response())
}

/// Goes out: the cookie is taken away.
#[utoipa::path(delete, path = "/session", tag = "session", responses((status = 204)))]
async fn leave(State(site): State<Site>) -> Response {
    let gone = cookie("", site.is_secure, "; Max-Age=0");
    let headers: HeaderMap = gone.map(|gone| (header::SET_COOKIE, gone)).into_iter().collect();
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(session, enter, leave))
}
