//! The forecaster: a value in at every step, a distribution out.

use std::collections::VecDeque;

use serde::Serialize;

use super::blend::Blend;
use super::capacity::{self, Headroom};
use super::experts::{self, COUNT, Past};
use super::interval::Errors;

/// What each of the blends keeps of its regrets at a step.
const KEEP: [f64; 3] = [1.0, 0.995, 0.98];
/// How many days of errors make the percentiles.
const DAYS_OF_ERRORS: usize = 42;

/// How many steps a day has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rhythm {
    /// Steps of a day, at least 1.
    pub day: usize,
}

impl Rhythm {
    /// Steps of a week.
    pub const fn week(self) -> usize {
        self.day * 7
    }
}

/// Why there is no forecaster for a step and a horizon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HorizonError {
    /// Days have to have as many steps each.
    #[error("a step of {0} s does not divide a day: give values at a step that does, such as 600 or 3600 s")]
    Step(u32),
    /// The horizon has to be whole steps.
    #[error(
        "a horizon of {horizon_s} s is no whole number of steps of {step_s} s: give a longer horizon or a finer history"
    )]
    Horizon {
        /// Seconds.
        horizon_s: u32,
        /// Seconds.
        step_s: u32,
    },
}

/// What is to come, by percentile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Distribution {
    /// One of twenty lies below.
    pub p05: f64,
    /// As many lie below as above.
    pub p50: f64,
    /// One of ten lies above.
    pub p90: f64,
    /// One of twenty lies above.
    pub p95: f64,
}

/// What was said and has not come yet.
#[derive(Clone, Debug)]
struct Said {
    members: [Option<f64>; COUNT],
    blends: [Option<f64>; KEEP.len()],
    median: f64,
    scale: f64,
}

/// Forecasts one series for one horizon. Demand is never negative.
#[derive(Clone, Debug)]
pub struct Forecaster {
    rhythm: Rhythm,
    horizon: usize,
    past: Past,
    blends: Vec<Blend>,
    over: Blend,
    said: VecDeque<Said>,
    errors: Errors,
}

impl Forecaster {
    /// For values `step_s` seconds apart, and what comes `horizon_s` seconds after the last of them.
    ///
    /// # Errors
    /// Where steps do not divide a day, or the horizon is not whole steps.
    pub fn new(step_s: u32, horizon_s: u32) -> Result<Self, HorizonError> {
        if step_s == 0 || !86_400u32.is_multiple_of(step_s) {
            return Err(HorizonError::Step(step_s));
        }
        if horizon_s == 0 || !horizon_s.is_multiple_of(step_s) {
            return Err(HorizonError::Horizon { horizon_s, step_s });
        }
        let rhythm = Rhythm { day: (86_400 / step_s) as usize };
        Ok(Self {
            rhythm,
            horizon: (horizon_s / step_s) as usize,
            past: Past::new(),
            blends: KEEP.iter().map(|&keep| Blend::new(COUNT, keep)).collect(),
            over: Blend::new(KEEP.len(), 1.0),
            said: VecDeque::new(),
            errors: Errors::new(rhythm.day * DAYS_OF_ERRORS),
        })
    }

    /// The horizon in steps.
    pub fn horizon_steps(&self) -> usize {
        self.horizon
    }

    /// Steps of a day and a week.
    pub fn rhythm(&self) -> Rhythm {
        self.rhythm
    }

    /// Takes the next value: learns from it what was said of it, then looks ahead from it.
    pub fn push(&mut self, value: f64) {
        if self.said.len() == self.horizon
            && let Some(said) = self.said.pop_front()
        {
            for (blend, mixed) in self.blends.iter_mut().zip(said.blends) {
                blend.learn(value, mixed.unwrap_or_default(), &said.members);
            }
            self.over.learn(value, said.median, &said.blends);
            self.errors.push((value - said.median) / said.scale);
        }
        self.past.push(value);
        let members = experts::forecasts(&self.past, self.rhythm, self.horizon);
        let mut blends = [None; KEEP.len()];
        for (mixed, blend) in blends.iter_mut().zip(&self.blends) {
            *mixed = Some(blend.mix(&members));
        }
        let median = self.over.mix(&blends).max(0.0);
        let level = 0.1 * self.past.mean_of_last(self.rhythm.week());
        self.said.push_back(Said { members, blends, median, scale: (median + level + 1e-9).sqrt() });
    }

