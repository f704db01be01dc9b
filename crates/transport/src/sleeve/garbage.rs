//! Packets whose bytes were changed on the way.

use emulator::Emulator;
use ib::{Packet, Time};

use super::Chance;
use crate::{Wire, WireError};

/// Spoils each incoming MAD with a probability: a few bytes anywhere, or everything behind the header.
pub struct Garbage<W> {
    inner: W,
    probability: f64,
    chance: Chance,
}

impl<W: Wire> Garbage<W> {
    /// Around `inner`; a MAD is spoilt with `probability`.
    pub fn new(inner: W, probability: f64, seed: u64) -> Self {
        Self { inner, probability, chance: Chance::new(seed) }
    }

    fn spoil(&mut self, bytes: &mut [u8; 256]) {
        if self.chance.happens(0.5) {
            for _ in 0..=self.chance.below(8) {
                let at = self.chance.below(256) as usize;
                bytes[at] ^= self.chance.below(255) as u8 + 1;
            }
        } else {
            for word in bytes[24..].chunks_exact_mut(8) {
                word.copy_from_slice(&self.chance.number().to_ne_bytes());
            }
        }
    }
}

impl<W: Wire> Wire for Garbage<W> {
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
        let before = packets.len();
        let time = self.inner.receive(packets, until)?;
        for packet in &mut packets[before..] {
            if self.chance.happens(self.probability) {
                self.spoil(&mut packet.mad.0);
            }
        }
        Ok(time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Echo, requests};
    use super::*;

    #[test]
    fn some_are_spoilt_and_the_same_ones_for_a_seed() {
        let run = |seed| {
            let mut wire = Garbage::new(Echo::default(), 0.2, seed);
            wire.send(&requests(2_000)).unwrap();
            let mut packets = Vec::new();
            wire.receive(&mut packets, Some(Time(1))).unwrap();
            packets.into_iter().map(|packet| packet.mad).collect::<Vec<_>>()
        };
        let came = run(5);
        let spoilt = came.iter().zip(requests(2_000)).filter(|(mad, sent)| **mad != sent.mad).count();
        assert!((340..460).contains(&spoilt), "{spoilt}");
        assert!(came == run(5) && came != run(6));
    }
}
