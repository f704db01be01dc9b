//! The sockets of a running ibsim: one datagram a MAD, many datagrams a system call.

mod batch;
pub mod protocol;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::time::Duration;

use ib::{Packet, Time};

use crate::{Clock, Wire, WireError};
use batch::Batch;
use protocol::{CONTROL_LENGTH, Call, connect_data, connected, control, reply};

/// How long ibsim may take to answer a control message.
const CONTROL_WAIT: Duration = Duration::from_secs(10);
/// Process numbers are smaller than this; further clients of one process count on from here.
const NUMBER_STEP: u32 = 1 << 22;
/// Looks at an empty socket this often before it sleeps: an answer of ibsim takes microseconds, a wake-up costs
/// ibsim and this side more than that.
const LOOKS_BEFORE_SLEEP: u32 = 20;

/// Where ibsim listens and where to sit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Base name of the abstract sockets.
    pub socket_name: String,
    /// Host and control port, for an ibsim across UDP.
    pub server: Option<(String, u16)>,
    /// Which node to sit at; `None`: the first of the net file.
    pub node: Option<String>,
}

impl Config {
    /// What `IBSIM_SOCKNAME`, `IBSIM_SERVER_NAME`, `IBSIM_SERVER_PORT` and `SIM_HOST` say, as ibsim's own clients
    /// read them.
    pub fn from_environment() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let port = variable("IBSIM_SERVER_PORT").and_then(|port| port.parse().ok()).unwrap_or(7070);
        Self {
            socket_name: variable("IBSIM_SOCKNAME").unwrap_or_else(|| "sim".to_owned()),
            server: variable("IBSIM_SERVER_NAME").map(|host| (host, port)),
            node: variable("SIM_HOST"),
        }
    }

    fn place(&self) -> String {
        match &self.server {
            Some((host, port)) => format!("ibsim at {host}:{port}"),
            None => format!("ibsim at the abstract socket @{}:ctl", self.socket_name),
        }
    }
}

enum Control {
    Unix(UnixDatagram),
    Udp(UdpSocket),
}

impl Control {
    fn call(&self, call: Call, client: u32, data: &[u8]) -> io::Result<[u8; 64]> {
        let message = control(call, client, data);
        let mut answer = [0; CONTROL_LENGTH + 1];
        let length = match self {
            Self::Unix(socket) => {
                socket.send(&message)?;
                socket.recv(&mut answer)?
            }
            Self::Udp(socket) => {
                socket.send(&message)?;
                socket.recv(&mut answer)?
            }
        };
        reply(&answer[..length], call).copied().ok_or_else(|| io::Error::other("refused"))
    }
}

/// A client of ibsim. Dropped, it says good-bye, so that ibsim can serve another.
pub struct Ibsim {
    control: Control,
    data: OwnedFd,
    client: u32,
    is_sm: bool,
    node: String,
    clock: Clock,
    batch: Batch,
    /// What came in while `send` waited for room.
    early: Vec<Packet>,
}

impl Ibsim {
    /// Comes to ibsim as a client that manages the subnet: its port says IsSM from now on.
    pub fn open_as_manager(config: &Config) -> Result<Self, WireError> {
        let mut ibsim = Self::open(config, true)?;
        ibsim.set_is_sm(true)?;
        Ok(ibsim)
    }

    /// Comes to ibsim as a client.
    pub fn open(config: &Config, is_sm: bool) -> Result<Self, WireError> {
        let place = config.place();
        let start = |error: io::Error| {
            let mend = match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                    "start it first, as in `ibsim -s -n FILE.net`, or set IBSIM_SOCKNAME to its socket name"
                }
                _ => "see `ibsim --help` and the environment variables IBSIM_SOCKNAME and IBSIM_SERVER_NAME",
            };
            WireError::system("cannot reach ibsim", &error, &place, mend)
        };
        let node = config.node.as_deref().unwrap_or_default();
        let refused = |error: io::Error| {
            let problem = match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "ibsim does not answer".to_owned(),
                _ => "ibsim refuses this client".to_owned(),
            };
            let at = if node.is_empty() { "its first node".to_owned() } else { format!("node \"{node}\"") };
            let mend = format!(
                "is there a subnet manager at {at} already, does that node exist, are there fewer than 10 clients? \
                 SIM_HOST names another node"
            );
            WireError::new(problem, &place, mend)
        };
        let (control, data, client, name) = match &config.server {
            None => {
                let (control, data, id) = unix_sockets(&config.socket_name).map_err(start)?;
                let control = Control::Unix(control);
                let answer =
                    control.call(Call::Connect, 0, &connect_data(id, is_sm, node)).map_err(refused)?;
                let (client, name) = connected(&answer);
                data.connect_addr(
                    &abstract_name(&format!("{}:out{client}", config.socket_name)).map_err(start)?,
                )
                .map_err(start)?;
                (control, OwnedFd::from(data), client, name)
            }
            Some((host, port)) => {
                let (control, data, server) = udp_sockets(host, *port).map_err(start)?;
                let id = u32::from(data.local_addr().map_err(start)?.port());
                let control = Control::Udp(control);
                let answer =
                    control.call(Call::Connect, 0, &connect_data(id, is_sm, node)).map_err(refused)?;
                let (client, name) = connected(&answer);
                let out = u32::from(*port) + client + 1;
                let out = u16::try_from(out).map_err(|_| refused(io::ErrorKind::InvalidData.into()))?;
                data.connect(SocketAddr::new(server.ip(), out)).map_err(start)?;
                (control, OwnedFd::from(data), client, name)
            }
        };
        Ok(Self {
            control,
            data,
            client,
            is_sm: false,
            node: name,
            clock: Clock::start(),
            batch: Batch::new(),
            early: Vec::new(),
        })
    }

    /// The node that this client sits at, as the net file names it.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The most requests that may be under way at once: ibsim's sockets hold about 200 datagrams, and it drops what
    /// does not fit.
    pub const MOST_UNDER_WAY: u32 = 128;

    /// Sets or clears the IsSM bit of this client's port.
    pub fn set_is_sm(&mut self, is_sm: bool) -> Result<(), WireError> {
        self.control.call(Call::SetIsSm, self.client, &u32::from(is_sm).to_ne_bytes()).map_err(|error| {
            WireError::system(
                "cannot set IsSM",
                &error,
                format!("ibsim's node \"{}\"", self.node),
                "is ibsim running?",
            )
        })?;
        self.is_sm = is_sm;
        Ok(())
    }

    fn gone(&self, error: &io::Error) -> WireError {
        let place = format!("ibsim's node \"{}\"", self.node);
        WireError::system("ibsim has gone", error, place, "start ibsim and then this program again")
    }

    fn wait(&self, events: libc::c_short, until: Option<Time>) -> Result<bool, WireError> {
        poll_one(self.data.as_raw_fd(), events, self.clock.wait(until)).map_err(|error| self.gone(&error))
    }
}

