//! Which paths a repair has moved: until all is written, what they waited for counts beside what they are going to wait for.

use super::channels::{Channels, Waiting};
use crate::tables::Tables;

/// Paths that are being moved.
#[derive(Default)]
pub(super) struct Log {
    /// Source row and LID of each.
    pub pairs: Vec<(u32, u32)>,
    /// What they wait for once all is written.
    pub last: Vec<Waiting>,
    /// What they waited for before, and may on the way.
    pub before: Vec<Waiting>,
}

impl Log {
    /// All is written: nothing waits any more for what only the ways before did.
    pub fn settle(&mut self, channels: &mut Channels) {
        self.before.drain(..).for_each(|waiting| channels.release(waiting));
        self.pairs.clear();
        self.last.clear();
    }

    /// Some may be written, some not: what counts is where the paths go by `tables`. Says whether that is known to close no
    /// circle.
    pub fn reconcile(&mut self, channels: &mut Channels, tables: &Tables) -> bool {
        let mut sound = true;
        let mut now = Vec::new();
        for (source, lid) in self.pairs.drain(..) {
            now.clear();
            channels.trace(
                source,
                lid,
                |row| tables.row_at(row as usize)[lid as usize],
                |waiting| now.push(waiting),
            );
            sound &= now.iter().all(|&waiting| channels.take(waiting));
        }
        self.before.append(&mut self.last);
        self.settle(channels);
        sound
    }
}
