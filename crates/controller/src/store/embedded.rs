//! A store in one file of this machine: `redb`, whose commits are on the disk when they return and whole after a crash.

use std::ops::Bound;
use std::path::Path;

use redb::backends::InMemoryBackend;
use redb::{Database, DatabaseError, ReadableDatabase, TableDefinition};

use super::{Batch, Order, Space, Store, StoreError};

/// The form of what is kept. Another form gets another name here, and is refused until it is carried over.
const FORM: &str = "1";
const FORM_KEY: &[u8] = b"form";
/// Pages kept in memory: events are read near their end, jobs once at the start.
const CACHE_BYTES: usize = 32 << 20;

fn table(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(space.name())
}

/// A store in one file.
pub struct Embedded {
    database: Database,
}

fn broken(what: &'static str) -> impl Fn(redb::Error) -> StoreError {
    move |error| StoreError::Broken { what, why: error.to_string() }
}

impl Embedded {
    /// Opens the file, or makes it where it is not there.
    ///
    /// # Errors
    /// Where it cannot be opened, is in use, or is not a store of this form.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let refused = |why: String| StoreError::Open { path: path.to_owned(), why };
        let database =
            redb::Builder::new().set_cache_size(CACHE_BYTES).create(path).map_err(|error| match error {
                DatabaseError::DatabaseAlreadyOpen => StoreError::InUse { path: path.to_owned() },
                error => refused(error.to_string()),
            })?;
        let store = Self { database };
        match store.get(Space::Meta, FORM_KEY) {
            Ok(Some(form)) if form == FORM.as_bytes() => return Ok(store),
            Ok(Some(form)) => {
                let found = String::from_utf8_lossy(&form).into_owned();
                return Err(StoreError::Form { path: path.to_owned(), found, known: FORM });
            }
            Ok(None) => {}
            Err(error) => return Err(refused(error.to_string())),
        }
        let mut batch = Batch::default();
        batch.put(Space::Meta, FORM_KEY, FORM.into());
        store.commit(&batch).map_err(|error| refused(error.to_string()))?;
        Ok(store)
    }

    /// A store that lasts no longer than this.
    ///
    /// # Errors
    /// Where memory cannot be had.
    pub fn in_memory() -> Result<Self, StoreError> {
        let failed = |error: redb::DatabaseError| broken("write")(error.into());
        let database = redb::Builder::new().create_with_backend(InMemoryBackend::new()).map_err(failed)?;
        Ok(Self { database })
    }

    fn try_get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, redb::Error> {
        let read = self.database.begin_read()?;
        let table = match read.open_table(table(space)) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    fn try_scan(
        &self,
        space: Space,
        after: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), redb::Error> {
        let read = self.database.begin_read()?;
        let table = match read.open_table(table(space)) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
            table => table?,
        };
        let edge = after.map_or(Bound::Unbounded, Bound::Excluded);
        let range = match order {
            Order::Up => (edge, Bound::Unbounded),
            Order::Down => (Bound::Unbounded, edge),
        };
        let mut range = table.range::<&[u8]>(range)?;
        loop {
            let next = match order {
                Order::Up => range.next(),
                Order::Down => range.next_back(),
            };
            let Some(entry) = next else { return Ok(()) };
            let (key, value) = entry?;
            if !visit(key.value(), value.value()) {
                return Ok(());
            }
        }
    }

    fn try_commit(&self, batch: &Batch) -> Result<(), redb::Error> {
        let write = self.database.begin_write()?;
        for space in Space::ALL {
            if !batch.changes().any(|(of, ..)| of == space) {
                continue;
            }
            let mut table = write.open_table(table(space))?;
            for (_, key, value) in batch.changes().filter(|(of, ..)| *of == space) {
                match value {
                    Some(value) => drop(table.insert(key, value)?),
                    None => drop(table.remove(key)?),
                }
            }
        }
        write.commit()?;
        Ok(())
    }
}

impl Store for Embedded {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.try_get(space, key).map_err(broken("read"))
    }

    fn scan(
        &self,
        space: Space,
        after: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.try_scan(space, after, order, visit).map_err(broken("read"))
    }

    fn commit(&self, batch: &Batch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.try_commit(batch).map_err(broken("write"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn keys(store: &Embedded, after: Option<&[u8]>, order: Order, most: usize) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        store
            .scan(Space::Events, after, order, &mut |key, _| {
                found.push(key.to_vec());
                found.len() < most
            })
            .unwrap();
        found
    }

    #[test]
    fn what_is_written_is_there_after_it_was_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = Embedded::open(&path).unwrap();
        assert_eq!(keys(&store, None, Order::Up, 9), Vec::<Vec<u8>>::new());
        let mut batch = Batch::default();
        for key in 1..=3_u8 {
            batch.put(Space::Events, &[key], vec![key; 3]);
        }
        batch.put(Space::Jobs, &[9], vec![]);
        batch.remove(Space::Events, &[2]);
        store.commit(&batch).unwrap();
        assert!(matches!(Embedded::open(&path), Err(StoreError::InUse { .. })));
        drop(store);
        let store = Embedded::open(&path).unwrap();
        assert_eq!(store.get(Space::Events, &[3]).unwrap(), Some(vec![3; 3]));
        assert_eq!(store.get(Space::Jobs, &[9]).unwrap(), Some(vec![]));
        assert_eq!(keys(&store, None, Order::Up, 9), [[1], [3]]);
        assert_eq!(keys(&store, None, Order::Down, 1), [[3]]);
        assert_eq!(keys(&store, Some(&[1]), Order::Up, 9), [[3]]);
        assert_eq!(keys(&store, Some(&[3]), Order::Down, 9), [[1]]);
    }

    #[test]
    fn what_is_no_store_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        fs::write(&path, "no store at all").unwrap();
        let error = Embedded::open(&path).err().unwrap().to_string();
        assert!(error.starts_with("cannot open the store") && error.contains("store:"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"no store at all");
        assert!(Embedded::open(&folder.path().join("no/such/folder")).is_err());
    }

    #[test]
    fn another_form_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = Embedded::open(&path).unwrap();
        let mut batch = Batch::default();
        batch.put(Space::Meta, FORM_KEY, b"99".to_vec());
        store.commit(&batch).unwrap();
        drop(store);
        let error = Embedded::open(&path).err().unwrap().to_string();
        assert!(error.contains("has form 99, and this heddle knows form 1"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_holds_what_a_map_would(
            batches in prop::collection::vec(prop::collection::vec((0..12_u8, prop::option::of(any::<u8>())), 0..6), 0..8),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let store = Embedded::open(&folder.path().join("store")).unwrap();
            let mut map = BTreeMap::new();
            for changes in &batches {
                let mut batch = Batch::default();
                for &(key, value) in changes {
                    match value {
                        Some(value) => {
                            batch.put(Space::Events, &[key], vec![value]);
                            map.insert(vec![key], vec![value]);
                        }
                        None => {
                            batch.remove(Space::Events, &[key]);
                            map.remove(&vec![key]);
                        }
                    }
                }
                store.commit(&batch).unwrap();
            }
            let mut found = BTreeMap::new();
            store.scan(Space::Events, None, Order::Up, &mut |key, value| {
                found.insert(key.to_vec(), value.to_vec());
                true
            }).unwrap();
            prop_assert_eq!(found, map);
        }
    }
}
