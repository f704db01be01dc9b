//! Embeds the page: what `make web` has built, where it has. Nothing is fetched and nothing is built here, so that Rust
//! alone is enough for the rest.

#![allow(clippy::disallowed_methods, reason = "a build script reads files")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Files below `folder`, in the order of their names.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn main() -> io::Result<()> {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let dist = crate_folder.join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let site = dist.join("site");
    let mut found = Vec::new();
    if site.is_dir() {
        files(&site, &mut found)?;
    }
    let mut list = String::from("&[\n");
    for path in found {
        let path = path.canonicalize()?;
        let below = path.strip_prefix(site.canonicalize()?).map_err(io::Error::other)?;
        let name = below.to_str().ok_or_else(|| io::Error::other(format!("{}: no UTF-8", path.display())))?;
        let media = media_type(&path);
        // Writing to a string cannot fail.
        let _ =
            writeln!(list, "    ({name:?}, {media:?}, include_bytes!({:?})),", path.display().to_string());
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), list)
}
