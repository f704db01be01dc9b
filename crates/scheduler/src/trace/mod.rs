//! Traces: what was asked of a cluster and when. A reader a format, from bytes to values.
//!
//! Bytes may come from anywhere: a line that cannot be, such as a negative time, is counted and named, and skipped or
//! refused as the caller wants. No reader panics.

mod after;
mod csv;
pub mod generate;
pub mod helios;
pub mod native;
pub mod openb;
pub mod philly;
pub mod sacct;
pub mod swf;
pub mod tables;
mod time;

use pool::catalog::MigCatalog;
use pool::stock::{Demand, MOST_INSTANCES, ModelSet, NumaWant, WHOLE_GPU};
use pool::{FormatError, Stock};
use rustc_hash::FxHashMap;

use crate::job::{Checkpoint, Refusal, Work};

pub use after::Link;

/// Bad lines are named one by one up to this number; all are counted.
pub const MOST_NAMED: usize = 20;

/// What becomes of lines that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadLines {
    /// They are left out and counted.
    Skip,
    /// The first of them ends the reading.
    Refuse,
}

/// How to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// What becomes of lines that cannot be.
    pub bad_lines: BadLines,
    /// Whether a job without a submit time or a run time is a bad line. Where only the order matters it is not.
    pub times_wanted: bool,
    /// Where a format knows no nodes: the most GPUs of a part.
    pub gpus_a_part: u16,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { bad_lines: BadLines::Refuse, times_wanted: true, gpus_a_part: 8 }
    }
}

/// A format of jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Heddle's own CSV.
    Native,
    /// openb's tasks.
    Openb,
    /// The Standard Workload Format.
    Swf,
    /// Slurm's `sacct --parsable2`.
    Sacct,
    /// Helios' `cluster_log.csv`.
    Helios,
    /// Philly's `cluster_job_log`.
    Philly,
    /// Heddle's own TOML.
    Tables,
}

impl Format {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Native, "csv"),
        (Self::Openb, "openb"),
        (Self::Swf, "swf"),
        (Self::Sacct, "sacct"),
        (Self::Helios, "helios"),
        (Self::Philly, "philly"),
        (Self::Tables, "toml"),
    ];

    /// The format of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(format, _)| *format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }

    /// The format that the first line speaks of.
    pub fn detect(bytes: &[u8]) -> Self {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
        let start = start.trim_start_matches('\u{feff}');
        let first = start.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let toml = |line: &str| line.split('#').next().is_some_and(|line| line.trim() == "[[job]]");
        let has = |name: &str| first.split([',', '|']).any(|column| column.trim() == name);
        match () {
            () if start.lines().any(toml) => Self::Tables,
            () if first.trim_start().starts_with('[') => Self::Philly,
            () if has("num_gpu") => Self::Openb,
            () if has("gpu_num") => Self::Helios,
            () if has("JobID") => Self::Sacct,
            () if has("submit_s") => Self::Native,
            () if first.starts_with(';') || first.split_whitespace().count() == 18 => Self::Swf,
            () => Self::Native,
        }
    }
}

/// Reads jobs of any format.
///
/// # Errors
/// Where the file is not of the format, or a line cannot be and such lines are refused.
pub fn read(file: &str, bytes: &[u8], format: Format, options: ReadOptions) -> Result<Trace, FormatError> {
    let trace = match format {
        Format::Native => native::jobs(file, bytes, options),
        Format::Openb => openb::jobs(file, bytes, options),
        Format::Swf => swf::jobs(file, bytes, options),
        Format::Sacct => sacct::jobs(file, bytes, options),
        Format::Helios => helios::jobs(file, bytes, options),
        Format::Philly => philly::jobs(file, bytes, options),
        Format::Tables => tables::jobs(file, bytes, options),
    }?;
    if trace.jobs.is_empty() {
        let first =
            trace.bad.first().map_or(String::new(), |bad| format!("; line {}: {}", bad.line, bad.what));
        let what = format!("there is no job in it, read as {}{first}", format.name());
        return Err(FormatError::whole(file, what, "is it the right file? Another format can be named"));
    }
    Ok(trace)
}

/// Splits GPUs into equal parts of so many at most; where they do not divide, the parts are rounded up.
pub(crate) fn in_parts(gpus: u64, most: u16) -> (u32, u16) {
    let most = u64::from(most.max(1));
    if gpus <= most {
        return (1, gpus as u16);
    }
    let parts = gpus.div_ceil(most);
    (parts.min(u64::from(u32::MAX)) as u32, gpus.div_ceil(parts) as u16)
}

