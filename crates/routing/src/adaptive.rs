//! Adaptive-routing groups beside the tables: for each switch and each switch that packets are for, all next ports that
//! are as good as the table's own.
//!
//! A device that takes them sends each packet by the idlest port of the group. The InfiniBand standard has no attribute
//! for that, so on standard hardware groups stay off: they are for the simulator, and for devices with an extension.
//!
//! Groups must not bring the deadlock back that the tables avoid. Where the tables' paths climb an order of the switches
//! and then descend, groups hold the ports that keep to it. Where they follow no order, groups hold the ports of all
//! shortest paths, and the links that may wait for each other then are searched for a circle: with one, there are no
//! groups.

use fabric::{Fabric, NodeId};
use rayon::prelude::*;

use crate::error::RouteError;
use crate::options::Options;
use crate::paths::Paths;
use crate::routes::Routes;
use crate::switches::{SwitchLink, Switches};

/// The group of a switch for itself, and for one that it has no path to.
const NO_GROUP: u32 = u32::MAX;

/// The groups of all switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdaptiveGroups {
    switches: Vec<NodeId>,
    of_switch: Vec<SwitchGroups>,
}

/// One switch's groups, each once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct SwitchGroups {
    /// The ports of each group, ascending.
    ports: Vec<Vec<u8>>,
    /// The same as sets.
    sets: Vec<PortSet>,
    /// By target.
    group_of: Vec<u32>,
}

/// A bit for each port.
type PortSet = [u64; 4];

impl AdaptiveGroups {
    /// The switches, in the order that rows and targets are numbered by: that of the tables' rows.
    pub fn switches(&self) -> &[NodeId] {
        &self.switches
    }

    /// The different groups of a switch.
    pub fn groups(&self, switch: usize) -> &[Vec<u8>] {
        &self.of_switch[switch].ports
    }

    /// Which of them serves packets for what hangs on `target`; `None` for the switch itself and for one without a path.
    pub fn group_of(&self, switch: usize, target: usize) -> Option<usize> {
        Some(self.of_switch[switch].group_of[target])
            .filter(|&group| group != NO_GROUP)
            .map(|group| group as usize)
    }

    /// The ports that a switch may send packets by that are for what hangs on `target`.
    pub fn ports(&self, switch: usize, target: usize) -> &[u8] {
        self.group_of(switch, target).map_or(&[], |group| &self.groups(switch)[group])
    }
}

/// The groups that go with an engine's routes, which it made under the same options.
pub fn adaptive_groups(
    fabric: &Fabric,
    options: &Options,
    routes: &Routes,
) -> Result<AdaptiveGroups, RouteError> {
    let switches = Switches::with_options(fabric, options);
    let paths = match &routes.heights {
        Some(heights) => Paths::up_down(&switches, heights),
        None => Paths::shortest(fabric, &switches)?,
    };
    let of_switch =
        (0..switches.len()).into_par_iter().map(|switch| groups_of(&switches, &paths, switch)).collect();
    let nodes = (0..switches.len()).map(|switch| switches.node(switch)).collect();
    let groups = AdaptiveGroups { switches: nodes, of_switch };
    match routes.heights {
        None => Waits::new(&switches, &paths, &groups).check(fabric).map(|()| groups),
        Some(_) => Ok(groups),
    }
}

fn groups_of(switches: &Switches, paths: &Paths, switch: usize) -> SwitchGroups {
    let own = paths.row(switch);
    let mut all = SwitchGroups { group_of: vec![NO_GROUP; switches.len()], ..SwitchGroups::default() };
    let mut known: rustc_hash::FxHashMap<PortSet, u32> = rustc_hash::FxHashMap::default();
    for target in (0..switches.len()).filter(|&target| target != switch) {
        let allowed = |link: &&SwitchLink| {
            let peer = link.peer as usize;
            paths.allows(switch, own[target], peer, paths.row(peer)[target])
        };
        let mut set: PortSet = [0; 4];
        for link in switches.links(switch).iter().filter(allowed) {
            set[usize::from(link.port / 64)] |= 1 << (link.port % 64);
        }
        if set == [0; 4] {
            continue;
        }
        all.group_of[target] = *known.entry(set).or_insert_with(|| {
            all.ports.push((0..=255).filter(|&port| has(&set, port)).collect());
            all.sets.push(set);
            all.sets.len() as u32 - 1
        });
    }
    all
}

