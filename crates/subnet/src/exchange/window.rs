//! How many MADs may be under way at once.
//!
//! Subnet management has no flow control: a switch has a few buffers a port for it, and drops what comes beyond. The
//! window opens by one for each answer, so that never more than two MADs leave together, until something is lost;
//! then it remembers three quarters of where that was, falls back to half, and opens quickly up to the mark and by one
//! in a thousand answers beyond it. So a fabric is probed for more room all the time, at a price of less than one MAD
//! in a hundred.

use std::time::Duration;

use ib::Time;

/// MADs under way to begin with.
const FIRST: f64 = 4.0;
/// Answers beyond the mark for one more under way.
const CREEP: f64 = 1000.0;

pub(super) struct Window {
    size: f64,
    /// Up to here the window opens quickly.
    mark: f64,
    most: f64,
    last_loss: Option<Time>,
}

impl Window {
    /// A window of at most `bound` (0: no bound but `most`).
    pub fn new(bound: u32, most: usize) -> Self {
        let most = if bound == 0 { most } else { (bound as usize).min(most) } as f64;
        Self { size: FIRST.min(most), mark: most, most, last_loss: None }
    }

    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// A request was answered at its first sending.
    pub fn answered(&mut self, _round_trip: Duration) {
        let step = if self.size < self.mark { 1.0 } else { 1.0 / CREEP };
        self.size = (self.size + step).min(self.most);
    }

    /// A request that was sent at `sent` is taken for lost. What was sent before the last fall-back fell with it.
    pub fn lost(&mut self, sent: Time, now: Time) {
        if self.last_loss.is_some_and(|last| sent <= last) {
            return;
        }
        self.last_loss = Some(now);
        self.mark = (self.size * 0.75).max(2.0);
        self.size = (self.size / 2.0).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_falls_back_and_creeps() {
        let mut window = Window::new(0, 4096);
        (0..60).for_each(|_| window.answered(Duration::ZERO));
        assert_eq!(window.size(), 64);
        window.lost(Time(1), Time(2));
        window.lost(Time(1), Time(2));
        assert_eq!(window.size(), 32, "one loss counts once");
        (0..100).for_each(|_| window.answered(Duration::ZERO));
        assert_eq!(window.size(), 48, "quickly to the mark, slowly beyond");
        assert_eq!(Window::new(3, 4096).size(), 3);
    }
}
