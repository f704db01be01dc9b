//! The fabrics that loads are compared on: twenty from generators, real ones where they are at hand, each whole and with
//! a part of its links missing.

use std::path::Path;

use anyhow::Context;
use fabric::generate::{
    DragonflyPlusSpec, FatTreeSpec, GenerateError, HypercubeSpec, RandomRegularSpec, SuperpodSpec, TorusSpec,
};
use fabric::{Fabric, formats};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::islands;

/// A fabric that has no LIDs yet, with its name in the table.
pub type Named = (String, Fabric);

/// Those from generators. `few`: three small ones.
pub fn generated(few: bool) -> anyhow::Result<Vec<Named>> {
    let rate = FatTreeSpec::default().rate;
    let tree = |levels: u8, radix: u8, taper: f64, parallel: &[u8], pods: Option<u32>, hosts: Option<u32>| {
        FatTreeSpec {
            levels: Some(levels),
            radix,
            taper: vec![taper],
            parallel: parallel.to_vec(),
            pods,
            hosts,
            ..FatTreeSpec::default()
        }
        .build()
    };
    let torus = |dimensions: &[u32], hosts: u32, parallel: u32| {
        TorusSpec { dimensions: dimensions.to_vec(), hosts, parallel, rate }.build()
    };
    let superpod = |units: u32| SuperpodSpec { units, ..SuperpodSpec::default() }.build();
    let dragonfly = |groups: u32, size: u32, global_links: u32| {
        DragonflyPlusSpec { groups, leaves: size, spines: size, hosts: size, global_links, rate }.build()
    };
    let cube = |dimensions: u32, hosts: u32| HypercubeSpec { dimensions, hosts, rate }.build();
    let regular = |switches: u32, degree: u32, hosts: u32| {
        RandomRegularSpec { switches, degree, hosts, seed: 1, rate }.build()
    };
    let all: Vec<(&str, Result<Fabric, GenerateError>)> = if few {
        vec![
            ("2 levels of 12 ports", tree(2, 12, 1.0, &[], None, None)),
            ("3 levels of 8 ports", tree(3, 8, 1.0, &[], None, None)),
            ("torus 4x4", torus(&[4, 4], 2, 1)),
        ]
    } else {
        vec![
            ("2 levels of 12 ports", tree(2, 12, 1.0, &[], None, None)),
            ("2 levels of 20 ports", tree(2, 20, 1.0, &[], None, None)),
            ("2 levels of 36 ports", tree(2, 36, 1.0, &[], None, None)),
            ("2 levels of 36 ports, in part", tree(2, 36, 1.0, &[], None, Some(400))),
            ("2 levels of 24 ports, tapered 2:1", tree(2, 24, 2.0, &[], None, None)),
            ("2 levels of 32 ports, links in pairs", tree(2, 32, 1.0, &[2], None, None)),
            ("3 levels of 8 ports", tree(3, 8, 1.0, &[], None, None)),
            ("3 levels of 12 ports", tree(3, 12, 1.0, &[], None, None)),
            ("3 levels of 16 ports", tree(3, 16, 1.0, &[], None, None)),
            ("3 levels of 24 ports, 6 pods", tree(3, 24, 1.0, &[], Some(6), None)),
            ("3 levels of 12 ports, tapered 2:1", tree(3, 12, 2.0, &[], None, None)),
            ("3 levels of 16 ports, links in pairs above", tree(3, 16, 1.0, &[1, 2], None, None)),
            ("superpod of 1 unit", superpod(1)),
            ("superpod of 4 units", superpod(4)),
            ("dragonfly+ of 5 groups", dragonfly(5, 4, 4)),
            ("dragonfly+ of 9 groups", dragonfly(9, 4, 8)),
            ("torus 4x4x4", torus(&[4, 4, 4], 2, 1)),
            ("hypercube of 6 dimensions", cube(6, 3)),
            ("random regular, 40 switches of degree 6", regular(40, 6, 4)),
            ("random regular, 100 switches of degree 10", regular(100, 10, 6)),
        ]
    };
    all.into_iter()
        .map(|(name, fabric)| Ok((name.to_owned(), fabric.with_context(|| name.to_owned())?)))
        .collect()
}

/// The readable topology files in a folder, by name; none where there is no such folder.
pub fn real(folder: &Path) -> anyhow::Result<Vec<Named>> {
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ibnetdiscover"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let loaded = formats::read(&path.to_string_lossy(), &std::fs::read(path)?)?;
        Ok((name, loaded.fabric))
    };
    paths.iter().map(read).collect()
}

/// Takes away so many in a hundred of the links between switches, drawn from `seed`, but none that holds the fabric
/// together.
pub fn degrade(fabric: &mut Fabric, per_cent: u32, seed: u64) {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let is_switch = |port| fabric.is_switch(fabric.node_of(port));
    let mut links: Vec<_> = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).collect();
    let mut left = (links.len() * per_cent as usize).div_ceil(100);
    let parts = islands(fabric).count();
    while left > 0 && !links.is_empty() {
        let (a, b) = links.swap_remove(chance.next_u32() as usize % links.len());
        fabric.disconnect(a);
        if islands(fabric).count() == parts {
            left -= 1;
            continue;
        }
        let end = |port| (fabric.node_of(port), fabric.port_number(port));
        let (a, b) = (end(a), end(b));
        fabric.connect(a, b, None).expect("both ends have just become free");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fabrics_can_be_made_and_keep_together_with_links_missing() {
        let all = generated(false).unwrap();
        assert_eq!(all.len(), 20);
        for (name, mut fabric) in generated(true).unwrap() {
            let links = fabric.link_count();
            degrade(&mut fabric, 10, 3);
            assert!(fabric.link_count() < links, "{name}");
            assert_eq!(islands(&fabric).count(), 1, "{name}");
        }
    }
}
