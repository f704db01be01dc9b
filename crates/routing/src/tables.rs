//! Linear forwarding tables of all switches: flat bytes, one row a switch.

use std::ops::Range;

use fabric::{Fabric, NodeId, PortId};
use ib::Lid;
use rayon::prelude::*;

/// LIDs in one block of a table: what one LinearForwardingTable MAD carries.
pub const BLOCK: usize = 64;

/// The entry of a LID that a switch has no route to: it drops such packets.
pub const NO_ROUTE: u8 = 255;

const NO_ROW: u32 = u32::MAX;

/// For every switch and LID the port that packets leave by; 0 on a switch's own LIDs, [`NO_ROUTE`] where there is
/// no route.
///
/// Rows are in the order of the switches' [`NodeId`]s, contiguous, each [`Tables::width`] bytes long.
#[derive(Clone, PartialEq, Eq)]
pub struct Tables {
    row_of: Vec<u32>,
    switches: Vec<NodeId>,
    /// Largest LID with a route in each row, 0 where there is none.
    top: Vec<u32>,
    width: usize,
    entries: Vec<u8>,
}

/// One block of 64 entries that two tables differ in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChangedBlock {
    /// The switch.
    pub switch: NodeId,
    /// Which block: it holds the LIDs from 64 times this on.
    pub block: u32,
}

impl Tables {
    /// Tables without a route for every switch of `fabric`, wide enough for LIDs up to the largest one in use there.
    pub fn empty(fabric: &Fabric) -> Self {
        Self::filled(fabric, top_lid(fabric), |_, _, row| row.fill(NO_ROUTE))
    }

    /// Tables without a route for every switch of `fabric`, wide enough for LIDs up to `top_lid`.
    pub fn empty_up_to(fabric: &Fabric, top_lid: u32) -> Self {
        Self::filled(fabric, top_lid, |_, _, row| row.fill(NO_ROUTE))
    }

    /// Tables of `width` entries a row, copied from each switch's row as `held` gives it; entries beyond its end, and switches
    /// without one, have no route.
    pub fn from_rows<'a>(
        fabric: &Fabric,
        width: usize,
        held: impl Fn(NodeId) -> Option<&'a [u8]> + Sync,
    ) -> Self {
        Self::filled(fabric, (width.max(BLOCK) - 1) as u32, |_, switch, row| {
            let held = held(switch).unwrap_or(&[]);
            let length = held.len().min(row.len());
            row[..length].copy_from_slice(&held[..length]);
            row[length..].fill(NO_ROUTE);
        })
    }

    /// Tables whose rows `fill` writes, in parallel: it gets a row's number, its switch, and the row, all 0.
    pub fn filled(fabric: &Fabric, top_lid: u32, fill: impl Fn(usize, NodeId, &mut [u8]) + Sync) -> Self {
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut row_of = vec![NO_ROW; fabric.node_count()];
        for (row, switch) in switches.iter().enumerate() {
            row_of[switch.index()] = row as u32;
        }
        let width = (top_lid as usize + 1).next_multiple_of(BLOCK);
        // Zeroed memory comes untouched from the system: each thread meets the pages of its own rows first.
        let mut entries = vec![0; width * switches.len()];
        let top = entries
            .par_chunks_exact_mut(width)
            .enumerate()
            .map(|(row, entries)| {
                fill(row, switches[row], entries);
                top_of(entries)
            })
            .collect();
        Self { row_of, switches, top, width, entries }
    }

    /// LIDs in a row, LID 0 included: a multiple of [`BLOCK`].
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Blocks in a row.
    #[inline]
    pub fn blocks(&self) -> u32 {
        (self.width / BLOCK) as u32
    }

    /// The switches that have a row, in the order of the rows.
    #[inline]
    pub fn switches(&self) -> &[NodeId] {
        &self.switches
    }

    /// The row's number of a switch; `None` for a node that has no row.
    #[inline]
    pub fn row_index(&self, node: NodeId) -> Option<usize> {
        self.row_of.get(node.index()).filter(|&&row| row != NO_ROW).map(|&row| row as usize)
    }

    /// A switch's entries by LID, [`Tables::width`] of them; empty for a node that has no row.
    #[inline]
    pub fn row(&self, node: NodeId) -> &[u8] {
        self.row_index(node).map_or(&[], |row| self.row_at(row))
    }

    /// The entries of the row with this number, counted as in [`Tables::switches`].
    #[inline]
    pub fn row_at(&self, row: usize) -> &[u8] {
        &self.entries[row * self.width..(row + 1) * self.width]
    }

    /// One block of a switch's entries; all [`NO_ROUTE`] for a node that has no row and beyond the row's end.
    #[inline]
    pub fn block(&self, node: NodeId, block: u32) -> &[u8; BLOCK] {
        let start = block as usize * BLOCK;
        self.row(node).get(start..).and_then(|rest| rest.first_chunk()).unwrap_or(&[NO_ROUTE; BLOCK])
    }

    /// The port by which `node` sends on what is for `lid`; [`NO_ROUTE`] where there is none.
    #[inline]
    pub fn get(&self, node: NodeId, lid: u32) -> u8 {
        self.row(node).get(lid as usize).copied().unwrap_or(NO_ROUTE)
    }

    /// Sets one entry; says whether the table has such an entry.
    pub fn set(&mut self, node: NodeId, lid: u32, port: u8) -> bool {
        let Some(row) = self.row_index(node).filter(|_| (lid as usize) < self.width) else {
            return false;
        };
        let entries = &mut self.entries[row * self.width..(row + 1) * self.width];
        entries[lid as usize] = port;
        self.top[row] = if port != NO_ROUTE { self.top[row].max(lid) } else { top_of(entries) };
        true
    }

    /// Copies one block of entries into a switch's row; says whether the table has such a block.
    pub fn set_block(&mut self, node: NodeId, block: u32, entries: &[u8; BLOCK]) -> bool {
        let Some(row) = self.row_index(node).filter(|_| block < self.blocks()) else {
            return false;
        };
        let start = row * self.width;
        self.entries[start + block as usize * BLOCK..][..BLOCK].copy_from_slice(entries);
        self.top[row] = top_of(&self.entries[start..start + self.width]);
        true
    }

    /// The largest LID that a switch has a route to: its SwitchInfo's LinearFDBTop. 0 where it has none.
    pub fn top_lid(&self, node: NodeId) -> u32 {
        self.row_index(node).map_or(0, |row| self.top[row])
    }

    /// The blocks in which these tables differ from `old`, by switch and block, ascending; a switch or a block that
    /// `old` lacks counts as all [`NO_ROUTE`] there. What must be written to turn `old` into these.
    pub fn changed_blocks<'a>(&'a self, old: &'a Tables) -> impl Iterator<Item = ChangedBlock> + 'a {
        self.switches.iter().flat_map(move |&switch| {
            let blocks = self.blocks().max(if old.row_index(switch).is_some() { old.blocks() } else { 0 });
            (0..blocks)
                .filter(move |&block| self.block(switch, block) != old.block(switch, block))
                .map(move |block| ChangedBlock { switch, block })
        })
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tables({} switches x {} LIDs)", self.switches.len(), self.width)
    }
}

