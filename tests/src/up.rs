//! A running `heddle up`, ended by its own process id.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::heddle;

/// How long anything that is waited for may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A controller that runs until this is dropped.
pub struct Up {
    child: Child,
    /// Where its API is.
    pub url: String,
    /// What it prints.
    pub lines: Receiver<String>,
}

impl Up {
    /// Starts `heddle up --json` on any free port with more arguments, and waits until its fabric is up.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_by(heddle::command(["up", "--json", "--listen", "127.0.0.1:0"]).args(arguments))
    }

    /// Starts what the command says.
    pub fn start_by(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("heddle starts");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let began = Instant::now();
        let url = loop {
            let line = lines.recv_timeout(PATIENCE).expect("heddle says where it listens");
            let said = serde_json::from_str::<Value>(&line).ok();
            if let Some(url) = said.as_ref().and_then(|said| said["listening"].as_str()) {
                break url.to_owned();
            }
            assert!(began.elapsed() < PATIENCE, "heddle does not come up");
        };
        Self { child, url, lines }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: a plain system call about a process that is ours and not yet waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Ends it in order and says whether it ended well.
    pub fn end(mut self) -> bool {
        self.signal(libc::SIGTERM);
        self.child.wait().expect("it ends").success()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(libc::SIGTERM);
            // A test that failed already has said so.
            let _ = self.child.wait();
        }
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it does not come about: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
