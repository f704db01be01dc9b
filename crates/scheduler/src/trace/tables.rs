//! Heddle's own jobs as TOML: a `[[job]]` table each, with the names of the columns of its CSV (`native`). Times may be
//! fractions of seconds; `after` is a list of names; everything else is a whole number or text.

use pool::FormatError;
use serde::Deserialize;
use toml::Spanned;

use super::csv::small;
use super::{Gatherer, Job, ReadOptions, Terms, Trace, WantedGpus, time};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    job: Vec<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    name: String,
    submit_s: Option<f64>,
    run_s: Option<f64>,
    limit_s: Option<f64>,
    parts: i64,
    cpu_milli: i64,
    memory_mib: i64,
    gpus: Option<i64>,
    gpu_milli: Option<i64>,
    models: String,
    user: String,
    priority: i64,
    tenant: String,
    most_parts: Option<i64>,
    work: String,
    grace_s: Option<f64>,
    checkpoint_s: Option<f64>,
    after: Vec<String>,
    numa: String,
    mig: String,
    gpu_memory_mib: Option<i64>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            name: String::new(),
            submit_s: None,
            run_s: None,
            limit_s: None,
            parts: 1,
            cpu_milli: 0,
            memory_mib: 0,
            gpus: None,
            gpu_milli: None,
            models: String::new(),
            user: String::new(),
            priority: 0,
            tenant: String::new(),
            most_parts: None,
            work: String::new(),
            grace_s: None,
            checkpoint_s: None,
            after: Vec::new(),
            numa: String::new(),
            mig: String::new(),
            gpu_memory_mib: None,
        }
    }
}

/// Reads jobs.
///
/// # Errors
/// Where it is no TOML of jobs, or a job cannot be and such jobs are refused; a job is named by the line that it begins in.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let lines_in = |text: &str| text.bytes().filter(|&byte| byte == b'\n').count();
    let line_of = |at: usize| 1 + text.get(..at).map_or(0, lines_in);
    let mut gatherer = Gatherer::new(file, options);
    let written: File = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        gatherer.error(
            line,
            error.message().to_owned(),
            "a job is a [[job]] table with the names of the columns of jobs as CSV",
        )
    })?;
    let (mut at, mut line) = (0, 1);
    for table in &written.job {
        let start = table.span().start;
        line += text.get(at..start).map_or(0, lines_in);
        at = start;
        match job(table.get_ref(), &mut gatherer) {
            Ok(job) => gatherer.job_after(job, line, table.get_ref().after.clone()),
            Err(what) => gatherer.bad(line, what)?,
        }
    }
    gatherer.finish_linked()
}

fn job(written: &Written, gatherer: &mut Gatherer<'_>) -> Result<Job, String> {
    let submit_ms = time_ms(written.submit_s, "submit_s")?;
    let run_ms = time_ms(written.run_s, "run_s")?;
    if gatherer.times_wanted() && (submit_ms.is_none() || run_ms.is_none()) {
        return Err("the submit time or the run time is absent; it is needed where time passes".to_owned());
    }
    let parts: u32 = whole(written.parts.max(1), "parts")?;
    let most: u32 = written.most_parts.map_or(Ok(parts), |most| whole(most, "most_parts"))?;
    let times = (time_ms(written.grace_s, "grace_s")?, time_ms(written.checkpoint_s, "checkpoint_s")?);
    if let Some(name) = written.after.iter().find(|name| name.contains('|')) {
        return Err(format!("it is to come after \"{name}\": a name that others give has no | in it"));
    }
    let mut terms = Terms::new(gatherer.tenant(&written.tenant), (parts, most), &written.work, times)?;
    let wanted = WantedGpus {
        gpus: written.gpus.map(|gpus| whole(gpus, "gpus")).transpose()?,
        gpu_milli: written.gpu_milli.map(|milli| whole(milli, "gpu_milli")).transpose()?,
        gpu_memory_mib: written.gpu_memory_mib.map(|memory| whole(memory, "gpu_memory_mib")).transpose()?,
        mig: &written.mig,
        numa: &written.numa,
    };
    let (gpus, gpu_milli) = wanted.read(gatherer, &mut terms)?;
    Ok(Job {
        name: written.name.as_str().into(),
        submit_ms: submit_ms.unwrap_or(0),
        run_ms,
        limit_ms: time_ms(written.limit_s, "limit_s")?,
        parts,
        cpu_milli: whole(written.cpu_milli, "cpu_milli")?,
        memory_mib: whole(written.memory_mib, "memory_mib")?,
        gpus,
        gpu_milli,
        models: gatherer.models(&written.models),
        user: gatherer.user(&written.user),
        priority: i32::try_from(written.priority).map_err(|_| format!("priority is {}", written.priority))?,
        terms,
    })
}

fn time_ms(seconds: Option<f64>, name: &str) -> Result<Option<u64>, String> {
    let Some(seconds) = seconds else { return Ok(None) };
    let what = if seconds < 0.0 { "negative" } else { "no time" };
    time::from_seconds(seconds).map(Some).ok_or_else(|| format!("{name} is {what}: {seconds}"))
}

fn whole<T: TryFrom<u64>>(number: i64, name: &str) -> Result<T, String> {
    let number =
        u64::try_from(number).map_err(|_| format!("{name} is {number}, not a whole number from 0"))?;
    small(number, name)
}
