//! The options of `heddle up`, and what they mean for the manager.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use controller::access::Access;
use controller::api::{Doors, Rules, TlsFiles};
use ib::wide::Addressing;

use crate::failure::Failure;

/// Which door to the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    /// An emulated fabric.
    Emulate,
    /// A running ibsim.
    Ibsim,
    /// The kernel's umad device.
    Umad,
}

/// How many bits a LID has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum AddressingName {
    /// 16 bits, as every device has them: 49,151 LIDs
    Standard,
    /// 17 bits, emulated only: 122,879 LIDs
    Wide,
}

/// Who runs jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Jobs {
    /// Processes of this machine
    Embedded,
    /// Nobody: there are none
    Off,
}

/// Options of `heddle up`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle up --once                          an emulated SuperPOD of 1,024 GPUs\n  \
    heddle up tree.toml --once --json         another emulated fabric, for programs\n  \
    heddle up --pull-every 2min               cables fail and come back; watch it at the API\n  \
    heddle up --jobs embedded --store state.redb  jobs run on it: see heddle job submit --help\n  \
    heddle up --config /etc/heddle/heddle.toml as a service: see examples/heddle.toml\n  \
    heddle up --umad --lids /var/lib/heddle/lids\n                                            \
    manage this machine's subnet, keep LIDs across restarts\n  \
    heddle up plan.toml --umad --once         bring it up and say where it differs from the plan\n  \
    ibsim -s site.net & heddle up --ibsim     a fabric in ibsim\n\n\
    Exit codes: 0 the fabric is up, 1 it is not or a pair has no path, 2 the request was wrong."
)]
pub struct Up {
    /// A topology file: what to emulate; with --ibsim and --umad, the plan to compare with
    pub file: Option<String>,

    /// Take options from this file, and read it again on SIGHUP; those given here come before it
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<String>,

    /// Emulate the fabric in memory, under a virtual clock [default without --ibsim and --umad]
    #[arg(long, group = "door")]
    pub emulate: bool,
    /// Use the sockets of a running ibsim (IBSIM_SOCKNAME, SIM_HOST)
    #[arg(long, group = "door")]
    pub ibsim: bool,
    /// Use the kernel's umad device
    #[arg(long, group = "door")]
    pub umad: bool,
    /// The adapter, as in mlx5_0 [default: the first with a port that is not down]
    #[arg(long, requires = "umad", conflicts_with_all = ["ibsim", "emulate"])]
    pub device: Option<String>,
    /// The adapter's port [default: the first that is not down]
    #[arg(long, requires = "umad", conflicts_with_all = ["ibsim", "emulate"])]
    pub port: Option<u8>,

    /// End when the fabric is up, instead of watching it
    #[arg(long)]
    pub once: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the fabric as found to this file, in the format of its ending; may be given several times
    #[arg(long, value_name = "FILE")]
    pub save_fabric: Vec<String>,
    /// Write the forwarding tables to this file: .fdbs as OpenSM does, else as dump_lfts; may be given several times
    #[arg(long, value_name = "FILE")]
    pub save_tables: Vec<String>,

