//! Readers: text of several kinds in, a [`Site`] out. No function here opens a file.
//!
//! | format | known by | file |
//! | --- | --- | --- |
//! | Heddle's own TOML | `heddle-pool =` | `native` |
//! | `scontrol show nodes`, with `gres.conf` beside it | `NodeName=` at the start of a line | `slurm`, `gres` |
//! | `gres.conf` alone | `Name=gpu` | `gres` |
//! | openb node list | its first line | `openb` |
//! | a fabric: any that [`fabric::formats::read`] takes | none of these | `fabric_hosts` |

mod fabric_hosts;
mod gres;
mod hosts;
mod native;
mod openb;
pub(crate) mod place;
mod slurm;

use serde::Serialize;

pub use fabric_hosts::{Equipment, in_order as adapter_order, read as from_fabric};

use crate::FormatError;
use crate::calendar::Calendar;
use crate::catalog::MigCatalog;
use crate::node::Pool;
use crate::reservations::Reservations;
use crate::slices::Slices;
use crate::tenants::{self, Tenants};

/// A pool with all that is said about it.
#[derive(Clone, Debug)]
pub struct Site {
    /// What there is.
    pub pool: Pool,
    /// How GPUs are cut.
    pub slices: Slices,
    /// Who may hold how much; without tenants where none are named.
    pub tenants: Tenants,
    /// What is promised.
    pub reservations: Reservations,
    /// What the time of the week changes, if anything.
    pub calendar: Option<Calendar>,
}

/// A kind of file that a pool is read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Heddle's own TOML.
    Native,
    /// `scontrol show nodes`.
    Scontrol,
    /// Slurm's `gres.conf`.
    Gres,
    /// The node list of the openb trace.
    Openb,
    /// A fabric.
    Fabric,
}

/// What a file is, by its content.
pub fn format_of(text: &str) -> Format {
    let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim_end();
    let starts = |with: &str| {
        let mut lines = text.lines().map(str::trim_start);
        lines
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .is_some_and(|line| line.starts_with(with))
    };
    if first == openb::HEAD {
        Format::Openb
    } else if starts(native::MARK) {
        Format::Native
    } else if text.split_ascii_whitespace().any(|word| word == "Name=gpu") {
        Format::Gres
    } else if starts("NodeName=") {
        Format::Scontrol
    } else {
        Format::Fabric
    }
}

/// What a file itself does not say.
#[derive(Clone, Debug, Default)]
pub struct Beside<'a> {
    /// Name and text of the `gres.conf` that goes with `scontrol show nodes`.
    pub gres: Option<(&'a str, &'a str)>,
    /// What the hosts of a fabric have.
    pub equipment: Equipment,
}

/// Reads a pool, whatever it is written in.
///
/// # Errors
/// File, line, what is wrong and what would mend it.
pub fn read(name: &str, bytes: &[u8], beside: &Beside<'_>) -> Result<(Site, Format), FormatError> {
    let catalog = MigCatalog::shipped()?;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Fabrics have names in any encoding; what else is no UTF-8 is none of ours.
        Err(_) => return Ok((whole(fabric_of(name, bytes, beside)?, catalog), Format::Fabric)),
    };
    let format = format_of(text);
    let pool = match format {
        Format::Native => return Ok((native::read(name, text, catalog)?, format)),
        Format::Scontrol => slurm::read(name, text, beside.gres)?,
        Format::Gres => gres::read_pool(name, text)?,
        Format::Openb => openb::read(name, text)?,
        Format::Fabric => fabric_of(name, bytes, beside)?,
    };
    Ok((whole(pool, catalog), format))
}

fn fabric_of(name: &str, bytes: &[u8], beside: &Beside<'_>) -> Result<Pool, FormatError> {
    let loaded = fabric::formats::read(name, bytes)?;
    from_fabric(name, &loaded.fabric, &beside.equipment)
}

/// A pool of which nothing is cut, and nobody is named.
fn whole(pool: Pool, catalog: MigCatalog) -> Site {
    let slices = Slices::new(&pool, catalog);
    let reservations = Reservations::new(pool.gpu_count() as u64 * tenants::GPU);
    Site { pool, slices, tenants: Tenants::default(), reservations, calendar: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_the_format() {
        let known = [
            ("# a pool\nheddle-pool = 1\n", Format::Native),
            ("sn,cpu_milli,memory_mib,gpu,model\n", Format::Openb),
            ("\nNodeName=n1 Arch=x86_64\n", Format::Scontrol),
            ("NodeName=n1 Name=gpu Count=1\n", Format::Gres),
            ("heddle-fabric = 1\n", Format::Fabric),
            ("", Format::Fabric),
        ];
        for (text, format) in known {
            assert_eq!(format_of(text), format, "{text}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let beside = Beside::default();
        for bytes in
            [&b""[..], b"\xff\xfe\x00", b"NodeName=", b"heddle-pool", b"sn,cpu_milli,memory_mib,gpu,model"]
        {
            let _ = read("x", bytes, &beside);
        }
        let (site, format) = read("n.txt", b"NodeName=n1 Gres=gpu:4 CPUTot=8", &beside).unwrap();
        assert_eq!((site.pool.gpu_count(), format), (4, Format::Scontrol));
        assert!(site.tenants.is_empty());
    }
}
