//! Helios: `cluster_log.csv` of the traces that SenseTime published (S-Lab-System-Group/HeliosData, CC BY 4.0; Hu et al.,
//! SC 2021). Columns: `job_id, user, vc, gpu_num, cpu_num, node_num, state, submit_time, start_time, end_time, duration,
//! queue`; times as `2020-06-09 18:41:01`, the duration in seconds.

use pool::stock::WHOLE_GPU;

use pool::FormatError;

use super::csv::{Row, Table, small};
use super::{Gatherer, Job, ReadOptions, Terms, Trace};

const WANTED: [&str; 7] = ["job_id", "user", "gpu_num", "cpu_num", "node_num", "submit_time", "duration"];

/// Reads jobs. GPUs and cores are those of all nodes of a job: a part has its share, rounded up.
///
/// # Errors
/// Where a column is lacking, or a line cannot be and such lines are refused.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let mut gatherer = Gatherer::new(file, options);
    let table = Table::new(&text, b',', &WANTED, &gatherer)?;
    let columns = WANTED.map(|name| table.column(name));
    for row in table {
        match job(&row, &columns, &mut gatherer) {
            Ok(job) => gatherer.job(job),
            Err(what) => gatherer.bad(row.line, what)?,
        }
    }
    Ok(gatherer.finish())
}

fn job(row: &Row, columns: &[Option<usize>; 7], gatherer: &mut Gatherer<'_>) -> Result<Job, String> {
    let [name, user, gpus, cpus, nodes, submit, duration] = *columns;
    let submit_ms = row.time_ms(submit, "submit_time")?;
    let run_ms = row.time_ms(duration, "duration")?;
    if gatherer.times_wanted() && (submit_ms.is_none() || run_ms.is_none()) {
        return Err("the submit time or the run time is absent; it is needed where time passes".to_owned());
    }
    let parts: u32 = small(row.whole(nodes, "node_num", 1)?.max(1), "node_num")?;
    let gpus = row.whole(gpus, "gpu_num", 0)?.div_ceil(parts.into());
    let cpus = row.whole(cpus, "cpu_num", 0)?.div_ceil(parts.into());
    Ok(Job {
        name: row.get(name).into(),
        submit_ms: submit_ms.unwrap_or(0),
        run_ms,
        limit_ms: None,
        parts,
        cpu_milli: small(cpus.saturating_mul(1000), "cpu_num")?,
        memory_mib: 0,
        gpus: small(gpus, "gpu_num")?,
        gpu_milli: if gpus > 0 { WHOLE_GPU } else { 0 },
        models: 0,
        user: gatherer.user(row.get(user)),
        priority: 0,
        terms: Terms::default(),
    })
}