/// Whether a job can ask for so much, or why not.
fn check_share(gpus: u16, gpu_milli: u16) -> Result<(), String> {
    let refusal = || Refusal::Share { gpus, gpu_milli }.to_string();
    Demand::is_share(gpus, gpu_milli).then_some(()).ok_or_else(refusal)
}

/// What a job wants of GPUs, as it is written: how many, thousandths of each and a MIG profile, each where it is given.
#[derive(Clone, Copy, Debug)]
struct WantedGpus<'a> {
    gpus: Option<u64>,
    gpu_milli: Option<u64>,
    gpu_memory_mib: Option<u64>,
    mig: &'a str,
    numa: &'a str,
}

impl WantedGpus<'_> {
    /// GPUs and thousandths of each, or instances and what each counts; with where they lie and the profile in the terms.
    fn read(self, gatherer: &mut Gatherer<'_>, terms: &mut Terms) -> Result<(u16, u16), String> {
        terms.numa = NumaWant::named(self.numa)?;
        terms.gpu_memory_mib = csv::small(self.gpu_memory_mib.unwrap_or(0), "gpu_memory_mib")?;
        if self.mig.is_empty() {
            let gpus: u16 = csv::small(self.gpus.unwrap_or(0), "gpus")?;
            let whole = if gpus > 0 { u64::from(WHOLE_GPU) } else { 0 };
            let gpu_milli: u16 = csv::small(self.gpu_milli.unwrap_or(whole), "gpu_milli")?;
            check_share(gpus, gpu_milli)?;
            return Ok((gpus, gpu_milli));
        }
        for (given, name) in [(self.gpu_milli, "gpu_milli"), (self.gpu_memory_mib, "gpu_memory_mib")] {
            if given.is_some() {
                return Err(format!("both mig and {name} are given: an instance has its own share of a GPU"));
            }
        }
        let gpus: u16 = csv::small(self.gpus.unwrap_or(1), "gpus")?;
        if gpus == 0 || usize::from(gpus) > MOST_INSTANCES {
            return Err(Refusal::Instances(gpus).to_string());
        }
        let (profile, gpu_milli) = gatherer.profile(self.mig)?;
        terms.mig = profile;
        Ok((gpus, gpu_milli))
    }
}

/// A line that cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// A job of a trace: a gang of equal parts, each on one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// Its name in the trace.
    pub name: Box<str>,
    /// When it was submitted, in milliseconds since the trace began.
    pub submit_ms: u64,
    /// How long it ran, in milliseconds; nothing where the trace does not tell.
    pub run_ms: Option<u64>,
    /// How long its owner said that it would run at most, in milliseconds.
    pub limit_ms: Option<u64>,
    /// How many parts start together or not at all.
    pub parts: u32,
    /// What a part wants, but for the models.
    pub cpu_milli: u32,
    /// Memory of a part in MiB.
    pub memory_mib: u32,
    /// GPUs of a part.
    pub gpus: u16,
    /// Thousandths of each GPU.
    pub gpu_milli: u16,
    /// Which of [`Trace::model_lists`] names the models that will do.
    pub models: u32,
    /// Its owner, by place in [`Trace::users`].
    pub user: u32,
    /// The greater starts first.
    pub priority: i32,
    /// What more it agrees to.
    pub terms: Terms,
}

impl Job {
    /// Thousandths of GPUs of all parts together.
    pub fn gpu_milli_total(&self) -> u64 {
        u64::from(self.parts) * u64::from(self.gpus) * u64::from(self.gpu_milli)
    }
}

/// What a job agrees to beyond what traces of other systems tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Who pays for it: 0 nobody, else one more than the place in [`Trace::tenants`].
    pub tenant: u32,
    /// Parts of use to it beyond those it needs.
    pub more_parts: u32,
    /// What it does.
    pub work: Work,
    /// What stopping it costs; nothing where it must not be stopped.
    pub checkpoint: Option<Checkpoint>,
    /// Where on its node a part lies.
    pub numa: NumaWant,
    /// Memory that each GPU of it, or its share of one, has to have, in MiB; 0: any.
    pub gpu_memory_mib: u32,
    /// The MIG profile of which each of its GPUs is an instance: 0 none, else one more than the place in
    /// [`Trace::profiles`].
    pub mig: u32,
}

