//! The real fabrics, which stay outside the project.

use std::path::{Path, PathBuf};

/// The project's own folder.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project").to_path_buf()
}

/// A file or folder of the shared data: below `HEDDLE_SHARED`, else beside the project. Says so where there is none.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HEDDLE_SHARED").map_or_else(|| project().join("../shared"), PathBuf::from);
    let file = root.join(path);
    if file.exists() {
        return Some(file);
    }
    println!("skipped: no shared data ({path})");
    None
}