    /// What is to come one horizon after the last value; `None` before the first.
    pub fn distribution(&self) -> Option<Distribution> {
        let p50 = self.said.back()?.median;
        Some(Distribution {
            p05: self.percentile(0.05)?.min(p50),
            p50,
            p90: self.percentile(0.90)?.max(p50),
            p95: self.percentile(0.95)?.max(p50),
        })
    }

    /// What a share `level` (0 to 1) of what may come lies below.
    pub fn percentile(&self, level: f64) -> Option<f64> {
        let said = self.said.back()?;
        Some((said.median + said.scale * self.errors.quantile(level)).max(0.0))
    }

    /// How much to free before it comes: enough for a share `level` of what may come, `free` of which is free already.
    /// `None` before the first value.
    pub fn headroom(&self, level: f64, free: f64) -> Option<Headroom> {
        let said = self.said.back()?;
        let capacity = self.percentile(level)?;
        let may_come = self.errors.sorted().iter().map(|error| (said.median + said.scale * error).max(0.0));
        Some(capacity::headroom(capacity, free, may_come))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days with a peak at noon, weeks that differ, and something irregular that needs no chance.
    fn series(steps: usize) -> Vec<f64> {
        (0..steps)
            .map(|step| {
                let hour = step % 24;
                let day = if (9..18).contains(&hour) { 40.0 } else { 10.0 };
                let weekend = if step / 24 % 7 >= 5 { 0.5 } else { 1.0 };
                day * weekend + ((step * step * 7919) % 101) as f64 / 10.0
            })
            .collect()
    }

    #[test]
    fn steps_and_horizons_that_do_not_fit_are_refused() {
        assert_eq!(Forecaster::new(7, 3600).unwrap_err(), HorizonError::Step(7));
        assert_eq!(Forecaster::new(0, 3600).unwrap_err(), HorizonError::Step(0));
        assert!(Forecaster::new(7200, 3600).unwrap_err().to_string().contains("no whole number"));
        assert_eq!(Forecaster::new(600, 3600).unwrap().horizon_steps(), 6);
    }

    #[test]
    fn percentiles_are_in_order_and_hold_what_they_say() {
        for horizon in [1, 24] {
            let mut forecaster = Forecaster::new(3600, horizon * 3600).unwrap();
            assert_eq!(forecaster.distribution(), None);
            let series = series(24 * 70);
            let (mut held, mut all) = (0, 0);
            let mut said = VecDeque::new();
            for (step, &value) in series.iter().enumerate() {
                if said.len() == horizon as usize {
                    let said: Distribution = said.pop_front().unwrap();
                    if step > 24 * 35 {
                        held += u32::from(said.p05 <= value && value <= said.p95);
                        all += 1;
                    }
                }
                forecaster.push(value);
                let now = forecaster.distribution().unwrap();
                assert!(0.0 <= now.p05 && now.p05 <= now.p50 && now.p50 <= now.p90 && now.p90 <= now.p95);
                said.push_back(now);
            }
            let share = f64::from(held) / f64::from(all);
            assert!((0.87..=0.95).contains(&share), "{share} at {horizon} h");
        }
    }

    #[test]
    fn the_unit_of_demand_changes_nothing() {
        let mut in_hours = Forecaster::new(3600, 3600).unwrap();
        let mut in_seconds = in_hours.clone();
        for value in series(24 * 30) {
            in_hours.push(value);
            in_seconds.push(value * 3600.0);
            let medians = [&in_hours, &in_seconds].map(|of| of.distribution().unwrap().p50);
            assert!((medians[0] * 3600.0 - medians[1]).abs() <= 1e-6 * medians[1], "{medians:?}");
        }
    }

    #[test]
    fn more_is_freed_for_a_higher_percentile_and_less_where_some_is_free() {
        let mut forecaster = Forecaster::new(3600, 3600).unwrap();
        series(24 * 30).into_iter().for_each(|value| forecaster.push(value));
        let [some, much] = [0.5, 0.95].map(|level| forecaster.headroom(level, 0.0).unwrap());
        assert!(some.to_free < much.to_free && some.idle < much.idle && some.short > much.short);
        let half = forecaster.headroom(0.95, much.capacity / 2.0).unwrap();
        assert!((half.to_free - much.capacity / 2.0).abs() < 1e-9);
        assert_eq!(forecaster.headroom(0.95, 1e6).unwrap().to_free, 0.0);
    }
}
