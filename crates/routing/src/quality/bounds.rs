//! What no routing can beat on the same cabling.
//!
//! Whatever crosses a cut, a set of switches against the rest, shares the links of the cut. Cuts looked at: each
//! switch, each part of the tree that hangs together below a level, and the beginnings of two orders of the switches
//! (tree order and node order), which cut meshes and rings in two. Besides, no path is shorter than the shortest.

use fabric::Fabric;
use rayon::prelude::*;
use serde::Serialize;

use super::paths::{Holder, PathView};
use super::permutations::shuffled;
use crate::paths::{Paths, parts};
use crate::ranks;
use crate::switches::Switches;
use crate::tables::Tables;

/// The least load and the most bandwidth that tables can have. Better may be impossible for other reasons.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Bounds {
    /// Of the largest load of all to all: [`super::LinkLoad::max`].
    pub all_to_all: u64,
    /// Of the largest load over all shifts: [`super::ShiftLoad::max`]. 0 where the fabric has several parts.
    pub shifts: u64,
    /// Of the effective bandwidth: [`super::PermutationLoad::effective_bandwidth`], of the same permutations.
    pub effective_bandwidth: f64,
}

/// Finds the bounds; for the bandwidth those of `count` permutations drawn from `seed`.
pub fn bounds(fabric: &Fabric, count: u32, seed: u64) -> Bounds {
    let nowhere = Tables::empty(fabric);
    let view = PathView::new(fabric, &nowhere);
    let rank = ranks::of(fabric, &view.switches);
    let part = parts(&view.switches);
    let groups = groups(&view.switches, &rank, &part);
    let ends = Ends::new(&view, &part);
    let mut cuts: Vec<Cut> = groups.iter().flat_map(|group| ends.cuts_of(group, &view.switches)).collect();
    for order in [ranks::tree_order(&view.switches, &rank), (0..view.switches.len() as u32).collect()] {
        ends.sweep(order, &view.switches, &mut cuts);
    }
    let whole = part.iter().all(|&part| part == 0);
    let across = cuts.iter().map(Cut::all_to_all).max().unwrap_or(0);
    let shifts = cuts.iter().map(|cut| cut.shifts(view.hosts.len())).max().unwrap_or(0);
    Bounds {
        all_to_all: across.max(by_length(fabric, &view, &part)),
        shifts: if whole { shifts } else { 0 },
        effective_bandwidth: bandwidth(&view, &groups, count, seed),
    }
}

/// Divisions of the switches, each as the group of every switch: alone, together below a level, by connected part.
fn groups(switches: &Switches, rank: &[u32], part: &[u32]) -> Vec<Vec<u32>> {
    let top = rank.iter().copied().max().unwrap_or(0);
    let mut groups = vec![(0..switches.len() as u32).collect()];
    groups.extend((1..top).map(|level| ranks::groups_up_to(switches, rank, level)));
    groups.push(part.to_vec());
    groups
}

/// The links that lead out of each group: as many lead in.
fn links_out(group: &[u32], switches: &Switches) -> Vec<u64> {
    let mut links = vec![0; group.len()];
    for (switch, &own) in group.iter().enumerate() {
        let out = switches.links(switch).iter().filter(|link| group[link.peer as usize] != own);
        links[own as usize] += out.count() as u64;
    }
    links
}

/// A set of switches.
#[derive(Clone, Copy, Debug)]
struct Cut {
    inside: Crowd,
    /// The rest of the connected part.
    outside: Crowd,
    links: u64,
}

/// Hosts on some switches.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    /// Those that send: all of them.
    senders: u64,
    /// Those that others can send to: they have a LID.
    receivers: u64,
    /// Their smallest and one past their largest number.
    first: u32,
    end: u32,
}

impl Crowd {
    const NOBODY: Self = Self { senders: 0, receivers: 0, first: u32::MAX, end: 0 };

    fn add(&mut self, other: Self) {
        self.senders += other.senders;
        self.receivers += other.receivers;
        self.first = self.first.min(other.first);
        self.end = self.end.max(other.end);
    }
}

impl Cut {
    /// All pairs that cross, over the links that they share.
    fn all_to_all(&self) -> u64 {
        let out = self.inside.senders * self.outside.receivers;
        let into = self.outside.senders * self.inside.receivers;
        if self.links == 0 { 0 } else { out.max(into).div_ceil(self.links) }
    }

    /// Of consecutive hosts either all send out at some shift, or all others send in.
    fn shifts(&self, hosts: usize) -> u64 {
        let Crowd { receivers, first, end, .. } = self.inside;
        if self.links == 0 || receivers == 0 || u64::from(end - first) != receivers {
            return 0;
        }
        receivers.min(hosts as u64 - receivers).div_ceil(self.links)
    }
}

/// Who is where.
struct Ends {
    on: Vec<Crowd>,
    part: Vec<u32>,
    /// All of each part.
    of_part: Vec<Crowd>,
}

