//! Sets of nodes for a gang: a short list, the best first.
//!
//! A gang goes into the innermost group that holds it whole. Of groups of one level those come first in which it
//! touches the fewest groups of the next level, then those where it leaves the least room in these, then those with the least
//! room, then those whose surroundings have the least: what is broken already is filled before anything whole is broken. A group that has a smaller one with room enough in it is no
//! candidate, for the smaller one is. Where no group of a level holds the gang, as few as can be of the next level do, within one
//! group of the level above where that is possible.
//!
//! Members of a set come in the order of the locality, so that neighbours in rank are neighbours in the fabric.
//!
//! Work is bounded: a pass over all nodes, and a sort of the groups of each level.

mod pick;
mod refusal;
mod room;

use pool::NodeIndex;
use serde::{Deserialize, Serialize};

use super::locality::{Level, Locality, TIERS, tier_of};
use super::spread::Spread;
use room::Room;

pub use refusal::Refusal;

/// What a job wants of the place of its members: all of them in one group of a level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Want {
    /// The level.
    pub level: Level,
    /// Whether the job waits rather than do without.
    pub required: bool,
}

/// A gang that looks for nodes.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// How many of its members each node could take now, by node; nodes beyond its end take none.
    pub capacity: &'a [u32],
    /// How many members it has.
    pub members: u32,
    /// What it wants of their place.
    pub wants: &'a [Want],
    /// The most candidates to be proposed; at least one is.
    pub most: usize,
}

/// A set of nodes that takes a whole gang.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// The nodes with how many members each takes, in the order of ranks.
    pub nodes: Vec<(NodeIndex, u32)>,
    /// How far they are strewn.
    pub spread: Spread,
    /// Preferred wants that the set does not meet.
    pub unmet: Vec<Level>,
}

/// The levels that are required, from the inside out, each once.
fn required(wants: &[Want]) -> Vec<Level> {
    let mut levels: Vec<Level> = wants.iter().filter(|want| want.required).map(|want| want.level).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// The nodes of an NVLink domain alone.
fn within_domain<'a>(locality: &'a Locality, capacity: &'a [u32], domain: u32) -> Room<'a> {
    let domains = locality.groups(Level::NvlinkDomain);
    Room::of(locality, move |node| {
        let inside = domains[node as usize] == domain;
        capacity.get(node as usize).copied().filter(|_| inside).unwrap_or(0)
    })
}

/// Proposes sets of nodes for a gang, the best first; the same for the same input on any machine.
///
/// Sets that meet more of the preferred wants come first.
///
/// # Errors
/// Where no set does: which required want is in the way, and what the largest group has room for. Whether that is for
/// ever, [`can_ever`] says.
pub fn choose(locality: &Locality, ask: &Ask) -> Result<Vec<Candidate>, Refusal> {
    if ask.members == 0 {
        return Ok(vec![candidate(locality, Vec::new(), ask.wants)]);
    }
    let (members, most) = (u64::from(ask.members), ask.most.max(1));
    let required = required(ask.wants);
    let wants_domain = ask.wants.iter().any(|want| want.level == Level::NvlinkDomain);
    let mut placements: Vec<Vec<(NodeIndex, u32)>> = Vec::new();
    let domains_stray = wants_domain && !locality.nvlink_nests();
    let limit = required.iter().copied().filter(|&level| level != Level::NvlinkDomain || !domains_stray);
    let limit = limit.map(tier_of).max();
    if domains_stray {
        for domain in domains_with_room(locality, ask.capacity, members).into_iter().take(most) {
            let room = within_domain(locality, ask.capacity, domain);
            propose(&room, members, limit, 1, &mut placements);
        }
    }
    if placements.len() < most && !(domains_stray && required.contains(&Level::NvlinkDomain)) {
        let room = Room::of(locality, |node| ask.capacity.get(node as usize).copied().unwrap_or(0));
        propose(&room, members, limit, most - placements.len(), &mut placements);
    }
    if placements.is_empty() {
        return Err(refusal(locality, ask.capacity, members, &required, false));
    }
    let mut seen: Vec<Vec<(NodeIndex, u32)>> = Vec::new();
    placements.retain(|placement| {
        let new = !seen.contains(placement);
        if new {
            seen.push(placement.clone());
        }
        new
    });
    let mut candidates: Vec<Candidate> =
        placements.into_iter().map(|nodes| candidate(locality, nodes, ask.wants)).collect();
    candidates.sort_by_key(|candidate| candidate.unmet.len());
    Ok(candidates)
}

/// Whether a gang could ever be placed, by what each node takes when it is empty.
///
/// # Errors
/// Where it never can be: which required want is in the way, what was asked, and what the largest group takes.
pub fn can_ever(locality: &Locality, if_empty: &[u32], members: u32, wants: &[Want]) -> Result<(), Refusal> {
    let ask = Ask { capacity: if_empty, members, wants, most: 1 };
    match choose(locality, &ask) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Refusal { never: true, ..refusal }),
    }
}

