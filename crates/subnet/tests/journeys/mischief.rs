//! A wire that loses, doubles, delays, spoils and forges what crosses it, all from a seed.

use std::time::Duration;

use ib::Packet;

/// What a forger answers in the fabric's place: `None` lets the request through.
pub type Forger = Box<dyn FnMut(&Packet) -> Option<Packet>>;

/// What the wire does, in cases per million packets that come in.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mischief {
    /// Swallows it.
    pub lose: u32,
    /// Gives the request back as one that timed out, in place of the answer.
    pub give_back: u32,
    /// Delivers it a second time, later.
    pub double: u32,
    /// Delivers it late.
    pub delay: u32,
    /// How late at the most.
    pub latest: Duration,
    /// Changes one byte of it.
    pub spoil: u32,
    /// Swallows every trap.
    pub mute_traps: bool,
    /// What chance is drawn from.
    pub seed: u64,
}

/// Sebastiano Vigna's SplitMix64 (public domain): short, and good enough to be nasty with.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

/// A wire that does [`Mischief`].
pub struct Wire {
    pub mischief: Mischief,
    random: Chance,
}

impl Wire {
    pub fn new(mischief: Mischief) -> Self {
        Self { mischief, random: Chance(mischief.seed) }
    }

    fn chance(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.random.next() % 1_000_000 < u64::from(per_million)
    }

    fn later(&mut self) -> Duration {
        Duration::from_nanos(self.random.next() % (self.mischief.latest.as_nanos() as u64).max(1))
    }

    /// What becomes of a packet: each delivery with how late it is.
    pub fn cross(&mut self, packet: &Packet) -> Vec<(Duration, Packet)> {
        let Mischief { lose, give_back, double, delay, spoil, mute_traps, .. } = self.mischief;
        let mut packet = *packet;
        if mute_traps && packet.mad.method() == ib::Method::TRAP || self.chance(lose) {
            return Vec::new();
        }
        if self.chance(give_back) && packet.mad.method().is_response() {
            packet.status = Packet::TIMED_OUT;
        }
        if self.chance(spoil) {
            let at = (self.random.next() % 256) as usize;
            packet.mad.0[at] ^= (1 + self.random.next() % 255) as u8;
        }
        let late = if self.chance(delay) { self.later() } else { Duration::ZERO };
        let mut deliveries = vec![(late, packet)];
        if self.chance(double) {
            let later = self.later();
            deliveries.push((late + later, packet));
        }
        deliveries
    }
}
