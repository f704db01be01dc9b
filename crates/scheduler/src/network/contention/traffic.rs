//! Who of a gang sends to whom, by collective.
//!
//! Ranks are nodes: what GPUs of one node exchange does not leave it, and collectives reduce within a node first. All
//! patterns are the usual algorithms, and bytes are those of both halves of an all-reduce.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How the nodes of a gang exchange data. With `D` bytes of data a node and `n` nodes:
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// All-reduce around a ring: every rank sends `2 D (n - 1) / n` to the next one, the last to the first.
    Ring,
    /// All-reduce by recursive halving and doubling: ranks at distance `2^k` exchange `D / 2^k`. Ranks beyond a power of
    /// two hand their data to a neighbour first and get the result from it.
    HalvingDoubling,
    /// All-reduce up and down a binary tree whose parents lie between their children: `D` each way.
    Tree,
    /// Every rank sends `D / n` to each other.
    AllToAll,
    /// Stages in a row: `D` forward to the next and `D` back from it.
    Pipeline,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Self; 5] =
        [Self::Ring, Self::HalvingDoubling, Self::Tree, Self::AllToAll, Self::Pipeline];

    /// The word for it in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::HalvingDoubling => "halving-doubling",
            Self::Tree => "tree",
            Self::AllToAll => "all-to-all",
            Self::Pipeline => "pipeline",
        }
    }

    /// The pattern of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One collective of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Traffic {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// Bytes of data that each node brings into it, per second: those of one step times the steps in a second.
    pub bytes_per_second: u64,
}

impl Traffic {
    /// Calls `send` with every pair of ranks (who sends, who receives) and the bytes per second between them. All that one rank
    /// receives in an all-to-all comes in one go.
    pub fn each_pair(&self, ranks: u32, mut send: impl FnMut(u32, u32, u64)) {
        let data = self.bytes_per_second;
        if ranks < 2 || data == 0 {
            return;
        }
        match self.pattern {
            Pattern::Ring => {
                let bytes = u128::from(data) * 2 * u128::from(ranks - 1) / u128::from(ranks);
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                (0..ranks).for_each(|rank| send(rank, (rank + 1) % ranks, bytes));
            }
            Pattern::HalvingDoubling => halving_doubling(ranks, data, send),
            Pattern::Tree => {
                for rank in 1..ranks {
                    let parent = parent(rank, ranks);
                    send(rank, parent, data);
                    send(parent, rank, data);
                }
            }
            Pattern::AllToAll => {
                let bytes = data / u64::from(ranks);
                for to in 0..ranks {
                    (0..ranks).filter(|&from| from != to).for_each(|from| send(from, to, bytes));
                }
            }
            Pattern::Pipeline => {
                for rank in 1..ranks {
                    send(rank - 1, rank, data);
                    send(rank, rank - 1, data);
                }
            }
        }
    }
}

fn halving_doubling(ranks: u32, data: u64, mut send: impl FnMut(u32, u32, u64)) {
    let levels = ranks.ilog2();
    let core = 1 << levels;
    let beyond = ranks - core;
    for pair in 0..beyond {
        send(2 * pair, 2 * pair + 1, data);
        send(2 * pair + 1, 2 * pair, data);
    }
    // The ranks that take part in the steps: of each such pair the second, and all others.
    let rank = |place: u32| if place < beyond { 2 * place + 1 } else { place + beyond };
    for level in 0..levels {
        for place in 0..core {
            // Half of what the level before exchanged, and the same again on the way back.
            send(rank(place), rank(place ^ 1 << level), data >> level);
        }
    }
}

/// The parent of a rank in the tree: its lowest bit set moves up by one where that is a rank, else it goes. Odd ranks
/// are leaves, and rank 0 is the root.
fn parent(rank: u32, ranks: u32) -> u32 {
    let lowest = rank & rank.wrapping_neg();
    let rest = rank ^ lowest;
    let above = u64::from(rest) | u64::from(lowest) << 1;
    if above < u64::from(ranks) { above as u32 } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pattern: Pattern, ranks: u32) -> Vec<(u32, u32, u64)> {
        let mut pairs = Vec::new();
        let traffic = Traffic { pattern, bytes_per_second: 1200 };
        traffic.each_pair(ranks, |from, to, bytes| pairs.push((from, to, bytes)));
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn small_gangs_send_what_the_algorithms_say() {
        assert_eq!(sent(Pattern::Ring, 3), [(0, 1, 1600), (1, 2, 1600), (2, 0, 1600)]);
        assert_eq!(sent(Pattern::AllToAll, 2), [(0, 1, 600), (1, 0, 600)]);
        assert_eq!(sent(Pattern::Pipeline, 3), [(0, 1, 1200), (1, 0, 1200), (1, 2, 1200), (2, 1, 1200)]);
        // Rank 0 hands its data to rank 1; the steps are among ranks 1 and 2.
        let expected = [(0, 1, 1200), (1, 0, 1200), (1, 2, 1200), (2, 1, 1200)];
        assert_eq!(sent(Pattern::HalvingDoubling, 3), expected);
        let four = sent(Pattern::HalvingDoubling, 4);
        assert!(four.contains(&(0, 1, 1200)) && four.contains(&(0, 2, 600)) && four.len() == 8);
        let tree = [(0, 4), (1, 2), (2, 1), (2, 4), (3, 2), (2, 3), (4, 0), (4, 2), (4, 5), (5, 4)];
        let mut tree = tree.map(|(from, to)| (from, to, 1200));
        tree.sort_unstable();
        assert_eq!(sent(Pattern::Tree, 6), tree);
        for pattern in Pattern::ALL {
            assert_eq!(sent(pattern, 1), []);
            assert_eq!(Pattern::from_name(pattern.name()), Some(pattern));
        }
    }

    #[test]
    fn every_rank_of_a_tree_comes_to_the_root() {
        for ranks in 1..100 {
            for rank in 0..ranks {
                let mut at = rank;
                let mut steps = 0;
                while at != 0 {
                    at = parent(at, ranks);
                    steps += 1;
                    assert!(at < ranks && steps < 16, "{rank} of {ranks}");
                }
            }
        }
    }

    #[test]
    fn an_all_reduce_takes_no_more_than_twice_the_data_out_of_a_rank() {
        for ranks in 2..40 {
            for pattern in [Pattern::Ring, Pattern::HalvingDoubling] {
                let mut out = vec![0; ranks as usize];
                Traffic { pattern, bytes_per_second: 1 << 30 }
                    .each_pair(ranks, |from, _, bytes| out[from as usize] += bytes);
                let beyond = if ranks.is_power_of_two() || pattern == Pattern::Ring { 0 } else { 1u64 << 30 };
                assert!(out.iter().all(|&out| out <= (2u64 << 30) + beyond), "{pattern} {ranks}: {out:?}");
            }
        }
    }
}
