//! Links between switches, numbered in one row: the channels that lanes are made of.

use crate::switches::Switches;

/// Directions of cables between switches, by switch and place there.
pub(crate) struct Links {
    first: Vec<u32>,
    peer: Vec<u32>,
    peer_port: Vec<u8>,
    back: Vec<u32>,
    /// Most links of a switch.
    pub(crate) most: usize,
}

impl Links {
    pub(crate) fn new(switches: &Switches) -> Self {
        let all = || (0..switches.len()).flat_map(|switch| switches.links(switch));
        let mut first = vec![0];
        for switch in 0..switches.len() {
            first.push(first[switch] + switches.links(switch).len() as u32);
        }
        let most = (0..switches.len()).map(|switch| switches.links(switch).len()).max().unwrap_or(0);
        let (peer, peer_port) =
            (all().map(|link| link.peer).collect(), all().map(|link| link.peer_port).collect());
        let mut links = Self { first, peer, peer_port, back: Vec::new(), most };
        let back = |(number, _)| {
            let (peer, port) = links.arrives_at(number);
            let place = switches.links(peer).iter().position(|link| link.port == port);
            place.map_or(number, |place| links.number(peer, place)) as u32
        };
        links.back = all().enumerate().map(back).collect();
        links
    }

    pub(crate) fn len(&self) -> usize {
        self.peer.len()
    }

    #[inline]
    pub(crate) fn number(&self, switch: usize, place: usize) -> usize {
        self.first[switch] as usize + place
    }

    /// The links that leave a switch.
    #[inline]
    pub(crate) fn of(&self, switch: usize) -> std::ops::Range<usize> {
        self.first[switch] as usize..self.first[switch + 1] as usize
    }

    #[inline]
    pub(crate) fn peer(&self, link: usize) -> usize {
        self.peer[link] as usize
    }

    /// The same cable the other way.
    #[inline]
    pub(crate) fn back(&self, link: usize) -> usize {
        self.back[link] as usize
    }

    /// The switch and the port that a link leads to.
    pub(crate) fn arrives_at(&self, link: usize) -> (usize, u8) {
        (self.peer[link] as usize, self.peer_port[link])
    }
}
