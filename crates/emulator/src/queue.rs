//! What is to happen when, and the packets under way.
//!
//! A packet stays where it is from its sending to its end; events are 16 bytes that name its place. Events lie in a
//! radix heap: nothing is ever added before the time that has come, so an event's bucket is the highest bit in which
//! its time differs from the last one taken out, and each event moves to lower buckets only. Events of one time always
//! lie in one bucket, in the order of their making, and come out in that order.

use fabric::{NodeId, PortId};
use ib::{Packet, Time};

/// What is to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A packet under way arrives at the next node.
    Arrive(u32),
    /// A packet is handed to the client at the port that it stands at.
    Deliver(u32),
    /// A link has trained; one of its ends.
    Trained(PortId),
    /// A trap of a node is due again.
    Trap(NodeId),
    /// A fault of the schedule is due; its number.
    Fault(u32),
    /// A link that comes and goes changes; the port that was named.
    Flap(PortId),
}

/// A packet under way.
#[derive(Clone, Copy)]
pub(crate) struct UnderWay {
    pub packet: Packet,
    /// The port that it arrives at next.
    pub at: PortId,
    /// Links crossed so far.
    pub hops: u8,
}

/// Buckets of the heap: one for each bit of a time, and one for the time that has come.
const BUCKETS: usize = 65;

/// Events in the order of time, ties in the order of their making; and the packets that they name.
pub(crate) struct Queue {
    buckets: [Vec<(Time, Event)>; BUCKETS],
    /// The earliest time in each bucket.
    earliest: [Time; BUCKETS],
    /// A bit for each bucket that is not empty.
    filled: u128,
    /// The time of the last event taken out.
    last: Time,
    /// How many events of bucket 0 are taken out already.
    taken: usize,
    packets: Vec<UnderWay>,
    free: Vec<u32>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| Vec::new()),
            earliest: [Time::ZERO; BUCKETS],
            filled: 0,
            last: Time::ZERO,
            taken: 0,
            packets: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl Queue {
    /// Adds an event. A time that has passed counts as the last one that has come.
    #[inline]
    pub fn push(&mut self, at: Time, event: Event) {
        let at = at.max(self.last);
        let bucket = self.bucket(at);
        if self.filled >> bucket & 1 == 0 || at < self.earliest[bucket] {
            self.earliest[bucket] = at;
        }
        self.filled |= 1 << bucket;
        self.buckets[bucket].push((at, event));
    }

    #[inline]
    fn bucket(&self, at: Time) -> usize {
        (u64::BITS - (at.0 ^ self.last.0).leading_zeros()) as usize
    }

    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        (self.filled != 0).then(|| self.earliest[self.filled.trailing_zeros() as usize])
    }

    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Event)> {
        let next = self.next_time().filter(|&next| next <= until)?;
        let bucket = self.filled.trailing_zeros() as usize;
        if bucket > 0 {
            self.last = next;
            self.filled &= !(1 << bucket);
            let mut events = std::mem::take(&mut self.buckets[bucket]);
            if let [only] = events[..] {
                events.clear();
                self.buckets[bucket] = events;
                return Some(only);
            }
            for (at, event) in events.drain(..) {
                self.push(at, event);
            }
            self.buckets[bucket] = events;
        }
        let event = self.buckets[0][self.taken];
        self.taken += 1;
        if self.taken == self.buckets[0].len() {
            self.buckets[0].clear();
            self.taken = 0;
            self.filled &= !1;
        }
        Some(event)
    }

    /// A packet that is under way already arrives at the port that it names.
    #[inline]
    pub fn arrive(&mut self, time: Time, slot: u32) {
        self.push(time, Event::Arrive(slot));
    }

    /// Takes in a packet, to be handed to the client at its port at the given time.
    pub fn deliver(&mut self, time: Time, packet: &Packet, at: PortId) {
        let slot = self.keep(packet, at);
        self.push(time, Event::Deliver(slot));
    }

    /// Takes in a packet that stands at a port.
    pub fn keep(&mut self, packet: &Packet, at: PortId) -> u32 {
        let under_way = UnderWay { packet: *packet, at, hops: 0 };
        match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = under_way;
                slot
            }
            None => {
                self.packets.push(under_way);
                self.packets.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub fn packet(&mut self, slot: u32) -> &mut UnderWay {
        &mut self.packets[slot as usize]
    }

    /// A packet's way is over.
    #[inline]
    pub fn end(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// How many packets are under way.
    pub fn under_way(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_come_in_order_of_time_then_of_making() {
        let mut queue = Queue::default();
        queue.push(Time(5), Event::Trap(NodeId(1)));
        queue.push(Time(3), Event::Fault(2));
        queue.push(Time(5), Event::Trained(PortId(3)));
        assert_eq!(queue.next_time(), Some(Time(3)));
        assert_eq!(queue.pop(Time(2)), None);
        assert_eq!(queue.pop(Time(9)), Some((Time(3), Event::Fault(2))));
        assert_eq!(queue.pop(Time(9)), Some((Time(5), Event::Trap(NodeId(1)))));
        assert_eq!(queue.pop(Time(9)), Some((Time(5), Event::Trained(PortId(3)))));
        assert_eq!(queue.pop(Time(9)), None);
    }

    proptest! {
        #[test]
        fn the_heap_agrees_with_a_sorted_list(
            steps in proptest::collection::vec((0u64..5000, any::<bool>(), 0u64..3000), 1..300),
        ) {
            let (mut queue, mut plain, mut now) = (Queue::default(), Vec::new(), 0u64);
            for (number, (after, take, wait)) in steps.into_iter().enumerate() {
                let event = Event::Fault(number as u32);
                queue.push(Time(now + after), event);
                plain.push((Time(now + after), number, event));
                if take {
                    now += wait;
                    plain.sort_by_key(|&(at, number, _)| (at, number));
                    let due = plain.iter().take_while(|(at, _, _)| *at <= Time(now)).count();
                    for (at, _, event) in plain.drain(..due) {
                        prop_assert_eq!(queue.next_time(), Some(at));
                        prop_assert_eq!(queue.pop(Time(now)), Some((at, event)));
                    }
                    prop_assert_eq!(queue.pop(Time(now)), None);
                    prop_assert_eq!(queue.next_time(), plain.first().map(|(at, _, _)| *at));
                }
            }
        }
    }
}
