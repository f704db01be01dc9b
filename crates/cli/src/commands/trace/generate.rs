//! `heddle trace generate`: a cluster and jobs from documented distributions and a seed.

use clap::Args;
use scheduler::trace::{generate, native};

use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// Options of `heddle trace generate`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  heddle trace generate --jobs 1000000 --nodes 1250 --jobs-out jobs.csv --nodes-out nodes.csv\n\n\
    Jobs come as a Poisson process; sizes are 1 to 64 GPUs, most of them small; run times are log-normal."
)]
pub struct Generate {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 1000)]
    jobs: u32,
    /// Nodes of the cluster
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// GPUs of a node
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    gpus_a_node: u16,
    /// GPUs wanted on average, as a part of all
    #[arg(long, value_name = "PART", default_value_t = 0.9)]
    load: f64,
    /// How many users the jobs are of
    #[arg(long, value_name = "N", default_value_t = 20)]
    users: u32,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the jobs go; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    jobs_out: String,
    /// Where the list of nodes goes
    #[arg(long, value_name = "FILE")]
    nodes_out: Option<String>,
}

impl Generate {
    /// Makes and writes them.
    pub fn run(self) -> Result<Answer, Failure> {
        if !(self.load > 0.0 && self.load < 100.0) {
            return Err(Failure::new(
                format!("the load is {}", self.load),
                "--load",
                "give one above 0, such as 0.9",
            ));
        }
        let recipe = generate::Recipe {
            jobs: self.jobs,
            nodes: self.nodes,
            gpus_a_node: self.gpus_a_node,
            load: self.load,
            users: self.users,
            seed: self.seed,
        };
        files::write(&self.jobs_out, native::write(&generate::jobs(&recipe)).as_bytes())?;
        if let Some(path) = &self.nodes_out {
            files::write(path, generate::nodes(&recipe).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}
