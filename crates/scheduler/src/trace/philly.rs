//! Philly: `cluster_job_log` of the traces that Microsoft published (msr-fiddle/philly-traces, CC BY 4.0; Jeon et al., ATC
//! 2019). A JSON list with an object a job: `jobid`, `user`, `vc`, `status`, `submitted_time` and `attempts`, each with a
//! `start_time`, an `end_time` and `detail`, a list of the machines (`ip`) and the `gpus` that it had of each. Times are
//! as `2017-10-07 01:02:55`, or `None`. It tells neither CPU nor memory.

use pool::FormatError;
use pool::stock::WHOLE_GPU;
use serde::Deserialize;

use super::csv::small;
use super::{Gatherer, Job, ReadOptions, Terms, Trace, time};

#[derive(Deserialize)]
struct Logged {
    jobid: String,
    #[serde(default)]
    user: String,
    submitted_time: Option<String>,
    #[serde(default)]
    attempts: Vec<Attempt>,
}

#[derive(Deserialize)]
struct Attempt {
    start_time: Option<String>,
    end_time: Option<String>,
    #[serde(default)]
    detail: Vec<Machine>,
}

#[derive(Deserialize)]
struct Machine {
    #[serde(default)]
    gpus: Vec<String>,
}

/// Reads jobs. A job wants what its last attempt had, in a part a machine, and runs as long as all its attempts together.
///
/// # Errors
/// Where it is no list, or a job cannot be and such jobs are refused; a job is named by the line that it begins in.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let mut gatherer = Gatherer::new(file, options);
    for element in Elements::of(bytes) {
        let Element { line, text } = match element {
            Ok(element) => element,
            Err((line, what)) => {
                let mend = "the file has to be a list of jobs, as Philly's cluster_job_log is";
                return Err(gatherer.error(line, what.to_owned(), mend));
            }
        };
        let read = serde_json::from_slice::<Logged>(text)
            .map_err(|error| format!("is no job of Philly's: {error}"))
            .and_then(|logged| job(&logged, &mut gatherer));
        match read {
            Ok(job) => gatherer.job(job),
            Err(what) => gatherer.bad(line, what)?,
        }
    }
    Ok(gatherer.finish())
}

fn job(logged: &Logged, gatherer: &mut Gatherer<'_>) -> Result<Job, String> {
    let submit_ms = time_ms(logged.submitted_time.as_deref(), "submitted_time")?;
    let machines =
        logged.attempts.iter().rev().map(|attempt| &attempt.detail).find(|detail| !detail.is_empty());
    let machines = machines.ok_or("it never ran: no attempt tells which GPUs it had")?;
    let gpus: usize = machines.iter().map(|machine| machine.gpus.len()).sum();
    let mut run_ms = Some(0_u64);
    for attempt in &logged.attempts {
        let start = time_ms(attempt.start_time.as_deref(), "start_time")?;
        let end = time_ms(attempt.end_time.as_deref(), "end_time")?;
        run_ms = match (start, end) {
            (Some(start), Some(end)) => {
                let ran = end
                    .checked_sub(start)
                    .ok_or("its run time is negative: an attempt ends before it starts")?;
                run_ms.map(|sum| sum.saturating_add(ran))
            }
            // An attempt that never started ran no time; one without an end says nothing.
            (None, _) => run_ms,
            (Some(_), None) => None,
        };
    }
    if gatherer.times_wanted() && (submit_ms.is_none() || run_ms.is_none()) {
        return Err("the submit time or the run time is absent; it is needed where time passes".to_owned());
    }
    let gpus = small(gpus.div_ceil(machines.len()) as u64, "gpus")?;
    Ok(Job {
        name: logged.jobid.as_str().into(),
        submit_ms: submit_ms.unwrap_or(0),
        run_ms,
        limit_ms: None,
        parts: small(machines.len() as u64, "machines")?,
        cpu_milli: 0,
        memory_mib: 0,
        gpus,
        gpu_milli: if gpus > 0 { WHOLE_GPU } else { 0 },
        models: 0,
        user: gatherer.user(&logged.user),
        priority: 0,
        terms: Terms::default(),
    })
}

fn time_ms(text: Option<&str>, name: &str) -> Result<Option<u64>, String> {
    match text {
        None | Some("" | "None") => Ok(None),
        // Some of its times end with the name of a zone.
        Some(text) => {
            let text = text.trim_end_matches(|letter: char| letter.is_ascii_uppercase() || letter == ' ');
            time::parse_ms(text).map(Some).map_err(|what| format!("{name} {what}"))
        }
    }
}

/// An object of the list and the line that it begins in, counted from 1.
struct Element<'a> {
    line: usize,
    text: &'a [u8],
}

/// The objects of a JSON list one by one, so that a job that cannot be is named by its line and the others are read.
struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    begun: bool,
    ended: bool,
}

impl<'a> Elements<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        Self { bytes, at: 0, line: 1, begun: false, ended: false }
    }

    fn step(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    /// Up to the brace that closes an object which has just been opened.
    fn object(&mut self) -> Result<(), &'static str> {
        let (mut depth, mut quoted) = (1_u32, false);
        while depth > 0 {
            match self.step().ok_or("the file ends within a job")? {
                b'"' => quoted = !quoted,
                b'\\' if quoted => {
                    self.step();
                }
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, (usize, &'static str)>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let (from, line) = (self.at, self.line);
            let failed = match self.step() {
                Some(byte) if byte.is_ascii_whitespace() => continue,
                Some(b'[') if !self.begun => {
                    self.begun = true;
                    continue;
                }
                Some(b',') if self.begun => continue,
                Some(b'{') if self.begun => match self.object() {
                    Ok(()) => return Some(Ok(Element { line, text: &self.bytes[from..self.at] })),
                    Err(what) => what,
                },
                Some(b']') if self.begun => {
                    self.ended = true;
                    return None;
                }
                Some(_) => "here should begin a list of jobs, or the next of them",
                None => "the file ends before its list of jobs does",
            };
            self.ended = true;
            return Some(Err((line, failed)));
        }
        None
    }
}
