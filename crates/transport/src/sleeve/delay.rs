//! Packets that take longer, and so overtake each other.

use std::collections::BTreeMap;
use std::time::Duration;

use emulator::Emulator;
use ib::{Packet, Time};

use super::Chance;
use crate::{Wire, WireError};

/// Holds each incoming packet back for a time between nothing and a limit.
pub struct Delay<W> {
    inner: W,
    limit: Duration,
    chance: Chance,
    fresh: Vec<Packet>,
    /// By the time at which they may pass, then in the order in which they came.
    held: BTreeMap<(Time, u64), Packet>,
    count: u64,
}

impl<W: Wire> Delay<W> {
    /// Around `inner`; a packet is held back for less than `limit`.
    pub fn new(inner: W, limit: Duration, seed: u64) -> Self {
        Self { inner, limit, chance: Chance::new(seed), fresh: Vec::new(), held: BTreeMap::new(), count: 0 }
    }
}

impl<W: Wire> Wire for Delay<W> {
    fn now(&mut self) -> Time {
        self.inner.now()
    }

    fn has_virtual_clock(&self) -> bool {
        self.inner.has_virtual_clock()
    }

    fn emulated(&mut self) -> Option<&mut Emulator> {
        self.inner.emulated()
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        self.inner.send(packets)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        loop {
            let next = self.held.first_key_value().map(|(&(time, _), _)| time);
            let wait = match (next, until) {
                (Some(next), Some(until)) => Some(next.min(until)),
                (next, until) => next.or(until),
            };
            self.fresh.clear();
            let now = self.inner.receive(&mut self.fresh, wait)?;
            for packet in &self.fresh {
                let held = Duration::from_nanos(self.chance.below(self.limit.as_nanos() as u64));
                self.held.insert((now + held, self.count), *packet);
                self.count += 1;
            }
            let before = packets.len();
            while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= now) {
                packets.push(first.remove());
            }
            // Something passes, the time is over, or the wire below came back early and so does this one.
            if packets.len() > before || self.fresh.is_empty() || until.is_some_and(|until| now >= until) {
                return Ok(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Echo, echo, requests};
    use super::*;

    #[test]
    fn packets_overtake_each_other_and_all_come() {
        let limit = Duration::from_micros(5);
        let run = |seed| echo(&mut Delay::new(Echo::default(), limit, seed), 500, Time(10_000));
        let numbers = run(11);
        assert_eq!(numbers, run(11));
        assert!(!numbers.is_sorted());
        let mut sorted = numbers;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..500).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_passes_before_its_time() {
        let mut wire = Delay::new(Echo::default(), Duration::from_secs(1), 1);
        wire.send(&requests(1)).unwrap();
        let mut packets = Vec::new();
        assert_eq!(wire.receive(&mut packets, Some(Time(1))).unwrap(), Time(1));
        assert!(packets.is_empty());
        let came = wire.receive(&mut packets, None).unwrap();
        assert!(packets.len() == 1 && came > Time(1) && came < Time(1_000_000_000));
    }
}
