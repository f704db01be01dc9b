//! Processes of this machine, told apart from others that get the same number later.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// A process by its number and when it began, in clock ticks since the machine started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began.
    pub began: u64,
}

/// State and beginning out of a line of `/proc/PID/stat`. The name in brackets may hold anything, brackets too.
fn parse_stat(line: &str) -> Option<(char, u64)> {
    let mut words = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = words.next()?.chars().next()?;
    // The state is field 3, the beginning field 22 (man 5 proc_pid_stat).
    Some((state, words.nth(18)?.parse().ok()?))
}

fn stat(pid: u32) -> Option<(char, u64)> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

impl Process {
    /// This process.
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, began: stat(pid).map_or(0, |(_, began)| began) }
    }

    /// Whether it still runs: one that has ended and waits to be asked how does not.
    pub fn runs(self) -> bool {
        stat(self.pid).is_some_and(|(state, began)| began == self.began && !matches!(state, 'Z' | 'X'))
    }

    /// Sends it a signal, if it still runs.
    pub fn signal(self, signal: Signal) {
        if self.runs()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            // One that has just ended needs none.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Sends a signal to all processes of a group.
pub fn signal_group(group: u32, signal: Signal) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // A group that has just ended needs none.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Ends all processes whose environment holds this entry, as in `NAME=value`. For a run whose supervisor is gone.
pub fn kill_marked(entry: &str) {
    let Ok(processes) = fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(environment) = fs::read(Path::new("/proc").join(pid.to_string()).join("environ")) else {
            continue;
        };
        if environment.split(|&byte| byte == 0).any(|has| has == entry.as_bytes())
            && let Some((_, began)) = stat(pid)
        {
            Process { pid, began }.signal(Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_whatever_the_name() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20";
        assert_eq!(parse_stat(&format!("12 (a) b) {rest}")), Some(('S', 987_654)));
        for line in ["", "12", "12 (a)", "12 (a) S 1", "12 (a"] {
            assert_eq!(parse_stat(line), None, "{line}");
        }
    }

    #[test]
    fn a_number_that_was_given_out_again_is_another_process() {
        let own = Process::own();
        assert!(own.runs());
        assert!(!Process { began: own.began + 1, ..own }.runs());
        assert!(!Process { pid: u32::MAX, ..own }.runs());
    }
}
