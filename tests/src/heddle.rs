//! The `heddle` binary as a user runs it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// The binary that the same build made: beside the folder that this test's own program lies in.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a program");
    let built = test.ancestors().nth(2).expect("target/PROFILE/deps/test").join("heddle");
    assert!(built.exists(), "{} is missing: run `cargo build -p cli` first, or `make test`", built.display());
    built
}

/// A call of `heddle`.
pub fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments);
    command
}

/// Runs a call to its end; the test fails where it cannot be started.
pub fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What a finished call printed, with its exit code: for messages of failed checks.
pub fn describe(output: &Output) -> String {
    format!(
        "{}\n--- stdout\n{}\n--- stderr\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs a call that must end well and returns what it printed.
pub fn text(command: &mut Command) -> String {
    let output = output(command);
    assert!(output.status.success(), "{command:?}: {}", describe(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a call that must end well and print JSON.
pub fn json(command: &mut Command) -> Value {
    let text = text(command);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command:?} printed no JSON: {error}\n{text}"))
}
