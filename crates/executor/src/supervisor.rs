//! Stands over the processes of one run: starts them, holds them to their limits, ends them when asked, writes down how they
//! ended. It is a process of its own, so that a run outlives the controller that started it.
//!
//! ```text
//!  claim ──► start all ──► wait ──► the last has ended ──────────────► end.json
//!    │                       │ SIGTERM, or the time limit
//!    └ somebody else has it  └─► SIGTERM to the group ──► after the grace SIGKILL
//! ```

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use crate::files::Folder;
use crate::limits::Lowered;
use crate::order::{Order, Outcome, Place, Tasks};
use crate::process::{Process, signal_group};

/// The environment's entry that marks all processes of a run, by its folder.
pub(crate) const MARK: &str = "HEDDLE_RUN";

/// What the supervisor hears.
enum News {
    /// The process of a rank has ended.
    Ended(usize, ExitStatus),
    /// The run is to end.
    Asked,
}

/// Runs the run whose folder this is, to its end. The answer is whether this process was the one to run it.
///
/// # Errors
/// What cannot be read, claimed or written.
pub fn supervise(folder: &Path) -> Result<bool, crate::ExecutorError> {
    let folder = Folder::at(folder);
    let Some(order) = folder.order()? else { return Ok(false) };
    // Signals are heard before anybody can know whom to send them to.
    let (tell, hear) = channel();
    let signals = Signals::new([SIGTERM]);
    if !folder.claim(Process::own())? {
        return Ok(false);
    }
    let outcome = match signals {
        Ok(signals) => {
            let asked = tell.clone();
            thread::spawn(move || listen(signals, &asked));
            run(&folder, &order, &tell, &hear)
        }
        Err(error) => Outcome::NotStarted { why: format!("signals cannot be heard: {error}") },
    };
    folder.end(&outcome)?;
    Ok(true)
}

fn listen(mut signals: Signals, asked: &Sender<News>) {
    for _ in signals.forever() {
        if asked.send(News::Asked).is_err() {
            return;
        }
    }
}

fn run(folder: &Folder, order: &Order, tell: &Sender<News>, hear: &Receiver<News>) -> Outcome {
    let began = Instant::now();
    let (children, failure) = match start_all(folder, order) {
        Ok(children) => (children, None),
        Err((children, why)) => (children, Some(why)),
    };
    let Some(group) = children.first().map(Child::id) else {
        return Outcome::NotStarted { why: failure.unwrap_or_else(|| "there is nothing to run".to_owned()) };
    };
    if failure.is_some() {
        signal_group(group, Signal::KILL);
    }
    let count = children.len();
    for (rank, mut child) in children.into_iter().enumerate() {
        let tell = tell.clone();
        thread::spawn(move || {
            if let Ok(status) = child.wait() {
                // Nobody hears it once the run is over.
                let _ = tell.send(News::Ended(rank, status));
            }
        });
    }
    let ended = wait(folder, order, (began, count, group), hear);
    // What the run's processes have left behind goes with them.
    signal_group(group, Signal::KILL);
    match failure {
        Some(why) => Outcome::NotStarted { why },
        None => ended,
    }
}

fn wait(
    folder: &Folder,
    order: &Order,
    (began, count, group): (Instant, usize, u32),
    hear: &Receiver<News>,
) -> Outcome {
    let mut statuses: BTreeMap<usize, ExitStatus> = BTreeMap::new();
    let mut deadline = order.limit_ms.map(|limit| began + Duration::from_millis(limit));
    // Why it is to end, once it is.
    let mut ending: Option<Outcome> = None;
    while statuses.len() < count {
        let news = match deadline {
            Some(deadline) => hear.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => hear.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let begin_to_end = |grace_ms: u64| {
            signal_group(group, Signal::TERM);
            Some(Instant::now() + Duration::from_millis(grace_ms))
        };
        match news {
            Ok(News::Ended(rank, status)) => {
                statuses.insert(rank, status);
                // A gang that has lost one of its ranks does no work any more.
                if !status.success() && ending.is_none() && statuses.len() < count {
                    ending = Some(told(status));
                    deadline = begin_to_end(order.grace_ms);
                }
            }
            Ok(News::Asked) if ending.is_none() => {
                let grace_ms = folder.asked().ok().flatten().unwrap_or(order.grace_ms);
                ending = Some(Outcome::Cancelled);
                deadline = begin_to_end(grace_ms);
            }
            Ok(News::Asked) => {}
            Err(RecvTimeoutError::Timeout) if ending.is_none() => {
                ending = Some(Outcome::TimedOut);
                deadline = begin_to_end(order.grace_ms);
            }
            Err(RecvTimeoutError::Timeout) => {
                signal_group(group, Signal::KILL);
                deadline = None;
            }
            Err(RecvTimeoutError::Disconnected) => return Outcome::Lost,
        }
    }
    ending.unwrap_or_else(|| {
        let worst = statuses.values().find(|status| !status.success()).copied();
        worst.map_or(Outcome::Exited { code: 0 }, told)
    })
}

fn told(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited { code },
        (None, signal) => Outcome::Killed { signal: signal.unwrap_or(0) },
    }
}

