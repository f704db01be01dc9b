//! A graph that stays without circles while edges are added to it, one after another.
//!
//! All nodes stand in an order that every edge follows. An edge against the order moves the nodes between its ends, if no
//! way back forbids it (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2007).

/// Nodes in a row, and the edges so far.
pub(crate) struct Acyclic {
    /// The place of each node in the order.
    place: Vec<u32>,
    after: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    /// The search that met each node last.
    met: Vec<u32>,
    searches: u32,
    /// Edges that searches may still look at.
    looks: u64,
}

impl Acyclic {
    /// Nodes without edges, in the order of their places. Edges against the order are refused once searches have looked at
    /// `looks` edges.
    pub(crate) fn new(place: Vec<u32>, looks: u64) -> Self {
        let nodes = place.len();
        let none = || vec![Vec::new(); nodes];
        Self { place, after: none(), before: none(), met: vec![0; nodes], searches: 0, looks }
    }

    /// Whether one node stands before another: then an edge between them closes no circle.
    #[inline]
    pub(crate) fn is_before(&self, one: u32, other: u32) -> bool {
        self.place[one as usize] < self.place[other as usize]
    }

    /// Adds an edge that is not there yet; says no, and changes nothing, where it would close a circle or the search for
    /// one would take too long.
    pub(crate) fn add(&mut self, from: u32, to: u32) -> bool {
        if from == to {
            return false;
        }
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if low < high && !self.turn_round(from, to, low..high) {
            return false;
        }
        self.after[from as usize].push(to);
        self.before[to as usize].push(from);
        true
    }

    /// Whether every edge follows the order: the proof that there is no circle.
    pub(crate) fn is_in_order(&self) -> bool {
        let nodes = self.after.iter().enumerate();
        nodes.into_iter().all(|(from, after)| after.iter().all(|&to| self.is_before(from as u32, to)))
    }

    /// Sets how many edges searches may look at from now on.
    pub(crate) fn allow(&mut self, looks: u64) {
        self.looks = looks;
    }

    /// Takes away an edge that is there.
    pub(crate) fn remove(&mut self, from: u32, to: u32) {
        let take = |edges: &mut Vec<u32>, end: u32| {
            // Mostly the one that came last.
            if let Some(place) = edges.iter().rposition(|&other| other == end) {
                edges.swap_remove(place);
            }
        };
        take(&mut self.after[from as usize], to);
        take(&mut self.before[to as usize], from);
    }

    /// Takes away the edge that was added last and is there still.
    pub(crate) fn remove_last(&mut self, from: u32, to: u32) {
        debug_assert_eq!(self.after[from as usize].last(), Some(&to));
        self.after[from as usize].pop();
        self.before[to as usize].pop();
    }

    /// Puts `from` and what leads to it before `to` and what it leads to.
    fn turn_round(&mut self, from: u32, to: u32, between: std::ops::Range<u32>) -> bool {
        let Some(mut behind) = self.search(to, |place| place < between.end, Some(from), true) else {
            return false;
        };
        let Some(mut ahead) = self.search(from, |place| place > between.start, None, false) else {
            return false;
        };
        let place = &mut self.place;
        behind.sort_unstable_by_key(|&node| place[node as usize]);
        ahead.sort_unstable_by_key(|&node| place[node as usize]);
        let mut places: Vec<u32> = behind.iter().chain(&ahead).map(|&node| place[node as usize]).collect();
        places.sort_unstable();
        for (&node, now) in ahead.iter().chain(&behind).zip(places) {
            place[node as usize] = now;
        }
        true
    }

    /// All that `start` leads to (or that leads to it) within some places; `None` where `never` is among them.
    fn search(
        &mut self,
        start: u32,
        within: impl Fn(u32) -> bool,
        never: Option<u32>,
        forward: bool,
    ) -> Option<Vec<u32>> {
        self.searches += 1;
        let edges = if forward { &self.after } else { &self.before };
        let mut found = vec![start];
        self.met[start as usize] = self.searches;
        let mut at = 0;
        while let Some(&node) = found.get(at) {
            at += 1;
            for &next in &edges[node as usize] {
                if Some(next) == never || self.looks == 0 {
                    return None;
                }
                self.looks -= 1;
                let met = std::mem::replace(&mut self.met[next as usize], self.searches) == self.searches;
                if !met && within(self.place[next as usize]) {
                    found.push(next);
                }
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_refused_exactly_where_they_close_a_circle() {
        use rand_core::{Rng, SeedableRng};
        let mut chance = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(5);
        for _ in 0..20 {
            let nodes = 12;
            let mut graph = Acyclic::new((0..nodes).collect(), u64::MAX);
            let mut reaches = vec![vec![false; nodes as usize]; nodes as usize];
            let mut refused = 0;
            for _ in 0..120 {
                let (a, b) = (chance.next_u32() % nodes, chance.next_u32() % nodes);
                let (from, to) = (a as usize, b as usize);
                let closes = from == to || reaches[to][from];
                assert_eq!(graph.add(a, b), !closes);
                refused += u32::from(closes);
                if !closes {
                    let mut beyond = reaches[to].clone();
                    beyond[to] = true;
                    for (before, reached) in reaches.iter_mut().enumerate() {
                        if before == from || reached[from] {
                            reached.iter_mut().zip(&beyond).for_each(|(reached, &beyond)| *reached |= beyond);
                        }
                    }
                }
            }
            assert!(refused > 20 && refused < 110, "{refused}");
        }
    }

    #[test]
    fn an_edge_that_is_gone_forbids_nothing() {
        let mut graph = Acyclic::new(vec![0, 1, 2], 100);
        assert!(graph.add(0, 1) && graph.add(0, 2) && graph.add(1, 2) && !graph.add(2, 0));
        graph.remove(0, 1);
        assert!(!graph.add(2, 0));
        graph.remove(0, 2);
        assert!(graph.is_in_order() && graph.add(2, 0) && graph.is_in_order());
        assert!(!graph.add(0, 1));
        graph.allow(0);
        assert!(!graph.add(2, 1));
    }

    #[test]
    fn without_looks_only_the_order_counts() {
        let mut graph = Acyclic::new(vec![0, 1, 2], 0);
        assert!(graph.add(0, 2) && graph.add(0, 1));
        // Node 2 has nothing after it, but what is before 1 would have to be looked at.
        assert!(!graph.add(2, 1));
    }
}
