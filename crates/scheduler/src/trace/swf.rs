//! The Standard Workload Format (Chapin, Cirne, Feitelson and others, 1999; www.cs.huji.ac.il/labs/parallel/workload/swf.html).
//!
//! Lines of 18 numbers; lines that begin with a semicolon are comment; -1 means that a value is not known. The format knows
//! processors, not GPUs: here a processor is a GPU with one core, in parts of `ReadOptions::gpus_a_part` at most.

use pool::FormatError;

use super::{Gatherer, Job, ReadOptions, Terms, Trace, time};

const FIELDS: usize = 18;

/// Reads jobs.
///
/// # Errors
/// Where a line cannot be and such lines are refused.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let mut gatherer = Gatherer::new(file, options);
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        match job(line, options, &mut gatherer) {
            Ok(job) => gatherer.job(job),
            Err(what) => gatherer.bad(at + 1, what)?,
        }
    }
    Ok(gatherer.finish())
}

fn job(line: &str, options: ReadOptions, gatherer: &mut Gatherer<'_>) -> Result<Job, String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.len() != FIELDS {
        return Err(format!("the line has {} fields, not {FIELDS}", fields.len()));
    }
    // Fields are counted from 1, as the format's own text does.
    let number = |field: usize| -> Result<f64, String> {
        let text = fields[field - 1];
        text.parse().map_err(|_| format!("field {field} is {text:?}, not a number"))
    };
    let submit = time::parse_ms(fields[1]).map_err(|what| format!("the submit time {what}"))?;
    let run_s = number(4)?;
    let run_ms = time::from_seconds(run_s);
    if run_ms.is_none() && options.times_wanted {
        return Err(format!("the run time is negative or absent: {run_s}"));
    }
    let processors = [number(8)?, number(5)?].into_iter().find(|&count| count > 0.0).unwrap_or(0.0);
    if !(1.0..=1e7).contains(&processors) {
        return Err(format!("the job wants {processors} processors"));
    }
    let (parts, gpus) = super::in_parts(processors as u64, options.gpus_a_part);
    Ok(Job {
        name: fields[0].into(),
        submit_ms: submit,
        run_ms,
        limit_ms: time::from_seconds(number(9)?).filter(|&limit| limit > 0),
        parts,
        cpu_milli: u32::from(gpus) * 1000,
        memory_mib: 0,
        gpus,
        gpu_milli: pool::stock::WHOLE_GPU,
        models: 0,
        user: gatherer.user(fields[11]),
        priority: 0,
        terms: Terms::default(),
    })
}
