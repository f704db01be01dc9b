//! Sets that grow together: which of many things hang together by links, one link at a time.

/// Things from 0 on, each in one set.
#[derive(Clone)]
pub(super) struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    /// Every thing in a set of its own.
    pub(super) fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).collect() }
    }

    /// The thing that stands for the set of `thing`.
    pub(super) fn find(&mut self, thing: u32) -> u32 {
        let mut at = thing;
        while self.parent[at as usize] != at {
            let above = self.parent[at as usize];
            self.parent[at as usize] = self.parent[above as usize];
            at = above;
        }
        at
    }

    /// Makes one set of the two that `a` and `b` are in; the smaller thing stands for it.
    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
