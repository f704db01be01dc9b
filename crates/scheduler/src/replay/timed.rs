//! The jobs of a trace as arrivals at a scheduler.

use pool::Stock;
use pool::tenants::Tenants;

use crate::job::Job;
use crate::schedule::{Config, Scheduler};
use crate::simulate::{Arrival, Outcome, simulate};
use crate::trace::Trace;

/// Jobs as they arrive. Where the trace has no limit for a job, its run time stands in; a job that ran into its limit was
/// over then, as its run time tells too.
pub fn arrivals(trace: &Trace, stock: &Stock) -> Vec<Arrival> {
    let demands = trace.demands(stock);
    let arrival = |(job, demand): (&crate::trace::Job, _)| {
        let run_ms = job.run_ms.unwrap_or(0);
        Arrival {
            at_ms: job.submit_ms,
            run_ms,
            job: Job {
                priority: job.priority,
                parts: job.parts,
                most_parts: job.parts,
                limit_ms: Some(job.limit_ms.unwrap_or(0).max(run_ms)),
                ..Job::new(&job.name, demand)
            },
        }
    };
    trace.jobs.iter().zip(demands).map(arrival).collect()
}

/// Runs arrivals through a stock whose owners have no quotas. `progress` hears how many have come.
pub fn replay(
    stock: &Stock,
    arrivals: &[Arrival],
    config: Config,
    progress: &mut dyn FnMut(usize),
) -> Outcome {
    let mix = arrivals.iter().map(|arrival| &arrival.job.demand);
    let scheduler = Scheduler::new(config, stock.clone(), Tenants::default(), mix);
    simulate(scheduler, arrivals, progress).0
}
