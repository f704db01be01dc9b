//! Errors as RFC 9457 has them: what is wrong, and what would mend it.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::site::Busy;
use crate::store::StoreError;
use crate::work::Refused;

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

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotReady(why) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "no-pool-yet",
                format!("there is no pool yet: {why}"),
                "ask again once the fabric is up",
            ),
            Refused::Job { what, mend } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "job-refused", what, mend)
            }
            Refused::NoSuchJob(number) => Self::new(
                StatusCode::NOT_FOUND,
                "no-such-job",
                format!("there is no job {number}"),
                "see /api/v1/jobs for those that there are",
            ),
            Refused::Over(number, state) => Self::new(
                StatusCode::CONFLICT,
                "job-is-over",
                format!("job {number} is {}", state.name()),
                "only what is not over can be ended",
            ),
            Refused::Store(why) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "store",
                format!("it could not be recorded, so it is not sure to last: {why}"),
                "look at the disk that the store lies on",
            ),
        }
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
