//! The journal: every record in its order, the newest in memory, all of them in the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::event::{Draft, Kind, Record, Severity};
use crate::store::{Batch, Order, Space, Store, StoreError};

/// Records that are answered without a look into the store.
const RECENT: usize = 4_096;
/// Records that are kept; older ones are taken out.
pub const KEPT: u64 = 1_000_000;

/// Which records somebody wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Of this kind alone.
    pub kind: Option<Kind>,
    /// Of this severity and above.
    pub severity: Option<Severity>,
}

impl Filter {
    fn lets(self, record: &Record) -> bool {
        self.kind.is_none_or(|kind| record.kind == kind)
            && self.severity.is_none_or(|severity| record.severity >= severity)
    }
}

/// What has happened.
pub struct Journal {
    store: Arc<dyn Store>,
    /// In order, without gaps.
    recent: RwLock<VecDeque<Arc<Record>>>,
    /// Held while records are added, so that numbers and order agree.
    next: Mutex<u64>,
    newest: watch::Sender<u64>,
}

fn record(value: &[u8]) -> Result<Record, StoreError> {
    serde_json::from_slice(value).map_err(|error| StoreError::Broken { what: "read", why: error.to_string() })
}

impl Journal {
    /// The journal of a store.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn open(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let mut recent = VecDeque::new();
        let mut failure = None;
        store.scan(Space::Events, None, Order::Down, &mut |_, value| {
            match record(value) {
                Ok(record) => recent.push_front(Arc::new(record)),
                Err(error) => failure = Some(error),
            }
            failure.is_none() && recent.len() < RECENT
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        let newest = recent.back().map_or(0, |record| record.number);
        Ok(Self {
            store,
            recent: RwLock::new(recent),
            next: Mutex::new(newest + 1),
            newest: watch::Sender::new(newest),
        })
    }

    /// Adds records, all at once. They are on the disk when this returns; who reads sees them then.
    ///
    /// # Errors
    /// Where they cannot be written. They are seen nevertheless, until the next start: what an operator has to know must
    /// not hang on a disk.
    pub fn add(&self, time: Timestamp, drafts: Vec<Draft>) -> Result<(), StoreError> {
        if drafts.is_empty() {
            return Ok(());
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Batch::default();
        let mut records = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let record = draft.record(*next, time);
            let value = serde_json::to_vec(&record).unwrap_or_default();
            batch.put(Space::Events, &record.number.to_be_bytes(), value);
            if let Some(old) = record.number.checked_sub(KEPT).filter(|&old| old > 0) {
                batch.remove(Space::Events, &old.to_be_bytes());
            }
            *next += 1;
            records.push(Arc::new(record));
        }
        let written = self.store.commit(&batch);
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        recent.extend(records);
        let surplus = recent.len().saturating_sub(RECENT);
        recent.drain(..surplus);
        drop(recent);
        self.newest.send_replace(*next - 1);
        written
    }

    /// The number of the newest record, as it changes.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// At most `most` records, from the one after `number` upwards, and the number up to which all were looked at.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn after(
        &self,
        number: u64,
        filter: Filter,
        most: usize,
    ) -> Result<(Vec<Arc<Record>>, u64), StoreError> {
        let mut found = Vec::new();
        let mut seen = number;
        let oldest = {
            let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
            recent.front().map_or(u64::MAX, |record| record.number)
        };
        if number.saturating_add(1) < oldest {
            let mut failure = None;
            self.store.scan(Space::Events, Some(&number.to_be_bytes()), Order::Up, &mut |_, value| {
                match record(value) {
                    Ok(record) if record.number >= oldest => return false,
                    Ok(record) => {
                        seen = record.number;
                        if filter.lets(&record) {
                            found.push(Arc::new(record));
                        }
                    }
                    Err(error) => failure = Some(error),
                }
                failure.is_none() && found.len() < most
            })?;
            if let Some(error) = failure {
                return Err(error);
            }
        }
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        let from = recent.partition_point(|record| record.number <= seen);
        for record in recent.range(from..) {
            if found.len() >= most {
                break;
            }
            seen = record.number;
            if filter.lets(record) {
                found.push(Arc::clone(record));
            }
        }
        Ok((found, seen))
    }

