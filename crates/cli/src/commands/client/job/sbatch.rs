//! The `#SBATCH` lines of an existing script, as a job. What cannot be honoured is said.
//!
//! Nodes with their GPUs become parts; a partition or an account becomes the tenant. The script runs once, on the first of its
//! nodes, as Slurm runs it; Heddle has no `srun`.

use controller::work::{After, Spec};

use crate::failure::Failure;

/// The options by their short names.
const SHORT: [(char, &str); 14] = [
    ('N', "nodes"),
    ('n', "ntasks"),
    ('G', "gpus"),
    ('t', "time"),
    ('J', "job-name"),
    ('p', "partition"),
    ('A', "account"),
    ('d', "dependency"),
    ('a', "array"),
    ('o', "output"),
    ('e', "error"),
    ('c', "cpus-per-task"),
    ('D', "chdir"),
    ('C', "constraint"),
];

/// What the lines say, before it is put together.
#[derive(Default)]
struct Wishes {
    nodes: Option<u32>,
    tasks: Option<u32>,
    tasks_a_node: Option<u32>,
    gpus: Option<u32>,
    gpus_a_node: Option<u32>,
    gpus_a_task: Option<u32>,
    cpus_a_task: Option<u32>,
    memory_mib: Option<u32>,
    account: Option<String>,
    partition: Option<String>,
}

/// A time as Slurm has it: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on; nothing for no limit.
fn time(text: &str) -> Result<Option<f64>, String> {
    if matches!(text.to_ascii_lowercase().as_str(), "infinite" | "unlimited" | "0") {
        return Ok(None);
    }
    let wrong = || format!("\"{text}\" is no time: write it as in 30, 30:00, 1:30:00 or 2-12:00:00");
    let number = |word: &str| word.parse::<u32>().map(f64::from).map_err(|_| wrong());
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let words: Vec<f64> = rest.split(':').map(number).collect::<Result<_, _>>()?;
    let seconds = match (days, &words[..]) {
        (Some(days), [hours]) => days * 86_400.0 + hours * 3_600.0,
        (Some(days), [hours, minutes]) => days * 86_400.0 + hours * 3_600.0 + minutes * 60.0,
        (None, [minutes]) => minutes * 60.0,
        (None, [minutes, seconds]) => minutes * 60.0 + seconds,
        (days, [hours, minutes, seconds]) => {
            days.unwrap_or(0.0) * 86_400.0 + hours * 3_600.0 + minutes * 60.0 + seconds
        }
        _ => return Err(wrong()),
    };
    Ok(Some(seconds))
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no whole number"))
}

/// Memory in MiB: a number with K, M, G or T; M where there is none.
fn memory(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.find(|letter: char| !letter.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "M"),
    };
    let number: u64 = digits.parse().map_err(|_| format!("\"{text}\" is no amount of memory"))?;
    let mib = match unit.trim_end_matches(['B', 'b']).to_ascii_uppercase().as_str() {
        "K" => Some(number.div_ceil(1024)),
        "M" => Some(number),
        "G" => number.checked_mul(1 << 10),
        "T" => number.checked_mul(1 << 20),
        _ => None,
    };
    mib.and_then(|mib| u32::try_from(mib).ok()).ok_or_else(|| format!("\"{text}\" is no amount of memory"))
}

/// `gpu:h100:4`, `h100:4` or `4`: the model, if any, and how many.
fn gpus(text: &str) -> Result<(Option<String>, u32), String> {
    let words: Vec<&str> = text.split(':').filter(|word| *word != "gpu").collect();
    match words[..] {
        [] => Ok((None, 1)),
        [count] if count.parse::<u32>().is_ok() => Ok((None, whole(count)?)),
        [model] => Ok((Some(model.to_owned()), 1)),
        [model, count] => Ok((Some(model.to_owned()), whole(count)?)),
        _ => Err(format!("\"{text}\" is no number of GPUs: write it as in 4 or h100:4")),
    }
}

/// `afterok:12:13,afterany:14`.
fn dependency(text: &str, after: &mut Vec<After>) -> Result<(), String> {
    let wrong = || format!("\"{text}\" is not understood: afterok and afterany are, as in afterok:12:13");
    for word in text.split(',') {
        let mut words = word.split(':');
        let succeeded = match words.next() {
            Some("afterok") => true,
            Some("afterany" | "after") => false,
            _ => return Err(wrong()),
        };
        for job in words {
            after.push(After { job: job.parse().map_err(|_| wrong())?, succeeded });
        }
    }
    Ok(())
}

