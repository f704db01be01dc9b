//! Which umad device belongs to which port, by what sysfs says, and why one cannot be opened.

use std::fmt;
use std::io;

use super::{Config, system};
use crate::WireError;

const MAD_CLASS: &str = "/sys/class/infiniband_mad";
const DEVICE_CLASS: &str = "/sys/class/infiniband";
const NODES: &str = "/dev/infiniband";

/// One port with its device files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Port {
    device: String,
    number: u8,
    /// As sysfs has it: `4: ACTIVE`.
    state: String,
    pub(super) umad_path: String,
    pub(super) issm_path: String,
}

impl Port {
    fn is_down(&self) -> bool {
        self.state.starts_with('1')
    }

    /// An error of the system at this port.
    pub(super) fn system(&self, doing: &str, error: &io::Error, mend: &str) -> WireError {
        WireError::system(doing, error, format!("{self}, {}", self.umad_path), mend)
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.device, self.number)
    }
}

/// Every InfiniBand port that has a umad device, in the order of the devices' numbers.
fn ports() -> Result<Vec<Port>, WireError> {
    let names = system::list(MAD_CLASS).map_err(|_| no_device(MAD_CLASS, "is not there"))?;
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("umad")?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers.into_iter().filter_map(port).collect())
}

/// The port of one umad device; `None` where sysfs does not say, or where it is an Ethernet port.
fn port(number: u32) -> Option<Port> {
    let device = system::read_text(&format!("{MAD_CLASS}/umad{number}/ibdev")).ok()?;
    let port: u8 = system::read_text(&format!("{MAD_CLASS}/umad{number}/port")).ok()?.parse().ok()?;
    let about = |what: &str| system::read_text(&format!("{DEVICE_CLASS}/{device}/ports/{port}/{what}"));
    if about("link_layer").is_ok_and(|layer| layer != "InfiniBand") {
        return None;
    }
    Some(Port {
        number: port,
        state: about("state").unwrap_or_default(),
        umad_path: format!("{NODES}/umad{number}"),
        issm_path: format!("{NODES}/issm{number}"),
        device,
    })
}

/// The port that is asked for.
pub(super) fn select(config: &Config) -> Result<Port, WireError> {
    choose(ports()?, config)
}

fn choose(ports: Vec<Port>, config: &Config) -> Result<Port, WireError> {
    if ports.is_empty() {
        return Err(no_device(MAD_CLASS, "names no InfiniBand port"));
    }
    let all = || ports.iter().map(|p| format!("{p} ({})", p.state)).collect::<Vec<_>>().join(", ");
    let asked = |p: &&Port| {
        config.device.as_ref().is_none_or(|device| *device == p.device)
            && config.port.is_none_or(|port| port == p.number)
    };
    let mut fitting = ports.iter().filter(asked).peekable();
    let Some(&first) = fitting.peek() else {
        let device = config.device.as_deref().unwrap_or("any device");
        let port = config.port.map_or_else(|| "any port".to_owned(), |port| format!("port {port}"));
        return Err(WireError::new(
            format!("there is no InfiniBand port {device}, {port}"),
            MAD_CLASS,
            format!("choose one of these by --device and --port: {}", all()),
        ));
    };
    fitting.find(|port| !port.is_down()).cloned().ok_or_else(|| {
        let mend = format!("check its cable, or choose another by --device and --port; there are: {}", all());
        WireError::new(
            format!("{first} is down"),
            format!("{DEVICE_CLASS}/{}/ports/{}/state", first.device, first.number),
            mend,
        )
    })
}

fn no_device(place: &str, what: &str) -> WireError {
    WireError::new(
        format!("no InfiniBand device: {place} {what}"),
        place,
        "load the kernel's modules (`modprobe ib_umad`) and the adapter's driver, look at `ibstat`; without hardware \
         try `heddle up --emulate`, or `ibsim-run heddle up --umad`",
    )
}

/// Why a device file does not open.
pub(super) fn cannot_open(path: &str, error: &io::Error) -> WireError {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let mend = match system::group_of(path) {
                Some((group, true)) if group != "root" => format!(
                    "it belongs to the group {group}: become a member by `sudo usermod -aG {group} $USER` and log in \
                     again, or run as root"
                ),
                Some((group, _)) => format!(
                    "it belongs to the group {group}, which does not let you in: `sudo chgrp rdma {path} && sudo chmod \
                     g+rw {path}` (or a udev rule that does so) opens it to the group rdma; or run as root"
                ),
                None => "run as root".to_owned(),
            };
            WireError::new(format!("no permission to open {path}"), path, mend)
        }
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) => WireError::new(
            format!("{path} is not there"),
            path,
            "load the kernel's module by `modprobe ib_umad`; in a container, pass /dev/infiniband in",
        ),
        _ => WireError::system("cannot open the device", error, path, "see `ibstat` and the kernel's log"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn a_port(device: &str, number: u8, state: &str) -> Port {
        let (device, state) = (device.to_owned(), state.to_owned());
        Port { device, number, state, umad_path: "/dev/u".into(), issm_path: "/dev/i".into() }
    }

    fn two() -> Vec<Port> {
        vec![a_port("mlx5_0", 1, "1: DOWN"), a_port("mlx5_1", 1, "4: ACTIVE"), a_port("mlx5_1", 2, "2: INIT")]
    }

    fn asked(device: Option<&str>, port: Option<u8>) -> Config {
        Config { device: device.map(str::to_owned), port, ..Config::default() }
    }

    #[test]
    fn the_first_port_that_is_not_down_is_taken() {
        assert_eq!(choose(two(), &asked(None, None)).unwrap().to_string(), "mlx5_1 port 1");
        assert_eq!(choose(two(), &asked(Some("mlx5_1"), Some(2))).unwrap().number, 2);
        assert_eq!(choose(two(), &asked(None, Some(2))).unwrap().number, 2);
    }

    #[test]
    fn errors_name_the_port_and_the_choice() {
        let down = choose(two(), &asked(Some("mlx5_0"), None)).unwrap_err();
        assert_eq!(down.problem, "mlx5_0 port 1 is down");
        let none = choose(two(), &asked(Some("mlx4_0"), None)).unwrap_err();
        assert!(none.mend.contains("mlx5_1 port 2 (2: INIT)"), "{none}");
        assert!(choose(Vec::new(), &asked(None, None)).unwrap_err().problem.contains("no InfiniBand device"));
    }

    #[test]
    fn no_permission_names_the_file_and_the_group() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).unwrap();
        let (group, _) = system::group_of(path).unwrap();
        let error = cannot_open(path, &io::Error::from_raw_os_error(libc::EACCES));
        assert!(error.problem.contains(path) && error.mend.contains(&format!("group {group}")), "{error}");
        let gone = cannot_open("/nowhere/umad0", &io::Error::from_raw_os_error(libc::ENOENT));
        assert!(gone.mend.contains("modprobe ib_umad"), "{gone}");
    }
}
