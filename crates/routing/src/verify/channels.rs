//! The channel dependency graph: which link's packets wait for buffers of which next link. A circle in it is a credit
//! loop; a fabric whose graph has none cannot deadlock (Dally and Seitz, 1987).
//!
//! A channel is a lane of a link, named by the slot that its packets arrive at and the lane. From a channel lead bits, one
//! for each port of its switch, and lane there, that packets from it have left by.

use std::sync::atomic::{AtomicU64, Ordering};

use super::walk::{DEAD, Network};

/// Places over all knots from which a shortest circle is searched first.
const SEARCHES: usize = 256;
/// Channels that the searches look at before they end with the shortest circle found: all small fabrics are searched
/// from everywhere, so that no circle there is shorter.
const LOOKS: usize = 20_000_000;

/// Bits by arriving channel and leaving one, set from many threads.
pub(super) struct Dependencies {
    lanes: u32,
    words: usize,
    bits: Vec<AtomicU64>,
}

impl Dependencies {
    pub(super) fn new(network: &Network, lanes: u8) -> Self {
        let ports = network.first_slot.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
        let lanes = usize::from(lanes.max(1));
        let words = (ports * lanes).div_ceil(64);
        let bits = (0..words * network.peer_slot.len() * lanes).map(|_| AtomicU64::new(0)).collect();
        Self { lanes: lanes as u32, words, bits }
    }

    /// Notes that packets that arrived at `slot` leave its switch by `port`, which the switch has, all on one lane.
    #[inline]
    pub(super) fn note(&self, slot: u32, port: u8) {
        self.set(slot as usize, usize::from(port));
    }

    /// The same with the lane that they arrived on and the one that they leave on.
    #[inline]
    pub(super) fn note_lanes(&self, (slot, lane): (u32, u8), (port, next): (u8, u8)) {
        let lanes = self.lanes as usize;
        self.set(slot as usize * lanes + usize::from(lane), usize::from(port) * lanes + usize::from(next));
    }