/// `0-9` or `5`, with or without `%4`: from, how many, and the limit of how many run at once.
fn array(text: &str) -> Result<(u32, u32, Option<&str>), String> {
    let wrong = || format!("\"{text}\" is not understood: one range is, as in 0-9");
    let (range, limit) = match text.split_once('%') {
        Some((range, limit)) => (range, Some(limit)),
        None => (text, None),
    };
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let (from, to): (u32, u32) = (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
    let count = to.checked_sub(from).and_then(|span| span.checked_add(1)).ok_or_else(wrong)?;
    Ok((from, count, limit))
}

/// Splits a line's options into names and values, as sbatch takes them: `--name=value`, `--name value`, `-Nvalue`, `-N value`.
fn options(line: &str) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    // What follows a # between words is a comment.
    let words = line.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
    for word in words {
        let word = word.replace(['"', '\''], "");
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            found.push((name.to_owned(), value.map(str::to_owned)));
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            let mut letters = short.chars();
            let letter = letters.next().unwrap_or_default();
            let name = SHORT.iter().find(|(known, _)| *known == letter).map(|(_, name)| (*name).to_owned());
            let value = letters.as_str().trim_start_matches('=');
            let value = (!value.is_empty()).then(|| value.to_owned());
            found.push((name.unwrap_or_else(|| format!("-{letter}")), value));
        } else if let Some((_, value @ None)) = found.last_mut() {
            *value = Some(word);
        }
    }
    found
}

fn take(
    spec: &mut Spec,
    wishes: &mut Wishes,
    notes: &mut Vec<String>,
    (name, value): (&str, &str),
) -> Result<(), String> {
    match name {
        "nodes" => {
            let (least, most) = value.split_once('-').unwrap_or((value, value));
            wishes.nodes = Some(whole(least)?);
            if least != most {
                notes.push(format!("--nodes={value}: it gets {least}, not more"));
            }
        }
        "ntasks" => wishes.tasks = Some(whole(value)?),
        "ntasks-per-node" => wishes.tasks_a_node = Some(whole(value)?),
        "cpus-per-task" => wishes.cpus_a_task = Some(whole(value)?),
        "gpus" | "gpus-per-node" | "gpus-per-task" | "gres" => {
            if name == "gres" && !value.starts_with("gpu") {
                notes.push(format!("--gres={value}: only GPUs are known"));
                return Ok(());
            }
            let (model, count) = gpus(value)?;
            spec.models.extend(model.filter(|model| !spec.models.contains(model)));
            match name {
                "gpus" => wishes.gpus = Some(count),
                "gpus-per-task" => wishes.gpus_a_task = Some(count),
                _ => wishes.gpus_a_node = Some(count),
            }
        }
        "mem" => wishes.memory_mib = Some(memory(value)?).filter(|&mib| mib > 0),
        "time" => spec.limit_s = time(value)?,
        "job-name" => value.clone_into(&mut spec.name),
        "partition" => wishes.partition = Some(value.to_owned()),
        "account" => wishes.account = Some(value.to_owned()),
        "dependency" => dependency(value, &mut spec.after)?,
        "array" => {
            let (from, count, limit) = array(value)?;
            (spec.array_from, spec.array) = (from, Some(count));
            if let Some(limit) = limit {
                notes.push(format!("--array={value}: more than {limit} may run at once"));
            }
        }
        "output" => spec.output = Some(value.replace("%A", "%j")),
        "chdir" => spec.directory = Some(value.into()),
        "error" => notes.push(format!("--error={value}: errors go where output goes")),
        other => notes.push(format!("--{other}={value}")),
    }
    Ok(())
}

/// Puts nodes, tasks and GPUs together as parts.
fn shape(spec: &mut Spec, wishes: &Wishes) -> Result<(), String> {
    let tasks = match (wishes.tasks, wishes.tasks_a_node) {
        (Some(tasks), _) => tasks,
        (None, Some(each)) => each.saturating_mul(wishes.nodes.unwrap_or(1)),
        (None, None) => wishes.nodes.unwrap_or(1),
    };
    let nodes = match (wishes.nodes, wishes.tasks_a_node) {
        (Some(nodes), _) => nodes,
        (None, Some(each)) if each > 0 => tasks.div_ceil(each),
        _ => 1,
    };
    if nodes == 0 || tasks == 0 {
        return Err("no node or no task is asked for".to_owned());
    }
    let all = match (wishes.gpus, wishes.gpus_a_task) {
        (Some(gpus), _) => Some(gpus),
        (None, Some(each)) => Some(each.saturating_mul(tasks)),
        (None, None) => None,
    };
    let each = match (wishes.gpus_a_node, all) {
        (Some(each), _) => each,
        (None, Some(all)) if all % nodes == 0 => all / nodes,
        (None, Some(all)) => return Err(format!("{all} GPUs do not divide evenly over {nodes} nodes")),
        (None, None) => 0,
    };
    spec.parts = nodes;
    spec.most_a_node = (nodes > 1).then_some(1);
    spec.gpus = u16::try_from(each).map_err(|_| format!("{each} GPUs on a node"))?;
    spec.cpus = wishes.cpus_a_task.map_or(0.0, |cpus| f64::from(cpus) * f64::from(tasks.div_ceil(nodes)));
    spec.memory_mib = wishes.memory_mib;
    spec.tenant = wishes.account.clone().or_else(|| wishes.partition.clone());
    Ok(())
}

