//! What is counted of the pool and its jobs.

use std::fmt;
use std::sync::Arc;

use pool::tenants::GPU;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};

use super::{Counter, Gauge, one};
use crate::work::{Board, NodeState, State};

/// Reads the board when it is asked.
#[derive(Debug)]
pub(super) struct WorkReader(pub Arc<Board>);

/// A family with one label, whose values need not be known beforehand.
fn by<M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, label): (&str, &str, &'static str),
    values: impl IntoIterator<Item = (String, M)>,
) -> fmt::Result {
    let mut values = values.into_iter().peekable();
    let Some((_, first)) = values.peek() else { return Ok(()) };
    let mut family = encoder.encode_descriptor(name, help, None, first.metric_type())?;
    for (value, metric) in values {
        metric.encode(family.encode_family(&[(label, value)])?)?;
    }
    Ok(())
}

impl Collector for WorkReader {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut encoder;
        let board = &self.0;
        by(
            out,
            ("heddle_jobs", "Jobs by where they are in their life.", "state"),
            State::ALL.map(|state| (state.name().to_owned(), Gauge(board.count(state) as f64))),
        )?;
        let (starts, waited_s) = board.starts();
        one(out, "heddle_jobs_started", "Runs of jobs that were started.", &Counter(starts))?;
        one(
            out,
            "heddle_jobs_waited_seconds",
            "From submission to start, of all runs that were started together.",
            &Gauge(waited_s),
        )?;
        let Some(picture) = board.picture() else { return Ok(()) };
        let figures = picture.figures();
        one(out, "heddle_pool_gpus", "GPUs of the pool.", &Gauge(figures.gpus as f64))?;
        let allocated = figures.allocated_gpus;
        one(
            out,
            "heddle_pool_gpus_allocated",
            "GPUs given out to jobs, shares by their part.",
            &Gauge(allocated),
        )?;
        one(out, "heddle_pool_gpus_free", "GPUs free on nodes that take work.", &Gauge(figures.free_gpus))?;
        one(
            out,
            "heddle_pool_gpus_fragmented",
            "GPUs free on nodes that have others in use: no job that wants whole nodes can have them.",
            &Gauge(figures.fragmented_gpus),
        )?;
        one(
            out,
            "heddle_pool_nodes_idle",
            "Nodes that take work and have all GPUs free.",
            &Gauge(figures.idle_nodes as f64),
        )?;
        let nodes = |state| picture.states.iter().filter(|&&other| other == state).count() as f64;
        by(
            out,
            ("heddle_pool_nodes", "Nodes by whether they take work.", "state"),
            [
                ("open", NodeState::Open),
                ("closed", NodeState::Closed),
                ("degraded", NodeState::Degraded),
                ("failed", NodeState::Failed),
            ]
            .map(|(name, state)| (name.to_owned(), Gauge(nodes(state)))),
        )?;
        let tenants = &picture.tenants;
        let of_each = |amount: fn(&pool::tenants::Tenants, pool::TenantIndex) -> u64| {
            tenants.all().map(move |tenant| {
                (tenants.name(tenant).to_owned(), Gauge(amount(tenants, tenant) as f64 / GPU as f64))
            })
        };
        by(
            out,
            ("heddle_pool_tenant_gpus", "GPUs that a tenant's jobs hold.", "tenant"),
            of_each(pool::tenants::Tenants::held),
        )?;
        by(
            out,
            ("heddle_pool_tenant_quota_gpus", "GPUs that are a tenant's own.", "tenant"),
            of_each(pool::tenants::Tenants::quota),
        )
    }
}
