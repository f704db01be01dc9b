//! Heddle's own jobs as CSV, with a head that names the columns in any order.
//!
//! | column | is | absent |
//! | --- | --- | --- |
//! | `name` | the job's name | empty |
//! | `submit_s` | when it was submitted, in seconds | a bad line |
//! | `run_s` | how long it runs, in seconds | a bad line |
//! | `limit_s` | how long it says that it runs at most | `run_s` |
//! | `parts` | parts of the gang, each on one node | 1 |
//! | `cpu_milli`, `memory_mib` | of a part | 0 |
//! | `gpus` | GPUs of a part | 0 |
//! | `gpu_milli` | thousandths of each; less than 1000 where `gpus` is 1 alone | 1000 |
//! | `models` | models that will do, with `\|` between them | any |
//! | `user`, `priority` | owner; the greater starts first | empty, 0 |
//! | `tenant` | who pays for it, by a name of the pool's tenants | nobody |
//! | `most_parts` | the most parts that are of use to it | `parts` |
//! | `work` | `batch` comes to an end by itself, `service` serves until somebody ends it | `batch` |
//! | `grace_s` | how long it takes to stop once it is told to, in seconds | 0 |
//! | `numa` | where on its node a part lies: `one` NUMA domain, or CPU and memory `beside` its GPUs, each in their domain; `prefer-one`, `prefer-beside` | anywhere |
//! | `gpu_memory_mib` | memory that each GPU, or the share of one, has to have: models with less will not do, and a share counts at least its part of the memory | any |
//! | `mig` | the MIG profile of which each of `gpus` is an instance, as `1g.10gb`; `gpus` is 1 where it is left out | GPUs |
//! | `checkpoint_s` | run time that is lost where it is stopped, in seconds | it must not be stopped |
//! | `after` | names of jobs, with `\|` between them, that have to have done their work before it starts; they may stand anywhere in the file | none |
//!
//! The time until those others are over counts as waiting. A job counts as submitted no earlier than those it waits for.

use std::fmt::Write;

use pool::FormatError;
use pool::stock::NumaWant;

use super::csv::{Row, Table, small};
use super::{Gatherer, Job, ReadOptions, Terms, Trace, WantedGpus};
use crate::job::Work;

const COLUMNS: [&str; 21] = [
    "name",
    "submit_s",
    "run_s",
    "limit_s",
    "parts",
    "cpu_milli",
    "memory_mib",
    "gpus",
    "gpu_milli",
    "models",
    "user",
    "priority",
    "tenant",
    "most_parts",
    "work",
    "grace_s",
    "checkpoint_s",
    "after",
    "numa",
    "mig",
    "gpu_memory_mib",
];

/// The place of the column that names others.
const AFTER: usize = COLUMNS.len() - 4;

/// Reads jobs.
///
/// # Errors
/// Where a column is lacking, or a line cannot be and such lines are refused.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let mut gatherer = Gatherer::new(file, options);
    let table = Table::new(&text, b',', &["submit_s", "run_s", "gpus"], &gatherer)?;
    if let Some(unknown) = table.head.iter().find(|name| !COLUMNS.contains(name)) {
        let what = format!("there is no column {unknown}");
        return Err(gatherer.error(1, what, &format!("the columns are {}", COLUMNS.join(", "))));
    }
    let columns = COLUMNS.map(|name| table.column(name));
    for row in table {
        match job(&row, &columns, &mut gatherer) {
            Ok(job) => {
                let names = row.get(columns[AFTER]).split('|').map(str::trim).filter(|name| !name.is_empty());
                gatherer.job_after(job, row.line, names.map(str::to_owned).collect());
            }
            Err(what) => gatherer.bad(row.line, what)?,
        }
    }
    gatherer.finish_linked()
}

