//! A program run to its end, measured: wall time from just before its start to its end, and what the kernel says that
//! it used.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Nothing that is measured here should take longer.
const LIMIT: Duration = Duration::from_secs(3600);

/// A program that has ended.
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Seconds from just before its start to its end.
    pub wall: f64,
    /// Seconds of processor time in the program itself.
    pub user: f64,
    /// Seconds of processor time in the kernel on its behalf.
    pub system: f64,
    /// The most memory that it held, bytes.
    pub peak_bytes: u64,
    /// What it printed.
    pub output: String,
    /// What it printed to standard error.
    pub errors: String,
}

impl Finished {
    /// Refuses what did not end well.
    pub fn succeeded(self, what: &str) -> anyhow::Result<Self> {
        if !self.status.success() {
            bail!("{what} ended with {}:\n{}\n{}", self.status, self.output, self.errors);
        }
        Ok(self)
    }
}

/// Lets the kernel end the program where this one ends first, so that nothing is left running after an interrupt.
pub fn tie(command: &mut Command) -> &mut Command {
    // SAFETY: the call between fork and exec is one system call, and allocates nothing.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        })
    }
}

/// Runs `command` to its end; its output goes through files in `folder`, so that it never waits for a reader.
pub fn run(command: &mut Command, folder: &Path) -> anyhow::Result<Finished> {
    let (output, errors) = (folder.join("output"), folder.join("errors"));
    command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(File::create(&errors)?);
    let start = Instant::now();
    let child = tie(command).spawn().with_context(|| format!("cannot start {command:?}"))?;
    let pid = child.id() as libc::pid_t;
    let (ended, watch) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if watch.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            // SAFETY: a signal to a child that has not been waited for, so its number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    });
    let waited = wait_without_reaping(pid);
    let wall = start.elapsed().as_secs_f64();
    drop(ended);
    watchdog.join().map_err(|_| anyhow::anyhow!("the watchdog failed"))?;
    waited?;
    let (status, usage) = reap(pid)?;
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok(Finished {
        status,
        wall,
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
        output: std::fs::read_to_string(&output)?,
        errors: std::fs::read_to_string(&errors)?,
    })
}

/// Waits until the child has ended, and leaves it to be asked what it used.
fn wait_without_reaping(pid: libc::pid_t) -> io::Result<()> {
    loop {
        // SAFETY: `info` is plain data that the call fills in.
        let result = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, libc::WEXITED | libc::WNOWAIT)
        };
        match result {
            0 => return Ok(()),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

fn reap(pid: libc::pid_t) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: both out pointers live through the call; `rusage` is plain data.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(pid, &raw mut status, 0, &raw mut usage) != pid {
            return Err(io::Error::last_os_error());
        }
        Ok((ExitStatus::from_raw(status), usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_measured_and_its_output_kept() {
        let folder = tempfile::tempdir().unwrap();
        let finished =
            run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), folder.path()).unwrap();
        assert_eq!((finished.output.as_str(), finished.errors.as_str()), ("out\n", "err\n"));
        assert_eq!(finished.status.code(), Some(3));
        assert!(finished.wall > 0.0 && finished.peak_bytes > 0);
        assert!(finished.succeeded("sh").is_err());
        assert!(run(&mut Command::new("/no/such/program"), folder.path()).is_err());
    }
}
