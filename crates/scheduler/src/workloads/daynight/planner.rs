//! How many replicas each service should have, from what was seen of its load so far.
//!
//! A [`Planner`] hears the load of a step once the step is over, and then says how many replicas there should be: enough for
//! the last load and, where it forecasts, for a percentile of every step up to [`HORIZON_STEPS`] on. So what is asked for now
//! has room and has started by the time that it is for. It looks at nothing but what it heard.

use std::collections::VecDeque;

use super::loads::{STEP_S, Service};
use crate::forecast::Forecaster;

/// How far ahead services are forecast, in steps after the last load: of the last of these there is as much time left as
/// stopping others and starting a replica take.
pub const HORIZON_STEPS: usize = 3;

/// How far ahead all services together are forecast, in steps: the lead time before a turn of the calendar and the above.
pub const TURN_HORIZON_STEPS: usize = 9;

/// How the number of replicas is found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// As many as the last load wants, and so much more as a part of it.
    Last {
        /// The part.
        margin: f64,
    },
    /// A percentile of what is forecast.
    Forecast {
        /// From 0 to 1.
        level: f64,
    },
}

/// What to have.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Replicas of each service.
    pub replicas: Vec<u32>,
    /// GPUs that all will want by the next turn of the calendar.
    pub foreseen_gpus: f64,
}

#[derive(Clone, Debug)]
struct Ahead {
    forecaster: Forecaster,
    /// What was said of the steps from the next on.
    said: VecDeque<f64>,
}

impl Ahead {
    fn new(horizon: usize) -> Option<Self> {
        // Steps divide a day, and the horizon is whole steps.
        let forecaster = Forecaster::new(STEP_S, horizon as u32 * STEP_S).ok()?;
        Some(Self { forecaster, said: VecDeque::new() })
    }

    /// Takes the load of a step; the most that is to come within the horizon, at this level.
    fn push(&mut self, load: f64, level: f64) -> f64 {
        self.forecaster.push(load);
        self.said.push_back(self.forecaster.percentile(level).unwrap_or(load));
        if self.said.len() > self.forecaster.horizon_steps() {
            self.said.pop_front();
        }
        self.said.iter().copied().fold(load, f64::max)
    }
}

/// Finds the number of replicas.
#[derive(Clone, Debug)]
pub struct Planner {
    rule: Rule,
    gpus: Vec<u16>,
    ahead: Vec<Ahead>,
    together: Option<Ahead>,
}

impl Planner {
    /// For these services, of whose load nothing is known yet.
    pub fn new(rule: Rule, services: &[Service]) -> Self {
        let forecasts = matches!(rule, Rule::Forecast { .. });
        Self {
            rule,
            gpus: services.iter().map(|service| service.gpus).collect(),
            ahead: services.iter().filter(|_| forecasts).filter_map(|_| Ahead::new(HORIZON_STEPS)).collect(),
            together: if forecasts { Ahead::new(TURN_HORIZON_STEPS) } else { None },
        }
    }

    /// A step is over, with this load of each service: what to have now.
    pub fn step(&mut self, load: impl Iterator<Item = f64>) -> Plan {
        let loads: Vec<f64> = load.collect();
        let wanted: Vec<f64> = match self.rule {
            Rule::Last { margin } => loads.iter().map(|load| load * (1.0 + margin)).collect(),
            Rule::Forecast { level } => {
                self.ahead.iter_mut().zip(&loads).map(|(ahead, &load)| ahead.push(load, level)).collect()
            }
        };
        let gpus =
            |of: &[f64]| of.iter().zip(&self.gpus).map(|(load, &gpus)| load.ceil() * f64::from(gpus)).sum();
        let foreseen_gpus = match (self.rule, &mut self.together) {
            (Rule::Forecast { level }, Some(ahead)) => ahead.push(gpus(&loads), level).max(gpus(&wanted)),
            _ => gpus(&wanted),
        };
        Plan { replicas: wanted.iter().map(|wanted| wanted.ceil() as u32).collect(), foreseen_gpus }
    }
}

#[cfg(test)]
mod tests {
    use super::super::loads::{STEPS_A_DAY, services};
    use super::*;

    fn plans(services: &[Service], rule: Rule, steps: usize) -> Vec<Plan> {
        let mut planner = Planner::new(rule, services);
        (0..steps).map(|step| planner.step(services.iter().map(|service| service.load[step]))).collect()
    }

    #[test]
    fn no_plan_knows_what_comes_after_it() {
        let mut services = services(0, 4);
        services.truncate(3);
        let (cut, steps) = (12 * STEPS_A_DAY + 100, 13 * STEPS_A_DAY);
        let mut other = services.clone();
        for service in &mut other {
            service.load[cut..].iter_mut().for_each(|load| *load = *load * 3.0 + 1.0);
        }
        for rule in [Rule::Last { margin: 0.2 }, Rule::Forecast { level: 0.95 }] {
            let (one, two) = (plans(&services, rule, steps), plans(&other, rule, steps));
            assert_eq!(one[..cut], two[..cut]);
            assert_ne!(one[cut..], two[cut..]);
        }
    }

    #[test]
    fn a_forecast_has_the_replicas_before_the_load_comes() {
        let services = &services(0, 4)[..2];
        let steps = 42 * STEPS_A_DAY;
        let short = |rule: Rule| {
            let plans = plans(services, rule, steps);
            let late = (21 * STEPS_A_DAY..steps - 1).filter(|&step| {
                (0..services.len())
                    .any(|at| f64::from(plans[step].replicas[at]) < services[at].load[step + 1])
            });
            late.count()
        };
        let (last, forecast) = (short(Rule::Last { margin: 0.0 }), short(Rule::Forecast { level: 0.95 }));
        assert!(forecast * 4 < last, "{forecast} {last}");
    }
}
