//! Files spoilt at random, from a seed: every one is read or refused, and nothing panics. The seeds are the corpus of
//! the fuzz target `read_fabric`, which does the same with coverage to guide it.

use fabric::check::check;
use fabric::formats::{Format, read, write};
use fabric::summary::summarize;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const CORPUS: [(&str, &[u8]); 6] = [
    ("hand.toml", include_bytes!("../../../fuzz/corpus/read_fabric/hand.toml")),
    ("modules.net", include_bytes!("../../../fuzz/corpus/read_fabric/modules.net")),
    ("ports.txt", include_bytes!("../../../fuzz/corpus/read_fabric/ports.txt")),
    ("subnet.lst", include_bytes!("../../../fuzz/corpus/read_fabric/subnet.lst")),
    ("tabs-lost.ibnetdiscover", include_bytes!("../../../fuzz/corpus/read_fabric/tabs-lost.ibnetdiscover")),
    ("tool.ibnetdiscover", include_bytes!("../../../fuzz/corpus/read_fabric/tool.ibnetdiscover")),
];
const ROUNDS: u64 = 6000;

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit.max(1) as u64) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = (start + self.below(40)).min(length);
        start..end
    }
}

fn spoil(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    const WORDS: [&[u8]; 14] = [
        b"\"",
        b"[",
        b"]",
        b"#",
        b"\n",
        b"=",
        b"255",
        b"65535",
        b"0",
        b"-1",
        b"{",
        b"'",
        b"99999999999999999999",
        "\u{e9}\u{20ac}".as_bytes(),
    ];
    match chance.below(8) {
        0 => bytes.truncate(chance.below(bytes.len() + 1)),
        1 => {
            let range = chance.range(bytes.len());
            bytes.drain(range);
        }
        2 => {
            let range = chance.range(bytes.len());
            let piece = bytes[range].to_vec();
            let at = chance.below(bytes.len() + 1);
            bytes.splice(at..at, piece);
        }
        3 => {
            let piece = other[chance.range(other.len())].to_vec();
            let at = chance.below(bytes.len() + 1);
            bytes.splice(at..at, piece);
        }
        4 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }
        5 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] = b'0' + chance.below(10) as u8;
        }
        6 => {
            let mut lines: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            let (from, to) = (chance.below(lines.len()), chance.below(lines.len()));
            if chance.below(2) == 0 {
                lines.swap(from, to);
            } else {
                let line = lines[from].clone();
                lines.insert(to, line);
            }
            *bytes = lines.join(&b'\n');
        }
        _ => {
            let at = chance.below(bytes.len() + 1);
            let word = WORDS[chance.below(WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
    }
}

#[test]
fn spoilt_files_are_read_or_refused() {
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..ROUNDS {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let (name, bytes) = CORPUS[chance.below(CORPUS.len())];
        let (_, other) = CORPUS[chance.below(CORPUS.len())];
        let mut bytes = bytes.to_vec();
        for _ in 0..=chance.below(4) {
            spoil(&mut bytes, other, &mut chance);
        }
        match read(name, &bytes) {
            Err(error) => {
                assert!(!error.what.is_empty() && error.file == name, "seed {seed}: {error}");
                refused += 1;
            }
            Ok(loaded) => {
                loaded.fabric.check_invariants();
                check(&loaded);
                assert!(!summarize(&loaded.fabric).to_string().is_empty());
                for format in Format::ALL {
                    let Ok(text) = write(&loaded.fabric, format) else { continue };
                    if format.is_readable() {
                        // Duplicate GUIDs and the like are held by the native form alone.
                        let again = read("again", text.as_bytes());
                        assert!(format != Format::Native || again.is_ok(), "seed {seed}: {:?}", again.err());
                    }
                }
                taken += 1;
            }
        }
    }
    assert!(taken > ROUNDS / 10 && refused > ROUNDS / 10, "{taken} taken, {refused} refused");
}

#[test]
fn the_seeds_are_sound() {
    for (name, bytes) in CORPUS {
        read(name, bytes).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn files_that_claim_too_much_take_little() {
    // Each line claims 254 ports; the bound on ports stops it long before memory does.
    let text: String = (0..40_000).map(|index| format!("Switch 254 \"S-{index:x}\"\n")).collect();
    let error = read("many", text.as_bytes()).unwrap_err();
    assert!(error.what.contains("ports") && error.line > 1, "{error}");
}
