//! The jobs of a trace as arrivals at a scheduler.

use pool::tenants::Tenants;
use pool::{Stock, TenantIndex};

use crate::job::{After, Job, JobIndex};
use crate::network::{Topology, Traffic};
use crate::schedule::{Config, Scheduler};
use crate::simulate::{Arrival, Outcome, Watch, watched};
use crate::trace::Trace;

/// A job names a tenant that the pool does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("job {job} is of the tenant \"{tenant}\", whom the pool does not have")]
pub struct NoSuchTenant {
    /// The first such job.
    pub job: String,
    /// Whom it names.
    pub tenant: String,
}

/// The tenants that count: those of the pool where any job names one, else none.
pub fn tenants_in_use(trace: &Trace, tenants: &Tenants) -> Tenants {
    if trace.tenants.is_empty() { Tenants::default() } else { tenants.clone() }
}

/// Jobs as they arrive. Where the trace has no limit for a job, its run time stands in; a job that ran into its limit was
/// over then, as its run time tells too. Where there are no tenants, what jobs say of theirs is of no account.
///
/// # Errors
/// Where a job's tenant is none of those that there are.
pub fn arrivals(trace: &Trace, stock: &Stock, tenants: &Tenants) -> Result<Vec<Arrival>, NoSuchTenant> {
    let demands = trace.demands(stock);
    let tenant_of = |job: &crate::trace::Job| -> Result<Option<TenantIndex>, NoSuchTenant> {
        let name = job.terms.tenant.checked_sub(1).and_then(|at| trace.tenants.get(at as usize));
        let Some(name) = name.filter(|_| !tenants.is_empty()) else { return Ok(None) };
        let none = || NoSuchTenant { job: job.name.to_string(), tenant: name.clone() };
        tenants.named(name).map(Some).ok_or_else(none)
    };
    let arrival = |(job, demand): (&crate::trace::Job, _)| {
        let run_ms = job.run_ms.unwrap_or(0);
        Ok(Arrival {
            at_ms: job.submit_ms,
            run_ms,
            job: Job {
                tenant: tenant_of(job)?,
                priority: job.priority,
                work: job.terms.work,
                parts: job.parts,
                most_parts: job.parts.saturating_add(job.terms.more_parts),
                limit_ms: Some(job.limit_ms.unwrap_or(0).max(run_ms)),
                checkpoint: job.terms.checkpoint,
                ..Job::new(&job.name, demand)
            },
        })
    };
    let mut arrivals: Vec<Arrival> =
        trace.jobs.iter().zip(demands).map(arrival).collect::<Result<_, NoSuchTenant>>()?;
    for link in &trace.after {
        let after = After { job: JobIndex(link.other), succeeded: true };
        arrivals[link.job as usize].job.after.push(after);
    }
    Ok(arrivals)
}

/// Lets the parts of every gang send each other so much. Traces do not tell what jobs send.
pub fn set_traffic(arrivals: &mut [Arrival], traffic: Traffic) {
    for arrival in arrivals.iter_mut().filter(|arrival| arrival.job.parts > 1) {
        arrival.job.traffic = vec![traffic];
    }
}

/// Runs arrivals through a stock with its tenants. `progress` hears how many have come.
pub fn replay(
    stock: &Stock,
    tenants: &Tenants,
    arrivals: &[Arrival],
    config: Config,
    progress: &mut dyn FnMut(usize),
) -> Outcome {
    replay_on(stock, tenants, None, arrivals, config, progress, &mut ())
}

/// The same on a network, by which gangs are placed, while somebody watches.
pub fn replay_on<W: Watch>(
    stock: &Stock,
    tenants: &Tenants,
    network: Option<Topology>,
    arrivals: &[Arrival],
    config: Config,
    progress: &mut dyn FnMut(usize),
    watch: &mut W,
) -> Outcome {
    let mix = arrivals.iter().map(|arrival| &arrival.job.demand);
    let mut scheduler = Scheduler::new(config, stock.clone(), tenants.clone(), mix);
    if let Some(network) = network {
        scheduler = scheduler.with_network(network);
    }
    watched(scheduler, arrivals, progress, watch).0
}
