//! All shifts, exactly: host i sends to host i + k, for every k at once.
//!
//! A link carries some pairs (i, j); at shift k those with j - i = k. So its load at every shift is the histogram of its
//! pairs' differences. Hosts of neighbouring switches take the same link in runs of consecutive numbers, and such a run
//! to one host is a run of differences: two marks in an array instead of one for each pair. The runs of all links do not
//! fit into memory at once, so links take turns.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fabric::Fabric;
use rayon::prelude::*;
use serde::Serialize;

use super::paths::{Columns, Holder, PathView};
use crate::tables::Tables;

/// Runs kept at once: 256 MiB of them.
const MOST_RUNS: u64 = 1 << 25;

/// The most paths on a link over all shift permutations of the hosts.
///
/// Hosts are numbered in tree order: switches that meet low in the tree stand together (within that, in the order of
/// their nodes), the hosts on a switch by its ports. At shift k each host i sends to host (i + k) mod n, 0 < k < n.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ShiftLoad {
    /// The largest number of paths on a direction of a link at any shift.
    pub max: u64,
    /// The smallest shift at which a direction carries so many; 0 where no link is used.
    pub shift: u32,
}

/// Finds the worst shift.
pub fn shift_load(fabric: &Fabric, tables: &Tables) -> ShiftLoad {
    shift_load_within(&PathView::new(fabric, tables), MOST_RUNS)
}

fn shift_load_within(view: &PathView, most_runs: u64) -> ShiftLoad {
    let counts: Vec<AtomicU32> = (0..view.slots()).map(|_| AtomicU32::new(0)).collect();
    each_run(view, |slot, _| {
        counts[slot as usize].fetch_add(1, Ordering::Relaxed);
    });
    let counts: Vec<u32> = counts.into_iter().map(AtomicU32::into_inner).collect();
    let mut worst = ShiftLoad::default();
    let mut start = 0;
    while start < counts.len() {
        let (mut end, mut first, mut total) = (start, vec![0u64], 0);
        while end < counts.len() && (end == start || total + u64::from(counts[end]) <= most_runs) {
            total += u64::from(counts[end]);
            first.push(total);
            end += 1;
        }
        worst = worse(worst, worst_of(view, start, &first));
        start = end;
    }
    worst
}

fn worse(a: ShiftLoad, b: ShiftLoad) -> ShiftLoad {
    let b_is_worse = b.max > a.max || (b.max == a.max && b.shift < a.shift);
    if b_is_worse { b } else { a }
}

/// The worst of the links from slot `start` on, whose runs begin where `first` says.
fn worst_of(view: &PathView, start: usize, first: &[u64]) -> ShiftLoad {
    let links = first.len() - 1;
    let runs: Vec<AtomicU64> = (0..first[links]).map(|_| AtomicU64::new(0)).collect();
    let next: Vec<AtomicU64> = first[..links].iter().map(|&first| AtomicU64::new(first)).collect();
    each_run(view, |slot, run| {
        let link = (slot as usize).wrapping_sub(start);
        if let Some(next) = next.get(link) {
            runs[next.fetch_add(1, Ordering::Relaxed) as usize].store(run.0, Ordering::Relaxed);
        }
    });
    (0..links)
        .into_par_iter()
        .map_init(
            || Histogram::new(view.hosts.len()),
            |histogram, link| {
                let runs = &runs[first[link] as usize..first[link + 1] as usize];
                histogram.worst(runs.iter().map(|run| Run(run.load(Ordering::Relaxed))))
            },
        )
        .reduce(ShiftLoad::default, worse)
}

/// Consecutive shifts: the first one, and how many, in a word's halves.
#[derive(Clone, Copy)]
struct Run(u64);

impl Run {
    /// The shifts at which hosts `from..to` send to `host`, of `count`.
    fn new(host: usize, from: u32, to: u32, count: usize) -> Self {
        let first = (host + count + 1 - to as usize) % count;
        Self((first as u64) << 32 | u64::from(to - from))
    }

    fn first(self) -> usize {
        (self.0 >> 32) as usize
    }

