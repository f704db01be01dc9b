//! The jobs of the teams on parts of their own, and the very same jobs in one pool.

use pool::formats::Beside;
use pool::{FormatError, NodeIndex, Stock, TenantIndex};
use serde::Serialize;

use super::teams::{self, TEAMS};
use crate::replay::timed;
use crate::schedule::{Config, Idle, Migrated, Scheduler};
use crate::simulate::{Arrival, Moment, Outcome, Spread, Watch};

/// Picture and the use of separate parts are looked at in steps of so many seconds.
const STEP_S: f64 = 3600.0;

/// How the whole site fared one way.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Way {
    /// GPUs allocated over the whole time, in per cent of all.
    pub gpu_used_percent_mean: f64,
    /// The same over the time in which any job waited; nothing where none did. For separate parts from an hourly look.
    pub gpu_used_percent_while_waiting: Option<f64>,
    /// From submission to the first start, in seconds.
    pub waiting_s: Spread,
    /// GPU hours idle while any job waited, by what kept them so; nothing for separate parts.
    pub idle_while_waiting_gpu_h: Option<Idle>,
    /// How often a job was stopped for another.
    pub preemptions: u64,
    /// Migrations that were carried out.
    pub migrated: Migrated,
    /// GPU hours of work that stopping and moving threw away.
    pub lost_gpu_h: f64,
    /// From the first submission to the last end, in seconds.
    pub span_s: f64,
    /// GPUs allocated, in per cent of all, by the hour.
    #[serde(skip)]
    pub course: Vec<f64>,
}

/// How a team fared both ways.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Team {
    /// Its name.
    pub team: &'static str,
    /// GPUs that are its own.
    pub gpus: usize,
    /// Its jobs.
    pub jobs: usize,
    /// GPUs of its own part allocated while it was separate, in per cent.
    pub separate_gpu_used_percent_mean: f64,
    /// From submission to the first start on its own part, in seconds.
    pub separate_waiting_s: Spread,
    /// The same in the pool.
    pub pooled_waiting_s: Spread,
    /// From submission to end on its own part, in seconds.
    pub separate_completion_s: Spread,
    /// The same in the pool.
    pub pooled_completion_s: Spread,
}

/// Both ways side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sharing {
    /// What chance was drawn from.
    pub seed: u64,
    /// Days in which jobs came.
    pub days: u32,
    /// GPUs of all.
    pub gpus: usize,
    /// Jobs of all.
    pub jobs: usize,
    /// Jobs that never came to their end, either way.
    pub failed: usize,
    /// Each team on its own part.
    pub separate: Way,
    /// All in one pool.
    pub pooled: Way,
    /// Each team.
    pub teams: Vec<Team>,
}

/// Runs the teams' jobs of so many days both ways. `progress` hears how many have come, of all both ways together.
///
/// # Errors
/// Where the pool is none: never, as long as the workload writes what the reader reads.
pub fn compare(days: u32, seed: u64, progress: &mut dyn FnMut(usize)) -> Result<Sharing, FormatError> {
    let workload = teams::workload(days, seed);
    let refused = |what: String| FormatError::at("teams", 0, 0, what, "");
    let (site, _) = pool::formats::read("teams", workload.pool.as_bytes(), &Beside::default())?;
    let stock = Stock::of(&site.pool).map_err(|error| refused(error.to_string()))?;
    let arrivals = timed::arrivals(&workload.trace, &stock, &site.tenants)
        .map_err(|error| refused(error.to_string()))?;
    let config = || Config { seed, ..Config::default() };
    let mut idle = IdleHours::default();
    let pooled = timed::replay_on(&stock, &site.tenants, None, &arrivals, config(), progress, &mut idle);

    let mut done = arrivals.len();
    let mut parts = Vec::new();
    for (range, (name, _)) in teams::parts().into_iter().zip(TEAMS) {
        let tenant = site.tenants.named(name);
        let nodes: Vec<NodeIndex> = range.map(NodeIndex).collect();
        let own = stock.reordered(&nodes);
        let jobs = of_team(&arrivals, tenant);
        let outcome =
            timed::replay(&own, &Default::default(), &jobs, config(), &mut |come| progress(done + come));
        done += jobs.len();
        parts.push(Part { name, tenant, gpus: own.gpu_count(), jobs, outcome });
    }
    let failed = |outcome: &Outcome| outcome.failed().values().map(|(_, jobs)| *jobs).sum::<usize>();
    Ok(Sharing {
        seed,
        days,
        gpus: stock.gpu_count(),
        jobs: arrivals.len(),
        failed: failed(&pooled) + parts.iter().map(|part| failed(&part.outcome)).sum::<usize>(),
        separate: separate(&parts, stock.gpu_count()),
        teams: parts.iter().map(|part| part.beside(&pooled, &arrivals)).collect(),
        pooled: together(&pooled, idle.0, &arrivals),
    })
}

/// Why GPUs were idle while any job waited, in GPU hours.
#[derive(Default)]
struct IdleHours(Idle);

impl Watch for IdleHours {
    fn passes(&mut self, scheduler: &Scheduler, from_ms: u64, until_ms: u64) {
        if scheduler.waiting() > 0 && until_ms > from_ms {
            self.0.add(&scheduler.idle(), (until_ms - from_ms) as f64 / 3_600_000.0);
        }
    }
}

/// A team's part of the site, and how its jobs fared there.
struct Part {
    name: &'static str,
    tenant: Option<TenantIndex>,
    gpus: usize,
    jobs: Vec<Arrival>,
    outcome: Outcome,
}

