//! Packets that get lost, on the way out and on the way in.

use emulator::Emulator;
use ib::{Packet, Time};

use super::Chance;
use crate::{Wire, WireError};

/// Drops each packet with a probability.
pub struct Loss<W> {
    inner: W,
    probability: f64,
    chance: Chance,
    kept: Vec<Packet>,
}

impl<W: Wire> Loss<W> {
    /// Around `inner`; each way a packet is lost with `probability`.
    pub fn new(inner: W, probability: f64, seed: u64) -> Self {
        Self { inner, probability, chance: Chance::new(seed), kept: Vec::new() }
    }
}

impl<W: Wire> Wire for Loss<W> {
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
        self.kept.clear();
        for packet in packets {
            if !self.chance.happens(self.probability) {
                self.kept.push(*packet);
            }
        }
        self.inner.send(&self.kept)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        self.kept.clear();
        let time = self.inner.receive(&mut self.kept, until)?;
        for packet in &self.kept {
            if !self.chance.happens(self.probability) {
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
    fn as_many_are_lost_as_the_probability_says_and_the_same_ones_for_a_seed() {
        let run = |seed| echo(&mut Loss::new(Echo::default(), 0.1, seed), 10_000, Time(1));
        let kept = run(7);
        // Twice a tenth: out and back.
        assert!((7_900..8_300).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept, run(7));
        assert_ne!(kept, run(8));
        assert_eq!(echo(&mut Loss::new(Echo::default(), 0.0, 1), 100, Time(1)).len(), 100);
        assert_eq!(echo(&mut Loss::new(Echo::default(), 1.0, 1), 100, Time(1)).len(), 0);
    }
}
