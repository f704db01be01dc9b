//! Evens out the load on links where a tree is not regular: takes destinations up again, one after another, and gives
//! each the way on which least is waiting, until that helps no more.
//!
//! Load is what [`crate::quality`] counts: ordered pairs of hosts on each direction of a link, times the link's slowness.
//! In a tree each level is held against the least that it could carry at most (`levels`), so that one leaf short of
//! links is no excuse for a crowd elsewhere.
//!
//! First the smallest loads are looked for, wherever that takes each destination (`search`). Then only as many entries as
//! needed leave the way that [`spread`] gave them, just so that no level carries more than was found (`search/moves`), and
//! what is left to choose is chosen so that random permutations meet least (`chance`, `search/settle`): what stays in place
//! keeps the links down to few destinations each. Where a fabric is too large for the first, entries are moved off the
//! fullest links alone.

mod chance;
mod levels;
mod price;
mod search;
mod ways;

use fabric::Fabric;

use crate::paths::Paths;
use crate::ranks;
use crate::spread::spread;
use crate::switches::{SwitchLink, Switches};
use crate::tables::Tables;

use levels::Levels;
use search::Search;

/// Hosts times switches beyond which the first spread stands: counting its loads alone would take too long.
const MOST_ENTRIES: u64 = 120_000_000;
/// Links times switches beyond which it stands as well: finding all ways would take too long.
const MOST_WAYS: usize = 400_000_000;
/// Hosts times switches up to which several tables may be made and compared.
const FEW_ENTRIES: u64 = 17_000_000;
/// Rounds of the search that show what an order of switches is worth.
const OUTLINE: u64 = 4;

/// Tables over `paths` whose links carry about as many paths as each other. Regular trees and very large fabrics keep
/// the even spread of [`spread`].
pub fn balanced(fabric: &Fabric, switches: &Switches, paths: &Paths, rank: &[u32]) -> Tables {
    let mut tables = spread(fabric, switches, paths, rank);
    if gains_from_search(switches, rank) {
        Search::new(switches, paths, Levels::of(switches, rank), &tables).improve(&mut tables);
    }
    tables
}

/// About how large the largest load of [`balanced`] tables over `paths` would be; for fabrics that are small.
pub fn outline(fabric: &Fabric, switches: &Switches, paths: &Paths, rank: &[u32]) -> u64 {
    let tables = spread(fabric, switches, paths, rank);
    let rounds = if gains_from_search(switches, rank) { OUTLINE } else { 0 };
    Search::new(switches, paths, Levels::of(switches, rank), &tables).outline(rounds)
}

/// Whether the even spread leaves something to gain, and the fabric is not too large to look for it.
fn gains_from_search(switches: &Switches, rank: &[u32]) -> bool {
    let destinations = || (0..switches.len()).flat_map(|s| switches.destinations(s));
    let several_lids = destinations().any(|to| to.host && to.lids.len() > 1);
    let links: usize = (0..switches.len()).map(|switch| switches.links(switch).len()).sum();
    let ways_are_soon_found = links * switches.len() <= MOST_WAYS;
    let weighted = destinations().any(|to| to.weight > 1);
    let uneven = weighted || !ranks::is_regular(switches, rank) || has_unlike_links(switches, rank);
    !several_lids && ways_are_soon_found && entries(switches) <= MOST_ENTRIES && uneven
}

/// Whether some switch has a faster and a slower link to the same level.
fn has_unlike_links(switches: &Switches, rank: &[u32]) -> bool {
    (0..switches.len()).any(|switch| {
        let links = switches.links(switch);
        let unlike = |a: &SwitchLink, b: &SwitchLink| {
            rank[a.peer as usize] == rank[b.peer as usize] && a.slowness != b.slowness
        };
        links.iter().any(|link| links.iter().any(|other| unlike(link, other)))
    })
}

/// Whether loads on all links are soon counted, and several tables soon compared by them.
pub(crate) fn is_small(switches: &Switches) -> bool {
    entries(switches) <= FEW_ENTRIES
}

fn entries(switches: &Switches) -> u64 {
    let hosts: u64 = (0..switches.len()).map(|switch| u64::from(switches.hosts(switch))).sum();
    hosts * switches.len() as u64
}
