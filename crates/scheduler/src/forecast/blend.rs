//! Weights for several forecasts, learnt from how each did: Bernstein online aggregation under the absolute loss.

/// Weights that follow how each of several forecasts did.
#[derive(Clone, Debug)]
pub struct Blend {
    /// What is kept of earlier regrets at each step.
    keep: f64,
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    /// Sum of how much better than the blend it did.
    regret: f64,
    /// Sum of squares of the same.
    variance: f64,
    largest: f64,
}

impl Blend {
    /// Equal weights for `count` forecasts; `keep` of 1 forgets nothing.
    pub fn new(count: usize, keep: f64) -> Self {
        Self { keep, members: vec![Member { regret: 0.0, variance: 0.0, largest: 0.0 }; count] }
    }

    /// The blend of those forecasts that there are; at least one has to be.
    pub fn mix(&self, forecasts: &[Option<f64>]) -> f64 {
        let count = (self.members.len().max(2) as f64).ln();
        // One that has not been judged yet moves no faster than the slowest of those that have.
        let rate_of = |member: &Member| {
            (member.largest > 0.0).then(|| (0.5 / member.largest).min((count / member.variance).sqrt()))
        };
        let slowest = self.members.iter().filter_map(rate_of).fold(f64::INFINITY, f64::min);
        let unjudged = if slowest.is_finite() { slowest } else { 1.0 };
        let rate = |member: &Member| rate_of(member).unwrap_or(unjudged);
        let there =
            || self.members.iter().zip(forecasts).filter_map(|(member, value)| Some((member, (*value)?)));
        let exponent = |member: &Member| rate(member) * member.regret;
        let top = there().map(|(member, _)| exponent(member)).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (member, value) in there() {
            let weight = rate(member) * (exponent(member) - top).exp();
            sum += weight * value;
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// Learns from what came: `mixed` is what the blend said of it, `forecasts` what its members said.
    pub fn learn(&mut self, came: f64, mixed: f64, forecasts: &[Option<f64>]) {
        let slope = if mixed > came {
            1.0
        } else if mixed < came {
            -1.0
        } else {
            0.0
        };
        for (member, forecast) in self.members.iter_mut().zip(forecasts) {
            let Some(forecast) = forecast else { continue };
            let better = slope * (mixed - forecast);
            member.largest = member.largest.max(better.abs());
            member.variance = member.variance * self.keep + better * better;
            member.regret = member.regret * self.keep + better;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_goes_to_who_is_right() {
        let mut blend = Blend::new(3, 1.0);
        let said = |step: u32| [Some(f64::from(step % 7)), Some(100.0), None];
        assert!((blend.mix(&said(3)) - 51.5).abs() < 1e-9, "equal at first");
        for step in 0..200 {
            let mixed = blend.mix(&said(step));
            blend.learn(f64::from(step % 7), mixed, &said(step));
        }
        assert!((blend.mix(&said(3)) - 3.0).abs() < 0.5);
    }

    #[test]
    fn one_that_was_away_joins_again() {
        let mut blend = Blend::new(2, 0.98);
        for _ in 0..50 {
            let said = [Some(10.0), None];
            blend.learn(0.0, blend.mix(&said), &said);
        }
        for _ in 0..100 {
            let said = [Some(10.0), Some(0.0)];
            blend.learn(0.0, blend.mix(&said), &said);
        }
        assert!(blend.mix(&[Some(10.0), Some(0.0)]) < 1.0);
        assert_eq!(blend.mix(&[None, None]), 0.0);
    }
}
