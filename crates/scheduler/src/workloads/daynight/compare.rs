//! The same loads and jobs on fixed parts, and in one pool with replicas by several rules.

use pool::calendar::Calendar;
use pool::formats::Beside;
use pool::tenants::Tenants;
use pool::{FormatError, NodeIndex, Stock};
use serde::Serialize;

use super::fleet::{self, Fleet, Peak, Served, Spent};
use super::loads::{self, STEPS_A_DAY, Service};
use super::planner::{Planner, Rule};
use super::{EPOCH_S, GPUS_A_NODE, workload};
use crate::job::Refusal;
use crate::replay::timed;
use crate::schedule::{Config, Scheduler};
use crate::simulate::{Arrival, Moment, Nobody, Outcome, Spread, simulate_beside};

/// A service keeps its objective if so much of its load, in per cent, found a replica that was not above its rated load.
pub const OBJECTIVE_PERCENT: f64 = 99.9;

/// What a usual autoscaler adds to the last load: it aims at replicas in use by 80 per cent.
const USUAL_MARGIN: f64 = 0.25;

/// What services got.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Inference {
    /// GPU-hours held by replicas.
    pub held_gpu_h: f64,
    /// GPU-hours of those that the load needed.
    pub needed_gpu_h: f64,
    /// GPU-hours held beyond that: freed too early or too many.
    pub headroom_gpu_h: f64,
    /// GPU-hours idle in the lead time before turns that give services more.
    pub idle_before_turns_gpu_h: f64,
    /// Load that found a replica, in per cent of all.
    pub served_percent: f64,
    /// The same of the service that has least.
    pub worst_service_served_percent: f64,
    /// Services of which at least [`OBJECTIVE_PERCENT`] was served.
    pub services_within_objective: usize,
    /// Steps of 5 minutes, a service each, in which at some time there were too few replicas, in per cent.
    pub steps_short_percent: f64,
    /// Steps in which less than [`PEAK_PERCENT`](super::fleet::PEAK_PERCENT) of the load found a replica, in per cent.
    pub steps_missed_percent: f64,
    /// The highest step of each day and service.
    pub peaks: usize,
    /// Those of them in which at some time there were too few replicas.
    pub peaks_short: usize,
    /// Those of them in which less than [`PEAK_PERCENT`](super::fleet::PEAK_PERCENT) of the load found a replica.
    pub peaks_missed: usize,
}

/// What training got.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Training {
    /// GPU-hours held.
    pub held_gpu_h: f64,
    /// GPU-hours of work that stopping threw away.
    pub lost_gpu_h: f64,
    /// How often a job was stopped.
    pub preemptions: u64,
    /// Jobs that came to their end.
    pub ended: usize,
    /// From submission to the first start of those, in seconds.
    pub waiting_s: Spread,
}

/// How a way of sharing fared.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Way {
    /// What it is called.
    pub way: &'static str,
    /// GPUs that are for inference alone; 0 in a pool.
    pub inference_gpus: usize,
    /// GPUs allocated, in per cent of all.
    pub gpu_allocated_percent: f64,
    /// GPUs that training or a needed replica held, in per cent of all: without the headroom of services.
    pub gpu_used_percent: f64,
    /// The same without the work that stopping threw away.
    pub gpu_worked_percent: f64,
    /// What services got.
    pub inference: Inference,
    /// What training got.
    pub training: Training,
    /// GPUs allocated, in per cent of all, over the time.
    #[serde(skip)]
    pub course: Vec<(f64, f64)>,
}

/// All ways side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DayNight {
    /// What chance was drawn from.
    pub seed: u64,
    /// Days of the study.
    pub days: u32,
    /// GPUs of all.
    pub gpus: usize,
    /// Services.
    pub services: usize,
    /// Training jobs.
    pub jobs: usize,
    /// The percentile of demand that replicas are there for, in per cent.
    pub percentile: f64,
    /// Fixed parts first, the forecast last.
    pub ways: Vec<Way>,
}

/// The site as it was made.
struct Site {
    stock: Stock,
    calendar: Option<Calendar>,
    services: Vec<Service>,
    arrivals: Vec<Arrival>,
    days: u32,
    seed: u64,
}