fn job(
    row: &Row,
    columns: &[Option<usize>; COLUMNS.len()],
    gatherer: &mut Gatherer<'_>,
) -> Result<Job, String> {
    let [
        name,
        submit,
        run,
        limit,
        parts,
        cpu,
        memory,
        gpus,
        milli,
        models,
        user,
        priority,
        of_terms @ ..,
        _,
        numa,
        mig,
        gpu_memory,
    ] = *columns;
    let submit_ms = row.time_ms(submit, "submit_s")?;
    let run_ms = row.time_ms(run, "run_s")?;
    if gatherer.times_wanted() && (submit_ms.is_none() || run_ms.is_none()) {
        return Err("the submit time or the run time is absent; it is needed where time passes".to_owned());
    }
    let parts: u32 = small(row.whole(parts, "parts", 1)?.max(1), "parts")?;
    let mut terms = terms(row, &of_terms, parts, gatherer)?;
    let given = |column: Option<usize>, name: &str| {
        let is_given = !row.get(column).is_empty();
        is_given.then(|| row.whole(column, name, 0)).transpose()
    };
    let wanted = WantedGpus {
        gpus: given(gpus, "gpus")?,
        gpu_milli: given(milli, "gpu_milli")?,
        gpu_memory_mib: given(gpu_memory, "gpu_memory_mib")?,
        mig: row.get(mig),
        numa: row.get(numa),
    };
    let (gpus, gpu_milli) = wanted.read(gatherer, &mut terms)?;
    Ok(Job {
        name: row.get(name).into(),
        submit_ms: submit_ms.unwrap_or(0),
        run_ms,
        limit_ms: row.time_ms(limit, "limit_s")?,
        parts,
        cpu_milli: small(row.whole(cpu, "cpu_milli", 0)?, "cpu_milli")?,
        memory_mib: small(row.whole(memory, "memory_mib", 0)?, "memory_mib")?,
        gpus,
        gpu_milli,
        models: gatherer.models(row.get(models)),
        user: gatherer.user(row.get(user)),
        priority: small(row.whole(priority, "priority", 0)?, "priority")?,
        terms,
    })
}

fn terms(
    row: &Row,
    columns: &[Option<usize>; 5],
    parts: u32,
    gatherer: &mut Gatherer<'_>,
) -> Result<Terms, String> {
    let [tenant, most_parts, work, grace, checkpoint] = *columns;
    let most: u32 = small(row.whole(most_parts, "most_parts", parts.into())?, "most_parts")?;
    let times = (row.time_ms(grace, "grace_s")?, row.time_ms(checkpoint, "checkpoint_s")?);
    Terms::new(gatherer.tenant(row.get(tenant)), (parts, most), row.get(work), times)
}

/// Writes jobs so that [`jobs`] reads the same. What they want within a node is told where any of them
/// says so.
pub fn write(trace: &Trace) -> String {
    let within = |Job { terms, .. }: &Job| {
        terms.numa != NumaWant::Anywhere || terms.mig > 0 || terms.gpu_memory_mib > 0
    };
    let within = trace.jobs.iter().any(within);
    let columns = if within { &COLUMNS[..] } else { &COLUMNS[..=AFTER] };
    let mut text = columns.join(",") + "\n";
    let seconds = |ms: u64| ms as f64 / 1000.0;
    let length = |ms: Option<u64>| ms.map_or(String::new(), |ms| seconds(ms).to_string());
    let quoted = |text: &str| {
        let plain = !text.contains([',', '"', '\n', '\r']);
        if plain {
            text.to_owned()
        } else {
            format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " "))
        }
    };
    let mut links = trace.after.iter().peekable();
    for (at, job) in trace.jobs.iter().enumerate() {
        let mut after = String::new();
        while let Some(link) = links.next_if(|link| link.job as usize == at) {
            after += if after.is_empty() { "" } else { "|" };
            after += trace.jobs.get(link.other as usize).map_or("", |other| &other.name);
        }
        let models = trace.model_lists.get(job.models as usize).map_or(String::new(), |list| list.join("|"));
        let Terms { tenant, more_parts, work, checkpoint, numa, mig, gpu_memory_mib } = job.terms;
        let mig = mig.checked_sub(1).and_then(|at| trace.profiles.get(at as usize));
        // An instance has its own share of a GPU.
        let gpu_milli = if mig.is_some() { String::new() } else { job.gpu_milli.to_string() };
        let mig = mig.map_or("", String::as_str);
        let numa = if numa == NumaWant::Anywhere { "" } else { numa.name() };
        let memory = if gpu_memory_mib > 0 { gpu_memory_mib.to_string() } else { String::new() };
        let within = if within { format!(",{numa},{mig},{memory}") } else { String::new() };
        let tenant = tenant.checked_sub(1).and_then(|at| trace.tenants.get(at as usize));
        let tenant = tenant.map_or("", String::as_str);
        // What a job of another system leaves open stays open.
        let most_parts = if more_parts > 0 { (job.parts + more_parts).to_string() } else { String::new() };
        let work = if work == Work::Service { "service" } else { "" };
        let user = trace.users.get(job.user as usize).map_or("", String::as_str);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}{}",
            quoted(&job.name),
            seconds(job.submit_ms),
            length(job.run_ms),
            length(job.limit_ms),
            job.parts,
            job.cpu_milli,
            job.memory_mib,
            job.gpus,
            gpu_milli,
            quoted(&models),
            quoted(user),
            job.priority,
            quoted(tenant),
            most_parts,
            work,
            length(checkpoint.map(|checkpoint| checkpoint.grace_ms)),
            length(checkpoint.map(|checkpoint| checkpoint.cost_ms)),
            quoted(&after),
            within
        );
    }
    text
}