    /// Where the API listens once the fabric comes up; port 0 is any free one. Others than this machine may call
    /// where there are tokens and a certificate
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN, conflicts_with = "once", help_heading = "Controller")]
    pub listen: SocketAddr,
    /// Listen on this Unix socket too; its file's owner and group are let in as administrators
    #[arg(long, value_name = "FILE", conflicts_with = "once", help_heading = "Controller")]
    pub socket: Option<PathBuf>,
    /// Speak TLS with this certificate, as PEM; needed where others than this machine may call
    #[arg(
        long,
        value_name = "FILE.pem",
        requires = "key",
        conflicts_with = "once",
        help_heading = "Controller"
    )]
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[arg(
        long,
        value_name = "FILE.pem",
        requires = "certificate",
        conflicts_with = "once",
        help_heading = "Controller"
    )]
    pub key: Option<PathBuf>,
    /// Requests a second that one caller may make [default: any number]
    #[arg(long, value_name = "N", conflicts_with = "once", help_heading = "Controller")]
    pub requests_per_second: Option<NonZeroU32>,
    /// Keep events and jobs in this file across restarts [default: they are kept until the end alone]
    #[arg(long, value_name = "FILE", conflicts_with = "once", help_heading = "Controller")]
    pub store: Option<PathBuf>,
    /// Emulated: pull a cable between switches every so often, as in 2min, and put it back after a third of that
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["once", "ibsim", "umad"], help_heading = "Faults on purpose")]
    pub pull_every: Option<Duration>,

    /// Host jobs on the fabric's hosts. embedded runs them as processes of this machine, as the user that runs heddle:
    /// whoever may submit may run commands as that user, and without tokens that is whoever reaches the API
    #[arg(long, value_enum, default_value_t = Jobs::Off, conflicts_with = "once", help_heading = "Jobs")]
    pub jobs: Jobs,
    /// The pool from this file, as heddle pool show reads it [default: the fabric's hosts]
    #[arg(long, value_name = "FILE", conflicts_with = "once", help_heading = "Jobs")]
    pub pool: Option<String>,
    /// GPUs of each of the fabric's hosts [default: as many as the first has ports]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), conflicts_with_all = ["once", "pool"], help_heading = "Jobs")]
    pub gpus_per_host: Option<u16>,
    /// Their model
    #[arg(long, value_name = "NAME", default_value = "gpu", conflicts_with_all = ["once", "pool"], help_heading = "Jobs")]
    pub gpu_model: String,
    /// Keep what jobs write and how they end in this folder [default: beside the store, with .jobs added to its name; without
    /// one a folder that goes at the end]
    #[arg(long, value_name = "FOLDER", conflicts_with = "once", help_heading = "Jobs")]
    pub job_folder: Option<PathBuf>,

    /// Routing engine: auto, fat-tree, min-hop, up-down, down-up; over several virtual lanes layered, nue, torus,
    /// dragonfly-plus
    #[arg(long, default_value = "auto", help_heading = "Subnet")]
    pub engine: String,
    /// The most data lanes that paths may take [default: as many as the ports between switches have; 1 for auto]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15), help_heading = "Subnet")]
    pub lanes: Option<u8>,
    /// How many bits a LID has
    #[arg(long, value_enum, default_value_t = AddressingName::Standard, help_heading = "Subnet")]
    pub addressing: AddressingName,
    /// The most MADs under way at once [default: the window adapts]
    #[arg(long, value_name = "N", help_heading = "Subnet")]
    pub max_wire_smps: Option<u32>,
    /// Wait so long for an answer before asking again, as in 200ms
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration, help_heading = "Subnet")]
    pub timeout: Duration,
    /// Ask again so often
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Subnet")]
    pub retries: u8,
    /// Time between two light sweeps, as in 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Subnet")]
    pub sweep: Duration,
    /// 0 to 15: of two managers the one with the higher priority is the master
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(0..=15), help_heading = "Subnet")]
    pub priority: u8,
    /// Write service-level mapping and lane arbitration to adapters, instead of leaving them at their own defaults
    #[arg(long, help_heading = "Subnet")]
    pub qos: bool,
    /// Keep LIDs by GUID in this file across restarts
    #[arg(long, value_name = "FILE", help_heading = "Subnet")]
    pub lids: Option<String>,
    /// Take LIDs over from OpenSM's guid2lid
    #[arg(long, value_name = "FILE", help_heading = "Subnet")]
    pub opensm_guid2lid: Option<String>,

    /// Write all that comes in to this file, for heddle replay
    #[arg(long, value_name = "FILE", help_heading = "Recording")]
    pub record: Option<String>,
    /// Write every MAD to this file as an InfiniBand frame, for Wireshark
    #[arg(long, value_name = "FILE.pcap", help_heading = "Recording")]
    pub capture: Option<String>,
    /// Write a line for every MAD to this file
    #[arg(long, value_name = "FILE", help_heading = "Recording")]
    pub trace: Option<String>,

    /// Lose this part of all MADs, as in 0.01
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part, help_heading = "Faults on purpose")]
    pub loss: f64,
    /// Hold answers back for a time up to this, as in 500us
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration, help_heading = "Faults on purpose")]
    pub delay: Duration,
    /// Let this part of all answers come twice
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part, help_heading = "Faults on purpose")]
    pub duplicate: f64,
    /// Spoil this part of all answers
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part, help_heading = "Faults on purpose")]
    pub garbage: f64,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1, help_heading = "Faults on purpose")]
    pub seed: u64,
    /// Emulated: management packets that a port's buffers hold
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..), help_heading = "Faults on purpose")]
    pub vl15_buffers: u8,
    /// Emulated: time that a packet takes from port to port
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = duration, help_heading = "Faults on purpose")]
    pub hop_latency: Duration,

    /// Who is let in, as the configuration file says.
    #[arg(skip)]
    pub access: Access,
}

