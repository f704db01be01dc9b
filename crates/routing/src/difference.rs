//! What changes from one set of tables to another, before anyone writes it: entries, blocks, switches, and the pairs of
//! end ports whose path is another one.
//!
//! A path changes where an entry on it does, so changes are followed back from each destination: a switch's path is
//! another one where its entry differs, or where the next switch's path does.

use fabric::{Fabric, NodeId};
use rayon::prelude::*;
use serde::Serialize;

use crate::switches::{Destination, Switches};
use crate::tables::{BLOCK, NO_ROUTE, Tables};

/// What is to be written, and whom it touches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Difference {
    /// Entries that differ.
    pub entries: u64,
    /// Blocks of 64 entries that differ: what has to be written.
    pub blocks: u64,
    /// LIDs for which an entry differs somewhere.
    pub lids: u64,
    /// The switches that change, in the order of their nodes.
    pub switches: Vec<ChangedSwitch>,
    /// Pairs of end ports whose path changes.
    pub pairs: AffectedPairs,
}

/// One switch's share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ChangedSwitch {
    /// The switch.
    pub switch: NodeId,
    /// Entries that differ.
    pub entries: u64,
    /// Blocks that differ.
    pub blocks: u64,
}

/// Ordered pairs of two different end ports with a LID that hang on switches, switches themselves included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct AffectedPairs {
    /// All of them.
    pub all: u64,
    /// Those whose path to some LID of the second is another one, or leads elsewhere.
    pub changed: u64,
    /// Those of `changed` that reach every LID of the second by the old tables, and not by the new ones.
    pub lost: u64,
    /// Those of `changed` that do by the new ones alone.
    pub gained: u64,
}

/// Compares `new` with `old` on the fabric that both are for.
pub fn difference(fabric: &Fabric, old: &Tables, new: &Tables) -> Difference {
    let switches = Switches::new(fabric);
    let width = old.width().max(new.width());
    let rows: Vec<(&[u8], &[u8])> = (0..switches.len())
        .map(|switch| switches.node(switch))
        .map(|node| (old.row(node), new.row(node)))
        .collect();
    let changed: Vec<ChangedSwitch> = rows
        .par_iter()
        .enumerate()
        .filter_map(|(switch, &rows)| changed_switch(switches.node(switch), rows, width))
        .collect();
    let mut differs = vec![false; width];
    for (lid, differs) in differs.iter_mut().enumerate() {
        *differs = changed.iter().any(|change| {
            let row = |tables: &Tables| entry(tables.row(change.switch), lid);
            row(old) != row(new)
        });
    }
    let cabling = Cabling::new(&switches);
    let ends: u64 = cabling.sources.iter().sum();
    let pairs = (0..switches.len())
        .into_par_iter()
        .map_init(
            || Walk::new(&cabling, &rows),
            |walk, switch| {
                let mut pairs = AffectedPairs::default();
                for destination in switches.destinations(switch) {
                    let touched = |&lid: &u32| differs.get(lid as usize).copied().unwrap_or(false);
                    if destination.lids.clone().any(|lid| touched(&lid)) {
                        walk.compare(switch, destination, &mut pairs);
                    }
                }
                pairs
            },
        )
        .reduce(AffectedPairs::default, |a, b| AffectedPairs {
            all: 0,
            changed: a.changed + b.changed,
            lost: a.lost + b.lost,
            gained: a.gained + b.gained,
        });
    Difference {
        entries: changed.iter().map(|change| change.entries).sum(),
        blocks: changed.iter().map(|change| change.blocks).sum(),
        lids: differs.iter().filter(|&&differs| differs).count() as u64,
        switches: changed,
        pairs: AffectedPairs { all: ends * ends.saturating_sub(1), ..pairs },
    }
}

#[inline]
fn entry(row: &[u8], lid: usize) -> u8 {
    row.get(lid).copied().unwrap_or(NO_ROUTE)
}

fn changed_switch(switch: NodeId, (old, new): (&[u8], &[u8]), width: usize) -> Option<ChangedSwitch> {
    let mut change = ChangedSwitch { switch, entries: 0, blocks: 0 };
    for start in (0..width).step_by(BLOCK) {
        let block = start..start + BLOCK;
        if let (Some(old), Some(new)) = (old.get(block.clone()), new.get(block.clone()))
            && old == new
        {
            continue;
        }
        let entries = block.filter(|&lid| entry(old, lid) != entry(new, lid)).count() as u64;
        change.entries += entries;
        change.blocks += u64::from(entries > 0);
    }
    (change.entries > 0).then_some(change)
}