fn has(set: &PortSet, port: u8) -> bool {
    set[usize::from(port / 64)] >> (port % 64) & 1 == 1
}

/// Which links' packets may wait for which, whatever port of its group each packet takes.
struct Waits<'a> {
    switches: &'a Switches,
    /// The first link of each switch, numbered through.
    first: Vec<u32>,
    /// For each link the ports of the switch behind it that its packets may wait for.
    next: Vec<PortSet>,
}

impl<'a> Waits<'a> {
    fn new(switches: &'a Switches, paths: &Paths, groups: &AdaptiveGroups) -> Self {
        let mut first = vec![0];
        for switch in 0..switches.len() {
            first.push(first[switch] + switches.links(switch).len() as u32);
        }
        let links = first[switches.len()] as usize;
        let next = (0..switches.len())
            .into_par_iter()
            .filter(|&target| switches.adapters(target) > 0)
            .fold(
                || vec![[0; 4]; links],
                |mut next, target| {
                    note(switches, paths, groups, &first, target, &mut next);
                    next
                },
            )
            .reduce(
                || vec![[0; 4]; links],
                |mut all, part| {
                    for (all, part) in all.iter_mut().flatten().zip(part.iter().flatten()) {
                        *all |= part;
                    }
                    all
                },
            );
        Self { switches, first, next }
    }

    /// The links that a link's packets may wait for.
    fn after(&self, link: usize, peer: usize) -> impl Iterator<Item = usize> + '_ {
        let set = self.next[link];
        let links = self.switches.links(peer).iter().enumerate();
        links
            .filter(move |(_, link)| has(&set, link.port))
            .map(move |(place, _)| self.first[peer] as usize + place)
    }

    /// Takes links away that none waits for, over and over: with a circle some stay.
    fn check(&self, fabric: &Fabric) -> Result<(), RouteError> {
        let ends: Vec<(usize, SwitchLink)> = (0..self.switches.len())
            .flat_map(|switch| self.switches.links(switch).iter().map(move |&link| (switch, link)))
            .collect();
        let mut waiting = vec![0u32; ends.len()];
        for (link, (_, end)) in ends.iter().enumerate() {
            self.after(link, end.peer as usize).for_each(|next| waiting[next] += 1);
        }
        let mut free: Vec<usize> = (0..ends.len()).filter(|&link| waiting[link] == 0).collect();
        let mut left = ends.len();
        while let Some(link) = free.pop() {
            left -= 1;
            for next in self.after(link, ends[link].1.peer as usize) {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    free.push(next);
                }
            }
        }
        match waiting.iter().position(|&waiting| waiting > 0).filter(|_| left > 0) {
            None => Ok(()),
            Some(link) => Err(RouteError::UnsafeGroups {
                port: format!("{}[{}]", fabric.name(self.switches.node(ends[link].0)), ends[link].1.port),
            }),
        }
    }
}

/// Notes who waits for whom on the way to one target, from all switches that hold adapters.
fn note(
    switches: &Switches,
    paths: &Paths,
    groups: &AdaptiveGroups,
    first: &[u32],
    target: usize,
    next: &mut [PortSet],
) {
    let hops = |switch: usize| paths.hops(paths.row(switch)[target]);
    let mut order: Vec<usize> = (0..switches.len()).filter(|&switch| hops(switch).is_some()).collect();
    // Farthest first: all that a switch may have to carry is known when its turn comes.
    order.sort_by_key(|&switch| std::cmp::Reverse(hops(switch)));
    let mut carries: Vec<bool> = (0..switches.len()).map(|switch| switches.adapters(switch) > 0).collect();
    for switch in order {
        let Some(group) = groups.group_of(switch, target).filter(|_| carries[switch]) else { continue };
        let set = groups.of_switch[switch].sets[group];
        for (place, link) in
            switches.links(switch).iter().enumerate().filter(|(_, link)| has(&set, link.port))
        {
            let peer = link.peer as usize;
            carries[peer] = true;
            if let Some(group) = groups.group_of(peer, target) {
                let after = &groups.of_switch[peer].sets[group];
                let own = &mut next[first[switch] as usize + place];
                own.iter_mut().zip(after).for_each(|(own, after)| *own |= after);
            }
        }
    }
}
