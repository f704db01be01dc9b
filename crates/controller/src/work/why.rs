//! Why a job is where it is, in the words and numbers of those who ask: names of nodes and numbers of jobs as they know them.

use jiff::Timestamp;
use pool::Pool;
use scheduler::job::JobIndex;
use scheduler::schedule::{Explanation, Wait};
use serde::Serialize;
use utoipa::ToSchema;

use super::record::{Record, State};

/// How a gang lies in the network.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Fit {
    /// Leaf groups that it is on.
    pub leaves: u32,
    /// Pods that it is on.
    pub pods: u32,
    /// Switches between two of its nodes, in the mean.
    pub mean_hops: f64,
    /// Its fullest link when it started, 1 for all that a link carries; nothing where its traffic is not known.
    pub fullest_link: Option<f64>,
    /// The weighted sum by which its place was chosen.
    pub cost: f64,
}

/// Why a job is where it is.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Why {
    /// The job.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// Where it is in its life.
    pub state: State,
    /// What it waits for: `jobs`, `quota`, `turn`, `room`, `place` or `promised`; nothing where it does not wait.
    pub waits_for: Option<&'static str>,
    /// Jobs that have to be over before.
    pub jobs: Vec<u64>,
    /// How long it has waited, in seconds; while it waits.
    pub waited_s: Option<f64>,
    /// How many are looked at before it; while it waits.
    pub before: Option<usize>,
    /// When it starts at the latest, where that is promised.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub starts_by: Option<Timestamp>,
    /// How much too late it may be for its deadline, in seconds.
    pub late_s: Option<f64>,
    /// Nodes that are kept for it.
    pub reserved_nodes: Vec<String>,
    /// How it lies in the network.
    pub fit: Option<Fit>,
    /// The reasons as lines for people.
    pub text: Vec<String>,
}

fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

impl Why {
    /// What is known of a job that the scheduler does not have any more.
    pub fn of(record: &Record) -> Self {
        let mut text = Vec::new();
        text.extend(record.cause.clone());
        text.extend(record.outcome.as_ref().map(ToString::to_string));
        Self {
            number: record.number,
            name: record.spec.name.clone(),
            state: record.state,
            waits_for: None,
            jobs: Vec::new(),
            waited_s: None,
            before: None,
            starts_by: None,
            late_s: None,
            reserved_nodes: Vec::new(),
            fit: None,
            text,
        }
    }

    /// The scheduler's reasons; `number` gives the number that people know a job by.
    pub fn explained(
        record: &Record,
        reasons: &Explanation,
        pool: &Pool,
        number: impl Fn(JobIndex) -> Option<u64>,
    ) -> Self {
        let mut why = Self { text: Vec::new(), ..Self::of(record) };
        why.text.extend(record.cause.clone());
        why.waited_s = reasons.waited_ms.map(|ms| ms as f64 * 1e-3);
        why.before = reasons.before;
        why.starts_by =
            reasons.promised_ms.and_then(|ms| Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok());
        why.late_s = reasons.late_ms.map(|ms| ms as f64 * 1e-3);
        why.reserved_nodes =
            reasons.reserved_nodes.iter().map(|&node| pool.node_name(node).to_owned()).collect();
        if let Some(wait) = &reasons.wait {
            why.waits_for = Some(match wait {
                Wait::Jobs(_) => "jobs",
                Wait::Quota { .. } => "quota",
                Wait::Turn { .. } => "turn",
                Wait::Room { .. } => "room",
                Wait::Place(_) => "place",
                Wait::Promised => "promised",
            });
            if let Wait::Jobs(jobs) = wait {
                why.jobs = jobs.iter().filter_map(|&job| number(job)).collect();
                let named: Vec<String> = why.jobs.iter().take(5).map(ToString::to_string).collect();
                why.text.push(format!(
                    "it waits for {} to be over: {}",
                    count(why.jobs.len(), "other job"),
                    named.join(", ")
                ));
            } else {
                why.text.push(wait.to_string());
            }
        }
        if let (Some(before), Some(waited_s)) = (why.before, why.waited_s) {
            why.text.push(format!("{} before it; it has waited {waited_s:.0} s", count(before, "job")));
        }
        if let Some(starts_by) = why.starts_by {
            let nodes = count(why.reserved_nodes.len(), "node");
            why.text.push(format!("it starts by {starts_by:.0} at the latest, on {nodes} kept for it"));
        }
        match why.late_s {
            Some(0.0) => why.text.push("it will meet its deadline".to_owned()),
            Some(late_s) => why.text.push(format!("it may miss its deadline by {late_s:.0} s")),
            None => {}
        }
        if let Some(fit) = &reasons.fit {
            let spread = &fit.spread;
            why.fit = Some(Fit {
                leaves: spread.leaves,
                pods: spread.pods,
                mean_hops: spread.mean_hops,
                fullest_link: fit.contention.as_ref().map(|contention| contention.worst),
                cost: fit.cost,
            });
            why.text.push(format!(
                "{} in {}, {:.2} hops between its nodes in the mean",
                count(spread.leaves as usize, "leaf group"),
                count(spread.pods as usize, "pod"),
                spread.mean_hops
            ));
            if let Some(contention) = &fit.contention {
                let full = contention.worst * 100.0;
                why.text.push(format!("its fullest link was {full:.0} per cent full when it started"));
            }
        }
        if reasons.stops > 0 {
            why.text.push(format!(
                "it was stopped for others or lost its place {}",
                count(reasons.stops as usize, "time")
            ));
        }
        why
    }
}
