//! A job as it is submitted, and what the scheduler is told of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use executor::Tasks;
use jiff::Timestamp;
use pool::Stock;
use pool::stock::{Demand, ModelSet, NumaWant, WHOLE_GPU};
use pool::tenants::Tenants;
use scheduler::job::{Checkpoint, Job, Work};
use scheduler::network::{Level, Pattern, Traffic, Want};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Refused;

/// Jobs that one submission may make.
const MOST_ALIKE: u32 = 10_000;
/// How long a job has between being asked to end and being ended, where it says nothing.
const USUAL_GRACE_S: f64 = 30.0;
/// The longest times that are taken: 100 years.
const LONGEST_S: f64 = 3_155_760_000.0;

/// A job that has to be over before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Its number.
    pub job: u64,
    /// Whether it has to have done its work; else it is enough that it is over.
    #[serde(default)]
    pub succeeded: bool,
}

/// What a job wants of where its parts are in the fabric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Near {
    /// All in one `nvlink-domain`, `leaf`, `rail-group`, `pod` or `fabric`.
    pub level: String,
    /// Whether the job waits rather than do without.
    #[serde(default)]
    pub required: bool,
}

/// What the nodes of a job send each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Talk {
    /// `ring`, `halving-doubling`, `tree`, `all-to-all` or `pipeline`.
    pub pattern: String,
    /// Bytes that each node brings into it, per second.
    pub bytes_per_second: u64,
}

/// A job as it is submitted: a gang of equal parts that start together, each on one node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// Who pays for it: one of the pool's tenants, where it has any.
    pub tenant: Option<String>,
    /// The greater starts first, and may take the place of the smaller.
    pub priority: i32,
    /// Program and arguments; with a script, the script's arguments.
    pub command: Vec<String>,
    /// The text of a script that is run: its first line names its interpreter.
    pub script: Option<String>,
    /// Where it runs; its own folder where nothing is said.
    #[schema(value_type = Option<String>)]
    pub directory: Option<PathBuf>,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// The file that its output goes to; `%j` in it is the job's number, `%a` its number in the array, `%x` its name.
    pub output: Option<String>,
    /// How many parts.
    pub parts: u32,
    /// The most parts on one node.
    pub most_a_node: Option<u32>,
    /// GPUs of a part.
    pub gpus: u16,
    /// The part of one GPU that is enough, as in 0.25; where a part wants one GPU.
    pub gpu_share: Option<f64>,
    /// Models of GPU that will do; any where none is named.
    pub models: Vec<String>,
    /// Memory that each GPU has to have, MiB.
    pub gpu_memory_mib: Option<u32>,
    /// Cores of a part.
    pub cpus: f64,
    /// Memory of a part, MiB; its processes may have no more.
    pub memory_mib: Option<u32>,
    /// Where on its node a part lies: `anywhere`, `one`, `prefer-one`, `beside`, `prefer-beside`.
    pub numa: String,
    /// How many processes: `one`, `per-node`, `per-part`.
    #[schema(value_type = String)]
    pub tasks: Tasks,
    /// How long it may run, in seconds.
    pub limit_s: Option<f64>,
    /// How long it has between being asked to end and being ended, in seconds [default: 30].
    pub grace_s: Option<f64>,
    /// It may be stopped for others and started again; run time that this costs, in seconds.
    pub checkpoint_s: Option<f64>,
    /// When it should be over.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline: Option<Timestamp>,
    /// What has to be over before it starts.
    pub after: Vec<After>,
    /// What it wants of where its parts are.
    pub near: Vec<Near>,
    /// What its nodes send each other.
    pub talk: Vec<Talk>,
    /// Whether it serves until somebody ends it.
    pub service: bool,
    /// So many jobs alike, as an array: each is told its number in it, from `array_from` on.
    pub array: Option<u32>,
    /// The first number of an array.
    pub array_from: u32,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            name: "job".to_owned(),
            tenant: None,
            priority: 0,
            command: Vec::new(),
            script: None,
            directory: None,
            environment: BTreeMap::new(),
            output: None,
            parts: 1,
            most_a_node: None,
            gpus: 0,
            gpu_share: None,
            models: Vec::new(),
            gpu_memory_mib: None,
            cpus: 0.0,
            memory_mib: None,
            numa: String::new(),
            tasks: Tasks::One,
            limit_s: None,
            grace_s: None,
            checkpoint_s: None,
            deadline: None,
            after: Vec::new(),
            near: Vec::new(),
            talk: Vec::new(),
            service: false,
            array: None,
            array_from: 0,
        }
    }
}

fn wrong(what: impl Into<String>, mend: impl Into<String>) -> Refused {
    Refused::Job { what: what.into(), mend: mend.into() }
}

