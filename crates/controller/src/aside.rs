//! What can be computed beside the manager: on a thread of its own, or at once where time passes only while the wire waits.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use subnet::{Solution, Task};

/// The task under way. One that comes while another is computed takes its place: the manager has given that one up.
#[derive(Default)]
pub(crate) struct Aside {
    under_way: Option<Receiver<Solution>>,
    done: Option<Solution>,
}

impl Aside {
    /// Begins a task.
    pub fn begin(&mut self, task: Task, at_once: bool) {
        if at_once {
            self.done = Some(task.compute());
            return;
        }
        let (sender, receiver) = channel();
        self.under_way = Some(receiver);
        // Nobody listens any more where the session has ended.
        thread::spawn(move || sender.send(compute_apart(task)).is_ok());
    }

    /// What came of it, once.
    pub fn take(&mut self) -> Option<Solution> {
        if let Some(receiver) = &self.under_way {
            match receiver.try_recv() {
                Ok(solution) => self.done = Some(solution),
                Err(TryRecvError::Empty) => return None,
                // The computation broke off: the manager goes without.
                Err(TryRecvError::Disconnected) => {}
            }
            self.under_way = None;
        }
        self.done.take()
    }
}

/// A repair that becomes urgent meanwhile must not wait in line behind the task: it leaves one core, and the threads that
/// serve everybody, alone.
fn compute_apart(task: Task) -> Solution {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    match rayon::ThreadPoolBuilder::new().num_threads(cores.saturating_sub(1).max(1)).build() {
        Ok(pool) => pool.install(|| task.compute()),
        Err(_) => task.compute(),
    }
}
