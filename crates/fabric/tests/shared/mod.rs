//! Where the shared data stands; without it a test says so and passes.

use std::path::PathBuf;

/// A file of the shared fabrics.
pub fn shared(name: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("HEDDLE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    #[expect(clippy::disallowed_methods, reason = "a test reads its own data")]
    let bytes = std::fs::read(root.join("fabrics").join(name)).ok();
    if bytes.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: no shared data ({name})");
        }
    }
    bytes
}
