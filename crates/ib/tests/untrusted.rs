//! MADs of unknown origin: the seeds of the fuzz target as they are and damaged at random, then pure noise. A bounded
//! run of what `fuzz/fuzz_targets/look_at_mad.rs` does without bound.

mod look;

use ib::Mad;
use look::look;

#[allow(clippy::disallowed_methods, reason = "a test reads its files")]
fn seeds() -> Vec<Mad> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/look_at_mad");
    let mut paths: Vec<_> =
        folder.read_dir().expect("seeds").map(|entry| entry.expect("a seed").path()).collect();
    paths.sort();
    let bytes = |path| std::fs::read(path).expect("a seed");
    paths.into_iter().map(|path| Mad(bytes(path).try_into().expect("256 bytes"))).collect()
}

#[test]
fn seeds_are_read() {
    let seeds = seeds();
    assert!(seeds.len() >= 30);
    seeds.iter().for_each(look);
}

#[test]
fn damaged_seeds_are_read() {
    let mut noise = Noise(7);
    for seed in seeds() {
        for _ in 0..40 {
            let mut mad = seed;
            for _ in 0..1 + noise.byte() % 8 {
                mad.0[usize::from(noise.byte())] = noise.byte();
            }
            look(&mad);
        }
    }
}

#[test]
fn noise_is_read() {
    let mut noise = Noise(11);
    for _ in 0..2_000 {
        look(&Mad(std::array::from_fn(|_| noise.byte())));
    }
}

/// A small generator (SplitMix64): the same bytes on every machine and in every version.
struct Noise(u64);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 56) as u8
    }
}
