//! The fabrics that are measured on, by their number of hosts.

use anyhow::bail;
use fabric::Fabric;
use fabric::generate::FatTreeSpec;

/// The fat tree with so many hosts: every switch of one radix, half its ports down.
pub fn tree(hosts: u32) -> anyhow::Result<Fabric> {
    let spec =
        |levels, radix, pods| FatTreeSpec { levels: Some(levels), radix, pods, ..FatTreeSpec::default() };
    let spec = match hosts {
        648 => spec(2, 36, None),
        1944 => spec(3, 36, Some(6)),
        8192 => spec(3, 32, None),
        27_648 => spec(3, 48, None),
        114_688 => FatTreeSpec { hosts: Some(hosts), ..spec(3, 80, None) },
        _ => bail!("no tree of {hosts} hosts is measured: give 648, 1944, 8192, 27648 or 114688"),
    };
    Ok(spec.build()?)
}

/// What the tree is, for a row of a table.
pub fn describe(fabric: &Fabric) -> String {
    let count = |number: usize| crate::statistics::grouped(number as u64);
    format!("{} hosts, {} switches", count(fabric.hosts().count()), count(fabric.switch_count()))
}
