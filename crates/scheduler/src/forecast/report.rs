//! How well a forecast did on a part of its history, beside what needs no forecast.

use serde::Serialize;

use super::forecaster::{Distribution, Forecaster, HorizonError};

/// What anyone would take without a forecast.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// It stays as it is.
    LastValue,
    /// As a day before, or the fewest whole days before that are known.
    SameHourYesterday,
    /// As a week before.
    SameHourLastWeek,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::LastValue, Self::SameHourYesterday, Self::SameHourLastWeek];
}

/// Mean errors over a part of the history.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Errors {
    /// Mean absolute error, in units of the series.
    pub mae: f64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Symmetric mean absolute percentage error, per cent; a step where both are 0 counts as 0.
    pub smape_percent: f64,
    /// Mean pinball loss over the 5th, 50th, 90th and 95th percentile; a single value stands for all four.
    pub pinball: f64,
    /// How many steps; fewer than asked for where a baseline has no value yet.
    pub steps: usize,
}

/// What freeing for one percentile would have cost, a step on average.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Freed {
    /// The percentile, per cent.
    pub percentile: u32,
    /// Freed and not asked for.
    pub idle: f64,
    /// Asked for and not freed.
    pub short: f64,
    /// Share of steps in which not enough was freed, per cent.
    pub steps_short_percent: f64,
}

/// Which steps are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The first.
    pub from: usize,
    /// One past the last.
    pub until: usize,
}

/// A baseline and its record.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Judged {
    /// Which.
    pub baseline: Baseline,
    /// Its errors.
    #[serde(flatten)]
    pub errors: Errors,
}

/// A forecast and its record.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The forecast's own errors; its median is the single value.
    pub errors: Errors,
    /// Those of each baseline on the same steps.
    pub baselines: Vec<Judged>,
    /// Share of steps between the 5th and the 95th percentile, per cent.
    pub inside_percent: f64,
    /// What freeing for the median and the upper percentiles would have cost.
    pub freed: Vec<Freed>,
    /// What comes one horizon after the last value.
    pub next: Distribution,
}

#[derive(Default)]
struct Sums {
    absolute: f64,
    squared: f64,
    relative: f64,
    pinball: f64,
    steps: usize,
}

impl Sums {
    fn add(&mut self, came: f64, said: Distribution) {
        let error = (said.p50 - came).abs();
        self.absolute += error;
        self.squared += error * error;
        if error > 0.0 {
            self.relative += 2.0 * error / (said.p50 + came);
        }
        let loss = |level: f64, value: f64| (level * (came - value)).max((level - 1.0) * (came - value));
        self.pinball +=
            (loss(0.05, said.p05) + loss(0.5, said.p50) + loss(0.9, said.p90) + loss(0.95, said.p95)) / 4.0;
        self.steps += 1;
    }

    fn errors(&self) -> Errors {
        let steps = self.steps.max(1) as f64;
        Errors {
            mae: self.absolute / steps,
            rmse: (self.squared / steps).sqrt(),
            smape_percent: 100.0 * self.relative / steps,
            pinball: self.pinball / steps,
            steps: self.steps,
        }
    }
}

/// Every forecast of a history, by the step that it is for; the one for a step knows nothing later than a horizon before it.
fn forecasts(values: &[f64], forecaster: &mut Forecaster) -> Vec<Option<Distribution>> {
    let mut said = vec![None; forecaster.horizon_steps()];
    for &value in values {
        forecaster.push(value);
        said.push(forecaster.distribution());
    }
    said
}

