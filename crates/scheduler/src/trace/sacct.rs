//! What Slurm's `sacct --parsable2` prints (slurm.schedmd.com/sacct.html): fields with `|` between them under a head.
//!
//! `sacct --parsable2 --allocations --format=JobID,User,Submit,Start,End,Timelimit,NNodes,ReqTRES,Priority`. `AllocTRES` is
//! taken where there is no `ReqTRES`. Where GPUs are counted by type alone (`gres/gpu:h100=8`), all types together count. Steps
//! of jobs, such as `12.batch`, are left out.

use pool::stock::WHOLE_GPU;

use pool::FormatError;

use super::csv::{Row, Table, small};
use super::{Gatherer, Job, ReadOptions, Terms, Trace, time};

const WANTED: [&str; 4] = ["JobID", "Submit", "Start", "End"];

/// Reads jobs. GPUs, cores and memory are those of all nodes of a job: a part has its share, rounded up.
///
/// # Errors
/// Where a column is lacking, or a line cannot be and such lines are refused.
pub fn jobs(file: &str, bytes: &[u8], options: ReadOptions) -> Result<Trace, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let mut gatherer = Gatherer::new(file, options);
    let table = Table::new(&text, b'|', &WANTED, &gatherer)?;
    let columns = [
        "JobID",
        "User",
        "Submit",
        "Start",
        "End",
        "Timelimit",
        "NNodes",
        "ReqTRES",
        "AllocTRES",
        "Priority",
    ]
    .map(|name| table.column(name));
    for row in table {
        if row.get(columns[0]).contains('.') {
            continue;
        }
        match job(&row, &columns, &mut gatherer) {
            Ok(job) => gatherer.job(job),
            Err(what) => gatherer.bad(row.line, what)?,
        }
    }
    Ok(gatherer.finish())
}

fn job(row: &Row, columns: &[Option<usize>; 10], gatherer: &mut Gatherer<'_>) -> Result<Job, String> {
    let [name, user, submit, start, end, limit, nodes, wanted, allocated, priority] = *columns;
    let submit_ms = row.time_ms(submit, "Submit")?;
    let run_ms = match (row.time_ms(start, "Start")?, row.time_ms(end, "End")?) {
        (Some(start), Some(end)) if end < start => {
            return Err("the run time is negative: it ends before it starts".to_owned());
        }
        (Some(start), Some(end)) => Some(end - start),
        _ => None,
    };
    if gatherer.times_wanted() && (submit_ms.is_none() || run_ms.is_none()) {
        return Err("a time is absent: the job did not start or has not ended".to_owned());
    }
    let resources =
        [wanted, allocated].map(|column| row.get(column)).into_iter().find(|text| !text.is_empty());
    let (mut gpus, mut typed, mut cpus, mut memory) = (None, 0_u64, 0, 0);
    let mut parts = row.whole(nodes, "NNodes", 1)?;
    for (key, value) in resources.unwrap_or("").split(',').filter_map(|pair| pair.split_once('=')) {
        let count =
            || value.parse::<u64>().map_err(|_| format!("{key} is {value:?}, not a whole number from 0"));
        match key {
            "gres/gpu" => gpus = Some(count()?),
            key if key.starts_with("gres/gpu:") => typed = typed.saturating_add(count()?),
            "cpu" => cpus = count()?,
            "node" => parts = count()?,
            "mem" => memory = mebibytes(value).ok_or_else(|| format!("mem is {value:?}, not an amount"))?,
            _ => {}
        }
    }
    let parts = parts.max(1);
    let share = gpus.unwrap_or(typed).div_ceil(parts);
    Ok(Job {
        name: row.get(name).into(),
        submit_ms: submit_ms.unwrap_or(0),
        run_ms,
        limit_ms: time::parse_length_ms(row.get(limit)),
        parts: small(parts, "NNodes")?,
        cpu_milli: small(cpus.div_ceil(parts).saturating_mul(1000), "cpu")?,
        memory_mib: small(memory.div_ceil(parts), "mem")?,
        gpus: small(share, "gres/gpu")?,
        gpu_milli: if share > 0 { WHOLE_GPU } else { 0 },
        models: 0,
        user: gatherer.user(row.get(user)),
        // Slurm's go beyond what is told apart here.
        priority: i32::try_from(row.whole(priority, "Priority", 0)?).unwrap_or(i32::MAX),
        terms: Terms::default(),
    })
}

/// An amount of memory as Slurm writes it, with the first letter of its unit.
fn mebibytes(text: &str) -> Option<u64> {
    let (number, shift) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], -10),
        'M' => (&text[..text.len() - 1], 0),
        'G' => (&text[..text.len() - 1], 10),
        'T' => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    let amount: f64 = number.parse().ok()?;
    let mebibytes = (amount * f64::from(shift).exp2()).ceil();
    (0.0..1e12).contains(&mebibytes).then_some(mebibytes as u64)
}
