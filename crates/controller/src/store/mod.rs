//! What outlives a restart, behind one small trait: spaces of ordered keys, and batches that are written whole or not
//! at all.
//!
//! [`Embedded`] keeps it in one file of this machine.

mod embedded;

use std::path::PathBuf;

pub use embedded::Embedded;

/// A space of keys of its own. Keys order as their bytes do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Space {
    /// What is of one kind alone: the version of the store's form, the last numbers given out.
    Meta,
    /// What has happened, by its number.
    Events,
    /// Jobs, by their number.
    Jobs,
}

impl Space {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Meta, Self::Events, Self::Jobs];

    /// Its name in a store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Events => "events",
            Self::Jobs => "jobs",
        }
    }
}

/// Changes that are made together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    changes: Vec<(Space, Vec<u8>, Option<Vec<u8>>)>,
}

impl Batch {
    /// Sets a key.
    pub fn put(&mut self, space: Space, key: &[u8], value: Vec<u8>) {
        self.changes.push((space, key.to_vec(), Some(value)));
    }

    /// Takes a key out, if it is there.
    pub fn remove(&mut self, space: Space, key: &[u8]) {
        self.changes.push((space, key.to_vec(), None));
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes in their order: a later one of a key holds.
    pub fn changes(&self) -> impl Iterator<Item = (Space, &[u8], Option<&[u8]>)> {
        self.changes.iter().map(|(space, key, value)| (*space, &key[..], value.as_deref()))
    }
}

/// Which keys of a space are read, in which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The smallest first.
    Up,
    /// The largest first.
    Down,
}

/// Why a store cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened.
    #[error("cannot open the store {}: {why}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Somebody else has it open.
    #[error("the store {} is in use by another heddle", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a Heddle that keeps it in another form.
    #[error("the store {} has form {found}, and this heddle knows form {known}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The form of the store.
        found: String,
        /// The form known here.
        known: &'static str,
    },
    /// It cannot be read or written any more.
    #[error("cannot {what} the store: {why}")]
    Broken {
        /// What was tried: `read` or `write`.
        what: &'static str,
        /// Why.
        why: String,
    },
}

/// What outlives a restart.
pub trait Store: Send + Sync {
    /// The value of a key.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Visits keys above `after` (all where it is nothing; below it, where the order is down) until `visit` says no.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn scan(
        &self,
        space: Space,
        after: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError>;

    /// Makes all changes of a batch, or none. Once this returns they outlive a loss of power.
    ///
    /// # Errors
    /// Where the store cannot be written; then nothing was changed.
    fn commit(&self, batch: &Batch) -> Result<(), StoreError>;
}
