//! What is under way: requests that wait, requests that fly, answers that belong to them, times to ask again.
//!
//! Everything lies in arrays that are used again; a request costs no allocation. A transaction's number is the place
//! of its request and how often that place was used, so that an answer to a former request is known for what it is.

mod queue;
mod window;

use std::collections::VecDeque;
use std::time::Duration;

use ib::Time;

use crate::config::Config;
use crate::request::Request;
use queue::Queue;
pub(crate) use queue::Target;
use window::Window;

/// The most requests under way, whatever the window says: transaction numbers have 16 bits for the place.
const MOST_UNDER_WAY: usize = 4096;

/// How often to ask again soon, by the time that answers usually take, before the waiting time set by hand begins: a single
/// loss then costs next to nothing, and where a third of all is lost, hardly anything waits so long.
const EARLY: u8 = 12;
/// Each of these waits twice as long as the one before, as RFC 6298 has it, up to two to this times the first: who is slow is
/// not asked too often.
const MOST_DOUBLINGS: u8 = 4;
/// The least time to wait: agents pause now and then.
const LEAST: Duration = Duration::from_millis(1);

/// A request under way.
#[derive(Clone, Copy)]
struct UnderWay {
    request: Request,
    target: Target,
    sent: Time,
    first_sent: Time,
    /// Which waiting time is its own now: the early ones come first, where the usual time is known.
    attempt: u8,
    /// Which was the first.
    first: u8,
    /// Hops to the device: how long an answer takes depends on it.
    hops: u8,
    /// When its time is up.
    due: Time,
    generation: u16,
    active: bool,
    /// Whether the window counts it: it may still be on the wire.
    counted: bool,
    /// Whether it waits to be sent again.
    waits: bool,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing came, however often it was asked: so many times.
    GivenUp(Request, u32),
    /// It came to nothing so many times, and waits to be sent again.
    Again(Request, u8),
}

/// Requests that wait and that fly.
pub(crate) struct Exchange {
    places: Vec<UnderWay>,
    free: Vec<u16>,
    queue: Queue,
    window: Window,
    /// Deadlines by attempt, the next first.
    deadlines: Vec<VecDeque<(Time, u32)>>,
    /// Transactions that wait to be sent again.
    resend: VecDeque<u32>,
    timeout: Duration,
    retries: u8,
    under_way: usize,
    /// Requests under way that are no longer on the wire: they hold neither their device nor a place in the window, so that
    /// those who answer do not wait for those who do not.
    gone: usize,
    /// Requests on the wire, and when they are taken to be gone.
    leaving: VecDeque<(Time, u32)>,
    /// The most requests under way, on the wire or not.
    most: usize,
}

