//! Pools with damage: read or refused, never a panic. The seeds are those of the fuzz target `read_pool`.
// A test's own door to its data.
#![allow(clippy::disallowed_methods)]

use pool::Stock;
use pool::formats::{Beside, read};
use proptest::prelude::*;

fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/read_pool");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn slurms_nodes_may_be_called_gpu() {
    let text = "NodeName=gpu01 CPUTot=8 Gres=gpu:h100:2\n   RealMemory=20\n   State=IDLE\n";
    assert_eq!(pool::formats::format_of(text), pool::formats::Format::Scontrol);
}

#[test]
fn every_seed_is_read() {
    for seed in seeds() {
        let (site, format) = read("seed", &seed, &Beside::default()).unwrap();
        assert!(!Stock::of(&site.pool).unwrap().is_empty(), "{format:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn damaged_pools_are_read_or_refused(
        seed in prop::sample::select(seeds()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..8),
    ) {
        let mut bytes = seed;
        for (at, byte, cut) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
        }
        if let Ok((site, _)) = read("damaged", &bytes, &Beside::default()) {
            let nodes = Stock::of(&site.pool).map_or(0, |stock| stock.len());
            prop_assert!(nodes <= site.pool.nodes().count());
        }
    }
}
