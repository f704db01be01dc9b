//! Sleeves: wires around a wire, each of which does one thing to the packets that pass.

pub mod capture;
pub mod delay;
pub mod duplicate;
pub mod frame;
pub mod garbage;
pub mod loss;
pub mod trace;

pub use capture::Capture;
pub use delay::Delay;
pub use duplicate::Duplicate;
pub use garbage::Garbage;
pub use loss::Loss;
pub use trace::Trace;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Chance from a seed, as the sleeves use it.
#[derive(Clone, Debug)]
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `limit`; 0 where the limit is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(limit)) >> 64) as u64
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        ((self.number() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A wire that gives back what is sent, at a time that the test sets.

    use ib::{AttributeId, DirectedRoute, Mad, Method, Packet, Time};

    use crate::{Wire, WireError};

    #[derive(Default)]
    pub struct Echo {
        pub time: Time,
        pub waiting: Vec<Packet>,
    }

    impl Wire for Echo {
        fn now(&mut self) -> Time {
            self.time
        }

        fn has_virtual_clock(&self) -> bool {
            true
        }

        fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
            self.waiting.extend_from_slice(packets);
            Ok(())
        }

        fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
            if self.waiting.is_empty() {
                self.time = self.time.max(until.unwrap_or_default());
            }
            packets.append(&mut self.waiting);
            Ok(self.time)
        }
    }

    /// Requests with transaction numbers from 0 on.
    pub fn requests(count: u64) -> Vec<Packet> {
        let request = |tid| {
            Packet::directed(Mad::directed(
                Method::GET,
                AttributeId::NODE_INFO,
                0,
                &DirectedRoute::LOCAL,
                tid,
                0,
            ))
        };
        (0..count).map(request).collect()
    }

    /// Sends `count` requests and returns the transaction numbers of all that comes back until `until`.
    pub fn echo(wire: &mut impl Wire, count: u64, until: Time) -> Vec<u64> {
        wire.send(&requests(count)).unwrap();
        let mut packets = Vec::new();
        while wire.receive(&mut packets, Some(until)).unwrap() < until {}
        packets.iter().map(|packet| packet.mad.tid()).collect()
    }
}
