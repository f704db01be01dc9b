//! Packets that come twice.

use emulator::Emulator;
use ib::{Packet, Time};

use super::Chance;
use crate::{Wire, WireError};

/// Gives each incoming packet a second time with a probability.
pub struct Duplicate<W> {
    inner: W,
    probability: f64,
    chance: Chance,
    fresh: Vec<Packet>,
}

impl<W: Wire> Duplicate<W> {
    /// Around `inner`; a packet comes twice with `probability`.
    pub fn new(inner: W, probability: f64, seed: u64) -> Self {
        Self { inner, probability, chance: Chance::new(seed), fresh: Vec::new() }
    }
}

impl<W: Wire> Wire for Duplicate<W> {
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
        self.fresh.clear();
        let time = self.inner.receive(&mut self.fresh, until)?;
        for packet in &self.fresh {
            packets.push(*packet);
            if self.chance.happens(self.probability) {
                packets.push(*packet);
            }
        }
        Ok(time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Echo, echo};
    use super::*;

    #[test]
    fn some_come_twice_and_none_is_lost() {
        let run = |seed| echo(&mut Duplicate::new(Echo::default(), 0.25, seed), 4_000, Time(1));
        let numbers = run(3);
        assert!((4_850..5_150).contains(&numbers.len()), "{}", numbers.len());
        assert_eq!(numbers, run(3));
        let mut once = numbers;
        once.dedup();
        assert_eq!(once, (0..4_000).collect::<Vec<_>>());
    }
}