    fn len(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Hosts with consecutive numbers whose paths to the host at hand leave a switch: first, one past the last, slot.
#[derive(Clone, Copy, Default)]
struct Open {
    from: u32,
    to: u32,
    slot: u32,
}

/// Calls `note` with the slot and the shifts of every run, in any order, from many threads.
fn each_run(view: &PathView, note: impl Fn(u32, Run) + Sync) {
    let count = view.hosts.len();
    (0..view.groups()).into_par_iter().for_each_init(
        || (Columns::new(view), vec![Open::default(); view.switches.len()], Vec::new()),
        |(columns, open, touched), group| {
            for host in columns.take(group) {
                let end = |slot, from, to| note(slot, Run::new(host, from, to, count));
                columns.visit(host, |holder, path| {
                    for &(switch, slot) in path {
                        extend(&mut open[switch as usize], touched, switch, slot, holder, end);
                    }
                });
                for switch in touched.drain(..) {
                    let run = std::mem::take(&mut open[switch as usize]);
                    end(run.slot, run.from, run.to);
                }
            }
        },
    );
}

/// Adds a holder's hosts to a switch's open run; where they do not follow on, the run ends and a new one begins.
#[inline]
fn extend(
    open: &mut Open,
    touched: &mut Vec<u32>,
    switch: u32,
    slot: u32,
    holder: Holder,
    end: impl Fn(u32, u32, u32),
) {
    if open.to == holder.start && open.from < open.to {
        open.to = holder.end;
        return;
    }
    if open.from < open.to {
        end(open.slot, open.from, open.to);
    } else {
        touched.push(switch);
    }
    *open = Open { from: holder.start, to: holder.end, slot };
}

/// How many runs cover each shift: kept as steps, with a bit where there is one.
struct Histogram {
    steps: Vec<i32>,
    marks: Vec<u64>,
}

impl Histogram {
    fn new(shifts: usize) -> Self {
        Self { steps: vec![0; shifts + 1], marks: vec![0; (shifts + 1).div_ceil(64)] }
    }

    fn step(&mut self, at: usize, by: i32) {
        self.steps[at] += by;
        self.marks[at / 64] |= 1 << (at % 64);
    }

    /// The shift that most runs cover. Leaves the histogram empty.
    fn worst(&mut self, runs: impl Iterator<Item = Run>) -> ShiftLoad {
        let shifts = self.steps.len() - 1;
        for run in runs {
            let end = run.first() + run.len();
            self.step(run.first(), 1);
            if end > shifts {
                self.step(0, 1);
                self.step(end - shifts, -1);
            } else {
                self.step(end, -1);
            }
        }
        let (mut height, mut worst) = (0i64, ShiftLoad::default());
        for word in 0..self.marks.len() {
            let mut marks = std::mem::take(&mut self.marks[word]);
            while marks != 0 {
                let at = word * 64 + marks.trailing_zeros() as usize;
                marks &= marks - 1;
                height += i64::from(std::mem::take(&mut self.steps[at]));
                if height > worst.max as i64 {
                    worst = ShiftLoad { max: height as u64, shift: at as u32 };
                }
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use fabric::generate::{FatTreeSpec, TorusSpec};
    use ib::Lid;

    use super::*;
    use crate::{Options, engine_by_name};

    fn with_lids(mut fabric: Fabric) -> Fabric {
        let ports: Vec<_> = fabric.end_ports().collect();
        for (i, port) in ports.into_iter().enumerate() {
            fabric.set_lid(port, Lid(i as u32 + 1), 0);
        }
        fabric
    }

    #[test]
    fn a_full_fat_tree_carries_every_shift_without_contention() {
        for (levels, radix) in [(2, 4), (2, 12), (3, 4), (3, 8)] {
            let spec = FatTreeSpec { levels: Some(levels), radix, ..Default::default() };
            let fabric = with_lids(spec.build().unwrap());
            let routes = engine_by_name("fat-tree").unwrap().route(&fabric, &Options::default()).unwrap();
            assert_eq!(shift_load(&fabric, &routes.tables).max, 1, "{levels} levels of {radix} ports");
        }
    }

    #[test]
    fn turns_change_nothing() {
        let rate = FatTreeSpec::default().rate;
        let torus = TorusSpec { dimensions: vec![4, 3, 3], hosts: 2, parallel: 1, rate };
        let fabric = with_lids(torus.build().unwrap());
        let routes = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap();
        let view = PathView::new(&fabric, &routes.tables);
        let all = shift_load_within(&view, MOST_RUNS);
        assert!(all.max > 1);
        for few in [0, 100, 1000] {
            assert_eq!(shift_load_within(&view, few), all);
        }
    }

    #[test]
    fn runs_wrap_around() {
        let mut histogram = Histogram::new(10);
        // Hosts 2 to 5 send to host 3: shifts 8, 9, 0 and 1.
        let run = Run::new(3, 2, 6, 10);
        assert_eq!((run.first(), run.len()), (8, 4));
        let worst = histogram.worst([run, Run::new(9, 0, 2, 10), Run::new(3, 2, 3, 10)].into_iter());
        assert_eq!(worst, ShiftLoad { max: 2, shift: 1 });
        assert_eq!(histogram.worst([].into_iter()), ShiftLoad::default());
    }
}
