//! The channel dependency graph: which link's packets wait for buffers of which next link. A circle in it is a credit
//! loop; a fabric whose graph has none cannot deadlock (Dally and Seitz, 1987).
//!
//! A channel is named by the slot that its packets arrive at. From a slot lead bits, one for each port of its switch
//! that packets from there have left by.

use std::sync::atomic::{AtomicU64, Ordering};

use super::walk::{DEAD, Network};

/// Most places from which a shortest circle is searched.
const SEARCHES: usize = 256;

/// Bits by arriving slot and leaving port, set from many threads.
pub(super) struct Dependencies {
    words: usize,
    bits: Vec<AtomicU64>,
}

impl Dependencies {
    pub(super) fn new(network: &Network) -> Self {
        let ports = network.first_slot.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
        let words = ports.div_ceil(64);
        let bits = (0..words * network.peer_slot.len()).map(|_| AtomicU64::new(0)).collect();
        Self { words, bits }
    }

    /// Notes that packets that arrived at `slot` leave its switch by `port`, which the switch has.
    #[inline]
    pub(super) fn note(&self, slot: u32, port: u8) {
        let word = &self.bits[slot as usize * self.words + usize::from(port / 64)];
        let bit = 1 << (port % 64);
        // Nearly always set before: a plain load keeps the cache line shared between threads.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The channels that packets of channel `slot` wait for.
    fn next<'a>(&'a self, network: &'a Network, slot: u32) -> impl Iterator<Item = u32> + 'a {
        let first = network.first_slot[network.switch_of_slot[slot as usize] as usize];
        let start = slot as usize * self.words;
        self.bits[start..start + self.words].iter().enumerate().flat_map(move |(word, bits)| {
            let mut bits = bits.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(network.peer_slot[(first + word as u32 * 64 + bit) as usize])
            })
            .filter(|&slot| slot != DEAD)
        })
    }

    /// How many knots the graph has, and a short circle as sending slots.
    pub(super) fn circles(&self, network: &Network) -> (u64, Option<Vec<u32>>) {
        let remaining = self.peel(network);
        if remaining.iter().all(|&waiting| waiting == 0) {
            return (0, None);
        }
        let knots = self.knots(network, &remaining);
        let circle = self.short_circle(network, &knots);
        let sending = |slot: &u32| network.peer_slot[*slot as usize];
        (knots.count, circle.map(|slots| slots.iter().map(sending).collect()))
    }

    /// Takes away channels that none waits for, over and over; what is left of each one's count is not 0 for those on
    /// circles and behind them.
    fn peel(&self, network: &Network) -> Vec<u32> {
        let slots = network.peer_slot.len() as u32;
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

    /// The shortest circle through any of some channels spread over the knots.
    fn short_circle(&self, network: &Network, knots: &Knots) -> Option<Vec<u32>> {
        let members: Vec<u32> =
            (0..knots.of_slot.len() as u32).filter(|&slot| knots.of_slot[slot as usize] != NO_KNOT).collect();
        let mut best: Option<Vec<u32>> = None;
        let mut from = vec![DEAD; knots.of_slot.len()];
        for &start in members.iter().step_by(members.len().div_ceil(SEARCHES).max(1)) {
            let limit = best.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(circle) = self.circle_through(network, knots, start, limit, &mut from) {
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
        from: &mut [u32],
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
