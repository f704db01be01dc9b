//! The simple forecasts that are blended, each from what is known at the time of issue.

use super::forecaster::Rhythm;

/// How many there are.
pub const COUNT: usize = 13;

/// Earlier weeks or days count this much less each.
const FADE: f64 = 0.8;
/// How many earlier days, and how many earlier weeks, make the usual course.
const DAYS: usize = 7;
const WEEKS: usize = 4;

/// The values up to now with their running sums, so that any mean takes two reads.
#[derive(Clone, Debug)]
pub struct Past {
    values: Vec<f64>,
    sums: Vec<f64>,
}

impl Past {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { values: Vec::new(), sums: vec![0.0] }
    }

    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
        self.sums.push(self.sums[self.sums.len() - 1] + value);
    }

    /// How many values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The mean of the last `count` values; of all where there are fewer, 0 where there are none.
    pub fn mean_of_last(&self, count: usize) -> f64 {
        if self.values.is_empty() || count == 0 {
            return 0.0;
        }
        self.mean(self.len().saturating_sub(count), self.len() - 1)
    }

    /// The mean of `first..=last`.
    fn mean(&self, first: usize, last: usize) -> f64 {
        (self.sums[last + 1] - self.sums[first]) / (last + 1 - first) as f64
    }

    fn median_of_last(&self, count: usize) -> f64 {
        let mut last = self.values[self.len().saturating_sub(count)..].to_vec();
        last.sort_by(f64::total_cmp);
        last[last.len() / 2]
    }

    /// The value one or more whole periods before step `target`, the latest that is known.
    fn same_time(&self, target: usize, period: usize, horizon: usize) -> Option<f64> {
        self.values.get(target.checked_sub(period * horizon.div_ceil(period))?).copied()
    }

    /// What is usual at step `target`: means around the same time of earlier periods, later ones weighing more.
    fn usual(&self, target: usize, period: usize, times: usize, around: usize) -> Option<f64> {
        let last = self.len() - 1;
        let (mut sum, mut weights, mut weight) = (0.0, 0.0, 1.0);
        for back in 1..=times {
            let Some(at) = target.checked_sub(back * period) else { break };
            if at > last {
                continue;
            }
            sum += weight * self.mean(at.saturating_sub(around), (at + around).min(last));
            weights += weight;
            weight *= FADE;
        }
        (weights > 0.0).then(|| sum / weights)
    }
}

/// What each says of the value `horizon` steps on. `None`: the history is too short for it. `past` must not be empty.
pub fn forecasts(past: &Past, rhythm: Rhythm, horizon: usize) -> [Option<f64>; COUNT] {
    let now = past.len() - 1;
    let target = now + horizon;
    let last = past.values[now];
    let mut all = [None; COUNT];
    all[0] = Some(last);
    all[1] = past.same_time(target, rhythm.day, horizon);
    all[2] = past.same_time(target, rhythm.week(), horizon);
    all[3] = Some(past.median_of_last(3));
    all[4] = Some(past.median_of_last(7));
    let [_, _, _, _, _, by_day @ .., _, _, _, _] = &mut all;
    by_day.copy_from_slice(&seasonal(past, rhythm, rhythm.day, DAYS, target));
    all[9..].copy_from_slice(&seasonal(past, rhythm, rhythm.week(), WEEKS, target));
    all
}

/// The usual course over one period; moved to today's level by difference, by ratio, and by the ratio of the last quarter of
/// a day. A tenth of the week's mean is added on both sides of a ratio, so that it stays finite where little is usual.
fn seasonal(past: &Past, rhythm: Rhythm, period: usize, times: usize, target: usize) -> [Option<f64>; 4] {
    let around = (rhythm.day / 24).max(1);
    let now = past.len() - 1;
    let last = past.values[now];
    let usual = |at| past.usual(at, period, times, around);
    let (Some(then), Some(today)) = (usual(target), usual(now)) else { return [None; 4] };
    let floor = 0.1 * past.mean_of_last(rhythm.week()) + 1e-9;
    let at_ratio = |known: f64, known_usual: f64| {
        ((known + floor) / (known_usual + floor) * (then + floor) - floor).max(0.0)
    };
    let quarter = (rhythm.day / 4).max(1);
    let stride = (quarter / 6).max(1);
    let (mut level, mut level_usual, mut count) = (0.0, 0.0, 0.0);
    for back in (0..quarter).step_by(stride) {
        let Some(at) = now.checked_sub(back) else { break };
        let Some(usual) = usual(at) else { break };
        level += past.mean((at + 1).saturating_sub(stride), at);
        level_usual += usual;
        count += 1.0;
    }
    let by_level = (count > 0.0).then(|| at_ratio(level / count, level_usual / count));
    [Some(then), Some((last + then - today).max(0.0)), Some(at_ratio(last, today)), by_level]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(values: impl IntoIterator<Item = f64>) -> Past {
        let mut past = Past::new();
        values.into_iter().for_each(|value| past.push(value));
        past
    }

    #[test]
    fn a_short_history_leaves_out_what_needs_more() {
        let rhythm = Rhythm { day: 24 };
        let all = forecasts(&past([5.0]), rhythm, 1);
        assert_eq!((all[0], all[1], all[2]), (Some(5.0), None, None));
        assert!(all[5..].iter().all(Option::is_none));
    }

    #[test]
    fn a_course_that_repeats_is_known() {
        let rhythm = Rhythm { day: 24 };
        let course = |step: usize| (step % 24) as f64;
        let past = past((0..24 * 15).map(course));
        let all = forecasts(&past, rhythm, 4);
        let then = course(24 * 15 + 3);
        assert_eq!((all[1], all[2]), (Some(then), Some(then)));
        // One that follows the clock knows it to the smoothing over an hour to each side.
        assert!(all[5..].iter().flatten().all(|value| (value - then).abs() < 9.0), "{all:?}");
        assert!(all.iter().all(Option::is_some));
    }
}
