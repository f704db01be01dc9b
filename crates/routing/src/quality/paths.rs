//! Hosts in the order that shifts go by, and the links on the paths to them.

use std::ops::Range;

use fabric::Fabric;

use crate::ranks;
use crate::switches::Switches;
use crate::tables::Tables;

/// No switch at the other end.
pub(super) const NONE: u32 = u32::MAX;

/// Switches on the longest path that is followed. Packets die sooner: a subnet manager reaches 64.
const LONGEST: usize = 255;

/// Hosts whose columns are gathered together: about a cache line of each row.
const GROUP: usize = 64;

/// A host's port, on the switch that delivers to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    pub(super) switch: u32,
    pub(super) lid: u32,
}

/// The hosts on one switch, which have consecutive numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) switch: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A fabric and its tables, laid out for following paths.
pub(super) struct PathView<'a> {
    pub(super) switches: Switches,
    /// First slot of each switch, with one more entry than there are switches. Slot `first[s] + p` is port `p`.
    first: Vec<u32>,
    /// The switch behind each slot, [`NONE`] where none is.
    pub(super) peer: Vec<u32>,
    /// Each switch's row.
    rows: Vec<&'a [u8]>,
    /// The hosts with a LID, in tree order: by the switches of [`ranks::tree_order`], then by port.
    pub(super) hosts: Vec<Host>,
    /// The switches that hold them, in the same order.
    pub(super) holders: Vec<Holder>,
}

impl<'a> PathView<'a> {
    pub(super) fn new(fabric: &Fabric, tables: &'a Tables) -> Self {
        let switches = Switches::new(fabric);
        let (mut first, mut peer) = (vec![0], Vec::new());
        for switch in 0..switches.len() {
            let links = switches.links(switch);
            let start = peer.len();
            peer.resize(start + links.last().map_or(1, |link| usize::from(link.port) + 1), NONE);
            for link in links {
                peer[start + usize::from(link.port)] = link.peer;
            }
            first.push(peer.len() as u32);
        }
        let rows = (0..switches.len()).map(|switch| tables.row(switches.node(switch))).collect();
        let (hosts, holders) = numbered(fabric, &switches);
        Self { switches, first, peer, rows, hosts, holders }
    }

    /// How many slots there are; those with a [`PathView::peer`] are directions of links.
    pub(super) fn slots(&self) -> usize {
        self.peer.len()
    }

    /// How many slots a switch has.
    pub(super) fn slots_of(&self, switch: usize) -> u32 {
        self.first[switch + 1] - self.first[switch]
    }

    /// How many groups [`Columns::take`] cuts the hosts into.
    pub(super) fn groups(&self) -> usize {
        self.hosts.len().div_ceil(GROUP)
    }
}

fn numbered(fabric: &Fabric, switches: &Switches) -> (Vec<Host>, Vec<Holder>) {
    let rank = ranks::of(fabric, switches);
    let (mut hosts, mut holders) = (Vec::new(), Vec::new());
    for switch in ranks::tree_order(switches, &rank) {
        let start = hosts.len() as u32;
        let own = switches.destinations(switch as usize).iter().filter(|destination| destination.host);
        hosts.extend(own.map(|host| Host { switch, lid: host.lids.start }));
        let end = hosts.len() as u32;
        if start < end {
            holders.push(Holder { switch, start, end });
        }
    }
    (hosts, holders)
}

/// Scratch for following paths to a group of hosts at a time.
pub(super) struct Columns<'a> {
    view: &'a PathView<'a>,
    /// The group's hosts.
    hosts: Range<usize>,
    /// The ports of their columns, a byte a switch, one column after another. A port that a switch lacks is 0, which
    /// leads nowhere.
    ports: Vec<u8>,
    /// The host to which a switch's path was last found not to arrive.
    lost: Vec<u32>,
    path: Vec<(u32, u32)>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(view: &'a PathView<'a>) -> Self {
        let switches = view.switches.len();
        Self { view, hosts: 0..0, ports: Vec::new(), lost: vec![NONE; switches], path: Vec::new() }
    }

    /// Takes the columns of a group of hosts in hand; returns the hosts' numbers.
    pub(super) fn take(&mut self, group: usize) -> Range<usize> {
        self.hosts = group * GROUP..((group + 1) * GROUP).min(self.view.hosts.len());
        self.gather();
        self.hosts.clone()
    }

    /// Calls `visit` with every holder that has a path to a host in hand, and the (switch, slot) on it.
    pub(super) fn visit(&mut self, host: usize, mut visit: impl FnMut(Holder, &[(u32, u32)])) {
        for &holder in &self.view.holders {
            if let Some(path) = self.follow(holder.switch, host) {
                visit(holder, path);
            }
        }
    }

    /// Copies the group's columns out of the rows, so that each row's cache lines are met once: a few rows at a time,
    /// so that the columns' are too.
    fn gather(&mut self) {
        const ROWS: usize = 16;
        let switches = self.view.switches.len();
        let hosts = &self.view.hosts[self.hosts.clone()];
        self.ports.clear();
        self.ports.resize(hosts.len() * switches, 0);
        for start in (0..switches).step_by(ROWS) {
            let end = (start + ROWS).min(switches);
            let rows = &self.view.rows[start..end];
            for (column, host) in self.ports.chunks_exact_mut(switches).zip(hosts) {
                for (place, (port, row)) in column[start..end].iter_mut().zip(rows).enumerate() {
                    let wanted = row.get(host.lid as usize).copied().unwrap_or(0);
                    *port = if u32::from(wanted) < self.view.slots_of(start + place) { wanted } else { 0 };
                }
            }
        }
    }

    /// The path from a switch to a host in hand; `None` where it does not arrive.
    #[inline]
    pub(super) fn follow(&mut self, from: u32, host: usize) -> Option<&[(u32, u32)]> {
        let view = self.view;
        let column = (host - self.hosts.start) * view.switches.len();
        let column = &self.ports[column..column + view.switches.len()];
        let target = view.hosts[host].switch;
        self.path.clear();
        let mut at = from;
        while at != target {
            let slot = view.first[at as usize] + u32::from(column[at as usize]);
            let next = view.peer[slot as usize];
            self.path.push((at, slot));
            if next == NONE || self.path.len() > LONGEST || self.lost[at as usize] == host as u32 {
                for &(switch, _) in &self.path {
                    self.lost[switch as usize] = host as u32;
                }
                return None;
            }
            at = next;
        }
        Some(&self.path)
    }
}