impl Terms {
    /// Terms as they are written: the fewest and the most parts, `work` by its word, grace and cost of stopping.
    fn new(
        tenant: u32,
        (parts, most): (u32, u32),
        work: &str,
        (grace_ms, cost_ms): (Option<u64>, Option<u64>),
    ) -> Result<Self, String> {
        let more_parts = most.checked_sub(parts).ok_or_else(|| {
            format!("most_parts is {most}, fewer than the {parts} parts that it starts with")
        })?;
        let work = match work {
            "" | "batch" => Work::Batch,
            "service" => Work::Service,
            other => return Err(format!("work is {other:?}, neither batch nor service")),
        };
        let checkpoint = match cost_ms {
            Some(cost_ms) => Some(Checkpoint { grace_ms: grace_ms.unwrap_or(0), cost_ms }),
            None if grace_ms.is_some() => {
                return Err(
                    "grace_s is given and checkpoint_s is not: a job that can be stopped needs it".to_owned()
                );
            }
            None => None,
        };
        Ok(Self { tenant, more_parts, work, checkpoint, ..Self::default() })
    }
}

/// Jobs in order of submission.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Lists of models of GPU that jobs ask for; an empty list is any model.
    pub model_lists: Vec<Vec<String>>,
    /// Owners of jobs.
    pub users: Vec<String>,
    /// Tenants that jobs name.
    pub tenants: Vec<String>,
    /// Who waits for whose work, by the job that waits; whom it waits for stands before it.
    pub after: Vec<Link>,
    /// MIG profiles that jobs ask for.
    pub profiles: Vec<String>,
    /// The first bad lines that were skipped.
    pub bad: Vec<BadLine>,
    /// How many were skipped in all.
    pub bad_count: usize,
}

impl Trace {
    /// What a part of each job wants, in the models of a stock. A model that the stock does not have fits nowhere.
    pub fn demands(&self, stock: &Stock) -> Vec<Demand> {
        let sets: Vec<ModelSet> = self
            .model_lists
            .iter()
            .map(|list| {
                let known = list.iter().filter_map(|name| stock.find_model(name));
                if list.is_empty() { ModelSet::ANY } else { known.fold(ModelSet::NONE, ModelSet::with) }
            })
            .collect();
        self.jobs
            .iter()
            .map(|job| {
                let models = sets.get(job.models as usize).copied().unwrap_or(ModelSet::ANY);
                let demand = Demand {
                    cpu_milli: job.cpu_milli,
                    memory_mib: job.memory_mib,
                    gpus: job.gpus,
                    gpu_milli: job.gpu_milli,
                    models,
                    numa: job.terms.numa,
                    mig: None,
                };
                let Some(name) = job.terms.mig.checked_sub(1).and_then(|at| self.profiles.get(at as usize))
                else {
                    return stock.with_gpu_memory(&demand, job.terms.gpu_memory_mib);
                };
                let profile = stock.profile_named(name);
                match profile.and_then(|profile| Some((profile, stock.profile_milli(profile, models)?))) {
                    Some((profile, gpu_milli)) => Demand { mig: Some(profile), gpu_milli, ..demand },
                    None => Demand { models: ModelSet::NONE, gpu_milli: WHOLE_GPU, ..demand },
                }
            })
            .collect()
    }
}

/// Gathers what a reader finds.
#[derive(Debug)]
pub(crate) struct Gatherer<'a> {
    file: &'a str,
    options: ReadOptions,
    trace: Trace,
    /// What an instance of each MIG profile counts at least.
    profile_milli: Vec<u16>,
    users: FxHashMap<String, u32>,
    lists: FxHashMap<String, u32>,
    named: Vec<after::Named>,
}

impl<'a> Gatherer<'a> {
    pub(crate) fn new(file: &'a str, options: ReadOptions) -> Self {
        let trace = Trace { model_lists: vec![Vec::new()], ..Trace::default() };
        let (users, lists) = (FxHashMap::default(), FxHashMap::default());
        let (named, profile_milli) = (Vec::new(), Vec::new());
        Self { file, options, trace, profile_milli, users, lists, named }
    }

    /// Whether jobs have to say when they came and how long they ran.
    pub(crate) fn times_wanted(&self) -> bool {
        self.options.times_wanted
    }

