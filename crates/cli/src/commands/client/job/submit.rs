//! `heddle job submit`.

use std::path::Path;

use clap::{Args, ValueEnum};
use controller::work::{After, Near, Spec};
use executor::Tasks;
use serde_json::Value;

use super::super::server::{Server, number};
use super::sbatch;
use crate::Answer;
use crate::commands::up::duration;
use crate::failure::Failure;
use crate::files;

/// How many processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum TasksName {
    /// One for the job
    One,
    /// One on each node
    PerNode,
    /// One for each part
    PerPart,
}

/// Options of `heddle job submit`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle job submit train.toml\n  heddle job submit train.sh --tenant vision          reads its \
    #SBATCH lines\n  heddle job submit --parts 4 --gpus 8 --time 2h -- python train.py\n\nThe keys of a TOML file are those of \
    the API, as in docs/openapi.json: name, command, parts, gpus, limit_s …\n\nExit codes: 0 it was taken, 2 it was not."
)]
pub struct Submit {
    /// A TOML file (ending in .toml), or a script; - is a script on standard input
    file: Option<String>,
    /// Program and arguments, or with a script its arguments
    #[arg(last = true)]
    command: Vec<String>,
    /// Its name
    #[arg(long)]
    name: Option<String>,
    /// Who pays for it
    #[arg(long)]
    tenant: Option<String>,
    /// The greater starts first
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// How many parts, each on one node, start together
    #[arg(long, value_name = "N")]
    parts: Option<u32>,
    /// GPUs of a part
    #[arg(long, value_name = "N")]
    gpus: Option<u16>,
    /// Cores of a part
    #[arg(long)]
    cpus: Option<f64>,
    /// Memory of a part, MiB
    #[arg(long, value_name = "MIB")]
    memory: Option<u32>,
    /// A model of GPU that will do; may be given several times
    #[arg(long, value_name = "NAME")]
    model: Vec<String>,
    /// How long it may run, as in 90min
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<std::time::Duration>,
    /// All parts in one nvlink-domain, leaf, rail-group, pod or fabric; the job waits for it
    #[arg(long, value_name = "LEVEL")]
    near: Option<String>,
    /// How many processes
    #[arg(long, value_enum)]
    tasks: Option<TasksName>,
    /// Start after the success of this job; may be given several times
    #[arg(long, value_name = "NUMBER")]
    after: Vec<u64>,
    /// So many jobs alike
    #[arg(long, value_name = "N")]
    array: Option<u32>,
    /// The file that its output goes to; %j in it is its number
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
    /// A variable of its environment, as in NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn text(path: &str) -> Result<String, Failure> {
    String::from_utf8(files::read(path)?)
        .map_err(|_| Failure::new("it is no text in UTF-8", path, "is it the right file?"))
}

/// A job out of a TOML file.
fn from_toml(path: &str, text: &str) -> Result<Spec, Failure> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        Failure::new(
            error.message(),
            format!("{path}:{line}:{column}"),
            "see docs/openapi.json for the keys of a job",
        )
    })
}

impl Submit {
    /// The job that file and options describe, and what of a script cannot be honoured.
    fn spec(&self) -> Result<(Spec, Vec<String>), Failure> {
        let (mut spec, notes) = match &self.file {
            None => (Spec::default(), Vec::new()),
            Some(path) if path.ends_with(".toml") => (from_toml(path, &text(path)?)?, Vec::new()),
            Some(path) => {
                let text = text(path)?;
                let (mut spec, notes) = sbatch::read(path, &text)?;
                if spec.name == Spec::default().name
                    && let Some(name) = Path::new(path).file_stem().filter(|_| path != "-")
                {
                    spec.name = name.to_string_lossy().into_owned();
                }
                spec.script = Some(text);
                (spec, notes)
            }
        };
        if spec.directory.is_none() {
            let here = std::env::current_dir();
            spec.directory =
                Some(here.map_err(|error| Failure::file("find the current folder", ".", &error))?);
        }
        if !self.command.is_empty() {
            spec.command.clone_from(&self.command);
            if self.file.is_none() && self.name.is_none() {
                spec.name.clone_from(&self.command[0]);
            }
        }
        if let Some(name) = &self.name {
            spec.name.clone_from(name);
        }
        spec.tenant = self.tenant.clone().or(spec.tenant);
        spec.priority = self.priority.unwrap_or(spec.priority);
        spec.parts = self.parts.unwrap_or(spec.parts);
        spec.gpus = self.gpus.unwrap_or(spec.gpus);
        spec.cpus = self.cpus.unwrap_or(spec.cpus);
        spec.memory_mib = self.memory.or(spec.memory_mib);
        if !self.model.is_empty() {
            spec.models.clone_from(&self.model);
        }
        spec.limit_s = self.time.map(|time| time.as_secs_f64()).or(spec.limit_s);
        if let Some(level) = &self.near {
            spec.near = vec![Near { level: level.clone(), required: true }];
        }
        spec.tasks = match self.tasks {
            None => spec.tasks,
            Some(TasksName::One) => Tasks::One,
            Some(TasksName::PerNode) => Tasks::PerNode,
            Some(TasksName::PerPart) => Tasks::PerPart,
        };
        spec.after.extend(self.after.iter().map(|&job| After { job, succeeded: true }));
        spec.array = self.array.or(spec.array);
        spec.output = self.output.clone().or(spec.output);
        for variable in &self.env {
            let (name, value) = variable.split_once('=').ok_or_else(|| {
                Failure::new(format!("\"{variable}\" is no variable"), "--env", "give NAME=VALUE")
            })?;
            spec.environment.insert(name.to_owned(), value.to_owned());
        }
        Ok((spec, notes))
    }

    /// Hands it in.
    pub fn run(self) -> Result<Answer, Failure> {
        let (spec, notes) = self.spec()?;
        let submitted = self.server.post_json("/jobs", &spec)?;
        for note in &notes {
            eprintln!("not honoured: {note}");
        }
        if self.json {
            files::print_json(&submitted)?;
            return Ok(Answer::Yes);
        }
        let jobs: Vec<&Value> = submitted["items"].as_array().into_iter().flatten().collect();
        let text = match &jobs[..] {
            [job] => format!("job {}\n", number(job, "number")),
            [first, .., last] => {
                format!("jobs {} to {}\n", number(first, "number"), number(last, "number"))
            }
            [] => String::new(),
        };
        files::write("-", text.as_bytes())?;
        Ok(Answer::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toml_file_with_an_unknown_key_is_refused_with_its_place() {
        let spec =
            from_toml("job.toml", "name = \"a\"\ncommand = [\"true\"]\nparts = 4\ngpus = 8\n").unwrap();
        assert_eq!((spec.parts, spec.gpus, &spec.name[..]), (4, 8, "a"));
        let failure = from_toml("job.toml", "name = \"a\"\ngpu = 8\n").unwrap_err();
        assert!(failure.place.starts_with("job.toml:2:"), "{failure}");
        assert!(failure.what.contains("gpu"), "{failure}");
    }
}
