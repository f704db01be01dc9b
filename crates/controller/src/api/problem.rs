//! Errors as RFC 9457 has them: what is wrong, and what would mend it.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::site::Busy;
use crate::store::StoreError;

/// What is wrong with a request (RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// What kind of problem, as in `urn:heddle:problem:no-such-node`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// What would mend it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mend: String,
}

impl Problem {
    /// A problem of a kind, as in `no-such-node`.
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:heddle:problem:{kind}"),
            title: kind.replace('-', " "),
            status: status.as_u16(),
            detail: detail.into(),
            mend: mend.into(),
        }
    }

    fn of_request(status: StatusCode, detail: String) -> Self {
        Self::new(status, "wrong-request", detail, "see /api/v1/openapi.json for what the request takes")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let form = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, form);
        response
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::of_request(rejection.status(), rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::of_request(rejection.status(), rejection.body_text())
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::of_request(rejection.status(), rejection.body_text())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "store",
            error.to_string(),
            "look at the disk that the store lies on",
        )
    }
}

impl From<Busy> for Problem {
    fn from(_: Busy) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "the subnet manager is computing and has not answered",
            "ask again in a moment",
        )
    }
}