fn candidate(locality: &Locality, nodes: Vec<(NodeIndex, u32)>, wants: &[Want]) -> Candidate {
    let spread = Spread::of(locality, &nodes);
    let groups = |level| match level {
        Level::NvlinkDomain => spread.nvlink_domains,
        Level::Leaf => spread.leaves,
        Level::RailGroup => spread.rail_groups,
        Level::Pod => spread.pods,
        Level::Fabric => spread.fabrics,
    };
    let mut unmet: Vec<Level> =
        wants.iter().map(|want| want.level).filter(|&level| groups(level) > 1).collect();
    unmet.sort_unstable();
    unmet.dedup();
    Candidate { nodes, spread, unmet }
}

/// NVLink domains that hold a gang whole, those with the least room first.
fn domains_with_room(locality: &Locality, capacity: &[u32], members: u64) -> Vec<u32> {
    let mut rooms: Vec<(u64, u32)> = (0..locality.group_count(Level::NvlinkDomain) as u32)
        .map(|domain| (room_of_group(locality, capacity, Level::NvlinkDomain, domain), domain))
        .filter(|&(room, _)| room >= members)
        .collect();
    rooms.sort_unstable();
    rooms.into_iter().map(|(_, domain)| domain).collect()
}

fn room_of_group(locality: &Locality, capacity: &[u32], level: Level, group: u32) -> u64 {
    let nodes = locality.nodes(level, group);
    nodes.map(|node| u64::from(capacity.get(node.index()).copied().unwrap_or(0))).sum()
}

/// Appends up to `most` placements, from groups of tier `limit` (`None`: all nodes) inwards.
fn propose(
    room: &Room,
    members: u64,
    limit: Option<usize>,
    most: usize,
    placements: &mut Vec<Vec<(NodeIndex, u32)>>,
) {
    let mut left = most;
    let tiers = (limit.unwrap_or(0)..=TIERS).rev().map(Some);
    for tier in tiers.chain(limit.is_none().then_some(None)) {
        let holds = |group: usize| !room.has_child_for(tier, group, members);
        let mut groups: Vec<usize> = match tier {
            Some(tier) => {
                let rooms = room.tier(tier).iter().enumerate();
                let with_room = rooms.filter(|&(_, &own)| own >= members).map(|(group, _)| group);
                with_room.filter(|&group| holds(group)).collect()
            }
            None => (0..1).filter(|&all| room.total() >= members && holds(all)).collect(),
        };
        if let Some(tier) = tier {
            groups.sort_by_cached_key(|&group| {
                let cost = room.cost_below(tier, group, members);
                (cost, room.tier(tier)[group], room.around(tier, group), group)
            });
        }
        for group in groups.into_iter().take(left) {
            let mut placement = Vec::new();
            room.fill(tier, group, members, &mut placement);
            placements.push(placement);
            left -= 1;
        }
        if left == 0 {
            return;
        }
    }
}

/// The refusal of a gang that no set of nodes takes: the widest want that is in the way by itself, or all that are
/// together.
fn refusal(locality: &Locality, capacity: &[u32], asked: u64, required: &[Level], never: bool) -> Refusal {
    let total: u64 = capacity.iter().take(locality.node_count()).map(|&own| u64::from(own)).sum();
    let roomiest = |groups: &mut dyn Iterator<Item = (u64, Option<NodeIndex>)>| {
        groups.fold((0, None), |best, next| if next.0 > best.0 { next } else { best })
    };
    if total < asked {
        let largest_at = None;
        return Refusal { wants: Vec::new(), asked, largest: total, largest_at, never };
    }
    for &level in required.iter().rev() {
        let (largest, largest_at) = roomiest(&mut (0..locality.group_count(level) as u32).map(|group| {
            (room_of_group(locality, capacity, level, group), locality.nodes(level, group).next())
        }));
        if largest < asked {
            return Refusal { wants: vec![level], asked, largest, largest_at, never };
        }
    }
    // Each by itself could be met: an NVLink domain that lies in several groups of another level.
    let wants: Vec<Level> = required.iter().take(2).copied().collect();
    let (largest, largest_at) = match wants[..] {
        [_, level] => {
            roomiest(&mut (0..locality.group_count(Level::NvlinkDomain) as u32).flat_map(|domain| {
                let mut nodes: Vec<NodeIndex> = locality.nodes(Level::NvlinkDomain, domain).collect();
                nodes.sort_unstable_by_key(|&node| (locality.group(level, node), node));
                let parts = nodes.chunk_by(|&a, &b| locality.group(level, a) == locality.group(level, b));
                let room = |part: &[NodeIndex]| {
                    let own =
                        part.iter().map(|node| u64::from(capacity.get(node.index()).copied().unwrap_or(0)));
                    (own.sum(), part.first().copied())
                };
                parts.map(room).collect::<Vec<_>>()
            }))
        }
        _ => (total, None),
    };
    Refusal { wants, asked, largest, largest_at, never }
}
