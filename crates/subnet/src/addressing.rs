//! LIDs: every end port keeps its own, new ones are laid out so that what fails together lies together.
//!
//! In a tree, hosts that are reached over the same uplinks get LIDs side by side ([`routing::layout`]), and switches have a
//! range of their own: a lost uplink then touches the fewest blocks of forwarding tables. Elsewhere adapters of one leaf get
//! LIDs in one row, and no row crosses a border of 64 where that costs next to nothing.

use std::collections::{BTreeMap, BTreeSet};

use fabric::{NodeId, PortId};
use ib::{BLOCK_LIDS, Guid, Lid};

use crate::event::Event;
use crate::finding::FindingKind;
use crate::manager::SubnetManager;

const BLOCK: u32 = BLOCK_LIDS as u32;
/// Rows are laid out by blocks where that costs no more than one LID in so many: each block left part empty is one
/// more to write to every switch.
const MOST_WASTE: u32 = 20;

impl SubnetManager {
    /// Gives every end port that the manager reaches its LID; else says why it cannot.
    pub(crate) fn assign_lids(&mut self) -> Result<(), String> {
        let most = self.config.addressing.unicast_max();
        let rows = self.rows();
        let needed: usize = rows.iter().map(Vec::len).sum();
        if needed > most.0 as usize {
            return Err(self.too_many(needed, most));
        }
        let mut taken = BTreeMap::new();
        let mut without = BTreeSet::new();
        self.keep_known(&rows, most, &mut taken, &mut without);
        self.give_new(&rows, most, &mut taken, &without);

        let lids: BTreeMap<Guid, Lid> =
            taken.iter().map(|(&lid, &port)| (self.devices.fabric.port_guid(port), lid)).collect();
        for (&lid, &port) in &taken {
            self.devices.fabric.set_lid(port, lid, 0);
        }
        self.lids_given = taken.len();
        // Who is away keeps its LID on record, unless somebody else had to have it.
        let given: BTreeSet<Lid> = lids.values().copied().collect();
        self.config.known_lids.retain(|_, lid| !given.contains(lid));
        self.config.known_lids.extend(lids);
        self.say(Event::LidsAssigned { lids: self.config.known_lids.clone(), new: without.len() });
        Ok(())
    }

    fn too_many(&self, needed: usize, most: Lid) -> String {
        let over = needed - most.0 as usize;
        let mend = match self.config.addressing {
            ib::wide::Addressing::Standard => {
                "split the fabric into subnets, or give --addressing wide (17-bit LIDs, emulated fabrics only)"
            }
            ib::wide::Addressing::Wide => "split the fabric into subnets",
        };
        format!("{needed} ports need a LID and there are {} LIDs, {over} too few: {mend}", most.0)
    }

    /// End ports in the order of their LIDs: in a tree all hosts by the links that they are reached over, elsewhere a row
    /// for each leaf's adapters; then one for the switches.
    fn rows(&self) -> Vec<Vec<PortId>> {
        let fabric = &self.devices.fabric;
        let reached = |node: NodeId| self.reached[node.index()];
        let mut switches: Vec<NodeId> = fabric.switches().filter(|&node| reached(node)).collect();
        switches.sort_by(|&a, &b| {
            natural(fabric.name(a), fabric.name(b)).then(fabric.guid(a).cmp(&fabric.guid(b)))
        });
        let mut rows: Vec<Vec<PortId>> = Vec::new();
        let placed = routing::layout::host_order(fabric).unwrap_or_default();
        let mut is_placed = vec![false; fabric.port_slot_count()];
        let hosts: Vec<PortId> = placed.into_iter().filter(|&port| reached(fabric.node_of(port))).collect();
        for &port in &hosts {
            is_placed[port.index()] = true;
        }
        rows.push(hosts);
        for &switch in &switches {
            let ends: Vec<PortId> = fabric
                .neighbors(switch)
                .map(|(_, peer)| peer)
                .filter(|&peer| !fabric.is_switch(fabric.node_of(peer)) && !is_placed[peer.index()])
                .collect();
            rows.push(ends);
        }
        // Without a switch in between two adapters are cabled to each other.
        let direct =
            fabric.nodes().filter(|&node| reached(node) && !fabric.is_switch(node)).flat_map(|node| {
                fabric
                    .neighbors(node)
                    .filter(|&(_, peer)| !fabric.is_switch(fabric.node_of(peer)))
                    .map(|(port, _)| port)
            });
        rows.push(direct.collect());
        // A manager alone on a port without a cable has a LID all the same.
        let own = self.devices.own.filter(|&own| fabric.peer(own).is_none() && fabric.port_number(own) > 0);
        rows.push(own.into_iter().collect());
        rows.push(switches.iter().map(|&switch| self.devices.management_port(switch)).collect());
        rows.retain(|row| !row.is_empty());
        rows
    }

