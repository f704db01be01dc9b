//! How many MADs may be under way at once, and how many may leave together.
//!
//! Subnet management has no flow control: a switch has a few buffers a port for it, and drops what comes beyond. So
//! three things hold the manager back.
//!
//! - **Bursts.** MADs leave in step with answers, two for each while the window opens, one after; and no more than three
//!   leave together, however many answers came at once: they all go over the first link. What is sent again keeps to
//!   this too.
//! - **Delay.** The window opens by one for each answer up to its mark, or until even the quickest of a few answers took a
//!   quarter longer than the fastest ever did over as many hops: then a queue has formed that all have to wait in. From
//!   there it only creeps, and only while there is next to no queue. The quickest, since one may have waited for a busy
//!   switch, and many for a manager that was computing when they came.
//! - **Loss.** Where something is lost all the same, the window remembers three quarters of where that was as its mark
//!   and falls back to half, but not below what may leave together: where much is lost by chance, not for want of
//!   room, one at a time would get nowhere.
//!
//! A wire that holds senders back by itself (ibsim's sockets) needs none of this: there the window opens at once.

use std::time::Duration;

use ib::Time;

/// MADs that may leave together from rest: what one port of a switch can hold, and a place for others.
const BURST: usize = 3;
/// How long after a burst the next may leave: time for the first switch to pass it on.
const PACE: Duration = Duration::from_micros(4);
/// Answers of which the quickest tells of queues.
const FEW: u32 = 16;
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
    /// How many may leave for the answers that came.
    allowance: usize,
    answers: usize,
    /// How many may leave together now, and when as many as ever may again.
    burst: usize,
    next_burst: Time,
    /// Whether something waits for the next burst alone.
    waits: bool,
    /// The shortest time of an answer, by hops; nanoseconds.
    shortest: [u32; 64],
    /// Times of answers by the shortest of their distance: a running mean, and how far they are from it in the mean.
    stretch: f32,
    deviation: f32,
    /// The fewest hops that an answer has come over; none has where this is 64.
    nearest: usize,
    /// The same of the quickest of the last few, and of those that are being counted.
    quickest: f32,
    counting: (u32, f32),
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
            burst: BURST,
            next_burst: Time::ZERO,
            waits: false,
            shortest: [u32::MAX; 64],
            stretch: 1.0,
            deviation: 0.5,
            nearest: 64,
            quickest: 1.0,
            counting: (0, f32::MAX),
            last_loss: None,
        }
    }

    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// A turn to send begins, with so many MADs on the wire.
    pub fn begin_sending(&mut self, now: Time, on_the_wire: usize) {
        let answers = std::mem::take(&mut self.answers);
        self.waits = false;
        if self.flow_controlled {
            (self.allowance, self.burst) = (usize::MAX / 2, usize::MAX / 2);
            return;
        }
        self.allowance = match on_the_wire {
            // From rest: what did not leave for want of anything to send is not saved up.
            0 => BURST,
            _ => (self.allowance + 2 * answers).min(2 * self.size()),
        };
        if now >= self.next_burst {
            self.burst = BURST;
        }
    }

    /// Whether one more may leave beside so many under way.
    pub fn has_room(&mut self, under_way: usize) -> bool {
        let room = self.allowance > 0 && under_way < self.size();
        self.waits = room && self.burst == 0;
        room && self.burst > 0
    }

    /// Takes the room for one more, if there is any.
    pub fn take(&mut self, now: Time, under_way: usize) -> bool {
        let room = self.has_room(under_way);
        if room {
            self.allowance -= 1;
            self.burst -= 1;
            self.next_burst = now + PACE;
        }
        room
    }

    /// When what waits for others to be gone from the first link may leave.
    pub fn next_burst(&self) -> Option<Time> {
        self.waits.then_some(self.next_burst)
    }

    /// A request was answered; over how many hops and how long after its only sending.
    pub fn answered(&mut self, timing: Option<(u8, Duration)>) {
        self.answers += 1;
        let Some((hops, took)) = timing.filter(|_| !self.flow_controlled) else { return };
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX).max(1);
        let hops = usize::from(hops & 63);
        self.nearest = self.nearest.min(hops);
        let shortest = &mut self.shortest[hops];
        *shortest = took.min(*shortest);
        let stretch = took as f32 / *shortest as f32;
        self.deviation += ((stretch - self.stretch).abs() - self.deviation) / 4.0;
        self.stretch += (stretch - self.stretch) / 8.0;
        self.counting = (self.counting.0 + 1, self.counting.1.min(stretch));
        if self.counting.0 == FEW {
            self.quickest = self.counting.1;
            self.counting = (0, f32::MAX);
        }
        if self.size < self.mark {
            if self.quickest > QUEUED && self.size > FIRST {
                self.mark = self.size;
            } else {
                self.size += 1.0;
            }
        } else if self.quickest < EASY {
            self.size += 1.0 / CREEP;
        }
        self.size = self.size.min(self.most);
    }

    /// After how long an answer over so many hops is taken for lost, as RFC 6298 has it: the usual time and four times how far
    /// answers stray from it. `None` where nothing was answered yet.
    pub fn time_out(&self, hops: u8) -> Option<Duration> {
        let hops = usize::from(hops & 63);
        if self.nearest == self.shortest.len() {
            return None;
        }
        // Over a way of a length that is new, as long as over the next shorter one, stretched.
        let known = (0..=hops.max(self.nearest)).rev().find(|&known| self.shortest[known] != u32::MAX)?;
        let farther = (hops.max(known) + 1) as f32 / (known + 1) as f32;
        let shortest = Duration::from_nanos(u64::from(self.shortest[known]));
        Some(shortest.mul_f32(farther * (self.stretch.max(1.0) + 4.0 * self.deviation)))
    }

    /// A request that was sent at `sent` is taken for lost. What was sent before the last fall-back fell with it.
    pub fn lost(&mut self, sent: Time, now: Time) {
        if self.flow_controlled || self.last_loss.is_some_and(|last| sent <= last) {
            return;
        }
        self.last_loss = Some(now);
        let least = (BURST as f64).min(self.most);
        self.mark = (self.size * 0.75).max(least);
        self.size = (self.size / 2.0).max(least);
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
        window.begin_sending(Time(0), 0);
        assert_eq!(
            (0..1000).take_while(|&under_way| window.take(Time(0), under_way)).count(),
            FLOW_CONTROLLED
        );
        assert_eq!(Window::new(8, 4096, true).size(), 8);
    }

    #[test]
    fn an_answer_is_late_by_how_much_answers_stray() {
        let mut window = Window::new(0, 4096, false);
        assert_eq!(window.time_out(1), None);
        (0..100).for_each(|_| window.answered(QUICK));
        let steady = window.time_out(1).unwrap();
        assert!(steady >= Duration::from_micros(20) && steady < Duration::from_micros(25), "{steady:?}");
        let farther = window.time_out(5).unwrap();
        assert!(farther > 2 * steady && farther < 4 * steady, "{farther:?} over a way of a new length");
        assert_eq!(window.time_out(0), Some(steady), "over a shorter one no less is known");
        (0..20).for_each(|_| window.answered(SLOW));
        let slower = window.time_out(1).unwrap();
        assert!(slower > Duration::from_micros(90), "{slower:?}");
        (0..200).for_each(|_| window.answered(QUICK));
        assert!(window.time_out(1).unwrap() < Duration::from_micros(25), "it is forgotten");
    }

    #[test]
    fn few_leave_together() {
        let mut window = Window::new(0, 4096, false);
        (0..60).for_each(|_| window.answered(QUICK));
        let leave = |window: &mut Window, now: u64, on_the_wire: usize| {
            window.begin_sending(Time(now), on_the_wire);
            (on_the_wire..100).take_while(|&under_way| window.take(Time(now), under_way)).count()
        };
        assert_eq!(leave(&mut window, 0, 0), BURST);
        assert_eq!(leave(&mut window, 0, 3), 0, "not at once");
        (0..4).for_each(|_| window.answered(QUICK));
        assert_eq!(leave(&mut window, 20_000, 1), BURST, "however many answers came");
        assert_eq!(window.next_burst(), Some(Time(24_000)));
        assert_eq!(leave(&mut window, 24_000, 4), 2);
        assert_eq!(window.next_burst(), None, "the window is full");
    }
}