/// One process that is to be started.
struct Task<'a> {
    place: &'a Place,
    /// Its node's rank.
    node: usize,
    /// Its rank among those of its node.
    local: u32,
}

fn tasks(order: &Order) -> Vec<Task<'_>> {
    let all = order.places.iter().enumerate();
    match order.tasks {
        Tasks::One => all.take(1).map(|(node, place)| Task { place, node, local: 0 }).collect(),
        Tasks::PerNode => all.map(|(node, place)| Task { place, node, local: 0 }).collect(),
        Tasks::PerPart => all
            .flat_map(|(node, place)| (0..place.parts).map(move |local| Task { place, node, local }))
            .collect(),
    }
}

/// The GPUs of a task: all of its node, or, where a node has several tasks, an even share of them.
fn gpus_of<'a>(order: &Order, task: &Task<'a>) -> &'a [u32] {
    let gpus = &task.place.gpus;
    if order.tasks != Tasks::PerPart || task.place.parts == 0 {
        return gpus;
    }
    let each = gpus.len() / task.place.parts as usize;
    let from = each * task.local as usize;
    gpus.get(from..from + each).unwrap_or_default()
}

fn join(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

/// What tells a task of its places: Heddle's own names, and those that MPI-less launchers read.
fn environment(folder: &Folder, order: &Order, all: &[Task<'_>], rank: usize) -> Vec<(&'static str, String)> {
    let task = &all[rank];
    let nodes: Vec<&str> = order.places.iter().map(|place| place.node.as_str()).collect();
    let mine = gpus_of(order, task);
    let gpus: usize = order.places.iter().map(|place| place.gpus.len()).sum();
    vec![
        (MARK, folder.path().display().to_string()),
        ("HEDDLE_JOB_ID", order.run.job.to_string()),
        ("HEDDLE_JOB_NAME", order.name.clone()),
        ("HEDDLE_ATTEMPT", order.run.attempt.to_string()),
        ("HEDDLE_NODES", nodes.join(",")),
        ("HEDDLE_NODE", task.place.node.clone()),
        ("HEDDLE_NODE_RANK", task.node.to_string()),
        ("HEDDLE_RANK", rank.to_string()),
        ("HEDDLE_LOCAL_RANK", task.local.to_string()),
        ("HEDDLE_RANKS", all.len().to_string()),
        ("HEDDLE_GPUS", gpus.to_string()),
        ("HEDDLE_NODE_GPUS", join(task.place.gpus.iter().copied())),
        ("CUDA_VISIBLE_DEVICES", join(mine.iter().copied())),
    ]
}

/// Starts all processes in one group. Where one cannot be started, those before it are returned too.
fn start_all(folder: &Folder, order: &Order) -> Result<Vec<Child>, (Vec<Child>, String)> {
    let all = tasks(order);
    let mut children: Vec<Child> = Vec::with_capacity(all.len());
    let script = match order.script.as_ref().map(|text| folder.script(text)).transpose() {
        Ok(script) => script,
        Err(error) => return Err((children, error.to_string())),
    };
    let (program, arguments) = match (script, order.command.split_first()) {
        (Some(script), _) => (script, &order.command[..]),
        (None, Some((program, arguments))) => (program.into(), arguments),
        (None, None) => return Err((children, "there is no command".to_owned())),
    };
    let directory = order.directory.as_deref().unwrap_or(folder.path());
    let output = match open_output(folder, order) {
        Ok(output) => output,
        Err(why) => return Err((children, why)),
    };
    let limit = match order.memory_mib.map(Lowered::to).transpose() {
        Ok(limit) => limit,
        Err(why) => return Err((children, why)),
    };
    for rank in 0..all.len() {
        let streams = output.try_clone().and_then(|out| Ok((out, output.try_clone()?)));
        let (out, errors) = match streams {
            Ok(streams) => streams,
            Err(error) => return Err((children, error.to_string())),
        };
        // The first is the group's leader: it is not asked how it ended before all are in the group.
        let group = children.first().map_or(0, |first| first.id() as i32);
        let started = Command::new(&program)
            .args(arguments)
            .current_dir(directory)
            .envs(&order.environment)
            .envs(environment(folder, order, &all, rank))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .process_group(group)
            .spawn();
        match started {
            Ok(child) => {
                if let Some(limit) = &limit {
                    limit.seal(child.id());
                }
                children.push(child);
            }
            Err(error) => {
                return Err((children, format!("{} in {}: {error}", program.display(), directory.display())));
            }
        }
    }
    drop(limit);
    Ok(children)
}

/// The file of the run's output, which a run that starts anew goes on with.
fn open_output(folder: &Folder, order: &Order) -> Result<File, String> {
    let path = folder.output(order);
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    opened.map_err(|error| format!("cannot write output to {}: {error}", path.display()))
}
