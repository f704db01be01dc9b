//! `/`: the page that people look at, as `make web` has built it; its files are part of the binary.

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::site::Site;

/// Path, media type and content of each file; none where the page was not built before the binary.
type File = (&'static str, &'static str, &'static [u8]);
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const START: &str = "index.html";
/// What a page without its files says.
const ABSENT: &str = "heddle was built without its page: run `make web`, then build heddle again.\n\
    The API is at /api/v1, its document at /api/v1/openapi.json.\n";
/// The page takes nothing from anywhere else, and shows itself in nobody else's.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'",
);
/// Names of files carry a digest of what is in them.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

async fn absent() -> impl IntoResponse {
    (StatusCode::NOT_IMPLEMENTED, ABSENT)
}

fn serve(router: Router<Site>, path: &str, &(name, media, content): &File) -> Router<Site> {
    let kept = if name.starts_with("assets/") { FOR_EVER } else { ASK_AGAIN };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (header::CACHE_CONTROL, kept),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    router.route(path, get(move || async move { (headers, content) }))
}

/// The routes of this file: one a file.
pub fn routes() -> Router<Site> {
    let mut router = Router::new();
    for file in FILES {
        router = serve(router, &format!("/{}", file.0), file);
        if file.0 == START {
            router = serve(router, "/", file);
        }
    }
    if FILES.iter().all(|file| file.0 != START) {
        router = router.route("/", get(absent));
    }
    router
}
