//! The kernel's umad device: a header and a MAD a call.
//!
//! All goes through `libc::{open, close, read, write, ioctl, poll, opendir}`: the very calls that ibsim's preload
//! library replaces, so hardware and `ibsim-run heddle up --umad` are served by the same code. (Rust's own `File` opens
//! by `open64`, which it does not replace.)

mod device;
mod header;
mod system;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use ib::{ManagementClass, Method, Packet, Time};

use crate::{Clock, Wire, WireError};
use device::Port;
use header::{HEADER_LENGTH, Registration};
use system::Descriptor;

/// Which port to open, and how long an answer may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The device, `mlx5_0`; `None`: the first one with a port that is not down.
    pub device: Option<String>,
    /// The port number; `None`: the device's first port that is not down.
    pub port: Option<u8>,
    /// After how long the kernel gives a request back as not answered.
    pub timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { device: None, port: None, timeout: Duration::from_millis(200) }
    }
}

const TOTAL_LENGTH: usize = HEADER_LENGTH + 256;
const CLASSES: [ManagementClass; 4] = [
    ManagementClass::SUBN_LID,
    ManagementClass::SUBN_DIRECTED,
    ManagementClass::SUBN_ADM,
    ManagementClass::PERF,
];
/// What others may send to a manager unasked.
const MANAGER_METHODS: &[Method] = &[Method::GET, Method::SET, Method::TRAP, Method::TRAP_REPRESS];
/// What others may ask of an administrator.
const ADMINISTRATOR_METHODS: &[Method] =
    &[Method::GET, Method::SET, Method::GET_TABLE, Method::GET_MULTI, Method::DELETE, Method::REPORT];

/// An opened umad device with its agents. Dropped, everything is closed and the port says IsSM no longer.
pub struct Umad {
    port: Port,
    umad: Descriptor,
    /// Held open while managing: an open issm device is the IsSM bit.
    _issm: Option<Descriptor>,
    /// Agent numbers, in the order of [`CLASSES`].
    agents: [u32; CLASSES.len()],
    timeout_ms: u32,
    clock: Clock,
    header_length: usize,
    buffer: Box<[u8; TOTAL_LENGTH]>,
    early: VecDeque<Packet>,
}

impl Umad {
    /// Opens the port as a subnet manager.
    pub fn open_as_manager(config: &Config) -> Result<Self, WireError> {
        let port = device::select(config)?;
        let umad =
            system::open(&port.umad_path).map_err(|error| device::cannot_open(&port.umad_path, &error))?;
        // The new layout of the header, with the partition key's index; must be the first call.
        system::ioctl_plain(&umad, header::ENABLE_PKEY).map_err(|error| {
            port.system("cannot use the new umad header", &error, "a kernel from 2.6.24 on has it")
        })?;
        let mut agents = [0; CLASSES.len()];
        for (agent, class) in agents.iter_mut().zip(CLASSES) {
            let (qp, version, methods) = match class {
                ManagementClass::SUBN_LID | ManagementClass::SUBN_DIRECTED => (0, 1, MANAGER_METHODS),
                ManagementClass::SUBN_ADM => (1, 2, ADMINISTRATOR_METHODS),
                _ => (1, 1, &[] as &[Method]),
            };
            let mut registration = Registration::new(qp, class, version, methods);
            system::ioctl_bytes(&umad, header::REGISTER_AGENT, registration.bytes()).map_err(|error| {
                let mend = "another subnet manager may run at this port: stop it, or choose another by --device and --port";
                port.system(&format!("cannot register for class {class}"), &error, mend)
            })?;
            *agent = registration.id();
        }
        let issm = system::open(&port.issm_path).map_err(|error| match error.raw_os_error() {
            Some(libc::EAGAIN) => WireError::new(
                "another subnet manager runs at this port",
                &port.issm_path,
                "stop it, or choose another port by --device and --port",
            ),
            _ => device::cannot_open(&port.issm_path, &error),
        })?;
        Ok(Self {
            port,
            umad,
            _issm: Some(issm),
            agents,
            timeout_ms: u32::try_from(config.timeout.as_millis()).unwrap_or(u32::MAX),
            clock: Clock::start(),
            header_length: system::header_length(),
            buffer: Box::new([0; TOTAL_LENGTH]),
            early: VecDeque::new(),
        })
    }

    /// The device and port, as `mlx5_0 port 1`.
    pub fn name(&self) -> String {
        self.port.to_string()
    }

    /// The most requests that may be under way at once, where there is such a limit: ibsim's preload library sends and
    /// takes in under one lock, and would stand still for ever where its socket is full.
    pub fn most_under_way(&self) -> Option<u32> {
        (self.header_length == header::OLD_HEADER_LENGTH).then_some(64)
    }

    fn agent(&self, class: ManagementClass) -> u32 {
        CLASSES.iter().position(|&c| c == class).map_or(self.agents[0], |at| self.agents[at])
    }

    fn failed(&self, doing: &str, error: &io::Error) -> WireError {
        self.port.system(doing, error, "is the device still there? See `ibstat` and the kernel's log")
    }

    /// Reads one packet if there is one.
    fn read(&mut self) -> Result<Option<Packet>, WireError> {
        match system::read(&self.umad, &mut self.buffer[..]) {
            Ok(length) => {
                Ok(header::parse(self.buffer.get(..length).unwrap_or_default(), self.header_length))
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(None),
            // A MAD of several segments that does not fit: the kernel keeps it, and no one here asked for it.
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => Ok(None),
            Err(error) => Err(self.failed("cannot read a MAD", &error)),
        }
    }

    fn write(&mut self, packet: &Packet) -> Result<bool, WireError> {
        let agent = self.agent(packet.mad.class());
        let timeout_ms = if packet.mad.method().is_request() { self.timeout_ms } else { 0 };
        let length = header::emit(packet, agent, timeout_ms, self.header_length, &mut self.buffer);
        match system::write(&self.umad, &self.buffer[..length]) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR | libc::ENOMEM)) => {
                Ok(false)
            }
            Err(error) => Err(self.failed("cannot send a MAD", &error)),
        }
    }
}

impl Wire for Umad {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn has_virtual_clock(&self) -> bool {
        false
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        for packet in packets {
            while !self.write(packet)? {
                match self.read()? {
                    Some(early) => self.early.push_back(early),
                    None => {
                        system::poll(&self.umad, 1).map_err(|error| self.failed("cannot wait", &error))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        let before = packets.len();
        packets.extend(self.early.drain(..));
        loop {
            while let Some(packet) = self.read()? {
                packets.push(packet);
            }
            let now = self.clock.now();
            if packets.len() > before || until.is_some_and(|until| now >= until) {
                return Ok(now);
            }
            // The preload library's poll counts whole milliseconds and no more than 4,294 s.
            let left = until.map_or(Duration::from_secs(1), |until| until.since(now));
            let left = left.as_micros().div_ceil(1000).clamp(1, 1000) as libc::c_int;
            if system::poll(&self.umad, left).map_err(|error| self.failed("cannot wait", &error))?
                == system::Woken::Signal
            {
                return Ok(self.clock.now());
            }
        }
    }
}
