//! What requests carry, read so that a wrong one is answered with a problem.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path as AxumPath, Query as AxumQuery};

use super::problem::Problem;

/// The words of the path.
#[derive(FromRequestParts)]
#[from_request(via(AxumPath), rejection(Problem))]
pub struct Path<T>(pub T);

/// The query.
#[derive(FromRequestParts)]
#[from_request(via(AxumQuery), rejection(Problem))]
pub struct Query<T>(pub T);

/// A body of JSON.
#[derive(FromRequest)]
#[from_request(via(Json), rejection(Problem))]
pub struct Body<T>(pub T);

/// Entries of a page where nothing is said.
const USUAL: u32 = 100;
/// Entries of the largest page.
const MOST: u32 = 1_000;

/// How many entries a page has.
///
/// # Errors
/// Where more are asked for than a page may have, or none.
pub fn page_size(limit: Option<u32>) -> Result<usize, Problem> {
    match limit.unwrap_or(USUAL) {
        limit @ 1..=MOST => Ok(limit as usize),
        limit => Err(Problem::new(
            axum::http::StatusCode::BAD_REQUEST,
            "wrong-page-size",
            format!("a page has 1 to {MOST} entries, not {limit}"),
            "ask for smaller pages, each from where the last one ended",
        )),
    }
}
