//! Jobs that wait for others, which they name: names may stand anywhere in the file, so they are looked up when all is read.
//!
//! A name that no job has, or that several have, is a bad line; so are jobs that wait for each other in a circle, and jobs that
//! wait for one that was left out. A job that waits for one that is submitted later counts as submitted with it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::{BadLine, Job};

/// The most jobs of a circle that are named.
const MOST_OF_A_CIRCLE: usize = 8;

/// What a job waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link {
    /// The job that waits, by its place in the trace.
    pub job: u32,
    /// For whose work it waits.
    pub other: u32,
}

/// The names that a job gives, and where it stands.
#[derive(Debug)]
pub(super) struct Named {
    /// Its place among the jobs.
    pub(super) job: u32,
    /// Its line, counted from 1.
    pub(super) line: usize,
    /// Whom it names.
    pub(super) names: Vec<String>,
}

/// Who waits for whom, as a graph over places.
struct Graph {
    /// By job, those that it waits for.
    ahead: FxHashMap<u32, Vec<u32>>,
    /// By job, those that wait for it.
    behind: FxHashMap<u32, Vec<u32>>,
    /// The lines of the jobs that wait.
    line: FxHashMap<u32, usize>,
    /// What is wrong with jobs that are left out.
    out: FxHashMap<u32, String>,
}

impl Graph {
    /// Looks all names up.
    fn of(jobs: &[Job], named: &[Named]) -> Self {
        let mut called: FxHashMap<&str, (u32, u32)> = FxHashMap::default();
        for (at, job) in jobs.iter().enumerate() {
            called.entry(&job.name).or_insert((at as u32, 0)).1 += 1;
        }
        let mut graph = Self {
            ahead: FxHashMap::default(),
            behind: FxHashMap::default(),
            line: named.iter().map(|named| (named.job, named.line)).collect(),
            out: FxHashMap::default(),
        };
        for Named { job, names, .. } in named {
            let mut ahead = Vec::new();
            for name in names {
                match called.get(&**name).filter(|_| !name.is_empty()) {
                    Some(&(other, 1)) => ahead.push(other),
                    Some((_, times)) => {
                        let what = format!("it is to come after \"{name}\", and {times} jobs are called so");
                        graph.out.entry(*job).or_insert(what);
                    }
                    None => {
                        let what = format!("it is to come after \"{name}\", and no job is called so");
                        graph.out.entry(*job).or_insert(what);
                    }
                }
            }
            ahead.sort_unstable();
            ahead.dedup();
            ahead.iter().for_each(|&other| graph.behind.entry(other).or_default().push(*job));
            graph.ahead.insert(*job, ahead);
        }
        graph
    }

    fn ahead(&self, job: u32) -> &[u32] {
        self.ahead.get(&job).map_or(&[], Vec::as_slice)
    }