/// Reads the lines of a script: the job, and what of them cannot be honoured.
pub fn read(path: &str, text: &str) -> Result<(Spec, Vec<String>), Failure> {
    let (mut spec, mut wishes, mut notes) = (Spec::default(), Wishes::default(), Vec::new());
    if !text.starts_with("#!") {
        return Err(Failure::new(
            "the script does not say what runs it",
            format!("{path}:1"),
            "begin it as in #!/bin/bash",
        ));
    }
    let mut last = 1;
    for (line, number) in text.lines().zip(1..).skip(1) {
        let Some(rest) = line.strip_prefix("#SBATCH") else {
            // As sbatch has it, options end with the first command.
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            break;
        };
        last = number;
        for (name, value) in options(rest) {
            let taken =
                take(&mut spec, &mut wishes, &mut notes, (&name, value.as_deref().unwrap_or_default()));
            taken.map_err(|what| {
                Failure::new(what, format!("{path}:{number}"), format!("mend --{name}, or take it out"))
            })?;
        }
    }
    shape(&mut spec, &wishes)
        .map_err(|what| Failure::new(what, format!("{path}:{last}"), "mend the #SBATCH lines"))?;
    if text.lines().any(|line| line.trim_start().starts_with("srun ")) {
        notes.push("srun: there is none; the script finds its nodes in HEDDLE_NODES".to_owned());
    }
    Ok((spec, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_as_sites_have_them() {
        let text = "#!/bin/bash\n#SBATCH --job-name=train --nodes 4\n#SBATCH -t 1-02:00:00 # long\n#SBATCH --gres=gpu:h100:8\n\
            # a comment\n#SBATCH -A vision\n#SBATCH -p gpu\n#SBATCH --ntasks-per-node=8 -c 4\n#SBATCH --mem=64G\n\
            #SBATCH --dependency=afterok:12:13,afterany:14\n#SBATCH -a 1-10%4\n#SBATCH -o out-%A_%a.txt\n#SBATCH --exclusive\n\
            srun python train.py\n#SBATCH --nodes=9\n";
        let (spec, notes) = read("train.sh", text).unwrap();
        assert_eq!((spec.parts, spec.gpus, spec.most_a_node), (4, 8, Some(1)));
        assert_eq!((&spec.name[..], spec.tenant.as_deref()), ("train", Some("vision")));
        assert_eq!((spec.limit_s, spec.cpus, spec.memory_mib), (Some(93_600.0), 32.0, Some(65_536)));
        assert_eq!(spec.models, ["h100"]);
        assert_eq!((spec.array_from, spec.array), (1, Some(10)));
        assert_eq!(spec.output.as_deref(), Some("out-%j_%a.txt"));
        let after: Vec<_> = spec.after.iter().map(|after| (after.job, after.succeeded)).collect();
        assert_eq!(after, [(12, true), (13, true), (14, false)]);
        assert_eq!(notes.len(), 3, "{notes:?}");
    }

    #[test]
    fn gpus_are_split_over_nodes_or_the_line_is_named() {
        let with = |lines: &str| read("a.sh", &format!("#!/bin/sh\n{lines}"));
        let spec = with("#SBATCH -N2 -G16\n").unwrap().0;
        assert_eq!((spec.parts, spec.gpus), (2, 8));
        let spec = with("#SBATCH --ntasks=8 --ntasks-per-node=4 --gpus-per-task=1\n").unwrap().0;
        assert_eq!((spec.parts, spec.gpus), (2, 4));
        for (lines, place) in [
            ("\n#SBATCH -N3 -G16\n", "a.sh:3"),
            ("#SBATCH -t soon\n", "a.sh:2"),
            ("#SBATCH -N\n", "a.sh:2"),
            ("#SBATCH --nodes=0\n", "a.sh:2"),
            ("#SBATCH --mem=lots\n", "a.sh:2"),
            ("#SBATCH -d singleton\n", "a.sh:2"),
            ("#SBATCH -a 1,5\n", "a.sh:2"),
        ] {
            let failure = with(lines).unwrap_err();
            assert_eq!(failure.place, place, "{lines}: {failure}");
        }
        assert!(read("a.sh", "echo").is_err());
    }

    #[test]
    fn times_are_those_of_slurm() {
        for (text, seconds) in
            [("90", 5400.0), ("1:30", 90.0), ("2:00:00", 7200.0), ("1-12", 129_600.0), ("1-0:30", 88_200.0)]
        {
            assert_eq!(time(text), Ok(Some(seconds)), "{text}");
        }
        assert_eq!(time("UNLIMITED"), Ok(None));
        assert!(time("1:2:3:4").is_err() && time("").is_err());
    }
}
