//! openb: tasks of a production GPU cluster, as published with the FGD paper
//! (hkust-adsl/kubernetes-scheduler-simulator, folder data/csv, Apache License 2.0; Alibaba, 2023).
//!
//! The nodes are one of [`pool::formats`]. Tasks: `name, cpu_milli, memory_mib, num_gpu, gpu_milli`, and in most
//! files `gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time`, times in seconds.

use pool::FormatError;

use super::csv::{Row, Table, small};
use super::{Gatherer, Job, ReadOptions, Terms, Trace};

/// Reads the list of tasks. A task's run time is the time from its start to its end; one that never started has none.
///
/// # Errors
/// Where a column is lacking, or a line cannot be and such lines are refused.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let mut gatherer = Gatherer::new(file, options);
    let wanted = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
    let table = Table::new(&text, b',', &wanted, &gatherer)?;
    let names = [
        "name",
        "cpu_milli",
        "memory_mib",
        "num_gpu",
        "gpu_milli",
        "gpu_spec",
        "qos",
        "creation_time",
        "deletion_time",
        "scheduled_time",
    ];
    let columns = names.map(|name| table.column(name));
    for row in table {
        match job(&row, &columns, &mut gatherer) {
            Ok(job) => gatherer.job(job),
            Err(what) => gatherer.bad(row.line, what)?,
        }
    }
    Ok(gatherer.finish())
}

fn job(row: &Row, columns: &[Option<usize>; 10], gatherer: &mut Gatherer<'_>) -> Result<Job, String> {
    let [name, cpu, memory, num_gpu, gpu_milli, spec, qos, created, deleted, scheduled] = *columns;
    let gpus = small(row.whole(num_gpu, "num_gpu", 0)?, "num_gpu")?;
    let gpu_milli: u16 = small(row.whole(gpu_milli, "gpu_milli", 0)?, "gpu_milli")?;
    super::check_share(gpus, gpu_milli)?;
    let submit = row.time_ms(created, "creation_time")?;
    let end = row.time_ms(deleted, "deletion_time")?;
    let start = row.time_ms(scheduled, "scheduled_time")?;
    let run_ms = match (start.or(submit), end) {
        (Some(start), Some(end)) if end < start => {
            return Err(format!(
                "the run time is negative: it ends {} s before it starts",
                (start - end) / 1000
            ));
        }
        (Some(start), Some(end)) => Some(end - start),
        _ => None,
    };
    if gatherer.times_wanted() && (submit.is_none() || run_ms.is_none()) {
        return Err("the submit time or the run time is absent; it is needed where time passes".to_owned());
    }
    Ok(Job {
        name: row.get(name).into(),
        submit_ms: submit.unwrap_or(0),
        run_ms,
        limit_ms: None,
        parts: 1,
        cpu_milli: small(row.whole(cpu, "cpu_milli", 0)?, "cpu_milli")?,
        memory_mib: small(row.whole(memory, "memory_mib", 0)?, "memory_mib")?,
        gpus,
        gpu_milli,
        models: gatherer.models(row.get(spec)),
        user: gatherer.user(row.get(qos)),
        priority: 0,
        terms: Terms::default(),
    })
}