/// What is behind every port of every switch.
struct Cabling {
    /// The switch there, by switch and port; [`NOWHERE`] where none is.
    peer: Vec<[u32; 256]>,
    /// End ports with a LID on each switch, itself included.
    sources: Vec<u64>,
}

const NOWHERE: u32 = u32::MAX;

impl Cabling {
    fn new(switches: &Switches) -> Self {
        let mut peer = vec![[NOWHERE; 256]; switches.len()];
        for (switch, peers) in peer.iter_mut().enumerate() {
            for link in switches.links(switch) {
                peers[usize::from(link.port)] = link.peer;
            }
        }
        let sources = (0..switches.len()).map(|switch| switches.destinations(switch).len() as u64).collect();
        Self { peer, sources }
    }

    /// Where a switch's entry for a destination on `target`'s port `door` leads.
    fn step(&self, switch: usize, entry: u8, target: usize, door: u8) -> Step {
        if switch == target && entry == door {
            return Step::End(true);
        }
        match self.peer[switch][usize::from(entry)] {
            NOWHERE => Step::End(false),
            next => Step::Next(next as usize),
        }
    }
}

/// What is known of a switch after one look.
enum Step {
    End(bool),
    Next(usize),
}

/// A question that is answered yes or no for every switch, each from the next switch's answer.
#[derive(Default)]
struct Answers {
    of: Vec<Answer>,
    path: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Answer {
    #[default]
    Open,
    Asked,
    No,
    Yes,
}

impl Answers {
    /// Answers for all switches. Around a circle the answer is no.
    fn settle(&mut self, switches: usize, step: impl Fn(usize) -> Step) {
        self.of.clear();
        self.of.resize(switches, Answer::Open);
        for start in 0..switches {
            let mut at = start;
            let answer = loop {
                match self.of[at] {
                    Answer::Open => {}
                    Answer::Asked => break Answer::No,
                    known => break known,
                }
                self.of[at] = Answer::Asked;
                self.path.push(at as u32);
                match step(at) {
                    Step::End(yes) => break if yes { Answer::Yes } else { Answer::No },
                    Step::Next(next) => at = next,
                }
            };
            for switch in self.path.drain(..) {
                self.of[switch as usize] = answer;
            }
        }
    }

    fn yes(&self, switch: usize) -> bool {
        self.of[switch] == Answer::Yes
    }
}

/// Scratch for comparing all paths to one destination after another.
struct Walk<'a> {
    cabling: &'a Cabling,
    rows: &'a [(&'a [u8], &'a [u8])],
    arrives_old: Answers,
    arrives_new: Answers,
    differs: Answers,
    /// The same over all LIDs of the destination.
    all_old: Vec<bool>,
    all_new: Vec<bool>,
    any_differs: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn new(cabling: &'a Cabling, rows: &'a [(&'a [u8], &'a [u8])]) -> Self {
        let list = || vec![false; rows.len()];
        Self {
            cabling,
            rows,
            arrives_old: Answers::default(),
            arrives_new: Answers::default(),
            differs: Answers::default(),
            all_old: list(),
            all_new: list(),
            any_differs: list(),
        }
    }

    fn compare(&mut self, target: usize, destination: &Destination, pairs: &mut AffectedPairs) {
        let (cabling, rows, count) = (self.cabling, self.rows, self.rows.len());
        self.all_old.fill(true);
        self.all_new.fill(true);
        self.any_differs.fill(false);
        for lid in destination.lids.clone() {
            let lid = lid as usize;
            let step = |switch, row| cabling.step(switch, entry(row, lid), target, destination.port);
            self.arrives_old.settle(count, |switch| step(switch, rows[switch].0));
            self.arrives_new.settle(count, |switch| step(switch, rows[switch].1));
            self.differs.settle(count, |switch| {
                let (old, new) = rows[switch];
                if entry(old, lid) != entry(new, lid) {
                    return Step::End(true);
                }
                match step(switch, old) {
                    Step::End(_) => Step::End(false),
                    next => next,
                }
            });
            for switch in 0..count {
                self.all_old[switch] &= self.arrives_old.yes(switch);
                self.all_new[switch] &= self.arrives_new.yes(switch);
                self.any_differs[switch] |= self.differs.yes(switch);
            }
        }
        for switch in (0..count).filter(|&switch| self.any_differs[switch]) {
            let sources = cabling.sources[switch] - u64::from(switch == target);
            let (old, new) = (self.all_old[switch], self.all_new[switch]);
            pairs.changed += sources;
            pairs.lost += if old && !new { sources } else { 0 };
            pairs.gained += if new && !old { sources } else { 0 };
        }
    }
}
