//! What is to happen when, and the packets under way.
//!
//! A packet stays where it is from its sending to its end; events are 16 bytes that name its place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
}

impl Event {
    fn pack(self) -> u64 {
        let (kind, value) = match self {
            Self::Arrive(slot) => (0, slot),
            Self::Trained(port) => (1, port.0),
            Self::Trap(node) => (2, node.0),
            Self::Fault(number) => (3, number),
            Self::Deliver(slot) => (4, slot),
        };
        u64::from(value) | kind << 32
    }

    fn unpack(packed: u64) -> Self {
        let value = packed as u32;
        match packed >> 32 & 7 {
            0 => Self::Arrive(value),
            1 => Self::Trained(PortId(value)),
            2 => Self::Trap(NodeId(value)),
            3 => Self::Fault(value),
            _ => Self::Deliver(value),
        }
    }
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

/// Events in the order of time, ties in the order of their making; and the packets that they name.
#[derive(Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Time, u64)>>,
    /// Counts events, in the top bits of the second word: 29 bits of it order ties.
    made: u64,
    packets: Vec<UnderWay>,
    free: Vec<u32>,
}

const TIE_SHIFT: u32 = 35;

impl Queue {
    pub fn push(&mut self, at: Time, event: Event) {
        self.made = (self.made + 1) & ((1 << (64 - TIE_SHIFT)) - 1);
        self.heap.push(Reverse((at, self.made << TIE_SHIFT | event.pack())));
    }

    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    pub fn pop(&mut self, until: Time) -> Option<(Time, Event)> {
        if self.next_time()? > until {
            return None;
        }
        self.heap.pop().map(|Reverse((at, packed))| (at, Event::unpack(packed)))
    }

    /// Takes in a packet; it arrives at its port at the given time.
    pub fn send(&mut self, time: Time, under_way: UnderWay) {
        let slot = self.keep(under_way);
        self.push(time, Event::Arrive(slot));
    }

    /// Takes in a packet; it is handed to the client at its port at the given time.
    pub fn deliver(&mut self, time: Time, under_way: UnderWay) {
        let slot = self.keep(under_way);
        self.push(time, Event::Deliver(slot));
    }

    fn keep(&mut self, under_way: UnderWay) -> u32 {
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

    pub fn packet(&mut self, slot: u32) -> &mut UnderWay {
        &mut self.packets[slot as usize]
    }

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
}
