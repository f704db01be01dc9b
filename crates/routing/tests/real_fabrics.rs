//! Real clusters' cabling: every one comes up on one lane, and no link is loaded more than by OpenSM's best engine.
//! The files are not part of this repository; without them the test says so and passes.
// A test's own door to its data, and to the person who runs it.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

mod common;

use std::path::PathBuf;

use common::auto;
use common::build::with_lids;
use fabric::{Fabric, formats};
use routing::{islands, link_load, verify};

fn shared() -> PathBuf {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    std::env::var_os("HEDDLE_SHARED").map_or_else(beside, PathBuf::from)
}

fn load(name: &str) -> Option<Fabric> {
    let file = shared().join("fabrics").join(name);
    let Ok(bytes) = std::fs::read(&file) else {
        println!("skipped: no shared data");
        return None;
    };
    Some(with_lids(formats::read(name, &bytes).unwrap().fabric))
}

/// Largest load and 99th percentile of OpenSM's best engine there (dfsssp, which needs several lanes), where measured.
const FABRICS: [(&str, Option<(u64, u64)>); 5] = [
    ("edr-96.ibnetdiscover", None),
    ("fdr10-edr-2.ibnetdiscover", None),
    ("hdr-160-storage.ibnetdiscover", Some((2691, 2428))),
    ("hdr-400-tabs-lost.ibnetdiscover", None),
    ("ndr-40-rail.ibnetdiscover", Some((925, 839))),
];

#[test]
fn real_fabrics_come_up_on_one_lane_evenly_loaded() {
    for (name, peer) in FABRICS {
        let Some(fabric) = load(name) else { return };
        let (tables, choice) = auto(&fabric).unwrap();
        let found = verify(&fabric, &tables);
        let load = link_load(&fabric, &tables);
        println!("{name}: {choice}; {load:?}, hops {:?}", found.hops);
        assert_eq!((found.loops, found.credit_loops), (0, 0), "{name}: {choice}");
        if islands(&fabric).count() == 1 {
            assert_eq!(found.unreachable, 0, "{name}: {choice}");
        }
        if let Some((max, p99)) = peer {
            assert!(load.max <= max && load.p99 <= p99, "{name}: {load:?} against {max} and {p99}");
        }
    }
}
