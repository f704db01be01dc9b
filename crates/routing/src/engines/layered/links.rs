//! Links between switches, numbered in one row, and the order that says which of them lead up.

use crate::switches::Switches;

/// Directions of cables between switches, by switch and place there.
pub(super) struct Links {
    first: Vec<u32>,
    peer: Vec<u32>,
    peer_port: Vec<u8>,
    /// Most links of a switch.
    pub(super) most: usize,
}

impl Links {
    pub(super) fn new(switches: &Switches) -> Self {
        let all = || (0..switches.len()).flat_map(|switch| switches.links(switch));
        let mut first = vec![0];
        for switch in 0..switches.len() {
            first.push(first[switch] + switches.links(switch).len() as u32);
        }
        let most = (0..switches.len()).map(|switch| switches.links(switch).len()).max().unwrap_or(0);
        let (peer, peer_port) =
            (all().map(|link| link.peer).collect(), all().map(|link| link.peer_port).collect());
        Self { first, peer, peer_port, most }
    }

    pub(super) fn len(&self) -> usize {
        self.peer.len()
    }

    #[inline]
    pub(super) fn number(&self, switch: usize, place: usize) -> usize {
        self.first[switch] as usize + place
    }

    /// The links that leave a switch.
    #[inline]
    pub(super) fn of(&self, switch: usize) -> std::ops::Range<usize> {
        self.first[switch] as usize..self.first[switch + 1] as usize
    }

    #[inline]
    pub(super) fn peer(&self, link: usize) -> usize {
        self.peer[link] as usize
    }

    /// The switch and the port that a link leads to.
    pub(super) fn arrives_at(&self, link: usize) -> (usize, u8) {
        (self.peer[link] as usize, self.peer_port[link])
    }
}

/// An order of the switches, told by the direction of each link.
pub(super) struct Order {
    up: Vec<bool>,
}

impl Order {
    /// `height`: a different one for every switch.
    pub(super) fn new(links: &Links, height: &[u32]) -> Self {
        let from = |switch: usize| links.of(switch).map(move |link| (switch, links.peer(link)));
        let up = (0..height.len()).flat_map(from).map(|(from, to)| height[to] > height[from]).collect();
        Self { up }
    }

    /// Which of the four turns two links in a row make: see [`super::classes`].
    #[inline]
    pub(super) fn turn(&self, first: usize, second: usize) -> usize {
        usize::from(!self.up[first]) << 1 | usize::from(!self.up[second])
    }
}