/// Runs so many days every way; the forecast's replicas are there for a share `level` (0 to 1) of what may come. `progress`
/// hears how many training jobs have come, of all ways together.
///
/// # Errors
/// Where the pool is none: never, as long as the workload writes what the reader reads.
pub fn compare(
    days: u32,
    seed: u64,
    level: f64,
    progress: &mut dyn FnMut(usize),
) -> Result<DayNight, FormatError> {
    let refused = |what: String| FormatError::at("day-night", 0, 0, what, "");
    let workload = workload(days, seed);
    let (read, _) = pool::formats::read("day-night", workload.pool.as_bytes(), &Beside::default())?;
    let stock = Stock::of(&read.pool).map_err(|error| refused(error.to_string()))?;
    let arrivals = timed::arrivals(&workload.trace, &stock, &read.tenants)
        .map_err(|error| refused(error.to_string()))?;
    let services = loads::services(days, seed);
    let site = Site { stock, calendar: read.calendar, services, arrivals, days, seed };
    let rules = [
        ("pool, last load", Rule::Last { margin: 0.0 }),
        ("pool, last load and a quarter", Rule::Last { margin: USUAL_MARGIN }),
        ("pool, forecast", Rule::Forecast { level }),
    ];
    let mut done = 0;
    let mut ways = vec![site.apart(progress)];
    for (name, rule) in rules {
        done += site.arrivals.len();
        let way = site.pooled(name, rule, &mut |come| progress(done + come));
        ways.push(way.map_err(|error| refused(error.to_string()))?);
    }
    Ok(DayNight {
        seed,
        days,
        gpus: site.stock.gpu_count(),
        services: site.services.len(),
        jobs: site.arrivals.len(),
        percentile: level * 100.0,
        ways,
    })
}

/// What the services of a way had, and how training fared.
struct Fared<'a> {
    services: (&'a [Served], Spent),
    training: &'a Outcome,
    /// GPU-hours that training held.
    training_gpu_h: f64,
    course: Vec<(f64, f64)>,
}

impl Site {
    fn hours(&self) -> f64 {
        f64::from(self.days) * 24.0
    }

    fn config(&self) -> Config {
        // Moves are not sought here: with thousands of jobs in the queue, seeking them takes most of the time.
        Config { seed: self.seed, migrate: false, ..Config::default() }
    }

    fn planner(&self, rule: Rule) -> Planner {
        Planner::new(rule, &self.services)
    }

    /// Whether the calendar drains for services at a time.
    fn drains(&self, now_ms: u64) -> bool {
        let now = EPOCH_S + (now_ms / 1000) as i64;
        let turn = self.calendar.as_ref().and_then(|calendar| calendar.next_turn(now));
        turn.is_some_and(|turn| turn.drain_from <= now && turn.after_percent > turn.before_percent)
    }

