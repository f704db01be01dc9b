//! One number for all that came out of the manager at one moment.

use ib::Packet;
use subnet::Event;

use super::Drained;

/// Adds outputs up, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest {
    drained: Drained,
}

impl Digest {
    /// Adds a packet that was sent.
    pub fn packet(&mut self, packet: &Packet) {
        self.drained.packets += 1;
        for number in [packet.dlid.0, packet.slid.0, packet.dest_qp, packet.source_qp] {
            self.word(u64::from(number));
        }
        for word in packet.mad.0.chunks_exact(8) {
            self.word(word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }

    /// Adds an event.
    pub fn event(&mut self, event: &Event) {
        self.drained.events += 1;
        // Events are plain data, which always prints.
        let text = serde_json::to_vec(event).unwrap_or_default();
        self.word(text.len() as u64);
        for byte in text {
            self.word(u64::from(byte));
        }
    }

    /// FNV-1a, a word a step.
    fn word(&mut self, word: u64) {
        self.drained.digest =
            (self.drained.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    /// The result.
    pub fn finish(self) -> Drained {
        self.drained
    }
}