/// Forecasts a history step by step and judges a part of it. `None`: the history is empty, or no step of it can be judged.
///
/// # Errors
/// Where step and horizon do not fit.
pub fn evaluate(
    values: &[f64],
    step_s: u32,
    horizon_s: u32,
    part: Part,
) -> Result<Option<Report>, HorizonError> {
    let mut forecaster = Forecaster::new(step_s, horizon_s)?;
    let said = forecasts(values, &mut forecaster);
    let Some(next) = forecaster.distribution() else { return Ok(None) };
    let (horizon, rhythm) = (forecaster.horizon_steps(), forecaster.rhythm());
    let mut own = Sums::default();
    let mut baselines = Baseline::ALL.map(|baseline| (baseline, Sums::default()));
    let mut freed = [(50, 0.0, 0.0, 0.0), (90, 0.0, 0.0, 0.0), (95, 0.0, 0.0, 0.0)];
    let mut inside = 0.0;
    for (step, &came) in values.iter().enumerate().take(part.until).skip(part.from) {
        let Some(said) = said[step] else { continue };
        own.add(came, said);
        inside += f64::from(u8::from(said.p05 <= came && came <= said.p95));
        for ((_, idle, short, times), there) in freed.iter_mut().zip([said.p50, said.p90, said.p95]) {
            *idle += (there - came).max(0.0);
            *short += (came - there).max(0.0);
            *times += f64::from(u8::from(came > there));
        }
        for (baseline, sums) in &mut baselines {
            let back = match baseline {
                Baseline::LastValue => horizon,
                Baseline::SameHourYesterday => rhythm.day * horizon.div_ceil(rhythm.day),
                Baseline::SameHourLastWeek => rhythm.week() * horizon.div_ceil(rhythm.week()),
            };
            if let Some(&value) = step.checked_sub(back).and_then(|at| values.get(at)) {
                sums.add(came, Distribution { p05: value, p50: value, p90: value, p95: value });
            }
        }
    }
    if own.steps == 0 {
        return Ok(None);
    }
    let steps = own.steps as f64;
    let freed = freed.map(|(percentile, idle, short, times)| Freed {
        percentile,
        idle: idle / steps,
        short: short / steps,
        steps_short_percent: 100.0 * times / steps,
    });
    Ok(Some(Report {
        errors: own.errors(),
        baselines: baselines
            .iter()
            .map(|(baseline, sums)| Judged { baseline: *baseline, errors: sums.errors() })
            .collect(),
        inside_percent: 100.0 * inside / steps,
        freed: freed.to_vec(),
        next,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn no_forecast_knows_what_came_after_it(
            values in prop::collection::vec(0.0..100.0f64, 30..400),
            other in prop::collection::vec(0.0..1e6f64, 1..50),
            cut in 0.0..1.0f64,
            horizon in 1..30u32,
        ) {
            let cut = 1 + (cut * (values.len() - 1) as f64) as usize;
            let mut changed = values[..cut].to_vec();
            changed.extend(other);
            let said = |values: &[f64]| {
                forecasts(values, &mut Forecaster::new(3600, horizon * 3600).unwrap())
            };
            let (whole, short, changed) = (said(&values), said(&values[..cut]), said(&changed));
            let known = cut + horizon as usize;
            prop_assert_eq!(short.len(), known);
            prop_assert_eq!(&whole[..known], &short[..]);
            prop_assert_eq!(&changed[..known], &short[..]);
        }
    }

    #[test]
    fn baselines_are_what_they_say() {
        // A course of a day that never changes: yesterday is right, the last value is wrong by 1 but at midnight.
        let values: Vec<f64> = (0..24 * 20).map(|step| f64::from(step % 24)).collect();
        let report = evaluate(&values, 3600, 3600, Part { from: 240, until: 480 }).unwrap().unwrap();
        let mae: Vec<_> = report.baselines.iter().map(|judged| judged.errors.mae).collect();
        assert_eq!((mae[1], mae[2]), (0.0, 0.0));
        assert!((mae[0] - (23.0 + 23.0) / 24.0).abs() < 1e-9);
        assert!(report.errors.mae < 0.2, "{:?}", report.errors);
        assert_eq!(report.errors.steps, 240);
        assert!(report.freed[2].steps_short_percent <= report.freed[0].steps_short_percent);
    }

    #[test]
    fn nothing_to_judge_is_no_report() {
        assert_eq!(evaluate(&[], 3600, 3600, Part { from: 0, until: 9 }), Ok(None));
        assert_eq!(evaluate(&[1.0], 3600, 3600, Part { from: 0, until: 9 }), Ok(None));
        assert!(evaluate(&[1.0], 7, 3600, Part { from: 0, until: 9 }).is_err());
    }
}