/// Seconds as milliseconds, where they can be.
fn milliseconds(seconds: f64, name: &str) -> Result<u64, Refused> {
    if (0.0..=LONGEST_S).contains(&seconds) {
        return Ok((seconds * 1e3) as u64);
    }
    Err(wrong(format!("{name} is {seconds}"), format!("give seconds from 0 to {LONGEST_S}")))
}

fn names<T>(all: &[T], name: impl Fn(&T) -> &'static str) -> String {
    all.iter().map(name).collect::<Vec<_>>().join(", ")
}

impl Spec {
    /// The time that it may run, in milliseconds.
    pub fn limit_ms(&self) -> Option<u64> {
        self.limit_s.map(|seconds| (seconds * 1e3) as u64)
    }

    /// How long it has to end, in milliseconds.
    pub fn grace_ms(&self) -> u64 {
        (self.grace_s.unwrap_or(USUAL_GRACE_S) * 1e3) as u64
    }

    /// How many jobs it makes.
    pub fn count(&self) -> u32 {
        self.array.unwrap_or(1)
    }

    /// What can be said against it whatever the pool is.
    ///
    /// # Errors
    /// What is wrong, and what would mend it.
    pub fn check(&self) -> Result<(), Refused> {
        if self.command.is_empty() && self.script.as_ref().is_none_or(|script| script.trim().is_empty()) {
            return Err(wrong("the job has nothing to run", "give a command or a script"));
        }
        let texts = self.command.iter().chain(self.environment.values()).chain(self.script.iter());
        let names = self.environment.keys().chain([&self.name]);
        if texts.chain(names).any(|text| text.contains('\0')) {
            return Err(wrong("a NUL is in the job's words", "take it out: no process can be given it"));
        }
        if self.environment.keys().any(|name| name.is_empty() || name.contains('=')) {
            return Err(wrong("a name of the environment is empty or has a =", "give names as in PATH"));
        }
        if !(1..=MOST_ALIKE).contains(&self.count()) {
            return Err(wrong(
                format!("an array of {} jobs", self.count()),
                format!("give 1 to {MOST_ALIKE}, and more in another submission"),
            ));
        }
        for (seconds, name) in
            [(self.limit_s, "limit_s"), (self.grace_s, "grace_s"), (self.checkpoint_s, "checkpoint_s")]
        {
            seconds.map(|seconds| milliseconds(seconds, name)).transpose()?;
        }
        if self.limit_s.is_some_and(|limit| limit < 0.001) {
            return Err(wrong("limit_s is 0: it could not run", "give the seconds that it may run, or none"));
        }
        Ok(())
    }

    fn demand(&self, stock: &Stock) -> Result<Demand, Refused> {
        let mut models = if self.models.is_empty() { ModelSet::ANY } else { ModelSet::NONE };
        for name in &self.models {
            let model = stock.find_model(name).ok_or_else(|| {
                wrong(
                    format!("the pool has no GPUs of the model \"{name}\""),
                    format!("it has {}", stock.models().join(", ")),
                )
            })?;
            models = models.with(model);
        }
        let whole = if self.gpus > 0 { WHOLE_GPU } else { 0 };
        let gpu_milli = match self.gpu_share {
            None => whole,
            Some(share) if (0.001..=1.0).contains(&share) => (share * f64::from(WHOLE_GPU)).round() as u16,
            Some(share) => {
                return Err(wrong(
                    format!("gpu_share is {share}"),
                    "give a part of one GPU, from 0.001 to 1",
                ));
            }
        };
        if !(0.0..=4_000_000.0).contains(&self.cpus) {
            return Err(wrong(format!("cpus is {}", self.cpus), "give the cores of a part, 0 or more"));
        }
        let numa = NumaWant::named(&self.numa).map_err(|what| wrong(what, "give one of these"))?;
        let demand = Demand {
            cpu_milli: (self.cpus * 1e3).round() as u32,
            memory_mib: self.memory_mib.unwrap_or(0),
            gpus: self.gpus,
            gpu_milli,
            models,
            numa,
            mig: None,
        };
        Ok(stock.with_gpu_memory(&demand, self.gpu_memory_mib.unwrap_or(0)))
    }