    fn behind(&self, job: u32) -> &[u32] {
        self.behind.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Leaves out all that wait, directly or not, for these.
    fn leave_out_behind(&mut self, mut lost: Vec<u32>, jobs: &[Job]) {
        while let Some(job) = lost.pop() {
            let name = &jobs[job as usize].name;
            for other in self.behind(job).to_vec() {
                self.out.entry(other).or_insert_with(|| {
                    lost.push(other);
                    format!("it is to come after \"{name}\", which is left out")
                });
            }
        }
    }

    /// Those that are left in an order in which each comes after all that it waits for, the earliest in the file first;
    /// jobs of circles are left out.
    fn in_order(&mut self, jobs: &[Job], named: &[Named]) -> Vec<u32> {
        let mut order = Vec::new();
        let waits = |graph: &Self, job: u32| {
            let ahead = graph.ahead(job).iter();
            ahead.filter(|&&other| graph.ahead.contains_key(&other)).count()
        };
        let left: Vec<u32> =
            named.iter().map(|named| named.job).filter(|job| !self.out.contains_key(job)).collect();
        let mut waiting: FxHashMap<u32, usize> = left.iter().map(|&job| (job, waits(self, job))).collect();
        let free = left.iter().copied().filter(|job| waiting[job] == 0);
        let mut free: BinaryHeap<Reverse<u32>> = free.map(Reverse).collect();
        while let Some(Reverse(job)) = free.pop() {
            order.push(job);
            waiting.remove(&job);
            for other in self.behind(job) {
                if let Some(count) = waiting.get_mut(other) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(Reverse(*other));
                    }
                }
            }
        }
        for job in left {
            if waiting.contains_key(&job) && !self.out.contains_key(&job) {
                let circle = self.circle(job, &waiting);
                let what = self.tell(&circle, jobs);
                circle.iter().for_each(|&job| drop(self.out.insert(job, what.clone())));
                self.leave_out_behind(circle, jobs);
            }
        }
        order
    }

    /// A circle that a job comes to where it and others wait for ever.
    fn circle(&self, job: u32, waiting: &FxHashMap<u32, usize>) -> Vec<u32> {
        let mut way: Vec<u32> = Vec::new();
        let mut at_way: FxHashMap<u32, usize> = FxHashMap::default();
        let mut at = job;
        loop {
            if let Some(&first) = at_way.get(&at) {
                return way.split_off(first);
            }
            at_way.insert(at, way.len());
            way.push(at);
            // Whoever waits for ever waits for one that does.
            let next = self.ahead(at).iter().copied().find(|other| waiting.contains_key(other));
            match next.filter(|other| !self.out.contains_key(other)) {
                Some(next) => at = next,
                None => return way,
            }
        }
    }

    fn tell(&self, circle: &[u32], jobs: &[Job]) -> String {
        let name = |job: u32| &jobs[job as usize].name;
        let line = |job: u32| self.line.get(&job).copied().unwrap_or(0);
        let Some((&first, rest)) = circle.split_first() else { return String::new() };
        if rest.is_empty() {
            return format!("\"{}\" is to come after itself", name(first));
        }
        let mut text =
            format!("jobs wait for each other in a circle: \"{}\" (line {})", name(first), line(first));
        for &job in rest.iter().take(MOST_OF_A_CIRCLE - 1) {
            // Writing to a string does not fail.
            let _ = write!(text, " after \"{}\" (line {})", name(job), line(job));
        }
        if let Some(more) = rest.len().checked_sub(MOST_OF_A_CIRCLE - 1).filter(|&more| more > 0) {
            let _ = write!(text, " after {more} others");
        }
        let _ = write!(text, " after \"{}\"", name(first));
        text
    }
}

/// Joins jobs to those that they name, in the order in which they are to stand: by the time of submission, those that others
/// wait for first. Returns the links by the new places, and what is wrong with jobs that are left out, by line.
pub(super) fn link(jobs: &mut Vec<Job>, named: &[Named]) -> (Vec<Link>, Vec<BadLine>) {
    let mut graph = Graph::of(jobs, named);
    graph.leave_out_behind(graph.out.keys().copied().collect(), jobs);
    let order = graph.in_order(jobs, named);
    let mut depth = vec![0_u32; jobs.len()];
    for job in order {
        for &other in graph.ahead(job) {
            depth[job as usize] = depth[job as usize].max(depth[other as usize] + 1);
            jobs[job as usize].submit_ms = jobs[job as usize].submit_ms.max(jobs[other as usize].submit_ms);
        }
    }
    let mut places: Vec<u32> = (0..jobs.len() as u32).filter(|job| !graph.out.contains_key(job)).collect();
    places.sort_by_key(|&job| (jobs[job as usize].submit_ms, depth[job as usize]));
    let mut new_place = vec![u32::MAX; jobs.len()];
    places.iter().enumerate().for_each(|(at, &job)| new_place[job as usize] = at as u32);
    let mut old: Vec<Option<Job>> = std::mem::take(jobs).into_iter().map(Some).collect();
    jobs.extend(places.iter().filter_map(|&job| old[job as usize].take()));
    let mut links: Vec<Link> = places
        .iter()
        .flat_map(|&job| graph.ahead(job).iter().map(move |&other| (job, other)))
        .map(|(job, other)| Link { job: new_place[job as usize], other: new_place[other as usize] })
        .collect();
    links.sort_unstable();
    let line = |job: &u32| graph.line.get(job).copied().unwrap_or(0);
    let mut bad: Vec<BadLine> =
        graph.out.iter().map(|(job, what)| BadLine { line: line(job), what: what.clone() }).collect();
    bad.sort_by_key(|bad| bad.line);
    (links, bad)
}