/// The largest LID that a port of `fabric` answers to, 0 where no port has a LID.
pub fn top_lid(fabric: &Fabric) -> u32 {
    fabric.end_ports().map(|port| lids_of(fabric, port).end.saturating_sub(1)).max().unwrap_or(0)
}

/// The LIDs that a port answers to: 2^LMC from its base LID on. None where it has no LID, or one that no end port
/// can have (the permissive LID, LIDs beyond the wide range).
pub fn lids_of(fabric: &Fabric, port: PortId) -> Range<u32> {
    let base = fabric.lid(port);
    if base == Lid::NONE || base == Lid::PERMISSIVE || base > Lid::WIDE_UNICAST_MAX {
        return 0..0;
    }
    // The field has three bits.
    let end = base.0 + (1 << (fabric.lmc(port) & 7));
    base.0..end.min(Lid::WIDE_UNICAST_MAX.0 + 1)
}

fn top_of(entries: &[u8]) -> u32 {
    entries.iter().rposition(|&port| port != NO_ROUTE).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use fabric::NodeKind;
    use ib::Guid;

    use super::*;

    fn two_switches(top: u32) -> (Fabric, NodeId, NodeId) {
        let mut fabric = Fabric::new();
        let a = fabric.add_node(NodeKind::Switch, Guid(1), 4, "a");
        fabric.add_node(NodeKind::ChannelAdapter, Guid(2), 1, "host");
        let b = fabric.add_node(NodeKind::Switch, Guid(3), 4, "b");
        fabric.set_lid(fabric.port(a, 0).unwrap(), Lid(top), 0);
        (fabric, a, b)
    }

    #[test]
    fn width_is_whole_blocks_up_to_the_largest_lid() {
        for (top, width) in [(0, 64), (1, 64), (63, 64), (64, 128), (200, 256)] {
            assert_eq!(Tables::empty(&two_switches(top).0).width(), width);
        }
        let (mut fabric, a, _) = two_switches(60);
        fabric.set_lid(fabric.port(a, 0).unwrap(), Lid(60), 3);
        assert_eq!(Tables::empty(&fabric).width(), 128);
    }

    #[test]
    fn rows_blocks_and_tops_agree() {
        let (fabric, a, b) = two_switches(100);
        let mut tables = Tables::empty(&fabric);
        assert_eq!(tables.switches(), [a, b]);
        assert!(tables.set(b, 70, 3));
        assert!(!tables.set(b, 128, 3));
        assert!(!tables.set(NodeId(1), 1, 3));
        assert_eq!((tables.top_lid(a), tables.top_lid(b)), (0, 70));
        assert_eq!(tables.block(b, 1)[6], 3);
        assert_eq!(tables.block(b, 9), &[NO_ROUTE; BLOCK]);
        assert_eq!(tables.block(NodeId(77), 0), &[NO_ROUTE; BLOCK]);
        assert_eq!(tables.row(NodeId(1)), &[] as &[u8]);
        assert!(tables.set(b, 70, NO_ROUTE));
        assert_eq!(tables.top_lid(b), 0);
    }

    #[test]
    fn the_difference_is_the_changed_blocks() {
        let (fabric, a, b) = two_switches(100);
        let old = Tables::empty(&fabric);
        let mut new = old.clone();
        assert_eq!(new.changed_blocks(&old).count(), 0);
        new.set(a, 3, 1);
        new.set(b, 64, 2);
        let wider = Tables::empty_up_to(&fabric, 500);
        let changed = [ChangedBlock { switch: a, block: 0 }, ChangedBlock { switch: b, block: 1 }];
        assert_eq!(new.changed_blocks(&old).collect::<Vec<_>>(), changed);
        assert_eq!(new.changed_blocks(&wider).collect::<Vec<_>>(), changed);
        assert_eq!(wider.changed_blocks(&new).collect::<Vec<_>>(), changed);
    }
}