impl Exchange {
    pub fn new(config: &Config) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            queue: Queue::new(config.max_per_device.max(1)),
            window: Window::new(config.max_wire_smps, MOST_UNDER_WAY, config.flow_controlled),
            deadlines: vec![VecDeque::new(); usize::from(config.retries.saturating_add(EARLY)) + 1],
            resend: VecDeque::new(),
            timeout: config.timeout,
            retries: config.retries.saturating_add(EARLY),
            under_way: 0,
            gone: 0,
            leaving: VecDeque::new(),
            most: match config.max_wire_smps as usize {
                0 => MOST_UNDER_WAY,
                bound => bound.min(MOST_UNDER_WAY),
            },
        }
    }

    /// A turn to send begins: says to the window how much there is on the wire.
    pub fn begin_sending(&mut self, now: Time) {
        while let Some(&(_, tid)) = self.leaving.front().filter(|(due, _)| *due <= now) {
            self.leaving.pop_front();
            if self.slot(tid).is_some_and(|slot| std::mem::take(&mut slot.counted)) {
                self.gone += 1;
            }
        }
        let on_the_wire = self.on_the_wire();
        self.window.begin_sending(now, on_the_wire);
    }

    /// A request waits its turn at the target.
    pub fn schedule(&mut self, target: Target, request: Request) {
        self.queue.push(target, request);
    }

    /// Nothing waits and nothing flies.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 && self.queue.is_empty()
    }

    /// How many requests are under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// How many may be under way now.
    pub fn window(&self) -> usize {
        self.window.size()
    }

    /// Requests that the window counts: those that may still be on the wire.
    fn on_the_wire(&self) -> usize {
        self.under_way.saturating_sub(self.gone)
    }

    /// Drops all that waits for a device.
    pub fn drop_all(&mut self, node: u32) -> usize {
        self.queue.drop_all(node)
    }

    /// The next transaction to send again, if the window has room.
    pub fn next_resend(&mut self, now: Time) -> Option<(Request, u32)> {
        while let Some(&tid) = self.resend.front() {
            if self.slot(tid).is_none() {
                self.resend.pop_front();
                continue;
            }
            let on_the_wire = self.on_the_wire();
            if !self.window.take(now, on_the_wire) {
                return None;
            }
            self.resend.pop_front();
            let slot = self.slot(tid)?;
            slot.sent = now;
            slot.waits = false;
            let was_counted = std::mem::replace(&mut slot.counted, true);
            let (request, attempt, hops) = (slot.request, slot.attempt, slot.hops);
            self.gone -= usize::from(!was_counted);
            self.await_answer(now, attempt, hops, tid);
            return Some((request, tid));
        }
        None
    }

    /// The next target whose turn it is, if the window has room; its front request is [`Exchange::front`].
    pub fn next_target(&mut self) -> Option<Target> {
        let on_the_wire = self.on_the_wire();
        if self.queue.is_empty() || self.under_way >= self.most || !self.window.has_room(on_the_wire) {
            return None;
        }
        self.queue.next_target(self.window.size())
    }

    /// What the target's turn is for.
    pub fn front(&self, target: Target) -> Request {
        self.queue.front(target)
    }

    /// The target's front request is done with, without having been sent.
    pub fn drop_front(&mut self, target: Target) {
        self.queue.pop(target);
        self.queue.end_turn(target, false);
    }

    /// How long to wait for an answer.
    fn wait(&self, attempt: u8, hops: u8) -> Duration {
        if let Some(attempt) = attempt.checked_sub(EARLY) {
            return self.timeout.saturating_mul(1 << attempt.min(10));
        }
        let late = self.window.time_out(hops).unwrap_or(self.timeout).max(LEAST);
        late.saturating_mul(1 << attempt.min(MOST_DOUBLINGS)).min(self.timeout)
    }

    /// Something was sent: how long it is waited for, and how long it may be on the wire. What is late by the measure of others
    /// is lost or will come by itself: it holds up nobody else.
    fn await_answer(&mut self, now: Time, attempt: u8, hops: u8, tid: u32) {
        let wait = self.wait(attempt, hops);
        let gone = self.window.time_out(hops).map_or(wait, |late| late.min(wait));
        insert(&mut self.leaving, (now + gone, tid));
        insert(&mut self.deadlines[usize::from(attempt)], (now + wait, tid));
        if let Some(slot) = self.slot(tid) {
            slot.due = now + wait;
        }
    }

    /// The target's turn ends with a request sent; its transaction number. `keep` leaves the front request in place.
    pub fn begin(&mut self, now: Time, target: Target, request: Request, hops: u8, keep: bool) -> u32 {
        let on_the_wire = self.on_the_wire();
        self.window.take(now, on_the_wire);
        if !keep {
            self.queue.pop(target);
        }
        self.queue.end_turn(target, true);
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let unused = UnderWay {
                    request,
                    target,
                    sent: now,
                    first_sent: now,
                    attempt: 0,
                    first: 0,
                    hops,
                    due: now,
                    generation: 0,
                    active: false,
                    counted: true,
                    waits: false,
                };
                self.places.push(unused);
                (self.places.len() - 1) as u16
            }
        };
        let first = if self.window.time_out(hops).is_some() { 0 } else { EARLY };
        let slot = &mut self.places[usize::from(place)];
        *slot = UnderWay {
            request,
            target,
            sent: now,
            first_sent: now,
            attempt: first,
            first,
            hops,
            due: now,
            generation: slot.generation.wrapping_add(1),
            active: true,
            counted: true,
            waits: false,
        };
        let tid = u32::from(slot.generation) << 16 | u32::from(place);
        self.under_way += 1;
        self.await_answer(now, first, hops, tid);
        tid
    }

    fn slot(&mut self, tid: u32) -> Option<&mut UnderWay> {
        self.places
            .get_mut(tid as usize & 0xffff)
            .filter(|slot| slot.active && u32::from(slot.generation) == tid >> 16)
    }

    /// The request that an answer's transaction number names, if it still waits.
    pub fn peek(&mut self, tid: u32) -> Option<Request> {
        self.slot(tid).map(|slot| slot.request)
    }

    /// The request is answered.
    pub fn answered(&mut self, now: Time, tid: u32) {
        let Some(slot) = self.slot(tid) else { return };
        slot.active = false;
        let again = slot.attempt > slot.first;
        let (target, sent, hops) = (slot.target, slot.first_sent, slot.hops);
        let counted = slot.counted;
        self.finish(tid, target, again, counted);
        if again {
            // Who answers now was there before: what was lost was lost on the way.
            self.window.lost(sent, now);
        }
        // The answer to a request that was sent twice may belong to either.
        self.window.answered((!again).then(|| (hops, now.since(sent))));
    }

    fn finish(&mut self, tid: u32, target: Target, again: bool, counted: bool) {
        self.free.push(tid as u16);
        self.under_way -= 1;
        self.gone -= usize::from(!counted);
        if !again {
            self.queue.release(target);
        }
    }

    /// The ways to these devices have changed: what is under way to them is sent again at once. How long to wait for answers
    /// over the ways of before says nothing of the new ones.
    pub fn hurry(&mut self, nodes: &[u32]) {
        for place in 0..self.places.len() {
            let slot = &mut self.places[place];
            if !slot.active || !nodes.contains(&slot.target.node) {
                continue;
            }
            let tid = u32::from(slot.generation) << 16 | place as u32;
            if slot.waits || slot.attempt < self.retries {
                self.failed(tid);
                let slot = &mut self.places[place];
                slot.attempt = slot.first + 1;
            }
        }
    }

    /// Whether blocks of a device's table wait to be written, or are not confirmed yet.
    pub fn writes_table_of(&self, node: u32) -> bool {
        let writes = |request| matches!(request, Request::SetTable(..) | Request::ProgramTables(_));
        let flies = |slot: &UnderWay| slot.active && slot.target.node == node && writes(slot.request);
        self.places.iter().any(flies) || self.queue.waiting_for(node).any(writes)
    }

    /// Whether this is under way.
    pub fn is_asking(&self, request: Request) -> bool {
        self.places.iter().any(|slot| slot.active && slot.request == request)
    }

    /// Nobody will answer this any more: drops it where it is under way.
    pub fn forget_request(&mut self, request: Request) {
        let place = self.places.iter().position(|slot| slot.active && slot.request == request);
        if let Some(place) = place {
            self.end(place);
        }
    }

    fn end(&mut self, place: usize) {
        let slot = &mut self.places[place];
        slot.active = false;
        let (target, again, counted) = (slot.target, slot.attempt > slot.first, slot.counted);
        self.finish(place as u32, target, again, counted);
    }

    /// A device is gone: drops all that waits for it and flies to it.
    pub fn forget(&mut self, node: u32) {
        self.queue.drop_all(node);
        for place in 0..self.places.len() {
            let slot = &self.places[place];
            if slot.active && slot.target.node == node {
                self.end(place);
            }
        }
    }

    /// The request that was waiting came to nothing: ask again or give up.
    pub fn failed(&mut self, tid: u32) -> Option<Outcome> {
        let retries = self.retries;
        // One that waits to be sent again has failed already.
        let slot = self.slot(tid).filter(|slot| !slot.waits)?;
        let (request, target, again) = (slot.request, slot.target, slot.attempt > slot.first);
        if slot.attempt >= retries {
            slot.active = false;
            let (counted, times) = (slot.counted, u32::from(slot.attempt - slot.first) + 1);
            self.finish(tid, target, again, counted);
            return Some(Outcome::GivenUp(request, times));
        }
        slot.attempt += 1;
        slot.waits = true;
        let counted = std::mem::take(&mut slot.counted);
        let times = slot.attempt - slot.first;
        self.gone += usize::from(counted);
        if !again {
            self.queue.release(target);
        }
        self.resend.push_back(tid);
        Some(Outcome::Again(request, times))
    }

    /// One request whose time is up, if there is any.
    pub fn expired(&mut self, now: Time) -> Option<Outcome> {
        for attempt in 0..self.deadlines.len() {
            while let Some(&(deadline, tid)) = self.deadlines[attempt].front() {
                if self.is_stale(deadline, tid) {
                    self.deadlines[attempt].pop_front();
                    continue;
                }
                if deadline > now {
                    break;
                }
                self.deadlines[attempt].pop_front();
                return self.failed(tid);
            }
        }
        None
    }

    fn is_stale(&mut self, deadline: Time, tid: u32) -> bool {
        self.slot(tid).is_none_or(|slot| slot.waits || slot.due != deadline)
    }

    /// When the next request's time is up.
    pub fn next_deadline(&mut self) -> Option<Time> {
        let waits = !self.queue.is_empty() || !self.resend.is_empty();
        while let Some(&(_, tid)) = self.leaving.front()
            && self.slot(tid).is_none_or(|slot| !slot.counted)
        {
            self.leaving.pop_front();
        }
        let mut next = self.leaving.front().map(|&(due, _)| due).filter(|_| waits);
        next = [next, self.window.next_burst()].into_iter().flatten().min();
        for attempt in 0..self.deadlines.len() {
            while let Some(&(deadline, tid)) = self.deadlines[attempt].front() {
                if self.is_stale(deadline, tid) {
                    self.deadlines[attempt].pop_front();
                    continue;
                }
                next = Some(next.map_or(deadline, |next: Time| next.min(deadline)));
                break;
            }
        }
        next
    }

    /// Forgets all that waits and flies: answers to it will not be known.
    pub fn clear(&mut self) {
        for (place, slot) in self.places.iter_mut().enumerate() {
            if std::mem::take(&mut slot.active) {
                self.free.push(place as u16);
            }
        }
        (self.under_way, self.gone) = (0, 0);
        self.leaving.clear();
        self.resend.clear();
        self.queue.clear();
    }
}

