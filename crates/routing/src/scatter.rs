//! Chance instead of turns: every switch takes one of its equal ports for every LID by lot, as OpenSM's `scatter_ports`.

use fabric::Fabric;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::paths::Paths;
use crate::switches::Switches;
use crate::tables::Tables;

/// Draws the entries of `tables` anew among the links that `paths` allows. The lot depends on the seed, the switch and
/// the LID alone. Entries of pairs without a path stay.
pub fn scattered(fabric: &Fabric, switches: &Switches, paths: &Paths, tables: Tables, seed: u64) -> Tables {
    Tables::filled(fabric, switches.top_lid(), |switch, node, entries| {
        entries.copy_from_slice(tables.row(node));
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed ^ fabric.guid(node).0);
        let own = paths.row(switch);
        let mut allowed = Vec::new();
        for target in (0..switches.len()).filter(|&target| target != switch) {
            allowed.clear();
            allowed.extend(switches.links(switch).iter().filter_map(|link| {
                let peer = link.peer as usize;
                paths.allows(switch, own[target], peer, paths.row(peer)[target]).then_some(link.port)
            }));
            if allowed.is_empty() {
                continue;
            }
            for lid in switches.destinations(target).iter().flat_map(|to| to.lids.clone()) {
                let place = (u64::from(chance.next_u32()) * allowed.len() as u64) >> 32;
                entries[lid as usize] = allowed[place as usize];
            }
        }
    })
}
