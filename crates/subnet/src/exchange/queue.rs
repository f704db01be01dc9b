//! Requests that wait: in line at their device, devices in turn within their branch, branches in turn.
//!
//! A branch is a port of the first switch: what lies behind one port shares its buffers. Devices that have as many
//! requests under way as they can take are out of the turn until one is answered.

use std::collections::VecDeque;

use crate::request::Request;

/// A device as a receiver of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// The device's number.
    pub node: u32,
    /// The first switch's port that leads to it.
    pub branch: u8,
}

const NONE: u32 = u32::MAX;

/// A device's line, as places in the pool.
#[derive(Clone, Copy)]
struct Line {
    head: u32,
    tail: u32,
    under_way: u8,
    in_turn: bool,
    branch: u8,
}

impl Default for Line {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, under_way: 0, in_turn: false, branch: 0 }
    }
}

#[derive(Default)]
struct Branch {
    turn: VecDeque<u32>,
    under_way: usize,
    is_listed: bool,
}

pub(super) struct Queue {
    lines: Vec<Line>,
    pool: Vec<(Request, u32)>,
    free: u32,
    waiting: usize,
    branches: Vec<Branch>,
    /// Branches that have a device in turn.
    turn: VecDeque<u8>,
    most_per_device: u8,
}

impl Queue {
    pub fn new(most_per_device: u8) -> Self {
        Self {
            lines: Vec::new(),
            pool: Vec::new(),
            free: NONE,
            waiting: 0,
            branches: Vec::new(),
            turn: VecDeque::new(),
            most_per_device,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.most_per_device);
    }

    pub fn push(&mut self, target: Target, request: Request) {
        let place = if self.free == NONE {
            self.pool.push((request, NONE));
            (self.pool.len() - 1) as u32
        } else {
            let place = self.free;
            self.free = self.pool[place as usize].1;
            self.pool[place as usize] = (request, NONE);
            place
        };
        let node = target.node as usize;
        if self.lines.len() <= node {
            self.lines.resize(node + 1, Line::default());
        }
        let line = &mut self.lines[node];
        line.branch = target.branch;
        if line.head == NONE {
            line.head = place;
        } else {
            self.pool[line.tail as usize].1 = place;
        }
        line.tail = place;
        self.waiting += 1;
        self.join_turn(target.node);
    }

    /// What waits for a device, first come first.
    pub fn waiting_for(&self, node: u32) -> impl Iterator<Item = Request> {
        let head = self.lines.get(node as usize).map_or(NONE, |line| line.head);
        let at = |place: u32| self.pool.get(place as usize).copied();
        std::iter::successors(at(head), move |&(_, next)| at(next)).map(|(request, _)| request)
    }

    /// Puts a device into its branch's turn if it has something to be sent and can take it.
    fn join_turn(&mut self, node: u32) {
        let line = &mut self.lines[node as usize];
        if line.in_turn || line.head == NONE || line.under_way >= self.most_per_device {
            return;
        }
        line.in_turn = true;
        let branch = usize::from(line.branch);
        if self.branches.len() <= branch {
            self.branches.resize_with(branch + 1, Branch::default);
        }
        self.branches[branch].turn.push_back(node);
        if !std::mem::replace(&mut self.branches[branch].is_listed, true) {
            self.turn.push_back(branch as u8);
        }
    }

    /// Takes the next device out of the turn. A branch may fill no more than twice its share of the window.
    pub fn next_target(&mut self, window: usize) -> Option<Target> {
        let share = (2 * window).div_ceil(self.turn.len().max(1)).max(2);
        let mut full = 0;
        while full < self.turn.len() {
            let branch = self.turn.pop_front()?;
            let entry = &mut self.branches[usize::from(branch)];
            if entry.under_way >= share {
                self.turn.push_back(branch);
                full += 1;
                continue;
            }
            let node = entry.turn.pop_front();
            if entry.turn.is_empty() {
                entry.is_listed = false;
            } else {
                self.turn.push_back(branch);
            }
            if let Some(node) = node {
                let line = &mut self.lines[node as usize];
                line.in_turn = false;
                // Its line may have been dropped since it joined the turn: that is no reason to stop looking.
                if line.head != NONE {
                    return Some(Target { node, branch });
                }
                full = 0;
            }
        }
        None
    }

    /// The first request in a device's line: a device in turn has one.
    pub fn front(&self, target: Target) -> Request {
        self.pool[self.lines[target.node as usize].head as usize].0
    }

    pub fn pop(&mut self, target: Target) {
        let line = &mut self.lines[target.node as usize];
        let place = line.head;
        line.head = self.pool[place as usize].1;
        if line.head == NONE {
            line.tail = NONE;
        }
        self.pool[place as usize].1 = self.free;
        self.free = place;
        self.waiting -= 1;
    }

    /// Drops all that waits for a device; how much that was.
    pub fn drop_all(&mut self, node: u32) -> usize {
        let Some(line) = self.lines.get(node as usize) else { return 0 };
        let target = Target { node, branch: line.branch };
        let before = self.waiting;
        while self.lines[node as usize].head != NONE {
            self.pop(target);
        }
        before - self.waiting
    }

    /// The device's turn is over, with or without a request sent.
    pub fn end_turn(&mut self, target: Target, sent: bool) {
        if sent {
            self.lines[target.node as usize].under_way += 1;
            self.branches[usize::from(target.branch)].under_way += 1;
        }
        self.join_turn(target.node);
    }

    /// A request to the device is no longer under way.
    pub fn release(&mut self, target: Target) {
        if let Some(line) = self.lines.get_mut(target.node as usize) {
            line.under_way = line.under_way.saturating_sub(1);
            if let Some(branch) = self.branches.get_mut(usize::from(target.branch)) {
                branch.under_way = branch.under_way.saturating_sub(1);
            }
            self.join_turn(target.node);
        }
    }
}

#[cfg(test)]
mod tests {
    use fabric::NodeId;

    use super::*;

    #[test]
    fn lines_that_were_dropped_do_not_hide_those_behind_them() {
        let mut queue = Queue::new(1);
        let target = |node| Target { node, branch: 3 };
        for node in 0..5 {
            queue.push(target(node), Request::Description(NodeId(node)));
        }
        (0..4).for_each(|node| {
            queue.drop_all(node);
        });
        assert_eq!(queue.next_target(8), Some(target(4)));
    }
}
