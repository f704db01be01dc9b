//! The load of inference services over weeks: they follow the office hours, each in its own way.
//!
//! Load is counted in replicas: a load of 7.3 is as many requests as 7.3 replicas answer within their objective at their rated
//! load. Each step has the highest load in it. A service's load is a product:
//!
//! - its peak at the beginning: that of its kind in [`KINDS`], times 0.7 to 1.3, each as likely;
//! - the course of a weekday, [`WEEKDAY`], up to an hour earlier or later by the service; on weekends [`WEEKEND`] of it;
//! - growth, a normal deviate of 1 per cent a week around 1 per cent a week;
//! - noise: normal in the logarithm, with a deviation of 0.06 that half lasts for 40 minutes, and of 0.02 that is new at every
//!   step;
//! - surges: each service has one in 4 days on average, at any time. Load rises within 30 minutes by a part that is
//!   exponential with a mean of 0.15 (0.5 at most), stays for an hour on average, and falls within 30 minutes.

use crate::random::Chance;

/// Seconds of a step.
pub const STEP_S: u32 = 300;

/// Weeks of load before the study begins: what a forecast can learn from.
pub const HISTORY_DAYS: u32 = 42;

/// Steps of a day.
pub const STEPS_A_DAY: usize = 86_400 / STEP_S as usize;

/// Kinds of services: GPUs of a replica, GPUs that one takes at its peak in the mean, and how many there are.
pub const KINDS: [(u16, f64, u32); 4] = [(1, 24.0, 12), (2, 48.0, 6), (4, 80.0, 4), (8, 144.0, 2)];

/// The course of a weekday: hour, and load as a part of the peak; straight in between.
pub const WEEKDAY: [(f64, f64); 16] = [
    (0.0, 0.20),
    (5.0, 0.14),
    (7.0, 0.22),
    (8.0, 0.40),
    (9.0, 0.72),
    (10.0, 0.95),
    (11.0, 1.00),
    (12.0, 0.90),
    (13.0, 0.86),
    (14.0, 0.95),
    (15.0, 1.00),
    (16.5, 0.95),
    (18.0, 0.65),
    (19.5, 0.42),
    (21.5, 0.32),
    (24.0, 0.20),
];

/// Load on Saturdays and Sundays, as a part of that on weekdays.
pub const WEEKEND: f64 = 0.4;

const GROWTH_A_WEEK: f64 = 0.01;
const SLOW_NOISE: f64 = 0.06;
const SLOW_HALF_S: f64 = 2400.0;
const FAST_NOISE: f64 = 0.02;
const SURGE_GAP_S: f64 = 4.0 * 86_400.0;
const SURGE_HEIGHT: f64 = 0.15;
const MOST_SURGE: f64 = 0.5;
const SURGE_RISE_S: f64 = 1800.0;
const SURGE_STAY_S: f64 = 3600.0;

/// A service and its load.
#[derive(Clone, PartialEq, Debug)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// GPUs of a replica.
    pub gpus: u16,
    /// Its load in replicas, a value a step, the history first. Monday 00:00 is the first.
    pub load: Vec<f64>,
}

/// The load of all services over so many days after the history.
pub fn services(days: u32, seed: u64) -> Vec<Service> {
    let steps = (HISTORY_DAYS + days) as usize * STEPS_A_DAY;
    let kinds = KINDS.iter().flat_map(|&kind| (0..kind.2).map(move |_| kind));
    kinds
        .enumerate()
        .map(|(number, (gpus, peak_gpus, _))| {
            // Each service has its own chance, so that no service's draws move another's.
            let own = seed.wrapping_mul(1000).wrapping_add(2 * number as u64 + 1);
            let (mut chance, mut of_surges) = (Chance::new(own), Chance::new(own.wrapping_add(1)));
            let peak = peak_gpus / f64::from(gpus) * (0.7 + 0.6 * chance.part());
            let surges = surges(steps, &mut of_surges);
            Service {
                name: format!("service-{:02}", number + 1),
                gpus,
                load: course(peak, &surges, &mut chance),
            }
        })
        .collect()
}

