//! Pools from a real node list and real cabling.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::PathBuf;

use pool::formats::{self, Beside, Format};

fn shared(path: &str) -> Option<Vec<u8>> {
    let shared = std::env::var_os("HEDDLE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let bytes = std::fs::read(shared.join(path)).ok();
    if bytes.is_none() {
        println!("skipped: no shared data ({path})");
    }
    bytes
}

#[test]
fn the_openb_cluster_has_as_many_gpus_as_was_published() {
    let Some(bytes) = shared("traces/openb/openb_node_list_gpu_node.csv") else { return };
    let (site, format) = formats::read("nodes.csv", &bytes, &Beside::default()).unwrap();
    site.pool.check_invariants();
    assert_eq!(format, Format::Openb);
    assert_eq!((site.pool.node_count(), site.pool.gpu_count()), (1213, 6212));
}

#[test]
fn hosts_of_a_real_fabric_become_nodes() {
    let Some(bytes) = shared("fabrics/ndr-40-rail.ibnetdiscover") else { return };
    let (site, format) = formats::read("ndr.ibnetdiscover", &bytes, &Beside::default()).unwrap();
    site.pool.check_invariants();
    assert_eq!(format, Format::Fabric);
    assert!(site.pool.node_count() > 0);
    assert_eq!(site.pool.gpu_count(), 8 * site.pool.node_count());
    assert!(site.pool.gpus().all(|gpu| site.pool.attachment(gpu).is_some()), "each GPU sits beside a port");
}
