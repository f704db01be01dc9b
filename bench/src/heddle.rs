//! The `heddle` under measurement.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::Common;
use crate::process::Finished;

/// The heddle to measure: the one named, else the one that the same build put beside this program.
pub fn binary(common: &Common) -> anyhow::Result<PathBuf> {
    let path = match &common.heddle {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("heddle"),
    };
    if !path.exists() {
        bail!(
            "{} is not there: run `cargo build --release -p cli` first, or name one with --heddle",
            path.display()
        );
    }
    Ok(path)
}

/// `heddle up --once --json` with further arguments.
pub fn up(common: &Common, arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(binary(common)?);
    command.args(["up", "--once", "--json"]).args(arguments);
    Ok(command)
}

/// What it printed.
pub fn report(finished: &Finished) -> anyhow::Result<Value> {
    serde_json::from_str(&finished.output)
        .with_context(|| format!("heddle printed no JSON:\n{}", finished.output))
}
