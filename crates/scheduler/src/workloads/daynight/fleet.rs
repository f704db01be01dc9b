//! Inference services in a pool as their planner wants them, and what of their load was served.

use std::collections::{BTreeMap, BTreeSet};

use pool::Stock;
use pool::stock::{Demand, ModelSet, WHOLE_GPU};

use super::loads::{HISTORY_DAYS, STEP_S, STEPS_A_DAY, Service};
use super::planner::{Plan, Planner};
use crate::job::{Job, JobIndex, Refusal, Work};
use crate::schedule::{Decision, GroupIndex, Scheduler};
use crate::simulate::Outside;

/// Replicas come before all training.
const PRIORITY: i32 = 100;

/// From its start until it serves, a replica takes so long: it loads its weights.
pub const START_UP_MS: u64 = 180_000;

/// A step is within its objective if so much of its load, in per cent, found a replica that was not above its rated load: an
/// objective for the 99th percentile of latency, as is usual.
pub const PEAK_PERCENT: f64 = 99.0;

const STEP_MS: u64 = STEP_S as u64 * 1000;

/// What part of a GPU-hour a millisecond is.
const HOURS: f64 = 1.0 / 3_600_000.0;

/// How a service fared.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Served {
    /// Load times time, in replica-hours.
    pub load_h: f64,
    /// Of that what no replica was there for.
    pub late_h: f64,
    /// The highest step of each day.
    pub peaks: Vec<Peak>,
    /// Steps in which at some time there were too few replicas.
    pub steps_short: usize,
    /// Steps in which less than [`PEAK_PERCENT`] of the load found a replica.
    pub steps_missed: usize,
}

/// The highest step of a day.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Peak {
    /// Its load.
    pub load: f64,
    /// The part of it, from 0 to 1, that no replica was there for.
    pub late: f64,
}

impl Peak {
    /// Whether less than [`PEAK_PERCENT`] of the load found a replica.
    pub fn missed(self) -> bool {
        self.late * 100.0 > 100.0 - PEAK_PERCENT
    }
}

/// GPU-hours of services.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
    /// Held by replicas.
    pub held_gpu_h: f64,
    /// Held by replicas that the load needed, whole ones.
    pub needed_gpu_h: f64,
    /// Allocated to anybody.
    pub allocated_gpu_h: f64,
    /// Idle in the lead time before a turn that gives services more.
    pub idle_before_turns_gpu_h: f64,
}

struct Replica {
    service: usize,
    serves: bool,
}

/// The services in the pool.
pub struct Fleet<'a> {
    services: &'a [Service],
    planner: Planner,
    lead: &'a dyn Fn(u64) -> bool,
    groups: Vec<GroupIndex>,
    /// Of each group, how many members are known.
    known: Vec<usize>,
    of: BTreeMap<JobIndex, usize>,
    running: BTreeMap<JobIndex, Replica>,
    starting: BTreeSet<(u64, JobIndex)>,
    serving: Vec<u32>,
    holding: Vec<u32>,
    /// The step that comes next, counted from the beginning of the history.
    step: usize,
    over: usize,
    draining: bool,
    /// Of each service, load times time that was late in this step, in replica-hours.
    late_h: Vec<f64>,
    /// How each service fared.
    pub served: Vec<Served>,
    /// GPU-hours.
    pub spent: Spent,
    /// What was planned at each step.
    pub plans: Vec<Plan>,
}

/// A replica of a service as a job.
fn replica(service: &Service) -> Job {
    let demand = Demand {
        cpu_milli: u32::from(service.gpus) * 8000,
        memory_mib: u32::from(service.gpus) * 131_072,
        gpus: service.gpus,
        gpu_milli: WHOLE_GPU,
        models: ModelSet::ANY,
        ..Demand::default()
    };
    Job { work: Work::Service, priority: PRIORITY, ..Job::new(&service.name, demand) }
}

/// What replicas want, a demand a service.
pub fn demands(services: &[Service]) -> Vec<Demand> {
    services.iter().map(|service| replica(service).demand).collect()
}

impl<'a> Fleet<'a> {
    /// Services with their first replicas submitted at the time 0; the planner has heard their history. `lead` says whether
    /// the calendar drains for services at a time.
    ///
    /// # Errors
    /// Where a replica fits on no node.
    pub fn new(
        services: &'a [Service],
        mut planner: Planner,
        lead: &'a dyn Fn(u64) -> bool,
        scheduler: &mut Scheduler,
        days: u32,
    ) -> Result<Self, Refusal> {
        let first = HISTORY_DAYS as usize * STEPS_A_DAY;
        let mut plan = Plan { replicas: vec![0; services.len()], foreseen_gpus: 0.0 };
        for step in 0..first {
            plan = planner.step(services.iter().map(|service| service.load[step]));
        }
        let groups = services.iter().zip(&plan.replicas);
        let groups =
            groups.map(|(service, &replicas)| scheduler.submit_service(replica(service), replicas, 0));
        let mut fleet = Self {
            services,
            planner,
            lead,
            groups: groups.collect::<Result<_, _>>()?,
            known: vec![0; services.len()],
            of: BTreeMap::new(),
            running: BTreeMap::new(),
            starting: BTreeSet::new(),
            serving: vec![0; services.len()],
            holding: vec![0; services.len()],
            step: first,
            over: first + days as usize * STEPS_A_DAY,
            draining: false,
            late_h: vec![0.0; services.len()],
            served: vec![Served::default(); services.len()],
            spent: Spent::default(),
            plans: vec![plan],
        };
        fleet.know(scheduler);
        Ok(fleet)
    }

