//! Who comes in: every request passes here first. It has to come from this very site, not too often, with a token where
//! tokens are asked for, of a role that may do what is asked.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::problem::Problem;
use crate::access::{Access, Caller, Role};

/// The cookie that a browser keeps its token in.
pub(super) const COOKIE: &str = "heddle_token";
/// Callers that are remembered before those that have been quiet are forgotten.
const REMEMBERED: usize = 10_000;

/// How a request reached the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Over TCP, from this address.
    Tcp(IpAddr),
    /// Over the Unix socket.
    Socket,
}

/// Who is let in, and how often.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// The tokens.
    pub access: Access,
    /// Requests a second that one caller may make; nothing: any number.
    pub per_second: Option<NonZeroU32>,
}

/// One caller as the limit of requests counts them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Counted {
    Address(IpAddr),
    Token(String),
}

struct Keeping {
    rules: Rules,
    limiter: Option<DefaultKeyedRateLimiter<Counted>>,
}

impl Keeping {
    fn new(rules: Rules) -> Self {
        let limiter = rules.per_second.map(|most| RateLimiter::keyed(Quota::per_second(most)));
        Self { rules, limiter }
    }
}

/// The gate; its rules may change while it stands.
pub struct Gate(RwLock<Arc<Keeping>>);

impl Gate {
    /// A gate with rules.
    pub fn new(rules: Rules) -> Self {
        Self(RwLock::new(Arc::new(Keeping::new(rules))))
    }

    /// Gives it other rules; requests that are inside go on.
    pub fn set(&self, rules: Rules) {
        let next = Arc::new(Keeping::new(rules));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// Whether tokens are asked for.
    pub fn asks(&self) -> bool {
        self.keeping().rules.access.is_asked()
    }

    /// Whose token this is, where tokens are asked for.
    pub fn who(&self, token: &str) -> Option<Caller> {
        self.keeping().rules.access.who(token)
    }

    fn keeping(&self) -> Arc<Keeping> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The token of a request.
fn token_of(headers: &HeaderMap) -> Option<&str> {
    if let Some(given) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then_some(token.trim());
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, token)| token)
}

/// The host of a `Host` header or an origin, without its port.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

/// Pages of other sites that a browser of this machine shows are kept out: they may neither have a name of their own lead
/// here, nor send what a person here did not.
fn of_this_site(method: &Method, headers: &HeaderMap, is_asked: bool) -> Result<(), Problem> {
    let word = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = word(header::HOST).unwrap_or_default();
    let is_local = |host: &str| {
        host.is_empty()
            || host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    if !is_asked && !is_local(host_of(host)) {
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong-host",
            format!("\"{host}\" is not a name of this machine for itself"),
            "ask 127.0.0.1, or give tokens so that others may call",
        ));
    }
    let origin = word(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    match origin {
        Some(origin) if !method.is_safe() && !origin.eq_ignore_ascii_case(host) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "other-site",
            format!("a page of \"{origin}\" may change nothing here"),
            "use the page that this controller serves",
        )),
        _ => Ok(()),
    }
}

/// What a request takes at least.
fn needed(method: &Method, uri: &Uri) -> Option<Role> {
    let path = uri.path();
    let within =
        |of: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if path == "/healthz" || path == "/api/v1/session" || !(within("/api") || within("/metrics")) {
        // Whether it is well, how to come in, and the page itself, which holds no data.
        return None;
    }
    // A question that is too long for an address changes nothing either.
    if method.is_safe() || within("/api/v1/what-if") {
        return Some(Role::Viewer);
    }
    Some(if within("/api/v1/jobs") { Role::Submitter } else { Role::Operator })
}

