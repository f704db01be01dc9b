//! Workloads made from a seed: a whole cluster of equal nodes, and gangs of whole GPUs.
//!
//! Jobs come as a Poisson process. GPUs of a job: 1 with a chance of 0.55, 2 of 0.12, 4 of 0.11, 8 of 0.15, 16 of 0.04, 32 of
//! 0.02, 64 of 0.01: most jobs are small and most GPUs belong to large ones, as in the clusters of Jeon et al. (USENIX ATC
//! 2019) and Hu et al. (SC 2021); the chances themselves are round numbers of ours. Run times are log-normal with a median of
//! 15 minutes and a deviation of 1.8 in the logarithm, between 10 s and 7 days. A job says as its limit from one to five times
//! its run time. Jobs come so often that, on average, `load` times the GPUs of the cluster are wanted.

use super::{Job, Terms, Trace};
use crate::random::Chance;

/// Sizes of jobs in GPUs, and how many of a hundred have them.
const SIZES: [(u32, u32); 7] = [(1, 55), (2, 12), (4, 11), (8, 15), (16, 4), (32, 2), (64, 1)];

const MEDIAN_RUN_S: f64 = 900.0;
const DEVIATION: f64 = 1.8;
const SHORTEST_RUN_S: f64 = 10.0;
const LONGEST_RUN_S: f64 = 604_800.0;

/// What is to be made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Recipe {
    /// How many jobs.
    pub jobs: u32,
    /// Nodes of the cluster.
    pub nodes: u32,
    /// GPUs of a node.
    pub gpus_a_node: u16,
    /// GPUs wanted on average, as a part of all.
    pub load: f64,
    /// How many users the jobs are of.
    pub users: u32,
    /// What chance is drawn from.
    pub seed: u64,
}

fn size(chance: &mut Chance) -> u32 {
    let mut drawn = (chance.part() * 100.0) as u32;
    for (size, chances) in SIZES {
        if drawn < chances {
            return size;
        }
        drawn -= chances;
    }
    SIZES[0].0
}

/// Makes the jobs.
pub fn jobs(recipe: &Recipe) -> Trace {
    let mut chance = Chance::new(recipe.seed);
    let users = recipe.users.max(1);
    let mut trace = Trace {
        model_lists: vec![Vec::new()],
        users: (0..users).map(|user| format!("user-{user}")).collect(),
        ..Trace::default()
    };
    let per_node = u32::from(recipe.gpus_a_node.max(1));
    let mut wanted_gpu_s = 0.0;
    for number in 0..recipe.jobs {
        // No job is larger than the cluster.
        let size = size(&mut chance).min(per_node.saturating_mul(recipe.nodes.max(1)));
        let (parts, gpus) = super::in_parts(size.into(), per_node as u16);
        let run_s = (MEDIAN_RUN_S * (DEVIATION * chance.deviate()).exp())
            .clamp(SHORTEST_RUN_S, LONGEST_RUN_S)
            .round();
        wanted_gpu_s += run_s * f64::from(size);
        trace.jobs.push(Job {
            name: format!("job-{number}").into(),
            submit_ms: 0,
            run_ms: Some(run_s as u64 * 1000),
            limit_ms: Some((run_s * (1.0 + 4.0 * chance.part())).round() as u64 * 1000),
            parts,
            cpu_milli: u32::from(gpus) * 8000,
            memory_mib: u32::from(gpus) * 65_536,
            gpus,
            gpu_milli: pool::stock::WHOLE_GPU,
            models: 0,
            user: (chance.part() * f64::from(users)) as u32,
            priority: 0,
            terms: Terms::default(),
        });
    }
    let all = f64::from(recipe.nodes) * f64::from(recipe.gpus_a_node);
    let span_s = if all * recipe.load > 0.0 { wanted_gpu_s / (all * recipe.load) } else { 0.0 };
    let gap_s = span_s / f64::from(recipe.jobs.max(1));
    let mut at_s = 0.0;
    for job in &mut trace.jobs {
        job.submit_ms = at_s as u64 * 1000;
        at_s -= gap_s * (1.0 - chance.part()).ln();
    }
    trace
}

/// The cluster as a list of nodes in openb's columns: 16 cores and 128 GiB of memory for each GPU.
pub fn nodes(recipe: &Recipe) -> String {
    let gpus = u32::from(recipe.gpus_a_node);
    let mut text = "sn,cpu_milli,memory_mib,gpu,model\n".to_owned();
    for node in 0..recipe.nodes {
        text += &format!("node-{node:05},{},{},{gpus},H100\n", gpus * 16_000, gpus * 131_072);
    }
    text
}