    /// What the scheduler is told, but for what has to be over before. Where the pool has no memory or cores to count (its hosts
    /// come from a fabric, which knows neither), what a job wants of them is left to the machine.
    ///
    /// # Errors
    /// What is wrong, and what would mend it.
    pub fn job(&self, stock: &Stock, tenants: &Tenants) -> Result<Job, Refused> {
        self.check()?;
        let mut demand = self.demand(stock)?;
        let all: Vec<_> = stock.nodes().map(|node| stock.capacity(node)).collect();
        if all.iter().all(|capacity| capacity.cpu_milli == 0) {
            demand.cpu_milli = 0;
        }
        if all.iter().all(|capacity| capacity.memory_mib == 0) {
            demand.memory_mib = 0;
        }
        let tenant = match &self.tenant {
            Some(name) if !tenants.is_empty() => {
                let known = tenants.named(name);
                Some(known.ok_or_else(|| {
                    let all: Vec<&str> = tenants.all().map(|tenant| tenants.name(tenant)).collect();
                    wrong(format!("there is no tenant \"{name}\""), format!("give one of {}", all.join(", ")))
                })?)
            }
            _ => None,
        };
        let wants = self.near.iter().map(|near| {
            let level = Level::from_name(&near.level);
            let level = level.ok_or_else(|| {
                let all = names(&Level::ALL, |level| level.name());
                wrong(format!("near is \"{}\"", near.level), format!("give one of {all}"))
            })?;
            Ok(Want { level, required: near.required })
        });
        let traffic = self.talk.iter().map(|talk| {
            let pattern = Pattern::from_name(&talk.pattern);
            let pattern = pattern.ok_or_else(|| {
                let all = names(&Pattern::ALL, |pattern| pattern.name());
                wrong(format!("the pattern of talk is \"{}\"", talk.pattern), format!("give one of {all}"))
            })?;
            Ok(Traffic { pattern, bytes_per_second: talk.bytes_per_second })
        });
        let deadline_ms = self.deadline.map(|deadline| deadline.as_millisecond().max(0) as u64);
        let checkpoint = self
            .checkpoint_s
            .map(|seconds| Checkpoint { grace_ms: self.grace_ms(), cost_ms: (seconds * 1e3) as u64 });
        Ok(Job {
            tenant,
            priority: self.priority,
            work: if self.service { Work::Service } else { Work::Batch },
            parts: self.parts,
            most_parts: self.parts,
            most_a_node: self.most_a_node,
            wants: wants.collect::<Result<_, Refused>>()?,
            traffic: traffic.collect::<Result<_, Refused>>()?,
            limit_ms: self.limit_ms(),
            checkpoint,
            deadline_ms,
            ..Job::new(&self.name, demand)
        })
    }
}

#[cfg(test)]
mod tests {
    use pool::stock::Capacity;

    use super::*;

    fn stock(cpu_milli: u32) -> Stock {
        let mut stock = Stock::new();
        let model = stock.model_named("H100").unwrap();
        stock.add_node(&Capacity { cpu_milli, memory_mib: 0, gpus: 8, model: Some(model) }).unwrap();
        stock
    }

    fn plain() -> Spec {
        Spec { command: vec!["true".to_owned()], gpus: 1, ..Spec::default() }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_would_mend_it() {
        let with = |change: fn(&mut Spec)| {
            let mut spec = plain();
            change(&mut spec);
            spec.job(&stock(0), &Tenants::default())
        };
        assert!(with(|_| {}).is_ok());
        let wrong: [fn(&mut Spec); 11] = [
            |spec| spec.command.clear(),
            |spec| spec.command = vec!["a\0b".to_owned()],
            |spec| drop(spec.environment.insert("A=B".to_owned(), String::new())),
            |spec| spec.limit_s = Some(f64::NAN),
            |spec| spec.limit_s = Some(0.0),
            |spec| spec.grace_s = Some(-1.0),
            |spec| spec.gpu_share = Some(1.5),
            |spec| spec.cpus = f64::INFINITY,
            |spec| spec.models = vec!["H900".to_owned()],
            |spec| spec.near = vec![Near { level: "rack".to_owned(), required: true }],
            |spec| spec.array = Some(0),
        ];
        for change in wrong {
            let Err(Refused::Job { what, mend }) = with(change) else { panic!("it was taken") };
            assert!(!what.is_empty() && !mend.is_empty());
        }
    }

    #[test]
    fn cores_count_where_the_pool_knows_of_any() {
        let spec = Spec { cpus: 4.0, gpu_share: Some(0.25), ..plain() };
        let known = spec.job(&stock(64_000), &Tenants::default()).unwrap();
        assert_eq!((known.demand.cpu_milli, known.demand.gpu_milli), (4_000, 250));
        assert_eq!(spec.job(&stock(0), &Tenants::default()).unwrap().demand.cpu_milli, 0);
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<Spec>(r#"{"command": ["true"], "gpu": 8}"#).is_err());
        let spec: Spec = serde_json::from_str(r#"{"command": ["true"], "gpus": 8}"#).unwrap();
        assert_eq!(serde_json::from_value::<Spec>(serde_json::to_value(&spec).unwrap()).unwrap(), spec);
    }
}
