//! openb: nodes and tasks of a production GPU cluster, as published with the FGD paper
//! (hkust-adsl/kubernetes-scheduler-simulator, folder data/csv, Apache License 2.0; Alibaba, 2023).
//!
//! Nodes: `sn, cpu_milli, memory_mib, gpu, model`. Tasks: `name, cpu_milli, memory_mib, num_gpu, gpu_milli`, and in most
//! files `gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time`, times in seconds.

use pool::Stock;
use pool::stock::Capacity;

use super::csv::{Row, Table, small};
use super::{Gatherer, Job, ReadOptions, Trace, TraceError};

/// Reads the list of nodes.
///
/// # Errors
/// Where a column is lacking or a line cannot be: a cluster with nodes left out would be another cluster.
pub fn nodes(file: &str, bytes: &[u8]) -> Result<Stock, TraceError> {
    let text = String::from_utf8_lossy(bytes);
    let options = ReadOptions { times_wanted: false, ..ReadOptions::default() };
    let gatherer = Gatherer::new(file, options);
    let table = Table::new(&text, ',', &["sn", "cpu_milli", "memory_mib", "gpu", "model"], &gatherer)?;
    let [cpu, memory, gpu, model] =
        ["cpu_milli", "memory_mib", "gpu", "model"].map(|name| table.column(name));
    let mut stock = Stock::new();
    for row in table {
        let mut add = || -> Result<(), String> {
            let gpus = small::<u16>(row.whole(gpu, "gpu", 0)?, "gpu")?;
            let name = row.get(model);
            let model = match (gpus, name) {
                (0, _) => None,
                (_, "") => return Err("the node has GPUs of no model".to_owned()),
                _ => Some(stock.model_named(name).map_err(|error| error.to_string())?),
            };
            let capacity = Capacity {
                cpu_milli: small(row.whole(cpu, "cpu_milli", 0)?, "cpu_milli")?,
                memory_mib: small(row.whole(memory, "memory_mib", 0)?, "memory_mib")?,
                gpus: gpus.into(),
                model,
            };
            stock.add_node(&capacity).map(drop).map_err(|error| error.to_string())
        };
        add().map_err(|what| gatherer.error(row.line, what, "mend the line"))?;
    }
    if stock.is_empty() {
        return Err(gatherer.error(0, "there is no node in it", "is it the right file?"));
    }
    Ok(stock)
}

/// Reads the list of tasks. A task's run time is the time from its start to its end; one that never started has none.
///
/// # Errors
/// Where a column is lacking, or a line cannot be and such lines are refused.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, TraceError> {
    let text = String::from_utf8_lossy(bytes);
    let mut gatherer = Gatherer::new(file, options);
    let wanted = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
    let table = Table::new(&text, ',', &wanted, &gatherer)?;
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
    })
}