    /// At most `most` records, from the one before `number` downwards (from the newest where it is nothing).
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn before(
        &self,
        number: Option<u64>,
        filter: Filter,
        most: usize,
    ) -> Result<Vec<Arc<Record>>, StoreError> {
        let mut found = Vec::new();
        let mut oldest = number.unwrap_or(u64::MAX);
        {
            let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
            let to = recent.partition_point(|record| record.number < oldest);
            for record in recent.range(..to).rev() {
                if found.len() >= most {
                    return Ok(found);
                }
                oldest = record.number;
                if filter.lets(record) {
                    found.push(Arc::clone(record));
                }
            }
        }
        if found.len() >= most {
            return Ok(found);
        }
        let mut failure = None;
        self.store.scan(Space::Events, Some(&oldest.to_be_bytes()), Order::Down, &mut |_, value| {
            match record(value) {
                Ok(record) if filter.lets(&record) => found.push(Arc::new(record)),
                Ok(_) => {}
                Err(error) => failure = Some(error),
            }
            failure.is_none() && found.len() < most
        })?;
        failure.map_or(Ok(found), Err)
    }
}

#[cfg(test)]
mod tests {
    use crate::store::Embedded;

    use super::*;

    fn drafts(texts: impl IntoIterator<Item = u64>) -> Vec<Draft> {
        let draft = |at: u64| {
            let severity = if at.is_multiple_of(10) { Severity::Warning } else { Severity::Info };
            Draft::new(if at.is_multiple_of(2) { Kind::Trap } else { Kind::Healed }, severity, at.to_string())
        };
        texts.into_iter().map(draft).collect()
    }

    fn numbers(records: &[Arc<Record>]) -> Vec<u64> {
        for record in records {
            assert_eq!(record.text, record.number.to_string());
        }
        records.iter().map(|record| record.number).collect()
    }

    #[test]
    fn records_are_found_in_memory_in_the_store_and_over_the_seam() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let last = RECENT as u64 + 50;
        let all = Filter::default();
        let time = Timestamp::UNIX_EPOCH;
        {
            let journal = Journal::open(Arc::new(Embedded::open(&path).unwrap())).unwrap();
            assert_eq!(journal.before(None, all, 5).unwrap(), []);
            assert_eq!(journal.after(0, all, 5).unwrap(), (vec![], 0));
            journal.add(time, drafts(1..=20)).unwrap();
            let newest = journal.newest();
            journal.add(time, drafts(21..=last)).unwrap();
            assert_eq!(*newest.borrow(), last);
            assert_eq!(numbers(&journal.before(Some(53), all, 4).unwrap()), [52, 51, 50, 49]);
        }
        let journal = Journal::open(Arc::new(Embedded::open(&path).unwrap())).unwrap();
        journal.add(time, drafts([last + 1])).unwrap();
        let (found, seen) = journal.after(0, all, 3).unwrap();
        assert_eq!((numbers(&found), seen), (vec![1, 2, 3], 3));
        let (found, seen) = journal.after(48, all, 6).unwrap();
        assert_eq!((numbers(&found), seen), (vec![49, 50, 51, 52, 53, 54], 54));
        let (found, seen) = journal.after(last, all, 6).unwrap();
        assert_eq!((numbers(&found), seen), (vec![last + 1], last + 1));
        assert_eq!(numbers(&journal.before(None, all, 2).unwrap()), [last + 1, last]);
        assert_eq!(numbers(&journal.before(Some(4), all, 9).unwrap()), [3, 2, 1]);
        let everything = journal.after(0, all, usize::MAX).unwrap().0;
        assert_eq!(numbers(&everything), (1..=last + 1).collect::<Vec<_>>());
    }

    #[test]
    fn a_filter_lets_kinds_and_severities_through_and_says_how_far_it_looked() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(Arc::new(Embedded::open(&folder.path().join("store")).unwrap())).unwrap();
        journal.add(Timestamp::UNIX_EPOCH, drafts(1..=35)).unwrap();
        let warnings = Filter { kind: None, severity: Some(Severity::Warning) };
        let (found, seen) = journal.after(10, warnings, 9).unwrap();
        assert_eq!((numbers(&found), seen), (vec![20, 30], 35));
        let heals = Filter { kind: Some(Kind::Healed), severity: None };
        assert_eq!(numbers(&journal.before(None, heals, 2).unwrap()), [35, 33]);
    }
}
