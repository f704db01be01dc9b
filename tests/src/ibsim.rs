//! A real ibsim on sockets of its own, and the tools that look at its fabric through the preload library.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::heddle;

/// A running ibsim; dropped, it is ended.
pub struct Ibsim {
    child: Child,
    socket_name: String,
    folder: tempfile::TempDir,
}

impl Ibsim {
    /// Starts ibsim on a net file and waits until it takes clients.
    pub fn start(net: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let socket_name = format!("heddle{}x{number}", std::process::id());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = fs::File::create(folder.path().join("ibsim.log")).expect("a log file");
        let child = Command::new("ibsim")
            .args(["-s", "-N", "20000", "-S", "4000", "-P", "200000", "-L", "49152"])
            .arg(net)
            .env("IBSIM_SOCKNAME", &socket_name)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("ibsim is installed: `make packages`");
        let mut ibsim = Self { child, socket_name, folder };
        ibsim.wait_until_it_listens();
        ibsim
    }

    /// Writes a net file of its own and starts ibsim on it.
    pub fn start_on(net: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("fabric.net");
        fs::write(&file, net).expect("a net file");
        Self::start(&file)
    }

    fn wait_until_it_listens(&mut self) {
        let wanted = format!("@{}:ctl", self.socket_name);
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
            if sockets.lines().any(|line| {
                line.split_whitespace().next_back().is_some_and(|name| name.trim_end_matches('@') == wanted)
            }) {
                return;
            }
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                panic!("ibsim ended with {status}: {}", self.log());
            }
            assert!(Instant::now() < limit, "ibsim takes no clients: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What ibsim has said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("ibsim.log")).unwrap_or_default()
    }

    /// The folder that goes away with this ibsim.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    /// A line for ibsim's console.
    pub fn console(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("a piped console");
        writeln!(input, "{line}").expect("ibsim reads its console");
        input.flush().expect("ibsim reads its console");
    }

    /// `heddle` on this fabric through the socket.
    pub fn heddle(&self, arguments: &[&str]) -> Command {
        let mut command = heddle::command(arguments);
        command.env("IBSIM_SOCKNAME", &self.socket_name);
        command
    }

    /// Any program on this fabric, served by the preload library.
    pub fn tool(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new("ibsim-run");
        command.arg(program).args(arguments).env("IBSIM_SOCKNAME", &self.socket_name);
        command
    }

    /// The same, with the program sitting at a named node.
    pub fn tool_at(&self, node: &str, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.tool(program, arguments);
        command.env("SIM_HOST", node);
        command
    }
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