fn of_team(arrivals: &[Arrival], tenant: Option<TenantIndex>) -> Vec<Arrival> {
    let own = arrivals.iter().filter(|arrival| arrival.job.tenant == tenant);
    own.map(|arrival| {
        let mut arrival = arrival.clone();
        arrival.job.tenant = None;
        arrival
    })
    .collect()
}

impl Part {
    fn beside(&self, pooled: &Outcome, arrivals: &[Arrival]) -> Team {
        let here = self.outcome.figures(|_| true);
        let there = pooled.figures(|at| arrivals[at].job.tenant == self.tenant);
        Team {
            team: self.name,
            gpus: self.gpus,
            jobs: self.jobs.len(),
            separate_gpu_used_percent_mean: self.outcome.gpu_used_percent_mean(),
            separate_waiting_s: here.waiting_s,
            pooled_waiting_s: there.waiting_s,
            separate_completion_s: here.completion_s,
            pooled_completion_s: there.completion_s,
        }
    }

    fn begun_s(&self) -> f64 {
        self.jobs.first().map_or(0.0, |arrival| arrival.at_ms as f64 / 1000.0)
    }

    fn over_s(&self) -> f64 {
        self.begun_s() + self.outcome.span_s
    }

    /// How it stood at a time.
    fn at(&self, at_s: f64) -> Option<&Moment> {
        let points = &self.outcome.course.points;
        let after = points.partition_point(|moment| moment.at_s + self.begun_s() <= at_s);
        points.get(after.checked_sub(1)?).filter(|_| at_s < self.over_s())
    }
}

/// The middle of each step until a time.
fn steps(until_s: f64) -> impl Iterator<Item = f64> {
    (0..(until_s / STEP_S).ceil() as u32).map(|step| (f64::from(step) + 0.5) * STEP_S)
}

fn separate(parts: &[Part], gpus: usize) -> Way {
    let begun_s = parts.iter().map(Part::begun_s).fold(f64::INFINITY, f64::min);
    let over_s = parts.iter().map(Part::over_s).fold(0.0, f64::max);
    let span_s = (over_s - begun_s).max(0.0);
    let of_all = |part: &Part| part.gpus as f64 / gpus as f64;
    let used = |part: &Part| part.outcome.gpu_used_percent_mean() * part.outcome.span_s * of_all(part);
    let (mut course, mut while_waiting) = (Vec::new(), Vec::new());
    for at_s in steps(over_s) {
        let moments: Vec<_> = parts.iter().filter_map(|part| Some((of_all(part), part.at(at_s)?))).collect();
        let used = moments.iter().map(|(of_all, moment)| of_all * moment.gpu_used_percent).sum();
        course.push(used);
        if moments.iter().any(|(_, moment)| moment.waiting > 0) {
            while_waiting.push(used);
        }
    }
    let waits = parts.iter().flat_map(|part| {
        (0..part.jobs.len()).filter_map(|at| part.outcome.waited_ms(at)).map(|ms| ms as f64 / 1000.0)
    });
    Way {
        gpu_used_percent_mean: parts.iter().map(used).sum::<f64>() / span_s.max(1.0),
        gpu_used_percent_while_waiting: (!while_waiting.is_empty())
            .then(|| while_waiting.iter().sum::<f64>() / while_waiting.len() as f64),
        idle_while_waiting_gpu_h: None,
        waiting_s: Spread::of(waits.collect()),
        preemptions: parts.iter().map(|part| part.outcome.preemptions()).sum(),
        migrated: parts.iter().map(|part| part.outcome.migrated).sum(),
        lost_gpu_h: parts.iter().map(|part| part.outcome.stop_cost_gpu_s).sum::<f64>() / 3600.0,
        span_s,
        course,
    }
}

fn together(pooled: &Outcome, idle: Idle, arrivals: &[Arrival]) -> Way {
    let begun_s = arrivals.first().map_or(0.0, |arrival| arrival.at_ms as f64 / 1000.0);
    let points = &pooled.course.points;
    let used = |at_s: f64| {
        let after = points.partition_point(|moment| moment.at_s + begun_s <= at_s);
        after.checked_sub(1).and_then(|at| points.get(at)).map_or(0.0, |moment| moment.gpu_used_percent)
    };
    Way {
        gpu_used_percent_mean: pooled.gpu_used_percent_mean(),
        gpu_used_percent_while_waiting: pooled.gpu_used_percent_while_waiting(),
        idle_while_waiting_gpu_h: Some(idle),
        waiting_s: pooled.figures(|_| true).waiting_s,
        preemptions: pooled.preemptions(),
        migrated: pooled.migrated,
        lost_gpu_h: pooled.stop_cost_gpu_s / 3600.0,
        span_s: pooled.span_s,
        course: steps(begun_s + pooled.span_s).map(used).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_jobs_wait_less_in_one_pool() {
        let sharing = compare(28, 7, &mut |_| {}).unwrap();
        assert_eq!((sharing.gpus, sharing.failed), (96, 0));
        assert_eq!(sharing.teams.iter().map(|team| team.jobs).sum::<usize>(), sharing.jobs);
        assert!(sharing.pooled.waiting_s.mean < sharing.separate.waiting_s.mean / 2.0, "{sharing:?}");
        // The same work is done; what is stopped costs some, and elastic jobs have more room.
        let work = |way: &Way| way.gpu_used_percent_mean * way.span_s;
        let ratio = work(&sharing.pooled) / work(&sharing.separate);
        assert!((0.98..1.1).contains(&ratio), "{ratio}");
        assert_eq!(compare(28, 7, &mut |_| {}).unwrap(), sharing);
    }
}