    /// The number of a MIG profile, and the least thousandths of a GPU that an instance of it is on any model.
    pub(crate) fn profile(&mut self, name: &str) -> Result<(u32, u16), String> {
        let known = self.trace.profiles.iter().position(|profile| profile == name);
        let at = match known {
            Some(at) => at,
            None => {
                let catalog = MigCatalog::shipped().map_err(|error| error.to_string())?;
                let shares = catalog.models().iter().filter_map(|model| {
                    let profile = &model.profiles[model.profile(name)?];
                    Some(u16::from(profile.memory_slices) * WHOLE_GPU / u16::from(model.memory_slices))
                });
                let share = shares.min().ok_or_else(|| {
                    format!("mig is {name:?}, which no model of catalog/mig.toml has: write it as 1g.10gb")
                })?;
                self.trace.profiles.push(name.to_owned());
                self.profile_milli.push(share);
                self.trace.profiles.len() - 1
            }
        };
        Ok((at as u32 + 1, self.profile_milli[at]))
    }

    /// The number of a tenant; 0 for no name.
    pub(crate) fn tenant(&mut self, name: &str) -> u32 {
        let tenants = &mut self.trace.tenants;
        if name.is_empty() {
            return 0;
        }
        let at = tenants.iter().position(|tenant| tenant == name).unwrap_or_else(|| {
            tenants.push(name.to_owned());
            tenants.len() - 1
        });
        at as u32 + 1
    }

    pub(crate) fn user(&mut self, name: &str) -> u32 {
        if let Some(&user) = self.users.get(name) {
            return user;
        }
        let user = self.trace.users.len() as u32;
        self.trace.users.push(name.to_owned());
        self.users.insert(name.to_owned(), user);
        user
    }

    /// The place of a list of models written with `|` between them.
    pub(crate) fn models(&mut self, text: &str) -> u32 {
        if text.trim().is_empty() {
            return 0;
        }
        if let Some(&list) = self.lists.get(text) {
            return list;
        }
        let mut names: Vec<String> = text.split('|').map(|name| name.trim().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let list = self.trace.model_lists.len() as u32;
        self.trace.model_lists.push(names);
        self.lists.insert(text.to_owned(), list);
        list
    }

    pub(crate) fn job(&mut self, job: Job) {
        self.trace.jobs.push(job);
    }

    /// A job that is to come after others, which it names.
    pub(crate) fn job_after(&mut self, job: Job, line: usize, names: Vec<String>) {
        if !names.is_empty() {
            self.named.push(after::Named { job: self.trace.jobs.len() as u32, line, names });
        }
        self.job(job);
    }

    /// Counts a line that cannot be.
    ///
    /// # Errors
    /// Where such lines are refused.
    pub(crate) fn bad(&mut self, line: usize, what: String) -> Result<(), FormatError> {
        if self.options.bad_lines == BadLines::Refuse {
            return Err(self.error(line, what, "mend the line, or have bad lines skipped"));
        }
        self.trace.bad_count += 1;
        if self.trace.bad.len() < MOST_NAMED {
            self.trace.bad.push(BadLine { line, what });
        }
        Ok(())
    }

    pub(crate) fn error(&self, line: usize, what: String, mend: &str) -> FormatError {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        FormatError::at(self.file, line, 0, what, mend)
    }

    /// The trace, its jobs in order of submission, equal ones as they stood in the file, and its time counted from the
    /// first.
    pub(crate) fn finish(mut self) -> Trace {
        self.trace.jobs.sort_by_key(|job| job.submit_ms);
        self.counted_from_first()
    }

    /// The same where jobs may name others.
    ///
    /// # Errors
    /// Where a job names one that is not there, or waits for itself, and such jobs are refused.
    pub(crate) fn finish_linked(mut self) -> Result<Trace, FormatError> {
        if self.named.is_empty() {
            return Ok(self.finish());
        }
        let (links, bad) = after::link(&mut self.trace.jobs, &self.named);
        self.trace.after = links;
        for BadLine { line, what } in bad {
            self.bad(line, what)?;
        }
        Ok(self.counted_from_first())
    }

    fn counted_from_first(mut self) -> Trace {
        let first = self.trace.jobs.first().map_or(0, |job| job.submit_ms);
        for job in &mut self.trace.jobs {
            job.submit_ms -= first;
        }
        self.trace
    }
}