    /// Who had a LID keeps it: first who is on record, then who was found with one.
    fn keep_known(
        &mut self,
        rows: &[Vec<PortId>],
        most: Lid,
        taken: &mut BTreeMap<Lid, PortId>,
        without: &mut BTreeSet<PortId>,
    ) {
        let fits = |lid: Lid| lid != Lid::NONE && lid != Lid::PERMISSIVE && lid <= most;
        let mut conflicts = Vec::new();
        for &port in rows.iter().flatten() {
            let guid = self.devices.fabric.port_guid(port);
            match self.config.known_lids.get(&guid).copied().filter(|&lid| fits(lid)) {
                Some(lid) if !taken.contains_key(&lid) => {
                    taken.insert(lid, port);
                }
                known => {
                    conflicts.extend(known.map(|lid| (lid, port)));
                    without.insert(port);
                }
            }
        }
        for port in without.clone() {
            let lid = self.devices.ports[port.index()].lid;
            if !fits(lid) {
                continue;
            }
            if let std::collections::btree_map::Entry::Vacant(place) = taken.entry(lid) {
                place.insert(port);
                without.remove(&port);
            } else {
                conflicts.push((lid, port));
            }
        }
        for (lid, port) in conflicts {
            let other = taken.get(&lid).map_or_else(String::new, |&other| self.devices.place(other));
            let place = self.devices.place(port);
            self.find(
                FindingKind::DuplicateLid,
                place,
                format!("LID {lid} is also {other}'s, which keeps it; this port gets another"),
                "nothing to do",
            );
        }
    }

    fn give_new(
        &self,
        rows: &[Vec<PortId>],
        most: Lid,
        taken: &mut BTreeMap<Lid, PortId>,
        without: &BTreeSet<PortId>,
    ) {
        let needed: usize = rows.iter().map(Vec::len).sum();
        let away: BTreeSet<Lid> =
            self.config.known_lids.values().copied().filter(|lid| !taken.contains_key(lid)).collect();
        let end = aligned_end(rows);
        let aligned = end <= most.0 && end <= BLOCK + needed as u32 + needed as u32 / MOST_WASTE;
        // Adapters begin with the second block: with 16, 32 or 64 of them a leaf, blocks and leaves then agree.
        let mut next = if aligned { BLOCK } else { 1 };
        let mut spare = 1;
        for row in rows {
            let wanted: Vec<PortId> = row.iter().copied().filter(|port| without.contains(port)).collect();
            let length = wanted.len() as u32;
            if aligned && length < BLOCK && next % BLOCK + length > BLOCK {
                next = next.next_multiple_of(BLOCK);
            }
            for port in wanted {
                while !is_free(Lid(next), taken) || away.contains(&Lid(next)) {
                    next += 1;
                }
                while next > most.0
                    && spare <= most.0
                    && (!is_free(Lid(spare), taken) || away.contains(&Lid(spare)))
                {
                    spare += 1;
                }
                let lid = if next <= most.0 {
                    next
                } else if spare <= most.0 {
                    spare
                } else {
                    // None is left but those of ports that are away: there are no more ports than LIDs.
                    (1..=most.0).find(|&lid| is_free(Lid(lid), taken)).unwrap_or(most.0)
                };
                taken.insert(Lid(lid), port);
                next = next.max(lid + 1);
            }
        }
    }
}

/// Whether a new port may have the LID. The permissive one is nobody's, under wide addressing too.
fn is_free(lid: Lid, taken: &BTreeMap<Lid, PortId>) -> bool {
    lid != Lid::PERMISSIVE && !taken.contains_key(&lid)
}

/// The last LID where every row is laid out by blocks.
fn aligned_end(rows: &[Vec<PortId>]) -> u32 {
    let mut next = BLOCK;
    for row in rows {
        let length = row.len() as u32;
        if length < BLOCK && next % BLOCK + length > BLOCK {
            next = next.next_multiple_of(BLOCK);
        }
        next += length;
    }
    next
}

/// Compares names as a person sorts them: runs of digits by their value.
fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
        let (x_digits, y_digits) = (digits(a), digits(b));
        if x_digits > 0 && y_digits > 0 {
            let trim = |text: &[u8], length: usize| {
                let zeros = text[..length].iter().take_while(|&&byte| byte == b'0').count();
                text[zeros..length].to_vec()
            };
            let (x, y) = (trim(a, x_digits), trim(b, y_digits));
            let order = x.len().cmp(&y.len()).then(x.cmp(&y));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[x_digits..], &b[y_digits..]);
        } else if x != y {
            return x.cmp(&y);
        } else {
            (a, b) = (&a[1..], &b[1..]);
        }
    }
    a.len().cmp(&b.len())
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn names_sort_as_people_do() {
        let mut names = ["leaf-10", "leaf-9", "core", "leaf-09a", "leaf-2-11", "leaf-2-3", ""];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["", "core", "leaf-2-3", "leaf-2-11", "leaf-9", "leaf-09a", "leaf-10"]);
    }
}
