//! Changes of the cabling, and judges of what repairs make of them.

use std::collections::BTreeSet;

use fabric::{Fabric, NodeId, PortId};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::{Patch, Repairer, Routes, Tables, islands, tables::lids_of, verify_routes};

/// Switch and LID for every path that arrives.
pub fn working(fabric: &Fabric, tables: &Tables) -> BTreeSet<(NodeId, u32)> {
    let mut working = BTreeSet::new();
    for end in fabric.end_ports() {
        for lid in lids_of(fabric, end) {
            for switch in fabric.switches() {
                if arrives(fabric, tables, switch, lid, end) {
                    working.insert((switch, lid));
                }
            }
        }
    }
    working
}

fn arrives(fabric: &Fabric, tables: &Tables, from: NodeId, lid: u32, end: PortId) -> bool {
    let mut at = from;
    for _ in 0..=fabric.switch_count() {
        let port = fabric.port(at, tables.get(at, lid));
        let next = match port {
            Some(port) if fabric.port_number(port) == 0 => Some(port),
            Some(port) => fabric.peer(port),
            None => None,
        };
        match next {
            Some(next) if next == end => return true,
            Some(next) if fabric.is_switch(fabric.node_of(next)) && fabric.node_of(next) != at => {
                at = fabric.node_of(next);
            }
            _ => return false,
        }
    }
    false
}

/// Everything that hangs together works, without any loop.
pub fn is_whole(fabric: &Fabric, routes: &Routes) {
    let islands = islands(fabric);
    let working = working(fabric, &routes.tables);
    for end in fabric.end_ports() {
        let node = fabric.node_of(end);
        if !fabric.is_switch(node) && fabric.peer(end).is_none() {
            continue;
        }
        let door = if fabric.is_switch(node) { node } else { fabric.node_of(fabric.peer(end).unwrap()) };
        if !fabric.is_switch(door) {
            continue;
        }
        for lid in lids_of(fabric, end) {
            for switch in fabric.switches().filter(|&switch| islands.together(switch, door)) {
                let (from, to) = (fabric.name(switch), fabric.port_label(end));
                assert!(working.contains(&(switch, lid)), "{from} does not reach {to}, LID {lid}");
            }
        }
    }
    let found = verify_routes(fabric, routes);
    assert_eq!((found.loops, found.credit_loops), (0, 0), "{:?}", found.witness);
}

/// Writes a patch block by block, in an order that chance draws within each wave; after each write no path that worked is
/// broken and there is no loop of either kind. Stops after `most` writes. Where not all was `together` before, a switch that
/// was cut off may come back with entries of old, which a manager writes before the switch goes into service.
pub fn write(
    fabric: &Fabric,
    routes: &mut Routes,
    repairer: &mut Repairer,
    patch: &Patch,
    rng: &mut Xoshiro256PlusPlus,
    most: usize,
    together: bool,
) -> bool {
    for change in patch.levels() {
        assert!(routes.lanes.set_service_level(change.row as usize, change.lid, change.level));
    }
    let worked = working(fabric, &routes.tables);
    let sound = together && verify_routes(fabric, routes).credit_loops == 0;
    let mut writes = 0;
    for wave in patch.waves() {
        let mut blocks: Vec<&[_]> =
            wave.chunk_by(|a, b| (a.row, a.lid / 64) == (b.row, b.lid / 64)).collect();
        while !blocks.is_empty() {
            if writes == most {
                return false;
            }
            writes += 1;
            let block = blocks.swap_remove(rng.next_u32() as usize % blocks.len());
            repairer.displace(&routes.tables, block);
            assert_eq!(Patch::apply(&mut routes.tables, block).len(), 1);
            let works = working(fabric, &routes.tables);
            let broken: Vec<_> = worked.difference(&works).collect();
            assert!(broken.is_empty(), "{writes} writes broke {broken:?}");
            let found = verify_routes(fabric, routes);
            assert_eq!(found.loops, 0, "{writes} writes: {:?}", found.first_loop);
            assert!(!sound || found.credit_loops == 0, "{writes} writes: {:?}", found.witness);
        }
    }
    repairer.settle();
    true
}

/// A change of the cabling: a link, a host's link or a whole switch goes or comes back.
pub fn change(
    fabric: &mut Fabric,
    gone: &mut Vec<(PortId, PortId)>,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<NodeId> {
    let draw = |rng: &mut Xoshiro256PlusPlus, n: usize| rng.next_u32() as usize % n.max(1);
    let links: Vec<_> = fabric.links().collect();
    let what = draw(rng, 10);
    let mut changed = Vec::new();
    if (what < 4 || links.is_empty()) && !gone.is_empty() {
        for _ in 0..if what == 0 { gone.len() } else { 1 } {
            let (a, b) = gone.swap_remove(draw(rng, gone.len()));
            let end = |port| (fabric.node_of(port), fabric.port_number(port));
            let (a, b) = (end(a), end(b));
            fabric.connect(a, b, None).unwrap();
            changed.extend([a.0, b.0]);
        }
        return changed;
    }
    let lost: Vec<_> = if what == 9 {
        let switches: Vec<_> = fabric.switches().collect();
        switches.get(draw(rng, switches.len())).map_or_else(Vec::new, |&s| fabric.neighbors(s).collect())
    } else {
        let Some(&one) = links.get(draw(rng, links.len())) else { return changed };
        let host = |&(a, b): &(PortId, PortId)| {
            !fabric.is_switch(fabric.node_of(a)) || !fabric.is_switch(fabric.node_of(b))
        };
        if what > 4 && host(&one) {
            links.iter().copied().filter(|link| !host(link)).nth(draw(rng, links.len())).into_iter().collect()
        } else {
            vec![one]
        }
    };
    for (a, b) in lost {
        if !fabric.disconnect(a) {
            continue;
        }
        gone.push((a, b));
        changed.extend([fabric.node_of(a), fabric.node_of(b)]);
    }
    changed
}

/// Whether all switches hang together.
pub fn one_part(fabric: &Fabric) -> bool {
    let (parts, first) = (islands(fabric), fabric.switches().next());
    fabric.switches().all(|switch| first.is_some_and(|first| parts.together(first, switch)))
}
