//! Hosts in the order that shifts go by, and the links on the paths to them.

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

    /// The slot by which a switch sends on what is for `lid`. A port that it lacks is as port 0: it leads nowhere.
    #[inline]
    fn slot(&self, switch: u32, port: u8) -> u32 {
        let first = self.first[switch as usize];
        let slot = first + u32::from(port);
        if slot < self.first[switch as usize + 1] { slot } else { first }
    }

    /// Appends the slots on the path from a switch to a host; says whether it arrives, else appends nothing.
    #[inline]
    pub(super) fn follow(&self, from: u32, to: Host, path: &mut Vec<u32>) -> bool {
        let start = path.len();
        let mut at = from;
        while at != to.switch {
            let port = self.rows[at as usize].get(to.lid as usize).copied().unwrap_or(0);
            let slot = self.slot(at, port);
            at = self.peer[slot as usize];
            if at == NONE || path.len() - start >= LONGEST {
                path.truncate(start);
                return false;
            }
            path.push(slot);
        }
        true
    }

    /// How many groups [`Columns::visit`] cuts the hosts into.
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

/// Scratch for following the paths of all holders to one host after another.
pub(super) struct Columns<'a> {
    view: &'a PathView<'a>,
    /// The ports of the group's columns: a byte a switch, one column after another.
    ports: Vec<u8>,
    /// The host to which a switch's path was last found not to arrive.
    lost: Vec<u32>,
    path: Vec<(u32, u32)>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(view: &'a PathView<'a>) -> Self {
        let switches = view.switches.len();
        Self { view, ports: Vec::new(), lost: vec![NONE; switches], path: Vec::new() }
    }

    /// Calls `visit` with every host of the group, every holder with a path there, and the (switch, slot) on it; and
    /// `end` after each host.
    pub(super) fn visit<S>(
        &mut self,
        group: usize,
        state: &mut S,
        mut visit: impl FnMut(&mut S, usize, Holder, &[(u32, u32)]),
        mut end: impl FnMut(&mut S, usize),
    ) {
        let hosts = group * GROUP..((group + 1) * GROUP).min(self.view.hosts.len());
        self.gather(&self.view.hosts[hosts.clone()]);
        let switches = self.view.switches.len();
        for (place, host) in hosts.enumerate() {
            let column = place * switches;
            for &holder in &self.view.holders {
                if self.follow(column, host, holder.switch) {
                    visit(state, host, holder, &self.path);
                }
            }
            end(state, host);
        }
    }

    /// Copies the group's columns out of the rows, so that each row's cache lines are met once.
    fn gather(&mut self, hosts: &[Host]) {
        let switches = self.view.switches.len();
        self.ports.clear();
        self.ports.resize(hosts.len() * switches, 0);
        for (switch, row) in self.view.rows.iter().enumerate() {
            for (column, host) in self.ports.chunks_exact_mut(switches).zip(hosts) {
                column[switch] = row.get(host.lid as usize).copied().unwrap_or(0);
            }
        }
    }

    /// Finds the path from a switch to a host; says whether it arrives.
    #[inline]
    fn follow(&mut self, column: usize, host: usize, from: u32) -> bool {
        let target = self.view.hosts[host].switch;
        self.path.clear();
        let mut at = from;
        while at != target {
            let slot = self.view.slot(at, self.ports[column + at as usize]);
            let next = self.view.peer[slot as usize];
            self.path.push((at, slot));
            if next == NONE || self.path.len() > LONGEST || self.lost[at as usize] == host as u32 {
                for &(switch, _) in &self.path {
                    self.lost[switch as usize] = host as u32;
                }
                return false;
            }
            at = next;
        }
        true
    }
}
