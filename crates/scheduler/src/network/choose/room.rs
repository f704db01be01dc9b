//! How many members every group could take, tier by tier, and how a group's room is filled.

use pool::NodeIndex;

use super::pick::pick;
use crate::network::locality::{Locality, TIERS};

/// The room of every group. Tier [`TIERS`] are the nodes, by their place in the order of the locality.
pub(super) struct Room<'a> {
    locality: &'a Locality,
    of: [Vec<u64>; TIERS + 1],
}

impl<'a> Room<'a> {
    /// Sums up what each node could take; nodes without an entry take nothing.
    pub(super) fn of(locality: &'a Locality, capacity: impl Fn(u32) -> u32) -> Self {
        let mut of: [Vec<u64>; TIERS + 1] = Default::default();
        of[TIERS] = locality.order().map(|node| u64::from(capacity(node.0))).collect();
        for tier in 0..TIERS {
            let groups = &locality.tree()[tier];
            of[tier] = (0..groups.count()).map(|group| of[TIERS][groups.range(group)].iter().sum()).collect();
        }
        Self { locality, of }
    }

    /// The room of each group of a tier.
    pub(super) fn tier(&self, tier: usize) -> &[u64] {
        &self.of[tier]
    }

    pub(super) fn total(&self) -> u64 {
        self.of[0].iter().sum()
    }

    /// The places in the order that a group of a tier takes up; the whole order above all tiers.
    fn places(&self, tier: Option<usize>, group: usize) -> std::ops::Range<usize> {
        match tier {
            None => 0..self.of[TIERS].len(),
            Some(TIERS) => group..group + 1,
            Some(tier) => self.locality.tree()[tier].range(group),
        }
    }

    /// The group of a tier that a place of the order lies in.
    fn group_at(&self, tier: usize, place: usize) -> usize {
        match tier {
            TIERS => place,
            tier => self.locality.tree()[tier].of[self.locality.node_at(place) as usize] as usize,
        }
    }

    /// The groups of the next tier that a group consists of; of a tier of `None` those of the outermost.
    fn children(&self, tier: Option<usize>, group: usize) -> std::ops::Range<usize> {
        let places = self.places(tier, group);
        if places.is_empty() {
            return 0..0;
        }
        let below = tier.map_or(0, |tier| tier + 1);
        self.group_at(below, places.start)..self.group_at(below, places.end - 1) + 1
    }

    /// The room of the groups around a group, from the inside out.
    pub(super) fn around(&self, tier: usize, group: usize) -> [u64; TIERS] {
        let place = self.places(Some(tier), group).start;
        let mut room = [0; TIERS];
        for (outer, room) in (0..tier).rev().zip(&mut room) {
            *room = self.of[outer][self.group_at(outer, place)];
        }
        room
    }

    fn rooms_below(&self, tier: Option<usize>, group: usize) -> Vec<(u64, u32)> {
        let below = tier.map_or(0, |tier| tier + 1);
        self.children(tier, group).map(|child| (self.of[below][child], child as u32)).collect()
    }

    /// Whether one of the groups that a group consists of could take so many members by itself.
    pub(super) fn has_child_for(&self, tier: Option<usize>, group: usize, members: u64) -> bool {
        let below = tier.map_or(0, |tier| tier + 1);
        below <= TIERS && self.children(tier, group).any(|child| self.of[below][child] >= members)
    }

    /// What it costs to place so many members within a group that has room for them: how many groups of the next tier they
    /// touch, and how much room is left in those.
    pub(super) fn cost_below(&self, tier: usize, group: usize, members: u64) -> (usize, u64) {
        if tier == TIERS {
            return (1, 0);
        }
        let picked = pick(&mut self.rooms_below(Some(tier), group), members);
        let room: u64 = picked.iter().map(|&(child, _)| self.of[tier + 1][child as usize]).sum();
        (picked.len(), room - members)
    }

    /// Gives the nodes that take so many members within a group that has room for them, in order: as few groups
    /// of each tier as can be, from the outside in.
    pub(super) fn fill(
        &self,
        tier: Option<usize>,
        group: usize,
        members: u64,
        placement: &mut Vec<(NodeIndex, u32)>,
    ) {
        if tier == Some(TIERS) {
            // No node takes more than its capacity, which has 32 bits.
            placement.push((NodeIndex(self.locality.node_at(group)), members as u32));
            return;
        }
        let below = tier.map_or(0, |tier| tier + 1);
        let mut rooms = self.rooms_below(tier, group);
        for (child, taken) in pick(&mut rooms, members) {
            self.fill(Some(below), child as usize, taken, placement);
        }
    }
}