    /// All in one pool.
    fn pooled(
        &self,
        name: &'static str,
        rule: Rule,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Way, Refusal> {
        let of_services = fleet::demands(&self.services);
        let mix = self.arrivals.iter().map(|arrival| &arrival.job.demand).chain(&of_services);
        let mut scheduler = Scheduler::new(self.config(), self.stock.clone(), Tenants::default(), mix);
        if let Some(calendar) = &self.calendar {
            scheduler = scheduler.with_calendar(calendar.clone(), EPOCH_S);
        }
        let drains = |now_ms| self.drains(now_ms);
        let mut fleet = Fleet::new(&self.services, self.planner(rule), &drains, &mut scheduler, self.days)?;
        let (training, _) = simulate_beside(scheduler, &self.arrivals, &mut fleet, progress);
        fleet.finish();
        Ok(self.way(
            name,
            0,
            &Fared {
                services: (&fleet.served, fleet.spent),
                training_gpu_h: fleet.spent.allocated_gpu_h - fleet.spent.held_gpu_h,
                course: course(&training.course.points, 1.0),
                training: &training,
            },
        ))
    }

    /// Inference on a part that suffices for the peak of each service, as if the peaks had been known, and training on the
    /// rest. Replicas of different sizes are on nodes of their own, so all have room.
    fn apart(&self, progress: &mut dyn FnMut(usize)) -> Way {
        let from = (loads::HISTORY_DAYS as usize) * STEPS_A_DAY;
        let all: Vec<NodeIndex> = self.stock.nodes().collect();
        let (mut nodes, mut spent) = (0_usize, Spent::default());
        let mut served = Vec::new();
        for &(kind, ..) in &loads::KINDS {
            let of_kind = || self.services.iter().filter(|service| service.gpus == kind);
            let peak = |service: &Service| service.load[from..].iter().copied().fold(0.0, f64::max).ceil();
            let replicas = of_kind().map(peak).sum::<f64>();
            nodes += (replicas * f64::from(kind) / f64::from(GPUS_A_NODE)).ceil() as usize;
            spent.held_gpu_h += replicas * f64::from(kind) * self.hours();
            for service in of_kind() {
                let load = &service.load[from..];
                let steps = |of: fn(f64) -> f64| load.iter().map(|&load| of(load)).sum::<f64>();
                let step_h = f64::from(loads::STEP_S) / 3600.0;
                spent.needed_gpu_h += steps(f64::ceil) * f64::from(kind) * step_h;
                let peak = |day: &[f64]| Peak { load: day.iter().copied().fold(0.0, f64::max), late: 0.0 };
                let peaks = load.chunks(STEPS_A_DAY).map(peak).collect();
                served.push(Served { load_h: steps(|load| load) * step_h, peaks, ..Served::default() });
            }
        }
        let nodes = nodes.min(all.len());
        let training = self.stock.reordered(&all[nodes..]);
        let part = training.gpu_count() as f64;
        let mix = self.arrivals.iter().map(|arrival| &arrival.job.demand);
        let scheduler = Scheduler::new(self.config(), training, Tenants::default(), mix);
        let mut until = Nobody { over_ms: Some(u64::from(self.days) * 86_400_000) };
        let (outcome, _) = simulate_beside(scheduler, &self.arrivals, &mut until, progress);
        let training_gpu_h = outcome.gpu_used_percent_mean() / 100.0 * part * outcome.span_s / 3600.0;
        let gpus = self.stock.gpu_count() as f64;
        let always = spent.held_gpu_h / self.hours() / gpus * 100.0;
        let points = course(&outcome.course.points, part / gpus);
        let fared = Fared {
            services: (&served, spent),
            training_gpu_h,
            course: points.into_iter().map(|(at_s, percent)| (at_s, percent + always)).collect(),
            training: &outcome,
        };
        self.way("fixed parts", nodes * usize::from(GPUS_A_NODE), &fared)
    }

    fn way(&self, way: &'static str, inference_gpus: usize, fared: &Fared<'_>) -> Way {
        let (served, spent) = fared.services;
        let all_gpu_h = self.stock.gpu_count() as f64 * self.hours();
        let percent = |gpu_h: f64| gpu_h * 100.0 / all_gpu_h.max(f64::MIN_POSITIVE);
        let lost_gpu_h = fared.training.stop_cost_gpu_s / 3600.0;
        let used_gpu_h = fared.training_gpu_h + spent.needed_gpu_h;
        let figures = fared.training.figures(|_| true);
        Way {
            way,
            inference_gpus,
            gpu_allocated_percent: percent(fared.training_gpu_h + spent.held_gpu_h),
            gpu_used_percent: percent(used_gpu_h),
            gpu_worked_percent: percent(used_gpu_h - lost_gpu_h),
            inference: inference(served, spent, self.days),
            training: Training {
                held_gpu_h: fared.training_gpu_h,
                lost_gpu_h,
                preemptions: fared.training.preemptions(),
                ended: figures.ended,
                waiting_s: figures.waiting_s,
            },
            course: fared.course.clone(),
        }
    }
}

fn course(points: &[Moment], part: f64) -> Vec<(f64, f64)> {
    points.iter().map(|moment| (moment.at_s, moment.gpu_used_percent * part)).collect()
}

fn inference(served: &[Served], spent: Spent, days: u32) -> Inference {
    let percent = |late_h: f64, load_h: f64| 100.0 - late_h * 100.0 / load_h.max(f64::MIN_POSITIVE);
    let of = |served: &Served| percent(served.late_h, served.load_h);
    let sum = |part: fn(&Served) -> f64| served.iter().map(part).sum::<f64>();
    let peaks = || served.iter().flat_map(|served| &served.peaks);
    let steps = served.len() * days as usize * STEPS_A_DAY;
    let short: usize = served.iter().map(|served| served.steps_short).sum();
    let missed: usize = served.iter().map(|served| served.steps_missed).sum();
    Inference {
        held_gpu_h: spent.held_gpu_h,
        needed_gpu_h: spent.needed_gpu_h,
        headroom_gpu_h: spent.held_gpu_h - spent.needed_gpu_h,
        idle_before_turns_gpu_h: spent.idle_before_turns_gpu_h,
        served_percent: percent(sum(|served| served.late_h), sum(|served| served.load_h)),
        worst_service_served_percent: served.iter().map(of).fold(100.0, f64::min),
        services_within_objective: served.iter().filter(|served| of(served) >= OBJECTIVE_PERCENT).count(),
        steps_short_percent: short as f64 * 100.0 / steps.max(1) as f64,
        steps_missed_percent: missed as f64 * 100.0 / steps.max(1) as f64,
        peaks: peaks().count(),
        peaks_short: peaks().filter(|peak| peak.late > 0.0).count(),
        peaks_missed: peaks().filter(|peak| peak.missed()).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_does_more_work_and_a_forecast_serves_its_load() {
        let study = compare(3, 2, 0.999, &mut |_| {}).unwrap();
        let [apart, last, _, forecast] = &study.ways[..] else { panic!("{study:?}") };
        assert_eq!(apart.inference.peaks, study.services * 3);
        assert_eq!((apart.inference.peaks_short, apart.inference.served_percent), (0, 100.0));
        assert!(forecast.gpu_worked_percent > apart.gpu_worked_percent + 20.0, "{study:?}");
        assert!(forecast.inference.peaks_missed * 10 < last.inference.peaks_missed, "{study:?}");
        assert!(forecast.inference.served_percent > last.inference.served_percent, "{study:?}");
        assert!(last.inference.headroom_gpu_h < forecast.inference.headroom_gpu_h, "{study:?}");
        for way in &study.ways {
            assert!(way.gpu_worked_percent <= way.gpu_used_percent, "{way:?}");
            assert!(way.gpu_used_percent <= way.gpu_allocated_percent && way.gpu_allocated_percent <= 100.0);
        }
        assert_eq!(compare(3, 2, 0.999, &mut |_| {}).unwrap(), study);
    }
}
