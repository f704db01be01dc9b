//! Real clusters' cabling. The files are not part of this repository; without them the tests say so and pass.

use std::path::PathBuf;

use fabric::{Fabric, formats};
use scheduler::network::{Ask, Level, Pattern, Traffic, choose};

use crate::build::{routed, site};
use crate::contending::check_against_plain_walks;
use crate::grouping::check_groups;

fn shared() -> PathBuf {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    std::env::var_os("HEDDLE_SHARED").map_or_else(beside, PathBuf::from)
}

pub fn load(name: &str) -> Option<Fabric> {
    let Ok(bytes) = std::fs::read(shared().join("fabrics").join(name)) else {
        println!("skipped: no shared data");
        return None;
    };
    Some(formats::read(name, &bytes).unwrap().fabric)
}

#[test]
fn real_clusters_have_groups_and_take_gangs() {
    for (name, groups) in [
        ("edr-96.ibnetdiscover", [4, 4, 1, 1]),
        ("fdr10-edr-2.ibnetdiscover", [2, 2, 1, 1]),
        ("hdr-160-storage.ibnetdiscover", [39, 39, 4, 1]),
        ("hdr-400-tabs-lost.ibnetdiscover", [155, 155, 8, 1]),
        ("ndr-40-rail.ibnetdiscover", [9, 9, 1, 1]),
    ] {
        let Some(fabric) = load(name) else { return };
        let site = site(fabric);
        check_groups(&site);
        let found = [Level::Leaf, Level::RailGroup, Level::Pod, Level::Fabric]
            .map(|level| site.locality.group_count(level));
        assert_eq!(found, groups, "{name}");
        let capacity = vec![1; site.pool.node_count()];
        for members in 1..=site.pool.node_count() as u32 {
            let ask = Ask { capacity: &capacity, members, wants: &[], most: 2 };
            for candidate in choose(&site.locality, &ask).unwrap() {
                assert_eq!(candidate.nodes.len(), members as usize, "{name}");
            }
        }
        // A gang strewn over the whole cluster, by the tables that its fabric would have; where those take long to make,
        // groups alone are looked at.
        if site.fabric.switch_count() > 100 {
            continue;
        }
        let tables = routed(&site.fabric).unwrap();
        let step = site.pool.node_count().div_ceil(24);
        let gang: Vec<_> = site.pool.nodes().step_by(step).collect();
        for pattern in Pattern::ALL {
            let traffic = [Traffic { pattern, bytes_per_second: 50_000_000_007 }];
            check_against_plain_walks(&site, &tables, &gang, &traffic);
        }
    }
}