    fn first(&self) -> usize {
        HISTORY_DAYS as usize * STEPS_A_DAY
    }

    /// When a step begins.
    fn begins_ms(&self, step: usize) -> u64 {
        (step - self.first()) as u64 * STEP_MS
    }

    /// Learns the numbers of replicas that were submitted.
    fn know(&mut self, scheduler: &Scheduler) {
        for (service, &group) in self.groups.iter().enumerate() {
            let members = scheduler.members(group).unwrap_or_default();
            for &job in &members[self.known[service]..] {
                self.of.insert(job, service);
            }
            self.known[service] = members.len();
        }
    }

    fn serve(&mut self, now_ms: u64) {
        while let Some(&(at_ms, job)) = self.starting.first().filter(|(at_ms, _)| *at_ms <= now_ms) {
            self.starting.remove(&(at_ms, job));
            if let Some(replica) = self.running.get_mut(&job) {
                replica.serves = true;
                self.serving[replica.service] += 1;
            }
        }
    }

    /// One step is over, the next begins.
    fn turn(&mut self, scheduler: &mut Scheduler, now_ms: u64) {
        if self.step > self.first() {
            self.judge(self.step - 1);
            let last = self.step - 1;
            let plan = self.planner.step(self.services.iter().map(|service| service.load[last]));
            for (service, &replicas) in plan.replicas.iter().enumerate() {
                if self.plans.last().is_some_and(|before| before.replicas[service] == replicas) {
                    continue;
                }
                // The group is there: it was made at the beginning.
                let gone = scheduler.scale(self.groups[service], replicas, now_ms).unwrap_or_default();
                for job in gone {
                    let Some(replica) = self.running.remove(&job) else { continue };
                    self.holding[service] -= 1;
                    self.serving[service] -= u32::from(replica.serves);
                    self.starting.retain(|&(_, other)| other != job);
                }
            }
            self.know(scheduler);
            self.plans.push(plan);
        }
        if let Some(plan) = self.plans.last() {
            scheduler.foresee_services((plan.foreseen_gpus * 1000.0) as u64);
        }
        self.draining = (self.lead)(now_ms);
        self.step += 1;
    }

    /// All is over: the last step counts too.
    pub fn finish(&mut self) {
        self.judge(self.step - 1);
    }

    /// Counts what was seen in a step.
    fn judge(&mut self, step: usize) {
        let day = (step - self.first()) / STEPS_A_DAY;
        let step_h = STEP_MS as f64 * HOURS;
        for (service, served) in self.served.iter_mut().enumerate() {
            let load = self.services[service].load[step];
            let late_h = std::mem::take(&mut self.late_h[service]);
            let peak = Peak { load, late: late_h / (load * step_h).max(f64::MIN_POSITIVE) };
            served.steps_short += usize::from(late_h > 0.0);
            served.steps_missed += usize::from(peak.missed());
            served.peaks.resize(day + 1, Peak::default());
            if load > served.peaks[day].load {
                served.peaks[day] = peak;
            }
        }
    }
}

impl Outside for Fleet<'_> {
    fn next_ms(&self) -> Option<u64> {
        let turn = self.begins_ms(self.step);
        Some(self.starting.first().map_or(turn, |&(at_ms, _)| at_ms.min(turn)))
    }

    fn over_ms(&self) -> Option<u64> {
        Some(self.begins_ms(self.over))
    }

    fn act(&mut self, scheduler: &mut Scheduler, now_ms: u64) {
        self.serve(now_ms);
        if self.begins_ms(self.step) <= now_ms {
            self.turn(scheduler, now_ms);
        }
    }

    fn decided(&mut self, decision: &Decision, now_ms: u64) {
        if let Decision::Start { job, .. } = decision
            && let Some(&service) = self.of.get(job)
        {
            // What is there at the beginning serves already.
            let serves = now_ms == 0;
            self.running.insert(*job, Replica { service, serves });
            self.holding[service] += 1;
            if serves {
                self.serving[service] += 1;
            } else {
                self.starting.insert((now_ms + START_UP_MS, *job));
            }
        }
    }

    fn pass(&mut self, scheduler: &Scheduler, from_ms: u64, until_ms: u64) {
        let hours = (until_ms - from_ms) as f64 * HOURS;
        if hours == 0.0 {
            return;
        }
        let step = self.step - 1;
        for (at, service) in self.services.iter().enumerate() {
            let (load, serving) = (service.load[step], f64::from(self.serving[at]));
            let gpus = f64::from(service.gpus);
            self.served[at].load_h += load * hours;
            let late_h = (load - serving).max(0.0) * hours;
            self.served[at].late_h += late_h;
            self.late_h[at] += late_h;
            self.spent.held_gpu_h += f64::from(self.holding[at]) * gpus * hours;
            self.spent.needed_gpu_h += load.ceil().min(serving) * gpus * hours;
        }
        let stock: &Stock = scheduler.stock();
        self.spent.allocated_gpu_h += stock.gpu_taken_total_milli() as f64 / 1000.0 * hours;
        if self.draining {
            self.spent.idle_before_turns_gpu_h += stock.gpu_free_total_milli() as f64 / 1000.0 * hours;
        }
    }
}