impl Wire for Ibsim {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn has_virtual_clock(&self) -> bool {
        false
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        let mut rest = packets;
        while !rest.is_empty() {
            match self.batch.send(self.data.as_raw_fd(), rest) {
                Ok(sent) => rest = &rest[sent..],
                // ibsim drops its answers where they are not fetched, so fetch them before waiting for room.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let fetched = self.batch.receive(self.data.as_raw_fd(), &mut self.early);
                    if fetched.map_err(|error| self.gone(&error))? == 0 {
                        self.wait(libc::POLLIN | libc::POLLOUT, None)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.gone(&error)),
            }
        }
        Ok(())
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        let before = packets.len();
        packets.append(&mut self.early);
        let mut looks = 0;
        loop {
            let fetched = self.batch.receive(self.data.as_raw_fd(), packets);
            fetched.map_err(|error| self.gone(&error))?;
            let now = self.clock.now();
            if packets.len() > before || until.is_some_and(|until| now >= until) {
                return Ok(now);
            }
            if looks < LOOKS_BEFORE_SLEEP {
                looks += 1;
                std::hint::spin_loop();
            } else if !self.wait(libc::POLLIN, until)? {
                // The time is over, or a signal wants to be looked at.
                return Ok(self.clock.now());
            }
        }
    }
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        // An ibsim that has gone needs no good-bye.
        if self.is_sm {
            let _ = self.control.call(Call::SetIsSm, self.client, &0u32.to_ne_bytes());
        }
        let _ = self.control.call(Call::Disconnect, self.client, &[]);
    }
}

/// Waits for events on one descriptor; `false` when the time is over or a signal came.
pub(crate) fn poll_one(
    descriptor: RawFd,
    events: libc::c_short,
    timeout: Option<libc::timespec>,
) -> io::Result<bool> {
    let mut waiting = libc::pollfd { fd: descriptor, events, revents: 0 };
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: one pollfd, a timeout that lives through the call or none, no signal mask.
    match unsafe { libc::ppoll(&raw mut waiting, 1, timeout, std::ptr::null()) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

/// ibsim counts one trailing zero into its addresses.
fn abstract_name(name: &str) -> io::Result<UnixAddress> {
    UnixAddress::from_abstract_name(format!("{name}\0"))
}

fn unix_sockets(base: &str) -> io::Result<(UnixDatagram, UnixDatagram, u32)> {
    let mut id = std::process::id();
    let control = loop {
        match UnixDatagram::bind_addr(&abstract_name(&format!("{base}:ctl{id}"))?) {
            Ok(socket) => break socket,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && id < u32::MAX / 4 => id += NUMBER_STEP,
            Err(error) => return Err(error),
        }
    };
    control.connect_addr(&abstract_name(&format!("{base}:ctl"))?)?;
    control.set_read_timeout(Some(CONTROL_WAIT))?;
    let data = UnixDatagram::bind_addr(&abstract_name(&format!("{base}:in{id}"))?)?;
    Ok((control, data, id))
}

fn udp_sockets(host: &str, port: u16) -> io::Result<(UdpSocket, UdpSocket, SocketAddr)> {
    let server = (host, port)
        .to_socket_addrs()?
        .find(SocketAddr::is_ipv4)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{host} has no IPv4 address")))?;
    let control = UdpSocket::bind(("0.0.0.0", 0))?;
    control.connect(server)?;
    control.set_read_timeout(Some(CONTROL_WAIT))?;
    Ok((control, UdpSocket::bind(("0.0.0.0", 0))?, server))
}
