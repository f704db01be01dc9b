//! How many MADs may be under way at once, and how many may leave together.
//!
//! Subnet management has no flow control: a switch has a few buffers a port for it, and drops what comes beyond. So
//! three things hold the manager back.
//!
//! - **Bursts.** MADs leave in step with answers, two for each while the window opens, one after; from rest no more
//!   than three leave together. What is sent again keeps to this too.
//! - **Delay.** The window opens by one for each answer up to its mark, or until answers take a quarter longer than the
//!   fastest ever did over as many hops: then a queue has formed somewhere. From there it only creeps, and only while
//!   there is next to no queue.
//! - **Loss.** Where something is lost all the same, the window remembers three quarters of where that was as its mark
//!   and falls back to half.
//!
//! A wire that holds senders back by itself (ibsim's sockets) needs none of this: there the window opens at once.

use std::time::Duration;

use ib::Time;

/// MADs that may leave together from rest: what one port of a switch can hold, and a place for others.
const BURST: usize = 3;
/// MADs under way to begin with.
const FIRST: f64 = 4.0;
/// The first mark: a path of a few hops holds more, but two paths may share a switch.
const FIRST_MARK: f64 = 6.0;
/// MADs under way on a wire that holds senders back by itself: more only lie in its buffers.
const FLOW_CONTROLLED: usize = 128;
/// Answers for one more under way, once the mark is reached.
const CREEP: f64 = 1000.0;
/// How many times the shortest time means that a queue has formed.
const QUEUED: f32 = 1.25;
/// How many times the shortest time still leaves room for more.
const EASY: f32 = 1.12;

pub(super) struct Window {
    size: f64,
    /// Up to here the window opens quickly.
    mark: f64,
    most: f64,
    flow_controlled: bool,
    /// How many may leave now.
    allowance: usize,
    answers: usize,
    /// The shortest time of an answer, by hops; nanoseconds.
    shortest: [u32; 64],
    /// Times of answers by the shortest of their distance: a running mean.
    stretch: f32,
    last_loss: Option<Time>,
}

impl Window {
    /// A window of at most `bound` (0: no bound but `most`).
    pub fn new(bound: u32, most: usize, flow_controlled: bool) -> Self {
        let most = match bound {
            0 if flow_controlled => FLOW_CONTROLLED.min(most),
            0 => most,
            bound => most.min(bound as usize),
        } as f64;
        Self {
            size: if flow_controlled { most } else { FIRST.min(most) },
            mark: FIRST_MARK.min(most),
            most,
            flow_controlled,
            allowance: 0,
            answers: 0,
            shortest: [u32::MAX; 64],
            stretch: 1.0,
            last_loss: None,
        }
    }

    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// A turn to send begins, with so many MADs on the wire.
    pub fn begin_sending(&mut self, on_the_wire: usize) {
        self.allowance = self.allowance.min(BURST) + 2 * std::mem::take(&mut self.answers);
        if self.flow_controlled {
            self.allowance = usize::MAX / 2;
        } else if on_the_wire == 0 {
            self.allowance = self.allowance.max(BURST);
        }
    }

    /// Whether one more may leave beside so many under way.
    pub fn has_room(&self, under_way: usize) -> bool {
        self.allowance > 0 && under_way < self.size()
    }

    /// Takes the room for one more, if there is any.
    pub fn take(&mut self, under_way: usize) -> bool {
        let room = self.has_room(under_way);
        self.allowance = self.allowance.saturating_sub(usize::from(room));
        room
    }

    /// A request was answered; over how many hops and how long after its only sending.
    pub fn answered(&mut self, timing: Option<(u8, Duration)>) {
        self.answers += 1;
        let Some((hops, took)) = timing.filter(|_| !self.flow_controlled) else { return };
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX).max(1);
        let shortest = &mut self.shortest[usize::from(hops & 63)];
        *shortest = took.min(*shortest);
        self.stretch += (took as f32 / *shortest as f32 - self.stretch) / 16.0;
        if self.size < self.mark {
            if self.stretch > QUEUED && self.size > FIRST {
                self.mark = self.size;
            } else {
                self.size += 1.0;
            }
        } else if self.stretch < EASY {
            self.size += 1.0 / CREEP;
        }
        self.size = self.size.min(self.most);
    }

    /// How long an answer over so many hops usually takes now; `None` where that is not known.
    pub fn usual(&self, hops: u8) -> Option<Duration> {
        let shortest = self.shortest[usize::from(hops & 63)];
        (shortest != u32::MAX)
            .then(|| Duration::from_nanos(u64::from(shortest)).mul_f32(self.stretch.max(1.0)))
    }

    /// A request that was sent at `sent` is taken for lost. What was sent before the last fall-back fell with it.
    pub fn lost(&mut self, sent: Time, now: Time) {
        if self.flow_controlled || self.last_loss.is_some_and(|last| sent <= last) {
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

    const QUICK: Option<(u8, Duration)> = Some((1, Duration::from_micros(20)));
    const SLOW: Option<(u8, Duration)> = Some((1, Duration::from_micros(90)));

    #[test]
    fn opens_to_its_mark_and_falls_back_when_something_is_lost() {
        let mut window = Window::new(0, 4096, false);
        (0..60).for_each(|_| window.answered(QUICK));
        assert_eq!(window.size(), 6);
        (0..40_000).for_each(|_| window.answered(QUICK));
        assert_eq!(window.size(), 46, "slowly beyond the mark");
        window.lost(Time(1), Time(2));
        window.lost(Time(1), Time(2));
        assert_eq!(window.size(), 23, "one loss counts once");
        (0..100).for_each(|_| window.answered(QUICK));
        assert_eq!(window.size(), 35, "quickly to the new mark");
        assert_eq!(Window::new(3, 4096, false).size(), 3);
    }

    #[test]
    fn stays_where_a_queue_forms() {
        let mut window = Window::new(0, 4096, false);
        window.answered(QUICK);
        (0..40_000).for_each(|_| window.answered(SLOW));
        assert!(window.size() <= 6, "{}", window.size());
    }

    #[test]
    fn a_wire_with_flow_control_is_filled_at_once() {
        let mut window = Window::new(0, 4096, true);
        window.begin_sending(0);
        assert_eq!((0..1000).take_while(|&under_way| window.take(under_way)).count(), FLOW_CONTROLLED);
        assert_eq!(Window::new(8, 4096, true).size(), 8);
    }

    #[test]
    fn few_leave_together() {
        let mut window = Window::new(0, 4096, false);
        (0..60).for_each(|_| window.answered(QUICK));
        window.begin_sending(0);
        window.begin_sending(0);
        let sent = (0..100).take_while(|&under_way| window.take(under_way)).count();
        assert_eq!(sent, BURST, "what was not used is not saved up");
        window.answered(QUICK);
        window.begin_sending(3);
        assert_eq!((3..100).take_while(|&under_way| window.take(under_way)).count(), 2);
    }
}
