//! Any bytes as a MAD: everything that can be read from it is read, printed and written again, and no law of `ib`
//! breaks. Shorter inputs are filled up with zeros. Seeds are in `corpus/look_at_mad`.

#![no_main]

#[path = "../../crates/ib/tests/look/mod.rs"]
mod look;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut mad = ib::Mad::default();
    let length = bytes.len().min(mad.0.len());
    mad.0[..length].copy_from_slice(&bytes[..length]);
    look::look(&mad);
});