impl Ends {
    fn new(view: &PathView, part: &[u32]) -> Self {
        let mut on = vec![Crowd::NOBODY; part.len()];
        for (switch, crowd) in on.iter_mut().enumerate() {
            crowd.senders = u64::from(view.switches.hosts(switch));
        }
        for &Holder { switch, start, end } in &view.holders {
            let crowd = &mut on[switch as usize];
            (crowd.receivers, crowd.first, crowd.end) = (u64::from(end - start), start, end);
        }
        let mut of_part = vec![Crowd::NOBODY; part.len()];
        for (&crowd, &part) in on.iter().zip(part) {
            of_part[part as usize].add(crowd);
        }
        Self { on, part: part.to_vec(), of_part }
    }

    fn cut(&self, inside: Crowd, part: u32, links: u64) -> Cut {
        let all = self.of_part[part as usize];
        let outside = Crowd {
            senders: all.senders - inside.senders,
            receivers: all.receivers - inside.receivers,
            ..Crowd::NOBODY
        };
        Cut { inside, outside, links }
    }

    /// Each group against the rest of its part.
    fn cuts_of(&self, group: &[u32], switches: &Switches) -> Vec<Cut> {
        let mut crowds = vec![Crowd::NOBODY; group.len()];
        let mut part = vec![0; group.len()];
        for (switch, &own) in group.iter().enumerate() {
            crowds[own as usize].add(self.on[switch]);
            part[own as usize] = self.part[switch];
        }
        let links = links_out(group, switches);
        (0..group.len()).map(|group| self.cut(crowds[group], part[group], links[group])).collect()
    }

    /// Every beginning of an order, part by part.
    fn sweep(&self, mut order: Vec<u32>, switches: &Switches, cuts: &mut Vec<Cut>) {
        order.sort_by_key(|&switch| self.part[switch as usize]);
        let mut inside = vec![false; self.part.len()];
        let (mut crowd, mut links, mut part) = (Crowd::NOBODY, 0, 0);
        for switch in order {
            let switch = switch as usize;
            if self.part[switch] != part {
                (crowd, links, part) = (Crowd::NOBODY, 0, self.part[switch]);
            }
            let all = switches.links(switch);
            let to_inside = all.iter().filter(|link| inside[link.peer as usize]).count() as u64;
            inside[switch] = true;
            crowd.add(self.on[switch]);
            // Each link to what was inside lies in the cut no more; the others do from now on.
            links = links + all.len() as u64 - 2 * to_inside;
            cuts.push(self.cut(crowd, part, links));
        }
    }
}

/// All hops of the shortest paths, over all directions of links, in each part.
fn by_length(fabric: &Fabric, view: &PathView, part: &[u32]) -> u64 {
    let Ok(paths) = Paths::shortest(fabric, &view.switches) else { return 0 };
    let hops: Vec<u64> = (0..part.len())
        .into_par_iter()
        .map(|from| {
            let row = paths.row(from);
            let to = view.holders.iter().map(|holder| {
                let hops = paths.hops(row[holder.switch as usize]).map_or(0, u64::from);
                hops * u64::from(holder.end - holder.start)
            });
            to.sum::<u64>() * u64::from(view.switches.hosts(from))
        })
        .collect();
    let (mut sums, mut links) = (vec![0; part.len()], vec![0; part.len()]);
    for (switch, &part) in part.iter().enumerate() {
        sums[part as usize] += hops[switch];
        links[part as usize] += view.switches.links(switch).len() as u64;
    }
    sums.iter().zip(&links).map(|(sum, &links): (&u64, _)| sum.div_ceil(links.max(1))).max().unwrap_or(0)
}

/// Flows that leave a group have together at most the bandwidth of its links out, those that enter it at most that of
/// its links in.
fn bandwidth(view: &PathView, groups: &[Vec<u32>], count: u32, seed: u64) -> f64 {
    let links: Vec<Vec<u64>> = groups.iter().map(|group| links_out(group, &view.switches)).collect();
    let of_host: Vec<Vec<u32>> = groups
        .iter()
        .map(|group| view.hosts.iter().map(|host| group[host.switch as usize]).collect())
        .collect();
    let most: Vec<f64> = (0..count)
        .into_par_iter()
        .map(|number| {
            let senders = shuffled(view.hosts.len(), number, seed);
            let division = |(group, links): (&Vec<u32>, &Vec<u64>)| share(group, links, &senders);
            of_host.iter().zip(&links).map(division).fold(1.0, f64::min)
        })
        .collect();
    if most.is_empty() { 0.0 } else { most.iter().sum::<f64>() / most.len() as f64 }
}

/// The most that flows between these groups of hosts can have, as a share of what they would like.
fn share(group: &[u32], links: &[u64], senders: &[u32]) -> f64 {
    let (mut leaving, mut entering) = (vec![0u64; links.len()], vec![0u64; links.len()]);
    let (mut flows, mut within) = (0u64, 0u64);
    for (to, &from) in senders.iter().enumerate().filter(|&(to, &from)| to as u32 != from) {
        let (from, to) = (group[from as usize] as usize, group[to] as usize);
        flows += 1;
        within += u64::from(from == to);
        leaving[from] += u64::from(from != to);
        entering[to] += u64::from(from != to);
    }
    let most = |crossing: &[u64]| crossing.iter().zip(links).map(|(a, b)| a.min(b)).sum::<u64>();
    if flows == 0 { 1.0 } else { (within + most(&leaving).min(most(&entering))) as f64 / flows as f64 }
}
