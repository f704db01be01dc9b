//! The training jobs: a long queue of gangs and small jobs, most of which can be stopped.
//!
//! Jobs come as a Poisson process at any time of the day, and so many that, on average, [`LOAD`] of all GPUs is wanted by
//! them; at the beginning jobs for [`BACKLOG_H`] hours of all GPUs wait already. Sizes are in [`SIZES`]. Run times are
//! log-normal with a median of two hours and a deviation of 1.3 in the logarithm, from five minutes to three days; a job says
//! as its limit from one to three times its run time. Nine of ten write checkpoints: they stop within two minutes and lose ten
//! minutes of work. Three of ten of more than one part are elastic: they can use up to twice their parts.

use crate::random::Chance;
use crate::trace::{Job, Trace, in_parts};
use crate::workloads;

/// GPUs that training wants on average, as a part of all.
pub const LOAD: f64 = 0.75;

/// What waits at the beginning, in hours of all GPUs.
pub const BACKLOG_H: f64 = 24.0;

/// GPUs of a job, and how many of a hundred have so many.
pub const SIZES: [(u32, u32); 8] = [(1, 20), (2, 12), (4, 14), (8, 24), (16, 12), (32, 9), (64, 6), (128, 3)];

const MEDIAN_RUN_S: f64 = 7200.0;
const DEVIATION: f64 = 1.3;
const SHORTEST_RUN_S: f64 = 300.0;
const LONGEST_RUN_S: f64 = 259_200.0;
const STOPPABLE: f64 = 0.9;
const ELASTIC: f64 = 0.3;

/// The jobs of so many days for a site of so many GPUs.
pub fn jobs(days: u32, gpus: u32, gpus_a_node: u16, seed: u64) -> Trace {
    let mut chance = Chance::new(seed.wrapping_mul(1000));
    let mut trace =
        Trace { model_lists: vec![Vec::new()], users: vec!["training".to_owned()], ..Trace::default() };
    let sizes: f64 = SIZES.iter().map(|&(size, of_hundred)| f64::from(size * of_hundred) / 100.0).sum();
    // The mean of the log-normal distribution; its bounds take less than two per cent of it.
    let work_gpu_s = sizes * MEDIAN_RUN_S * (DEVIATION * DEVIATION / 2.0).exp();
    let backlog = (f64::from(gpus) * BACKLOG_H * 3600.0 / work_gpu_s) as u32;
    for _ in 0..backlog {
        trace.jobs.push(job(0, gpus_a_node, &mut chance));
    }
    let gap_s = work_gpu_s / (f64::from(gpus) * LOAD);
    let mut at_s = chance.gap(gap_s);
    while at_s < f64::from(days) * 86_400.0 {
        trace.jobs.push(job(at_s as u64, gpus_a_node, &mut chance));
        at_s += chance.gap(gap_s);
    }
    for (number, job) in trace.jobs.iter_mut().enumerate() {
        job.name = format!("training-{number}").into();
    }
    trace
}

fn job(at_s: u64, gpus_a_node: u16, chance: &mut Chance) -> Job {
    let size = chance.one_of(&SIZES).unwrap_or(1);
    let (parts, gpus) = in_parts(size.into(), gpus_a_node);
    let run_s =
        (MEDIAN_RUN_S * (DEVIATION * chance.deviate()).exp()).clamp(SHORTEST_RUN_S, LONGEST_RUN_S).round();
    let limit_s = (run_s * (1.0 + 2.0 * chance.part())).round();
    let stoppable = chance.part() < STOPPABLE;
    let elastic = chance.part() < ELASTIC;
    workloads::job(at_s, (run_s, limit_s), (parts, gpus), stoppable, elastic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_what_it_says() {
        let days = 400;
        let trace = jobs(days, 2000, 8, 1);
        let gpu_s = |job: &Job| (job.gpu_milli_total() * job.run_ms.unwrap_or(0)) as f64 / 1e6;
        let (waiting, coming): (Vec<&Job>, Vec<&Job>) = trace.jobs.iter().partition(|job| job.submit_ms == 0);
        let load = coming.into_iter().map(gpu_s).sum::<f64>() / (f64::from(days) * 86_400.0 * 2000.0);
        assert!((load - LOAD).abs() < 0.03, "{load}");
        let backlog_h = waiting.into_iter().map(gpu_s).sum::<f64>() / (2000.0 * 3600.0);
        assert!((backlog_h - BACKLOG_H).abs() < 8.0, "{backlog_h}");
    }
}
