//! Any bytes as a pool: read or refused, never a panic; what is read becomes a stock. Seeds are in `corpus/read_pool`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pool::Stock;
use pool::formats::{Beside, read};

fuzz_target!(|bytes: &[u8]| {
    if let Ok((site, _)) = read("fuzzed", bytes, &Beside::default()) {
        let _ = Stock::of(&site.pool);
    }
});
