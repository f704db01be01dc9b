//! The laws of the house that no compiler checks: layers, module docs, named paths, the size of files.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::shared::project;

/// The crates, top of the list first, each with what it may use. The same table stands in ARCHITECTURE.md.
const LAYERS: &[(&str, &[&str])] = &[
    ("ib", &[]),
    ("fabric", &["ib"]),
    ("routing", &["ib", "fabric"]),
    ("subnet", &["ib", "fabric", "routing"]),
    ("emulator", &["ib", "fabric"]),
    ("pool", &["ib", "fabric"]),
    ("scheduler", &["ib", "fabric", "routing", "pool"]),
    ("transport", &["ib", "fabric", "emulator"]),
    ("drill", &["ib", "fabric", "routing", "subnet", "emulator"]),
    ("executor", &[]),
    (
        "controller",
        &["ib", "fabric", "routing", "subnet", "emulator", "pool", "scheduler", "transport", "executor"],
    ),
    (
        "cli",
        &[
            "ib",
            "fabric",
            "routing",
            "subnet",
            "emulator",
            "pool",
            "scheduler",
            "transport",
            "drill",
            "executor",
            "controller",
        ],
    ),
];

/// Crates that are doors: only they may lift the bans of `clippy.toml`.
const DOORS: &[&str] = &["transport", "executor", "controller", "cli"];

/// No source file grows beyond this; one that would holds two ideas.
const LONGEST_FILE: usize = 700;

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && name != ".git" {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
}

fn rust_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["crates", "tests", "bench"] {
        files(&project().join(folder), "rs", &mut found);
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(project()).unwrap_or(path).display().to_string()
}

#[test]
fn imports_point_down() {
    let allowed: BTreeMap<_, _> = LAYERS.iter().copied().collect();
    let mut seen = 0;
    for entry in fs::read_dir(project().join("crates")).expect("crates/").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let may =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("crates/{name} has no place in the layers"));
        let uses = manifest.get("dependencies").and_then(toml::Value::as_table);
        for dependency in uses.into_iter().flat_map(|table| table.keys()) {
            if allowed.contains_key(dependency.as_str()) {
                assert!(
                    may.contains(&dependency.as_str()),
                    "{name} may not use {dependency}: imports point down"
                );
            }
        }
        seen += 1;
    }
    assert_eq!(seen, LAYERS.len(), "a crate of the layers has gone: take it out of the table");
}

#[test]
fn only_doors_lift_the_bans() {
    for file in rust_files() {
        let name = relative(&file);
        let krate = name.split('/').nth(1).unwrap_or_default().to_owned();
        if !name.starts_with("crates/") || !name.contains("/src/") || DOORS.contains(&krate.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source file");
        for ban in ["clippy::disallowed_methods", "clippy::disallowed_types"] {
            assert!(
                !text.contains(ban),
                "{name} lifts {ban}: a core does no I/O, reads no clock, draws no chance"
            );
        }
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for file in rust_files() {
        let text = fs::read_to_string(&file).expect("a source file");
        assert!(text.starts_with("//!"), "{} does not open with what it is for", relative(&file));
    }
}

#[test]
fn files_hold_one_idea() {
    for file in rust_files() {
        let lines = fs::read_to_string(&file).expect("a source file").lines().count();
        assert!(lines <= LONGEST_FILE, "{} has {lines} lines, more than {LONGEST_FILE}", relative(&file));
    }
}

#[test]
fn nothing_is_left_open() {
    for file in rust_files() {
        let text = fs::read_to_string(&file).expect("a source file");
        for word in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("unimpl", "emented!(")] {
            assert!(!text.contains(word), "{} has a {word}", relative(&file));
        }
    }
}

/// Words between backquotes that look like a path of this project.
fn named_paths(text: &str) -> Vec<&str> {
    let roots = ["crates/", "tests/", "bench/", "docs/", "examples/", "catalog/", "web/", "fuzz/", ".ci/"];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| roots.iter().any(|root| word.starts_with(root)))
        .collect()
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let mut named = 0;
    for document in ["ARCHITECTURE.md", "README.md", "README.zh-CN.md"] {
        let text = fs::read_to_string(project().join(document)).expect(document);
        for path in named_paths(&text) {
            assert!(project().join(path).exists(), "{document} names {path}, which is not there");
            named += 1;
        }
    }
    assert!(named > 20, "the documents name hardly a path: does this test still read them?");
}

#[test]
fn architecture_names_every_crate() {
    let text = fs::read_to_string(project().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    for (name, _) in LAYERS {
        assert!(text.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name the crate {name}");
    }
}
