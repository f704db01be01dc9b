//! What is counted, for Prometheus: in its names and units, read from the newest picture whenever it asks.

mod work;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use subnet::{Event, Phase};

use crate::store::StoreError;
use crate::view::{LinkState, Newest};
use crate::work::Work;
use work::WorkReader;

/// Seconds that a heal takes: from a millisecond, doubling.
fn heal_buckets() -> impl Iterator<Item = f64> {
    (0..14).map(|power| 0.001 * f64::from(1 << power))
}

/// What is counted as it happens.
#[derive(Debug)]
pub struct Counts {
    traps: AtomicU64,
    resweeps: AtomicU64,
    reroutes: AtomicU64,
    rebalances: AtomicU64,
    links_lost: AtomicU64,
    links_back: AtomicU64,
    findings: AtomicU64,
    store_failures: AtomicU64,
    heals: Histogram,
}

impl Default for Counts {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            traps: zero(),
            resweeps: zero(),
            reroutes: zero(),
            rebalances: zero(),
            links_lost: zero(),
            links_back: zero(),
            findings: zero(),
            store_failures: zero(),
            heals: Histogram::new(heal_buckets()),
        }
    }
}

impl Counts {
    /// Counts what the manager says.
    pub fn said(&self, event: &Event) {
        let add = |to: &AtomicU64, count: usize| to.fetch_add(count as u64, Ordering::Relaxed);
        match event {
            Event::Trap { .. } => add(&self.traps, 1),
            Event::Resweep { .. } => add(&self.resweeps, 1),
            Event::Reroute { .. } => add(&self.reroutes, 1),
            Event::Rebalanced { .. } => add(&self.rebalances, 1),
            Event::Finding(_) => add(&self.findings, 1),
            Event::Healed { lost, back, seconds, .. } => {
                self.heals.observe(*seconds);
                add(&self.links_lost, *lost);
                add(&self.links_back, *back)
            }
            _ => 0,
        };
    }

    /// Counts a write that the store refused.
    pub fn store_failed(&self, _: &StoreError) {
        self.store_failures.fetch_add(1, Ordering::Relaxed);
    }

    /// How many writes the store has refused.
    pub fn store_failures(&self) -> u64 {
        self.store_failures.load(Ordering::Relaxed)
    }
}

/// Reads counts and the newest picture when it is asked.
#[derive(Debug)]
struct Reader {
    newest: Arc<Newest>,
    counts: Arc<Counts>,
}

struct Gauge(f64);

impl EncodeMetric for Gauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.0)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

struct Counter(u64);

impl EncodeMetric for Counter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_counter::<prometheus_client::encoding::NoLabelSet, _, u64>(&self.0, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// A family of metrics: the name, what it says, and a value for each set of labels.
fn family<M: EncodeMetric, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = ([(&'static str, &'static str); N], M)>,
) -> fmt::Result {
    let mut values = values.into_iter().peekable();
    let Some((_, first)) = values.peek() else { return Ok(()) };
    let mut family = encoder.encode_descriptor(name, help, None, first.metric_type())?;
    for (labels, metric) in values {
        metric.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn one<M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &M,
) -> fmt::Result {
    let one = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
    metric.encode(one)
}

impl Collector for Reader {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut encoder;
        let view = self.newest.get();
        let count = |value: &AtomicU64| Counter(value.load(Ordering::Relaxed));
        let is_up = view.phase() == Phase::Up;
        one(
            out,
            "heddle_fabric_up",
            "Whether the fabric is up and routed.",
            &Gauge(f64::from(u8::from(is_up))),
        )?;
        let links =
            [("active", LinkState::Active), ("down", LinkState::Down), ("held-down", LinkState::HeldDown)];
        family(
            out,
            "heddle_links",
            "Links by what they are doing.",
            links.map(|(name, state)| ([("state", name)], Gauge(view.inventory.count(state) as f64))),
        )?;
        if let Some(report) = &view.report {
            one(out, "heddle_switches", "Switches in the fabric.", &Gauge(report.switches as f64))?;
            one(out, "heddle_hosts", "Hosts' adapters in the fabric.", &Gauge(report.hosts as f64))?;
            one(out, "heddle_lids", "LIDs given out.", &Gauge(report.lids as f64))?;
            one(
                out,
                "heddle_findings",
                "Things that are not as they should be, as of the last look.",
                &Gauge(report.findings.len() as f64),
            )?;
            let mads = &report.mads;
            family(
                out,
                "heddle_mads_sent",
                "Requests sent, repeats included.",
                [("get", mads.get), ("set", mads.set)]
                    .map(|(method, sent)| ([("method", method)], Counter(sent))),
            )?;
            one(out, "heddle_mads_retried", "Requests sent again.", &Counter(mads.retried))?;
            one(out, "heddle_mads_ignored", "Answers that belonged to nothing.", &Counter(mads.ignored))?;
            one(
                out,
                "heddle_table_blocks_written",
                "Blocks of forwarding tables written.",
                &Counter(report.lft_blocks_written),
            )?;
        }
        let counts = &self.counts;
        one(out, "heddle_traps_received", "Traps that devices sent.", &count(&counts.traps))?;
        one(out, "heddle_resweeps", "Looks at the whole fabric after the first.", &count(&counts.resweeps))?;
        one(out, "heddle_reroutes", "Changes that no repair could mend.", &count(&counts.reroutes))?;
        one(out, "heddle_rebalances", "Times that paths were spread anew.", &count(&counts.rebalances))?;
        one(out, "heddle_links_lost", "Links that were lost and healed around.", &count(&counts.links_lost))?;
        one(out, "heddle_links_restored", "Links that came back.", &count(&counts.links_back))?;
        one(
            out,
            "heddle_findings_found",
            "Things found that were not as they should be.",
            &count(&counts.findings),
        )?;
        one(out, "heddle_store_failures", "Writes that the store refused.", &count(&counts.store_failures))?;
        one(
            out,
            "heddle_heal_seconds",
            "From the first word of a change to the last answer of its heal.",
            &counts.heals,
        )
    }
}

/// In which of Prometheus' two forms metrics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The older text, version 0.0.4: who asks for nothing else gets it.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Form {
    /// What the header `Accept` asks for.
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Text }
    }

    /// As the header `Content-Type` names it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => prometheus_text::CONTENT_TYPE,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The metrics as text.
pub struct Metrics(Registry);

impl Metrics {
    /// Of what is counted and shown; with the pool and its jobs, where there are any.
    pub fn new(newest: Arc<Newest>, counts: Arc<Counts>, work: Option<&Work>) -> Self {
        let mut registry = Registry::default();
        if let Some(work) = work {
            registry.register_collector(Box::new(WorkReader(Arc::clone(&work.board))));
        }
        registry.register_collector(Box::new(Reader { newest, counts }));
        Self(registry)
    }

    /// The text of this moment.
    pub fn text(&self, form: Form) -> String {
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = match form {
            Form::Text => prometheus_text::encode(&mut out, &self.0),
            Form::OpenMetrics => text::encode(&mut out, &self.0),
        };
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_the_form_that_it_asks_for() {
        // What Prometheus 2.42 sends.
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Form::accepted(prometheus), Form::OpenMetrics);
        assert_eq!(Form::accepted("*/*"), Form::Text);
        assert_eq!(Form::accepted(""), Form::Text);
    }
}