/// Times come nearly in order: few have to make room for one that comes before them.
fn insert(times: &mut VecDeque<(Time, u32)>, (due, tid): (Time, u32)) {
    let place = match times.back() {
        Some(&(last, _)) if last > due => times.partition_point(|&(other, _)| other <= due),
        _ => times.len(),
    };
    times.insert(place, (due, tid));
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::NodeId;

    fn exchange() -> Exchange {
        Exchange::new(&Config { retries: 1, ..Config::default() })
    }

    fn send(exchange: &mut Exchange, now: Time) -> Option<u32> {
        let target = exchange.next_target()?;
        let request = exchange.front(target);
        Some(exchange.begin(now, target, request, 1, false))
    }

    #[test]
    fn a_late_answer_is_known_for_what_it_is() {
        let mut exchange = exchange();
        exchange.begin_sending(Time(0));
        let target = Target { node: 0, branch: 0 };
        exchange.schedule(target, Request::Description(NodeId(0)));
        let first = send(&mut exchange, Time(0)).unwrap();
        exchange.answered(Time(5), first);
        assert!(exchange.is_idle());
        exchange.schedule(target, Request::GetSwitch(NodeId(0)));
        exchange.begin_sending(Time(0));
        let second = send(&mut exchange, Time(9)).unwrap();
        assert_ne!(first, second);
        assert_eq!(exchange.peek(first), None);
        assert_eq!(exchange.peek(second), Some(Request::GetSwitch(NodeId(0))));
    }

    #[test]
    fn what_is_not_answered_is_asked_again_and_given_up() {
        let mut exchange = exchange();
        let request = Request::Description(NodeId(0));
        exchange.schedule(Target { node: 0, branch: 0 }, request);
        exchange.begin_sending(Time(0));
        let tid = send(&mut exchange, Time(0)).unwrap();
        let due = exchange.next_deadline().unwrap();
        assert_eq!(exchange.expired(Time(due.0 - 1)), None);
        assert_eq!(exchange.expired(due), Some(Outcome::Again(request, 1)));
        exchange.begin_sending(Time(0));
        assert_eq!(exchange.next_resend(due), Some((request, tid)));
        let due = exchange.next_deadline().unwrap();
        assert_eq!(exchange.expired(due), Some(Outcome::GivenUp(request, 2)));
        assert!(exchange.is_idle());
        assert_eq!(exchange.next_deadline(), None);
    }

    #[test]
    fn who_answers_does_not_wait_for_who_does_not() {
        let mut exchange = exchange();
        exchange.begin_sending(Time(0));
        let target = Target { node: 0, branch: 0 };
        exchange.schedule(target, Request::Description(NodeId(0)));
        exchange.schedule(target, Request::GetSwitch(NodeId(0)));
        exchange.schedule(target, Request::Sweep(NodeId(0)));
        let first = send(&mut exchange, Time(0)).unwrap();
        assert_eq!(send(&mut exchange, Time(0)), None, "one at a time");
        let due = exchange.next_deadline().unwrap();
        assert_eq!(exchange.expired(due), Some(Outcome::Again(Request::Description(NodeId(0)), 1)));
        let second = send(&mut exchange, due).unwrap();
        exchange.answered(due, second);
        assert_eq!(exchange.drop_all(0), 1);
        exchange.begin_sending(Time(0));
        assert_eq!(send(&mut exchange, due), None);
        exchange.answered(due, first);
        assert!(exchange.is_idle());
    }

    /// Asks what is not answered until it is given up; the waits before each time.
    fn waits(exchange: &mut Exchange, tid: u32) -> Vec<Duration> {
        let mut now = Time(1_000_000);
        let mut waits = Vec::new();
        loop {
            let due = exchange.slot(tid).unwrap().due;
            waits.push(due.since(now));
            now = due;
            if !matches!(exchange.expired(now), Some(Outcome::Again(..))) {
                return waits;
            }
            exchange.begin_sending(now);
            assert!(exchange.next_resend(now).is_some());
        }
    }

    #[test]
    fn waits_double_from_the_usual_time_but_not_for_ever() {
        let mut exchange = exchange();
        let target = Target { node: 0, branch: 0 };
        for _ in 0..2 {
            exchange.schedule(target, Request::Description(NodeId(0)));
        }
        exchange.begin_sending(Time(0));
        let first = send(&mut exchange, Time(0)).unwrap();
        exchange.answered(Time(20_000), first);
        exchange.begin_sending(Time(1_000_000));
        let second = send(&mut exchange, Time(1_000_000)).unwrap();
        let waits = waits(&mut exchange, second);
        let (early, late) = waits.split_at(usize::from(EARLY));
        let doubled: Vec<Duration> =
            (0..EARLY).map(|attempt| LEAST * (1 << attempt.min(MOST_DOUBLINGS))).collect();
        assert_eq!(early, doubled);
        let timeout = exchange.timeout;
        assert_eq!(late, [timeout, 2 * timeout], "what was set by hand comes then");
    }

    #[test]
    fn over_another_way_no_wait_is_held_against_a_device() {
        let mut exchange = exchange();
        let target = Target { node: 3, branch: 0 };
        exchange.schedule(target, Request::Description(NodeId(3)));
        exchange.begin_sending(Time(0));
        let tid = send(&mut exchange, Time(0)).unwrap();
        exchange.slot(tid).unwrap().first = 0;
        exchange.slot(tid).unwrap().attempt = 7;
        exchange.hurry(&[1, 3]);
        assert_eq!(exchange.next_resend(Time(5)), Some((Request::Description(NodeId(3)), tid)));
        assert_eq!(exchange.slot(tid).unwrap().attempt, 1);
    }

    #[test]
    fn no_device_gets_more_than_it_can_take() {
        let mut exchange = exchange();
        for node in 0..2 {
            for _ in 0..20 {
                exchange.schedule(Target { node, branch: node as u8 }, Request::Description(NodeId(node)));
            }
        }
        let mut sent = Vec::new();
        exchange.begin_sending(Time(0));
        while let Some(tid) = send(&mut exchange, Time(0)) {
            sent.push(exchange.peek(tid).unwrap());
        }
        let to = |node| sent.iter().filter(|&&request| request == Request::Description(NodeId(node))).count();
        assert_eq!((to(0), to(1)), (1, 1), "{sent:?}");
    }
}
