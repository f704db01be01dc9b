//! Links that come and go are left down for a while, each time for longer.

use std::collections::BTreeMap;
use std::time::Duration;

use ib::{Guid, Time};

/// A link that is lost again this soon flaps.
const SOON: Duration = Duration::from_secs(60);
/// Losses in a row that are taken for chance.
const PATIENCE: u32 = 2;
/// How long a link is left down the first time; doubled each time.
const FIRST_HOLD: Duration = Duration::from_secs(1);
/// The longest that it is left down: two to this times the first.
const MOST_DOUBLINGS: u32 = 8;

/// One end of a link: node and port number, as they stay whatever nodes come and go.
pub(super) type End = (Guid, u8);

/// Links, by the smaller of their two ends while they are counted, by both while they are left down.
#[derive(Default)]
pub(super) struct Flapping {
    losses: BTreeMap<End, Losses>,
    /// When to look again at links that are left down.
    held: BTreeMap<End, Time>,
}

struct Losses {
    in_a_row: u32,
    last: Time,
}

impl Flapping {
    /// A link is lost; for how long it is to be left down when it comes back, if it flaps.
    pub fn lost(&mut self, now: Time, a: End, b: End) -> Option<Duration> {
        let losses = self.losses.entry(a.min(b)).or_insert(Losses { in_a_row: 0, last: now });
        let held = hold(losses.in_a_row).unwrap_or_default();
        if now.since(losses.last) > SOON + held {
            losses.in_a_row = 0;
        }
        losses.in_a_row += 1;
        losses.last = now;
        let hold = hold(losses.in_a_row)?;
        self.held.extend([(a, now + hold), (b, now + hold)]);
        Some(hold)
    }

    /// Whether the link with this end is left down.
    pub fn is_held(&self, end: End) -> bool {
        self.held.contains_key(&end)
    }

    /// An end of a link whose time is up.
    pub fn release(&mut self, now: Time) -> Option<End> {
        let end = *self.held.iter().find(|(_, due)| **due <= now)?.0;
        self.held.remove(&end);
        Some(end)
    }

    /// When the next link's time is up.
    pub fn next_release(&self) -> Option<Time> {
        self.held.values().min().copied()
    }
}

fn hold(in_a_row: u32) -> Option<Duration> {
    let over = in_a_row.checked_sub(PATIENCE + 1)?;
    Some(FIRST_HOLD * (1 << over.min(MOST_DOUBLINGS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_flaps_is_left_down_for_longer_each_time() {
        let mut flapping = Flapping::default();
        let second = Duration::from_secs(1);
        let mut now = Time(0);
        let (a, b) = ((Guid(9), 1), (Guid(4), 1));
        let holds: Vec<_> = (0..5)
            .map(|_| {
                now += second * 20;
                let hold = flapping.lost(now, a, b);
                now += hold.unwrap_or_default();
                while flapping.release(now).is_some() {}
                hold
            })
            .collect();
        assert_eq!(holds, [None, None, Some(second), Some(2 * second), Some(4 * second)]);
        now += Duration::from_secs(600);
        assert_eq!(flapping.lost(now, b, a), None, "it was quiet for long");
    }

    #[test]
    fn held_links_are_released_in_time() {
        let mut flapping = Flapping::default();
        for _ in 0..3 {
            flapping.lost(Time(5), (Guid(1), 1), (Guid(2), 1));
        }
        assert!(flapping.is_held((Guid(1), 1)) && flapping.is_held((Guid(2), 1)));
        assert!(!flapping.is_held((Guid(1), 2)));
        let due = flapping.next_release().unwrap();
        assert_eq!(flapping.release(Time(due.0 - 1)), None);
        assert_eq!(flapping.release(due), Some((Guid(1), 1)));
        assert_eq!(flapping.release(due), Some((Guid(2), 1)));
        assert_eq!(flapping.next_release(), None);
    }
}
