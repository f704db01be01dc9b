//! Percentiles of what is to come from the errors of what was said before: split conformal over a moving window.

use std::collections::VecDeque;

/// The latest errors, each divided by the scale of its forecast.
#[derive(Clone, Debug)]
pub struct Errors {
    most: usize,
    in_order: VecDeque<f64>,
    sorted: Vec<f64>,
}

impl Errors {
    /// None yet; the latest `most` are kept.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), in_order: VecDeque::new(), sorted: Vec::new() }
    }

    /// Adds the latest.
    pub fn push(&mut self, error: f64) {
        if self.in_order.len() == self.most
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.sorted.remove(self.sorted.partition_point(|other| other.total_cmp(&oldest).is_lt()));
        }
        self.in_order.push_back(error);
        self.sorted.insert(self.sorted.partition_point(|other| other.total_cmp(&error).is_lt()), error);
    }

    /// All that are kept, smallest first.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The error that a share `level` of errors stays under, the next one counted as unknown. 0 where there are none.
    pub fn quantile(&self, level: f64) -> f64 {
        let count = self.sorted.len();
        if count == 0 {
            return 0.0;
        }
        let rank = (level * (count + 1) as f64 - 1.0).clamp(0.0, (count - 1) as f64);
        let below = rank.floor() as usize;
        let above = (below + 1).min(count - 1);
        self.sorted[below] + (self.sorted[above] - self.sorted[below]) * (rank - below as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_moves() {
        let mut errors = Errors::new(99);
        assert_eq!(errors.quantile(0.9), 0.0);
        for error in (0..500).rev() {
            errors.push(f64::from(error));
        }
        assert_eq!(errors.sorted().len(), 99);
        assert_eq!((errors.sorted()[0], errors.sorted()[98]), (0.0, 98.0));
        assert!((errors.quantile(0.5) - 49.0).abs() < 1e-9 && (errors.quantile(0.95) - 94.0).abs() < 1e-9);
        assert_eq!((errors.quantile(0.0), errors.quantile(1.0)), (0.0, 98.0));
    }
}