fn course(peak: f64, surges: &[f64], chance: &mut Chance) -> Vec<f64> {
    let shift_h = 2.0 * chance.part() - 1.0;
    let growth = GROWTH_A_WEEK * (1.0 + chance.deviate());
    let stays = 0.5_f64.powf(f64::from(STEP_S) / SLOW_HALF_S);
    let fresh = SLOW_NOISE * (1.0 - stays * stays).sqrt();
    let mut slow = SLOW_NOISE * chance.deviate();
    let steps = surges.iter().enumerate();
    steps
        .map(|(step, surge)| {
            slow = stays * slow + fresh * chance.deviate();
            let hours = step as f64 * f64::from(STEP_S) / 3600.0;
            let grown = (growth * hours / 168.0).exp();
            let noise = (slow + FAST_NOISE * chance.deviate()).exp();
            peak * of_week(hours - shift_h) * grown * noise * (1.0 + surge)
        })
        .collect()
}

/// The usual load at an hour since a Monday began, as a part of the peak.
fn of_week(hours: f64) -> f64 {
    let of_week = hours.rem_euclid(168.0);
    let hour = of_week % 24.0;
    let after = WEEKDAY.partition_point(|&(at, _)| at <= hour).clamp(1, WEEKDAY.len() - 1);
    let ((from, low), (until, high)) = (WEEKDAY[after - 1], WEEKDAY[after]);
    let part = low + (high - low) * (hour - from) / (until - from);
    // Between two kinds of days load changes within the two hours around midnight.
    let day = of_week / 24.0;
    let (into, out_of) = ((day - 5.0) * 12.0 + 0.5, (7.0 - day) * 12.0 + 0.5);
    let weekend = into.min(out_of).clamp(0.0, 1.0).max((0.5 - day * 12.0).max(0.0));
    part * (1.0 - (1.0 - WEEKEND) * weekend)
}

/// What surges add at each step, as a part of the load.
fn surges(steps: usize, chance: &mut Chance) -> Vec<f64> {
    let mut added = vec![0.0_f64; steps];
    let mut at_s = chance.gap(SURGE_GAP_S);
    let step_s = f64::from(STEP_S);
    while at_s < steps as f64 * step_s {
        let height = chance.gap(SURGE_HEIGHT).min(MOST_SURGE);
        let over_s = at_s + SURGE_RISE_S + chance.gap(SURGE_STAY_S);
        let last = ((over_s + SURGE_RISE_S) / step_s) as usize;
        for (step, added) in added.iter_mut().enumerate().take(last + 1).skip((at_s / step_s) as usize) {
            let now_s = (step + 1) as f64 * step_s;
            let up = ((now_s - at_s) / SURGE_RISE_S).min(1.0);
            let down = ((over_s + SURGE_RISE_S - now_s) / SURGE_RISE_S).clamp(0.0, 1.0);
            *added = added.max(height * up.min(down));
        }
        at_s += chance.gap(SURGE_GAP_S);
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_follows_the_office_hours_and_grows() {
        let services = services(28, 5);
        assert_eq!(services.len(), KINDS.iter().map(|kind| kind.2 as usize).sum::<usize>());
        let gpus = |step: usize| -> f64 {
            services.iter().map(|service| service.load[step] * f64::from(service.gpus)).sum()
        };
        let mean = |day: usize, from: usize, until: usize| -> f64 {
            let steps = day * STEPS_A_DAY + from * 12..day * STEPS_A_DAY + until * 12;
            let count = steps.len() as f64;
            steps.map(gpus).sum::<f64>() / count
        };
        for week in 0..10 {
            let (noon, night, saturday) =
                (mean(week * 7 + 2, 10, 16), mean(week * 7 + 2, 2, 6), mean(week * 7 + 5, 10, 16));
            assert!(night < noon * 0.25 && saturday < noon * 0.5, "{noon} {night} {saturday}");
        }
        assert!(mean(9 * 7 + 2, 10, 16) > mean(2, 10, 16) * 1.03);
        assert!(services.iter().all(|service| service.load.iter().all(|&load| load > 0.0)));
    }

    #[test]
    fn the_weekend_comes_and_goes_without_a_jump() {
        let at = |hours: f64| of_week(hours);
        for minute in 0..168 * 60 {
            let hours = f64::from(minute) / 60.0;
            assert!((at(hours) - at(hours + 1.0 / 60.0)).abs() < 0.01, "{hours}");
        }
        assert!((at(11.0) - 1.0).abs() < 1e-9 && (at(5.0 * 24.0 + 11.0) - WEEKEND).abs() < 1e-9);
    }

    #[test]
    fn more_days_change_nothing_of_those_before() {
        let (short, long) = (services(7, 3), services(14, 3));
        for (short, long) in short.iter().zip(&long) {
            assert_eq!(short.load[..], long.load[..short.load.len()]);
        }
    }
}
