//! `heddle trace replay`: the jobs of a trace through a cluster under policies.

mod course;
mod figures;
mod show;
mod site;
mod why;

use clap::{Args, ValueEnum};
use pool::stock::Demand;
use pool::tenants::Tenants;
use scheduler::policy::Kind;
use scheduler::replay::timed;
use scheduler::schedule::{Backfill, Config};
use scheduler::simulate::Arrival;
use scheduler::trace::Trace;
use serde::Serialize;

use super::{Cluster, Reading};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::Style;
use figures::Figures;
use site::Site;

/// In which order jobs start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Queueing {
    /// Nothing passes a job that waits
    Fifo,
    /// What does not delay the first that waits fills gaps (EASY backfill)
    Easy,
    /// What does not delay any of the first 32 that wait fills gaps (conservative backfill)
    Conservative,
}

/// How many jobs are promised a time with conservative backfill.
const PROMISES: u32 = 32;

/// Options of `heddle trace replay`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle trace replay --nodes examples/nodes.csv --jobs examples/jobs.csv\n  \
    heddle trace replay --nodes N --jobs J --compare -o timeline.svg    every policy side by side, drawn\n  \
    heddle trace replay --nodes N --jobs J --fabric site.ibnetdiscover --compare heddle,best-fit\n  \
                                        gangs placed by hops and by what the routes would bear, or blind\n  \
    heddle trace replay --nodes N --jobs J --why job-17 --at 2.5h       why a job waited, and why it lies where it does\n  \
    heddle trace replay --nodes N --jobs J --inflate 1.3 --seeds 10     the published experiment of the FGD paper:\n  \
                                        tasks arrive in a drawn order until 1.3 times all GPUs are wanted; none leaves\n\n\
    Nodes are whatever `heddle pool show` reads. Where jobs name tenants, those of the pool count.\n\
    Exit codes: 0 done, 2 the request was wrong."
)]
pub struct Replay {
    /// The cluster: a list of nodes as openb has it, or another file that `heddle pool show` reads
    #[arg(long, value_name = "FILE")]
    nodes: String,
    /// The jobs; - is standard input
    #[arg(long, value_name = "FILE")]
    jobs: String,
    /// random, first-fit, best-fit, dot-product, gpu-packing, gpu-clustering, fgd or heddle
    #[arg(long, default_value = "heddle", value_parser = policy)]
    policy: Kind,
    /// Lay these policies side by side; all where none is named
    #[arg(long, value_name = "POLICY", value_delimiter = ',', num_args = 0.., value_parser = policy)]
    compare: Option<Vec<Kind>>,
    #[command(flatten)]
    network: site::Network,
    /// The published experiment: tasks arrive until this many times all GPUs are wanted, and none leaves
    #[arg(long, value_name = "TIMES", conflicts_with = "fabric")]
    inflate: Option<f64>,
    /// In which order jobs start
    #[arg(long, value_enum, default_value_t = Queueing::Easy)]
    queue: Queueing,
    /// Leave jobs where they are, even where moving one out of the way of another would pay for itself
    #[arg(long, conflicts_with = "inflate")]
    no_migration: bool,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take the mean over so many seeds, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    asking: why::Asking,
    /// Print JSON
    #[arg(long, help_heading = "Options")]
    json: bool,
    /// Write the course of the first seed: a picture (.svg), or .csv or .json
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

fn policy(name: &str) -> Result<Kind, String> {
    let names = Kind::ALL.map(|(_, name)| name).join(", ");
    Kind::by_name(name).ok_or_else(|| format!("no policy is called so: give one of {names}"))
}

/// A policy, and whether it is told of the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    kind: Kind,
    knows_fabric: bool,
}

impl Way {
    /// What it is called: that it is told nothing has to be said only where it would have made something of it.
    fn name(self, has_fabric: bool) -> String {
        let blind = has_fabric && self.kind.knows_fabrics() && !self.knows_fabric;
        format!("{}{}", self.kind.name(), if blind { "-blind" } else { "" })
    }
}

/// All that jobs run on, and the jobs.
struct Setting {
    cluster: Cluster,
    tenants: Tenants,
    trace: Trace,
    arrivals: Vec<Arrival>,
    site: Option<Site>,
}

