//! What happens to MADs at the manager's port while a failure is healed.

use std::time::Duration;

use ib::{Method, Packet, Time};

use crate::chance::Chance;

/// What happens to MADs that come in and go out, in cases per million.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Weather {
    /// Is lost, in both directions.
    pub lose: u32,
    /// Comes in late.
    pub delay: u32,
    /// How late at the most.
    pub latest: Duration,
    /// Comes in a second time, late.
    pub double: u32,
    /// Whether traps are lost, as long as the failure is not healed.
    pub mute_traps: bool,
    /// How long all the rest lasts.
    pub lasts: Duration,
}

/// The weather at a port.
pub(crate) struct Sky {
    weather: Weather,
    ends: Time,
    chance: Chance,
}

impl Sky {
    /// Fair weather.
    pub fn fair() -> Self {
        Self { weather: Weather::default(), ends: Time::ZERO, chance: Chance::new(0) }
    }

    /// Weather from `now` on.
    pub fn new(weather: Weather, now: Time, seed: u64) -> Self {
        Self { weather, ends: now + weather.lasts, chance: Chance::new(seed) }
    }

    /// Whether a packet that leaves at `now` gets out.
    pub fn lets_out(&mut self, now: Time) -> bool {
        now >= self.ends || !self.chance.happens(self.weather.lose)
    }

    /// When a packet that has come at `now` is handed over: not at all, once or twice.
    pub fn lets_in(&mut self, now: Time, packet: &Packet) -> [Option<Time>; 2] {
        let Weather { lose, delay, double, mute_traps, .. } = self.weather;
        if mute_traps && packet.mad.method() == Method::TRAP {
            return [None; 2];
        }
        if now >= self.ends {
            return [Some(now), None];
        }
        if self.chance.happens(lose) {
            return [None; 2];
        }
        let first = if self.chance.happens(delay) { self.later(now) } else { now };
        let second = self.chance.happens(double).then(|| self.later(now));
        [Some(first), second]
    }

    fn later(&mut self, now: Time) -> Time {
        now + Duration::from_nanos(self.chance.below(self.weather.latest.as_nanos() as usize) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ib::{AttributeId, Mad};

    fn packet(method: Method) -> Packet {
        Packet::to_lid(ib::Lid(1), Mad::lid_routed(method, AttributeId::NOTICE, 0, 1, 0))
    }

    #[test]
    fn bad_weather_does_what_it_says_and_ends() {
        let weather = Weather {
            lose: 250_000,
            delay: 500_000,
            double: 250_000,
            latest: Duration::from_micros(5),
            mute_traps: true,
            lasts: Duration::from_micros(100),
        };
        let mut sky = Sky::new(weather, Time(1000), 3);
        let (mut lost, mut late, mut twice) = (0, 0, 0);
        for _ in 0..1000 {
            match sky.lets_in(Time(2000), &packet(Method::GET_RESP)) {
                [None, _] => lost += 1,
                [Some(first), second] => {
                    assert!(first < Time(7000));
                    late += u32::from(first > Time(2000));
                    twice += u32::from(second.is_some());
                }
            }
        }
        assert!((200..300).contains(&lost) && (300..450).contains(&late) && (140..240).contains(&twice));
        assert!((0..100).any(|_| !sky.lets_out(Time(2000))));
        let over = Time(101_000);
        assert!((0..100).all(|_| sky.lets_out(over)));
        assert_eq!(sky.lets_in(over, &packet(Method::GET_RESP)), [Some(over), None]);
        assert_eq!(sky.lets_in(over, &packet(Method::TRAP)), [None; 2], "traps stay muted");
    }
}
