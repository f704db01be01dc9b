//! Any bytes as a trace: read or refused in every format, never a panic; what is read is written as CSV and read again.
//! Seeds are in `corpus/read_trace`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scheduler::trace::{BadLines, Format, ReadOptions, native, read};

fuzz_target!(|bytes: &[u8]| {
    for (format, _) in Format::ALL {
        let options = ReadOptions { bad_lines: BadLines::Skip, ..ReadOptions::default() };
        let Ok(trace) = read("fuzzed", bytes, format, options) else { continue };
        assert!(trace.jobs.is_sorted_by_key(|job| job.submit_ms));
        let _ = native::jobs("again", native::write(&trace).as_bytes(), options);
    }
});
