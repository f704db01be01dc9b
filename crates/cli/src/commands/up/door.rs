//! Opens the door that `heddle up` is to use, with its sleeves.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, SystemTime};

use emulator::Emulator;
use fabric::Fabric;
use fabric::generate::SuperpodSpec;
use ib::wide::Addressing;
use transport::sleeve::{Capture, Delay, Duplicate, Garbage, Loss, Trace};
use transport::{Ibsim, Memory, Umad, Wire, ibsim, umad};

use super::options::{AddressingName, Door, Up};
use crate::failure::Failure;
use crate::files;
use crate::style::count;

/// An opened door.
pub struct Opened {
    /// The wire behind it.
    pub wire: Box<dyn Wire>,
    /// Where it leads, for people.
    pub place: String,
    /// The most requests that it bears at once, where it has a limit.
    pub most_under_way: Option<u32>,
}

impl Up {
    /// The cabling to emulate, or the plan to compare with.
    pub fn cabling(&self, door: Door) -> Result<Option<Fabric>, Failure> {
        let fabric = match &self.file {
            Some(path) => files::read_fabric(path)?.fabric,
            None if door == Door::Emulate => SuperpodSpec::default().build()?,
            None => return Ok(None),
        };
        if door == Door::Emulate {
            can_be_emulated(&fabric, self.file.as_deref().unwrap_or_default())?;
        }
        Ok(Some(fabric))
    }

    /// Opens the door.
    pub fn open(&self, door: Door, cabling: Option<&Fabric>) -> Result<Opened, Failure> {
        match (door, cabling) {
            (Door::Ibsim, _) => {
                let wire = Ibsim::open_as_manager(&ibsim::Config::from_environment())?;
                let place = format!("ibsim, node \"{}\"", wire.node());
                let most_under_way = Some(Ibsim::MOST_UNDER_WAY);
                Ok(Opened { wire: Box::new(wire), place, most_under_way })
            }
            (Door::Umad, _) => {
                let config =
                    umad::Config { device: self.device.clone(), port: self.port, timeout: self.timeout };
                let wire = Umad::open_as_manager(&config)?;
                let (place, most_under_way) = (wire.name(), wire.most_under_way());
                Ok(Opened { wire: Box::new(wire), place, most_under_way })
            }
            (Door::Emulate, Some(fabric)) => {
                let place = self.file.clone().unwrap_or_else(|| "a SuperPOD of 1,024 GPUs".to_owned());
                let config = emulator::Config {
                    vl15_buffers: self.vl15_buffers,
                    hop_latency: self.hop_latency,
                    seed: self.seed,
                    addressing: match self.addressing {
                        AddressingName::Standard => Addressing::Standard,
                        AddressingName::Wide => Addressing::Wide,
                    },
                    ..emulator::Config::default()
                };
                let (node, port) = Memory::seat(fabric).ok_or_else(|| no_switch(&place))?;
                let wire = Memory::new_as_manager(Emulator::new(fabric, config), node, port)
                    .map_err(|error| Failure::new(error.to_string(), &place, ""))?;
                let place = format!("{place}, emulated");
                Ok(Opened { wire: Box::new(wire), place, most_under_way: None })
            }
            (Door::Emulate, None) => Err(no_switch("")),
        }
    }

    /// Puts the sleeves on that the options name: faults first, so that a capture and a trace show what the manager
    /// sees.
    pub fn sleeves(&self, mut wire: Box<dyn Wire>, door: Door) -> Result<Box<dyn Wire>, Failure> {
        // Each sleeve draws from a seed of its own.
        let seed = |sleeve: u64| self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(sleeve);
        if self.loss > 0.0 {
            wire = Box::new(Loss::new(wire, self.loss, seed(1)));
        }
        if self.duplicate > 0.0 {
            wire = Box::new(Duplicate::new(wire, self.duplicate, seed(2)));
        }
        if self.garbage > 0.0 {
            wire = Box::new(Garbage::new(wire, self.garbage, seed(3)));
        }
        if !self.delay.is_zero() {
            wire = Box::new(Delay::new(wire, self.delay, seed(4)));
        }
        if let Some(path) = &self.capture {
            let began = match door {
                Door::Emulate => Duration::ZERO,
                _ => SystemTime::now()
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .unwrap_or_default()
                    .saturating_sub(wire.now().since(ib::Time::ZERO)),
            };
            wire = Box::new(Capture::new(wire, create(path)?, began)?);
        }
        if let Some(path) = &self.trace {
            wire = Box::new(Trace::new(wire, create(path)?));
        }
        Ok(wire)
    }
}

/// A file that is written while the session runs.
pub fn create(path: &str) -> Result<Box<dyn Write>, Failure> {
    let file = File::create(path).map_err(|error| Failure::file("write", path, &error))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 20, file)))
}

fn no_switch(place: &str) -> Failure {
    Failure::new(
        "there is no switch in it",
        place,
        "a subnet needs a switch between its hosts: is it the right file?",
    )
}

/// What no manager can bring up as a whole is refused here, with its parts named.
fn can_be_emulated(fabric: &Fabric, place: &str) -> Result<(), Failure> {
    if fabric.switch_count() == 0 {
        return Err(no_switch(place));
    }
    let islands = routing::islands(fabric);
    if islands.count() > 1 {
        let mut parts: Vec<(u32, &str)> = Vec::new();
        for (part, &size) in islands.sizes.iter().enumerate() {
            let first = fabric.nodes().find(|node| islands.of_node[node.index()] == part as u32);
            parts.push((size, first.map_or("", |node| fabric.name(node))));
        }
        parts.sort_by_key(|&(size, _)| std::cmp::Reverse(size));
        let mut named: Vec<String> = parts
            .iter()
            .take(3)
            .map(|(size, name)| format!("{} with \"{name}\"", count(u64::from(*size), "node")))
            .collect();
        if parts.len() > named.len() {
            named.push(format!("{} more", parts.len() - named.len()));
        }
        return Err(Failure::new(
            format!("the fabric falls into {} parts that no cable joins: {}", parts.len(), named.join(", ")),
            place,
            "add the missing cables, or put each part into a file of its own; `heddle fabric check` names the ends",
        ));
    }
    Ok(())
}
