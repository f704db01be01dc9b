//! A run's folder: the order, who claimed it, how it ended, its output.
//!
//! Whoever creates the claim runs the run, and nobody else ever does: this is what makes a second start harmless.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ExecutorError;
use crate::order::{Order, Outcome, RunId};
use crate::process::Process;

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

fn failed<'a>(doing: &'static str, path: &'a Path) -> impl Fn(std::io::Error) -> ExecutorError + 'a {
    move |error| ExecutorError::File { doing, path: path.to_owned(), why: error.to_string() }
}

impl Folder {
    /// The folder of a run below `base`.
    pub fn of(base: &Path, run: RunId) -> Self {
        Self(base.join(run.job.to_string()).join(run.attempt.to_string()))
    }

    /// A folder by its path.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where a run's output goes.
    pub fn output(&self, order: &Order) -> PathBuf {
        match &order.output {
            Some(path) => order.directory.as_ref().unwrap_or(&self.0).join(path),
            None => self.0.join("output"),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file so that it is there whole or not at all.
    fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), ExecutorError> {
        let (path, beside) = (self.file(name), self.file(&format!("{name}.new")));
        let text = serde_json::to_vec(value).unwrap_or_default();
        let written = fs::File::create(&beside)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &path));
        written.map_err(failed("write", &path))
    }

    /// Reads a file; nothing where it is not there.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ExecutorError> {
        let path = self.file(name);
        match fs::read(&path) {
            Ok(text) => {
                let value =
                    serde_json::from_slice(&text).map_err(|error| std::io::Error::other(error.to_string()));
                value.map(Some).map_err(failed("read", &path))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    /// Makes the folder and writes what is to be run.
    pub fn prepare(&self, order: &Order) -> Result<(), ExecutorError> {
        fs::create_dir_all(&self.0).map_err(failed("make", &self.0))?;
        self.write("order.json", order)
    }

    /// What is to be run.
    pub fn order(&self) -> Result<Option<Order>, ExecutorError> {
        self.read("order.json")
    }

    /// Claims the run for a process; whether it was the first to do so.
    pub fn claim(&self, process: Process) -> Result<bool, ExecutorError> {
        let path = self.file("claim");
        let text = serde_json::to_vec(&process).unwrap_or_default();
        // The claim is a whole file the moment it has its name.
        let own = self.file(&format!("claim.{}", process.pid));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&own)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        written.map_err(failed("write", &own))?;
        let linked = fs::hard_link(&own, &path);
        // Its own name has served.
        let _ = fs::remove_file(&own);
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed("claim", &path)(error)),
        }
    }

    /// Writes the script down as a program; its path.
    pub fn script(&self, text: &str) -> Result<PathBuf, ExecutorError> {
        let path = self.file("script");
        let written = fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o700)));
        written.map_err(failed("write", &path)).map(|()| path)
    }

    /// Who claimed it.
    pub fn claimed_by(&self) -> Result<Option<Process>, ExecutorError> {
        self.read("claim")
    }

    /// Says how it ended.
    pub fn end(&self, outcome: &Outcome) -> Result<(), ExecutorError> {
        self.write("end.json", outcome)
    }

    /// How it ended.
    pub fn ended(&self) -> Result<Option<Outcome>, ExecutorError> {
        self.read("end.json")
    }

    /// Leaves word how long a run that is asked to end has for it, in milliseconds.
    pub fn ask(&self, grace_ms: u64) -> Result<(), ExecutorError> {
        self.write("grace.json", &grace_ms)
    }

    /// How long it has, where it was asked to end.
    pub fn asked(&self) -> Result<Option<u64>, ExecutorError> {
        self.read("grace.json")
    }

    /// Takes the folder away, and the job's with its last one.
    pub fn remove(&self) {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(&self.0);
        if let Some(job) = self.0.parent() {
            let _ = fs::remove_dir(job);
        }
    }
}