fn no_token(detail: &str) -> Response {
    let mend = "give one as `Authorization: Bearer TOKEN`; `heddle token` makes one";
    let mut response = Problem::new(StatusCode::UNAUTHORIZED, "no-token", detail, mend).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn too_often(wait: std::time::Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let mut response = Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too-often",
        "more requests than one caller may make",
        format!("ask again in {seconds} s"),
    )
    .into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Lets a request in, or answers it.
pub async fn pass(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let keeping = gate.keeping();
    let is_asked = keeping.rules.access.is_asked();
    let way = request.extensions().get::<Way>().copied();
    if way != Some(Way::Socket)
        && let Err(problem) = of_this_site(request.method(), request.headers(), is_asked)
    {
        return problem.into_response();
    }
    let given = token_of(request.headers());
    let caller = match (way, given) {
        (Some(Way::Socket), None) => Some(Caller::socket()),
        _ if !is_asked => Some(Caller::local()),
        (_, Some(token)) => keeping.rules.access.who(token),
        (_, None) => None,
    };
    if let Some(limiter) = &keeping.limiter {
        let counted = match (&caller, way) {
            (Some(caller), Some(Way::Socket)) => Counted::Token(caller.name.clone()),
            (Some(caller), _) if is_asked => Counted::Token(caller.name.clone()),
            (_, Some(Way::Tcp(address))) => Counted::Address(address),
            _ => Counted::Token(String::new()),
        };
        if let Err(early) = limiter.check_key(&counted) {
            return too_often(early.wait_time_from(DefaultClock::default().now()));
        }
        if limiter.len() > REMEMBERED {
            limiter.retain_recent();
        }
    }
    let Some(needed) = needed(request.method(), request.uri()) else {
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller);
        }
        return next.run(request).await;
    };
    let Some(caller) = caller else {
        return no_token(if given.is_some() { "this token is not known" } else { "a token is asked for" });
    };
    if caller.role < needed {
        let detail = format!("\"{}\" is a {}, and this takes a {needed}", caller.name, caller.role);
        let mend = "ask who runs the controller for a token of that role";
        return Problem::new(StatusCode::FORBIDDEN, "role", detail, mend).into_response();
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_without_their_ports() {
        for (authority, host) in
            [("127.0.0.1:7980", "127.0.0.1"), ("[::1]:80", "::1"), ("localhost", "localhost"), ("", "")]
        {
            assert_eq!(host_of(authority), host);
        }
    }

    #[test]
    fn tokens_are_found_in_either_place() {
        let headers = |name: header::HeaderName, value: &'static str| {
            HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
        };
        let bearer = headers(header::AUTHORIZATION, "bearer abc");
        assert_eq!(token_of(&bearer), Some("abc"));
        let cookie = headers(header::COOKIE, "a=b; heddle_token=abc; c=d");
        assert_eq!(token_of(&cookie), Some("abc"));
        for value in ["Basic abc", "abc", ""] {
            assert_eq!(token_of(&headers(header::AUTHORIZATION, value)), None, "{value}");
        }
        assert_eq!(token_of(&headers(header::COOKIE, "heddle_tokens=abc")), None);
    }

    #[test]
    fn what_changes_takes_more_than_a_look() {
        let needed = |method: Method, path: &'static str| needed(&method, &Uri::from_static(path));
        assert_eq!(needed(Method::GET, "/api/v1/fabric"), Some(Role::Viewer));
        assert_eq!(needed(Method::GET, "/metrics"), Some(Role::Viewer));
        assert_eq!(needed(Method::POST, "/api/v1/what-if"), Some(Role::Viewer));
        assert_eq!(needed(Method::POST, "/api/v1/jobs"), Some(Role::Submitter));
        assert_eq!(needed(Method::DELETE, "/api/v1/jobs/7"), Some(Role::Submitter));
        assert_eq!(needed(Method::POST, "/api/v1/jobsx"), Some(Role::Operator));
        assert_eq!(needed(Method::POST, "/api/v1/emulator/links/a/1/pull"), Some(Role::Operator));
        assert_eq!(needed(Method::PUT, "/api/v1/what-is-new"), Some(Role::Operator));
        for path in ["/healthz", "/", "/assets/page.js", "/api/v1/session"] {
            assert_eq!(needed(Method::GET, path), None, "{path}");
        }
    }

    #[test]
    fn pages_of_other_sites_change_nothing() {
        let headers = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            headers.extend(origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin))));
            headers
        };
        let status = |method: Method, host, origin, is_asked| {
            of_this_site(&method, &headers(host, origin), is_asked).map_err(|problem| problem.status)
        };
        let ours = Some("http://127.0.0.1:7980");
        assert_eq!(status(Method::POST, "127.0.0.1:7980", ours, false), Ok(()));
        assert_eq!(status(Method::POST, "localhost:7980", None, false), Ok(()));
        assert_eq!(status(Method::POST, "127.0.0.1:7980", Some("https://evil.example"), false), Err(403));
        assert_eq!(status(Method::POST, "127.0.0.1:7980", Some("null"), true), Err(403));
        assert_eq!(status(Method::GET, "evil.example:7980", None, false), Err(421));
        assert_eq!(status(Method::GET, "heddle.example", None, true), Ok(()));
    }
}
