//! Any bytes as a topology file: read or refused, never a panic; what is read is checked, summed up, written and read
//! again. Seeds are in `corpus/read_fabric`.

#![no_main]

use fabric::formats::{Format, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(loaded) = read("fuzzed", bytes) else { return };
    loaded.fabric.check_invariants();
    let _ = fabric::check::check(&loaded);
    let _ = fabric::summary::summarize(&loaded.fabric).to_string();
    for format in Format::ALL {
        if let Ok(text) = write(&loaded.fabric, format)
            && format.is_readable()
        {
            let _ = read("again", text.as_bytes());
        }
    }
});