/// Where the API listens, and clients look for it, unless they are told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7980";

/// The shortest time-out and the shortest time between two sweeps.
const SHORTEST: Duration = Duration::from_millis(1);

impl Up {
    /// The door that the options name.
    pub fn door(&self) -> Door {
        match (self.ibsim, self.umad) {
            (true, _) => Door::Ibsim,
            (_, true) => Door::Umad,
            _ => Door::Emulate,
        }
    }

    /// Where the API is served, and to whom.
    pub fn doors(&self) -> Doors {
        let tls = self.certificate.clone().zip(self.key.clone());
        Doors {
            listen: self.listen,
            socket: self.socket.clone(),
            tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
            rules: Rules { access: self.access.clone(), per_second: self.requests_per_second },
        }
    }

    /// The manager's configuration.
    pub fn config(&self, door: Door) -> Result<subnet::Config, Failure> {
        let addressing = match self.addressing {
            AddressingName::Standard => Addressing::Standard,
            AddressingName::Wide if door == Door::Emulate => Addressing::Wide,
            AddressingName::Wide => {
                return Err(Failure::new(
                    "no device has 17-bit LIDs",
                    "--addressing wide",
                    "wide addressing is for emulated fabrics: leave it out, or give --emulate",
                ));
            }
        };
        if self.engine != "auto" {
            routing::engine_by_name(&self.engine)
                .map_err(|error| Failure::new(error.to_string(), "--engine", "give one of these, or auto"))?;
        }
        for (time, option) in [(self.timeout, "--timeout"), (self.sweep, "--sweep")] {
            if time < SHORTEST {
                return Err(Failure::new("no device answers in so short a time", option, "give 1ms or more"));
            }
        }
        Ok(subnet::Config {
            engine: self.engine.clone(),
            addressing,
            max_wire_smps: self.max_wire_smps.unwrap_or(0),
            timeout: self.timeout,
            retries: self.retries,
            sweep_interval: self.sweep,
            priority: self.priority,
            lanes: self.lanes.unwrap_or(0),
            qos: self.qos,
            known_lids: self.known_lids()?,
            ..subnet::Config::default()
        })
    }
}

/// What the manager refuses, as a failure: its last sentence is the mend.
pub fn refusal(reason: &str, place: &str) -> Failure {
    let (what, help) = reason.split_once(": ").unwrap_or((reason, ""));
    Failure::new(what, place, help)
}

/// A time with its unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is no time: write a number and ns, us, ms, s, min or h, as in 200ms");
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let number: f64 = text[..unit].trim().parse().map_err(|_| wrong())?;
    let seconds = match &text[unit..] {
        "ns" => number * 1e-9,
        "us" => number * 1e-6,
        "ms" => number * 1e-3,
        "s" => number,
        "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// A part of a whole.
fn part(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part| (0.0..=1.0).contains(part))
        .ok_or_else(|| format!("\"{text}\" is no part: write a number from 0 to 1, as in 0.01"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_parts_are_read() {
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("1.5min"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2us"), Ok(Duration::from_micros(2)));
        for text in ["", "5", "ms", "-1s", "1d", "1e400s", "é"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(part("0.5"), Ok(0.5));
        assert!(part("2").is_err() && part("-1").is_err() && part("NaN").is_err());
    }
}