#[derive(Serialize)]
struct One<'a> {
    #[serde(flatten)]
    figures: &'a Figures,
    fabric: Option<&'a site::Described>,
}

#[derive(Serialize)]
struct Compared<'a> {
    nodes: usize,
    gpus: usize,
    fabric: Option<&'a site::Described>,
    policies: &'a [Figures],
}

impl Replay {
    /// Replays and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        if let Some(times) = self.inflate
            && !(times > 0.0 && times <= 100.0)
        {
            return Err(Failure::new(
                format!("{times} times all GPUs"),
                "--inflate",
                "give a number such as 1.3",
            ));
        }
        if let Some(path) = self.output.as_ref().filter(|path| !course::has_format(path)) {
            return Err(Failure::new("the ending tells no format", path, "end it with .svg, .csv or .json"));
        }
        let setting = self.setting()?;
        if let Some(job) = &self.asking.why {
            self.explain(&setting, job)?;
            return Ok(Answer::Yes);
        }
        let stock = &setting.cluster.stock;
        let figures: Vec<Figures> = match self.inflate {
            Some(times) => {
                let demands: Vec<Demand> = setting.trace.demands(stock);
                let kinds = self.ways(false).into_iter().map(|way| way.kind);
                kinds.map(|kind| self.inflated(stock, &demands, kind, times)).collect()
            }
            None => self
                .ways(setting.site.is_some())
                .into_iter()
                .map(|way| self.replayed(&setting, way))
                .collect(),
        };
        let fabric = setting.site.as_ref().map(|site| &site.described);
        match (self.json, &figures[..]) {
            (true, [one]) if self.compare.is_none() => files::print_json(&One { figures: one, fabric })?,
            (true, policies) => {
                let (nodes, gpus) = (stock.len(), stock.gpu_count());
                files::print_json(&Compared { nodes, gpus, fabric, policies })?;
            }
            (false, policies) => {
                let style = Style::stdout();
                files::write("-", show::render(stock, fabric, policies, style).as_bytes())?;
            }
        }
        if let Some(path) = &self.output {
            course::write(path, &figures)?;
        }
        Ok(Answer::Yes)
    }

    /// Reads everything.
    fn setting(&self) -> Result<Setting, Failure> {
        let cluster = super::cluster(&self.nodes)?;
        let (trace, _) = self.reading.jobs(&self.jobs, self.inflate.is_none())?;
        let tenants = timed::tenants_in_use(&trace, &cluster.tenants);
        let mut arrivals = match self.inflate {
            Some(_) => Vec::new(),
            None => timed::arrivals(&trace, &cluster.stock, &tenants).map_err(|error| {
                Failure::new(error.to_string(), &self.jobs, "name it in the pool with [[tenant]]")
            })?,
        };
        let site = self.network.read(&cluster.pool, &self.nodes)?;
        if let Some(site) = &site {
            timed::set_traffic(&mut arrivals, site.traffic);
        }
        Ok(Setting { cluster, tenants, trace, arrivals, site })
    }

    /// The policies that were asked for. Where they are laid side by side and there is a fabric, those that make something of it
    /// stand there twice: what knowing it brings is the difference.
    fn ways(&self, has_fabric: bool) -> Vec<Way> {
        let kinds = match &self.compare {
            None => vec![self.policy],
            Some(kinds) if kinds.is_empty() => Kind::ALL.map(|(kind, _)| kind).to_vec(),
            Some(kinds) => kinds.clone(),
        };
        let mut ways = Vec::new();
        for kind in kinds {
            let knows_fabric = has_fabric && kind.knows_fabrics();
            if knows_fabric && self.compare.is_some() {
                ways.push(Way { kind, knows_fabric: false });
            }
            ways.push(Way { kind, knows_fabric });
        }
        ways
    }

    /// How the scheduler is to decide.
    fn config(&self, kind: Kind, seed: u64) -> Config {
        Config {
            policy: kind,
            seed,
            backfill: match self.queue {
                Queueing::Fifo => Backfill::None,
                Queueing::Easy => Backfill::Easy,
                Queueing::Conservative => Backfill::Conservative(PROMISES),
            },
            migrate: !self.no_migration,
            ..Config::default()
        }
    }
}