    #[inline]
    fn set(&self, channel: usize, leaving: usize) {
        let word = &self.bits[channel * self.words + leaving / 64];
        let bit = 1 << (leaving % 64);
        // Nearly always set before: a plain load keeps the cache line shared between threads.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The channels that packets of a channel wait for.
    fn next<'a>(&'a self, network: &'a Network, channel: u32) -> impl Iterator<Item = u32> + 'a {
        let first = network.first_slot[network.switch_of_slot[self.slot(channel) as usize] as usize];
        let start = channel as usize * self.words;
        self.bits[start..start + self.words].iter().enumerate().flat_map(move |(word, bits)| {
            let mut bits = bits.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(word as u32 * 64 + bit)
            })
            .filter_map(move |leaving| {
                if self.lanes == 1 {
                    return Some(network.peer_slot[(first + leaving) as usize]).filter(|&slot| slot != DEAD);
                }
                let slot = network.peer_slot[(first + leaving / self.lanes) as usize];
                (slot != DEAD).then(|| slot * self.lanes + leaving % self.lanes)
            })
        })
    }

    /// The slot that a channel's packets arrive at.
    #[inline]
    fn slot(&self, channel: u32) -> u32 {
        if self.lanes == 1 { channel } else { channel / self.lanes }
    }

    /// How many knots the graph has, and a short circle as sending slots with their lanes.
    pub(super) fn circles(&self, network: &Network) -> (u64, Option<Vec<(u32, u8)>>) {
        let remaining = self.peel(network);
        if remaining.iter().all(|&waiting| waiting == 0) {
            return (0, None);
        }
        let knots = self.knots(network, &remaining);
        let circle = self.short_circle(network, &knots);
        let sending =
            |&channel: &u32| (network.peer_slot[self.slot(channel) as usize], (channel % self.lanes) as u8);
        (knots.count, circle.map(|channels| channels.iter().map(sending).collect()))
    }

    /// Takes away channels that none waits for, over and over; what is left of each one's count is not 0 for those on
    /// circles and behind them.
    fn peel(&self, network: &Network) -> Vec<u32> {
        let slots = network.peer_slot.len() as u32 * self.lanes;
        let mut waiting = vec![0u32; slots as usize];
        for slot in 0..slots {
            for next in self.next(network, slot) {
                waiting[next as usize] += 1;
            }
        }
        let mut free: Vec<u32> = (0..slots).filter(|&slot| waiting[slot as usize] == 0).collect();
        while let Some(slot) = free.pop() {
            for next in self.next(network, slot) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    free.push(next);
                }
            }
        }
        waiting
    }

    /// Strongly connected parts that hold a circle, by Tarjan's algorithm without recursion.
    fn knots(&self, network: &Network, remaining: &[u32]) -> Knots {
        const UNSEEN: u32 = u32::MAX;
        let slots = remaining.len();
        let mut order = vec![UNSEEN; slots];
        let mut low = vec![0u32; slots];
        let mut open = vec![false; slots];
        let mut knots = Knots { of_slot: vec![NO_KNOT; slots], count: 0 };
        let (mut stack, mut calls, mut counter) = (Vec::new(), Vec::new(), 0);
        for root in (0..slots as u32).filter(|&slot| remaining[slot as usize] > 0) {
            if order[root as usize] != UNSEEN {
                continue;
            }
            calls.push((root, None));
            while let Some((slot, successors)) = calls.pop() {
                let at = slot as usize;
                let mut successors = successors.unwrap_or_else(|| {
                    (order[at], low[at], open[at]) = (counter, counter, true);
                    counter += 1;
                    stack.push(slot);
                    self.next(network, slot)
                });
                let mut descend = None;
                for next in successors.by_ref() {
                    if order[next as usize] == UNSEEN {
                        descend = Some(next);
                        break;
                    }
                    if open[next as usize] {
                        low[at] = low[at].min(order[next as usize]);
                    }
                }
                if let Some(next) = descend {
                    calls.push((slot, Some(successors)));
                    calls.push((next, None));
                    continue;
                }
                if let Some((parent, _)) = calls.last() {
                    low[*parent as usize] = low[*parent as usize].min(low[at]);
                }
                if low[at] == order[at] {
                    let from = stack.iter().rposition(|&member| member == slot).unwrap_or(0);
                    let members = stack.split_off(from);
                    let circle = members.len() > 1 || self.next(network, slot).any(|next| next == slot);
                    for &member in &members {
                        open[member as usize] = false;
                        if circle {
                            knots.of_slot[member as usize] = knots.count as u32;
                        }
                    }
                    knots.count += u64::from(circle);
                }
            }
        }
        knots
    }

    /// The shortest circle through any of the channels in knots, some spread over all of them first.
    fn short_circle(&self, network: &Network, knots: &Knots) -> Option<Vec<u32>> {
        let members: Vec<u32> =
            (0..knots.of_slot.len() as u32).filter(|&slot| knots.of_slot[slot as usize] != NO_KNOT).collect();
        let mut best: Option<Vec<u32>> = None;
        let mut from = vec![DEAD; knots.of_slot.len()];
        let step = members.len().div_ceil(SEARCHES).max(1);
        let starts = (0..step).flat_map(|first| members[first..].iter().step_by(step));
        let mut looks = 0;
        for &start in starts {
            if looks > LOOKS {
                break;
            }
            let limit = best.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(circle) = self.circle_through(network, knots, start, limit, (&mut from, &mut looks)) {
                best = Some(circle);
            }
        }
        best
    }

    /// The shortest circle through `start` that has fewer than `limit` channels, by breadth-first search.
    fn circle_through(
        &self,
        network: &Network,
        knots: &Knots,
        start: u32,
        limit: usize,
        (from, looks): (&mut [u32], &mut usize),
    ) -> Option<Vec<u32>> {
        let knot = knots.of_slot[start as usize];
        let mut met = vec![start];
        let (mut layer, mut length, mut circle) = (0..1, 1, None);
        'search: while !layer.is_empty() && length < limit {
            for place in layer.clone() {
                let slot = met[place];
                for next in self.next(network, slot) {
                    if next == start {
                        circle = Some(slot);
                        break 'search;
                    }
                    if knots.of_slot[next as usize] == knot && from[next as usize] == DEAD {
                        from[next as usize] = slot;
                        met.push(next);
                    }
                }
            }
            layer = layer.end..met.len();
            length += 1;
        }
        let circle = circle.map(|last| {
            let mut slots = vec![last];
            let mut at = last;
            while at != start {
                at = from[at as usize];
                slots.push(at);
            }
            slots.reverse();
            slots
        });
        *looks += met.len();
        for slot in met {
            from[slot as usize] = DEAD;
        }
        circle
    }
}

const NO_KNOT: u32 = u32::MAX;

struct Knots {
    /// The knot of each channel, [`NO_KNOT`] for channels on no circle.
    of_slot: Vec<u32>,
    count: u64,
}
