//! The levels of a tree, and what the links of each have to carry at the very least.

use crate::ranks;
use crate::switches::Switches;

/// Levels that are told apart at most: more than any tree has.
const MOST: u32 = 8;

/// Which level each direction of a link belongs to. Links up and links down of a tree's level are two; where switches
/// do not stand in (a few) layers all links are of one.
pub struct Levels {
    /// By link, in the order of the switches and their links.
    pub of_link: Vec<u8>,
    /// By level: no tables get by with less on every link of it, in the unit of loads; 1 at least.
    pub least: Vec<f64>,
}

impl Levels {
    pub fn of(switches: &Switches, rank: &[u32]) -> Self {
        let top = rank.iter().copied().max().unwrap_or(0).min(MOST);
        let least: Vec<f64> = (0..top).map(|level| least_at(switches, rank, level)).collect();
        let links =
            (0..switches.len()).flat_map(|s| switches.links(s).iter().map(move |link| (s, link.peer)));
        if top == MOST || !ranks::is_layered(switches, rank) {
            let least = least.into_iter().fold(1.0, f64::max);
            return Self { of_link: vec![0; links.count()], least: vec![least] };
        }
        let level = |(from, to): (usize, u32)| {
            let (from, to) = (rank[from], rank[to as usize]);
            2 * from.min(to) as u8 + u8::from(from < to)
        };
        Self { of_link: links.map(level).collect(), least: least.into_iter().flat_map(|l| [l, l]).collect() }
    }
}

/// The largest share of a link among those that lead out of what hangs together by switches of rank `level` and lower.
fn least_at(switches: &Switches, rank: &[u32], level: u32) -> f64 {
    let group = ranks::groups_up_to(switches, rank, level);
    let (mut hosts, mut room) = (vec![0u64; group.len()], vec![0.0; group.len()]);
    for switch in (0..group.len()).filter(|&switch| rank[switch] <= level) {
        let own = group[switch] as usize;
        hosts[own] += u64::from(switches.hosts(switch));
        let out = switches.links(switch).iter().filter(|link| rank[link.peer as usize] > level);
        room[own] += out.map(|link| 1.0 / f64::from(link.slowness)).sum::<f64>();
    }
    let all: u64 = (0..group.len()).map(|switch| u64::from(switches.hosts(switch))).sum();
    let share = |(&hosts, &room): (&u64, &f64)| {
        if room > 0.0 { (hosts * (all - hosts)) as f64 / room } else { 0.0 }
    };
    hosts.iter().zip(&room).map(share).fold(1.0, f64::max)
}
