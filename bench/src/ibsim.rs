//! A real ibsim on sockets of its own, and the place that its clients sit at.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fabric::Fabric;

use crate::process;

/// How long ibsim may take to read its net file.
const START: Duration = Duration::from_secs(600);

/// A running ibsim; dropped, it is ended.
pub struct Ibsim {
    child: Child,
    socket_name: String,
    seat: String,
}

impl Ibsim {
    /// Starts ibsim on `net`, with room for `fabric`, and waits until it takes clients. They sit at the first host.
    pub fn start(net: &Path, fabric: &Fabric, folder: &Path) -> anyhow::Result<Self> {
        Self::launch(net, fabric, folder, &["-n"])
    }

    /// The same with its console, which takes [`Ibsim::command`].
    pub fn start_with_console(net: &Path, fabric: &Fabric, folder: &Path) -> anyhow::Result<Self> {
        Self::launch(net, fabric, folder, &[])
    }

    fn launch(net: &Path, fabric: &Fabric, folder: &Path, options: &[&str]) -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let socket_name = format!("bench{}x{number}", std::process::id());
        let host = fabric.hosts().next().context("a fabric without hosts has no place for a manager")?;
        let log = folder.join("ibsim.log");
        let file = File::create(&log)?;
        let room = |count: usize| (count + 16).to_string();
        let mut command = Command::new("ibsim");
        command
            .args(["-s", "-L", "49152", "-N", &room(fabric.node_count())])
            .args(["-S", &room(fabric.switch_count()), "-P", &room(fabric.port_slot_count())])
            .args(options)
            .arg(net)
            .env("IBSIM_SOCKNAME", &socket_name)
            .stdin(Stdio::piped())
            .stdout(file.try_clone()?)
            .stderr(file);
        let child = process::tie(&mut command)
            .spawn()
            .context("cannot start ibsim: is the package ibsim-utils installed? `make packages`")?;
        let mut ibsim = Self { child, socket_name, seat: fabric.name(host).to_owned() };
        let start = Instant::now();
        while !ibsim.listens()? {
            if let Some(status) = ibsim.child.try_wait()? {
                bail!("ibsim ended with {status}: {}", fs::read_to_string(&log)?);
            }
            if start.elapsed() > START {
                bail!("ibsim takes no clients after {START:?}: {}", fs::read_to_string(&log)?);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(ibsim)
    }

    /// Whether its control socket is there. The kernel shows the zero bytes of abstract names as `@`.
    fn listens(&self) -> anyhow::Result<bool> {
        let wanted = format!("@{}:ctl", self.socket_name);
        let sockets = fs::read_to_string("/proc/net/unix")?;
        Ok(sockets
            .lines()
            .filter_map(|line| line.split_whitespace().next_back())
            .any(|name| name.trim_end_matches('@') == wanted))
    }

    /// Lets `command` find this ibsim and sit at the first host.
    pub fn place<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("IBSIM_SOCKNAME", &self.socket_name).env("SIM_HOST", &self.seat)
    }

    /// A client of this process's own.
    pub fn client(&self) -> anyhow::Result<transport::Ibsim> {
        let config = transport::ibsim::Config {
            socket_name: self.socket_name.clone(),
            server: None,
            node: Some(self.seat.clone()),
        };
        Ok(transport::Ibsim::open(&config, false)?)
    }

    /// Gives a command to its console, as in `Unlink "leaf-0001"[5]`.
    pub fn command(&mut self, line: &str) -> anyhow::Result<()> {
        let console = self.child.stdin.as_mut().context("ibsim has no console")?;
        writeln!(console, "{line}")?;
        Ok(console.flush()?)
    }

    /// Seconds of processor time that ibsim has used.
    pub fn processor_seconds(&self) -> anyhow::Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The second field is the name in parentheses; user and system time are the 14th and 15th.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).context("cannot read ibsim's processor time")?;
        // SAFETY: asks for a constant of the system.
        let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Ok((user + system) / a_second.max(1) as f64)
    }
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
