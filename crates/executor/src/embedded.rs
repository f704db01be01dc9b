//! Runs jobs as processes of this machine, each run under a supervisor of its own.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::files::Folder;
use crate::order::{Order, Outcome, RunId};
use crate::process::{Process, kill_marked};
use crate::supervisor::MARK;
use crate::{Executor, ExecutorError, Found};

/// What the embedded executor has to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Where runs have their folders.
    pub base: PathBuf,
    /// Program and arguments that supervise a run; its folder is added as the last argument.
    pub supervisor: Vec<String>,
}

/// Who watches over a run.
enum Watcher {
    /// A supervisor that this process has started.
    Own(Child),
    /// One that was there before.
    Adopted(Process),
}

impl Watcher {
    fn is_gone(&mut self) -> bool {
        match self {
            // Where it cannot be asked it is somebody else's to wait for.
            Self::Own(child) => child.try_wait().map_or(true, |status| status.is_some()),
            Self::Adopted(process) => !process.runs(),
        }
    }
}

/// Runs jobs as processes of this machine.
pub struct Embedded {
    config: Config,
    watched: BTreeMap<RunId, Watcher>,
    /// Supervisors whose run somebody else had claimed: they are waited for, so that none stays behind.
    spare: Vec<Child>,
}

impl Embedded {
    /// With folders below the configured one.
    ///
    /// # Errors
    /// Where that cannot be made.
    pub fn new(config: Config) -> Result<Self, ExecutorError> {
        let base = std::fs::create_dir_all(&config.base).and_then(|()| config.base.canonicalize());
        let base = base.map_err(|error| ExecutorError::File {
            doing: "make",
            path: config.base.clone(),
            why: error.to_string(),
        })?;
        Ok(Self { config: Config { base, ..config }, watched: BTreeMap::new(), spare: Vec::new() })
    }

    fn folder(&self, run: RunId) -> Folder {
        Folder::of(&self.config.base, run)
    }

    fn supervise(&self, folder: &Path) -> Result<Child, ExecutorError> {
        let [program, arguments @ ..] = &self.config.supervisor[..] else {
            let why = "no program is named".to_owned();
            return Err(ExecutorError::Start { program: "a supervisor".to_owned(), why });
        };
        Command::new(program)
            .args(arguments)
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the controller from a terminal does not end what it runs.
            .process_group(0)
            .spawn()
            .map_err(|error| ExecutorError::Start { program: program.clone(), why: error.to_string() })
    }

    /// How a run ended whose supervisor is gone: as that wrote down, else nobody knows, and what is left of it is ended.
    fn last_word(folder: &Folder) -> Outcome {
        match folder.ended() {
            Ok(Some(outcome)) => outcome,
            Ok(None) | Err(_) => {
                kill_marked(&format!("{MARK}={}", folder.path().display()));
                Outcome::Lost
            }
        }
    }
}

/// Where the output of a run lies whose folder is below `base`; nothing where there is no such run.
pub fn output_of(base: &Path, run: RunId) -> Option<PathBuf> {
    let folder = Folder::of(base, run);
    let order = folder.order().ok()??;
    Some(folder.output(&order))
}

impl Executor for Embedded {
    fn start(&mut self, order: &Order) -> Result<(), ExecutorError> {
        if self.watched.contains_key(&order.run) {
            return Ok(());
        }
        let folder = self.folder(order.run);
        if folder.claimed_by()?.is_none() {
            folder.prepare(order)?;
        }
        let child = self.supervise(folder.path())?;
        self.watched.insert(order.run, Watcher::Own(child));
        Ok(())
    }

    fn poll(&mut self) -> Vec<(RunId, Outcome)> {
        self.spare.retain_mut(|child| child.try_wait().is_ok_and(|status| status.is_none()));
        let gone: Vec<RunId> =
            self.watched.iter_mut().filter_map(|(&run, watcher)| watcher.is_gone().then_some(run)).collect();
        let mut over = Vec::new();
        for run in gone {
            let folder = self.folder(run);
            // Who did not get the claim leaves the run to who has it.
            if let (Ok(None), Ok(Some(claimed))) = (folder.ended(), folder.claimed_by())
                && claimed.runs()
            {
                self.watched.insert(run, Watcher::Adopted(claimed));
                continue;
            }
            self.watched.remove(&run);
            over.push((run, Self::last_word(&folder)));
        }
        over
    }

    fn cancel(&mut self, run: RunId, grace: Duration) -> Result<(), ExecutorError> {
        if !self.watched.contains_key(&run) {
            return Ok(());
        }
        let folder = self.folder(run);
        folder.ask(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX))?;
        match folder.claimed_by()? {
            Some(supervisor) => supervisor.signal(Signal::TERM),
            // It has not begun, and may be about to: the claim is taken away from it, and nothing begins.
            None if folder.claim(Process::own())? => folder.end(&Outcome::Cancelled)?,
            None => {
                if let Some(supervisor) = folder.claimed_by()? {
                    supervisor.signal(Signal::TERM);
                }
            }
        }
        Ok(())
    }

    fn adopt(&mut self, run: RunId) -> Result<Found, ExecutorError> {
        if self.watched.contains_key(&run) {
            return Ok(Found::Running);
        }
        let folder = self.folder(run);
        if let Some(outcome) = folder.ended()? {
            return Ok(Found::Over(outcome));
        }
        match folder.claimed_by()? {
            None => Ok(Found::Nothing),
            Some(supervisor) if supervisor.runs() => {
                self.watched.insert(run, Watcher::Adopted(supervisor));
                Ok(Found::Running)
            }
            Some(_) => Ok(Found::Over(Self::last_word(&folder))),
        }
    }

    fn output(&self, run: RunId) -> Option<PathBuf> {
        output_of(&self.config.base, run)
    }

    fn forget(&mut self, run: RunId) {
        if let Some(Watcher::Own(child)) = self.watched.remove(&run) {
            self.spare.push(child);
        }
        self.folder(run).remove();
    }
}
