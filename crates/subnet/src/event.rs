//! What goes into the manager, and what it says.

use std::collections::BTreeMap;

use ib::{Guid, Lid, Packet};
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::manager::Phase;

/// What goes in.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A MAD came, or a request came back undelivered ([`Packet::status`] is not 0).
    Packet(&'a Packet),
    /// Time has passed: call at [`crate::SubnetManager::next_deadline`].
    Tick,
    /// Somebody asks for a sweep now.
    Sweep,
}

/// A step that computes for long. The door calls [`crate::SubnetManager::do_work`], and may time it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// LIDs, tables, and their proof.
    Route,
}

/// What the manager says.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A phase has begun.
    Phase {
        /// Which.
        phase: Phase,
    },
    /// Something is not as it should be.
    Finding(Finding),
    /// LIDs were given out: keep them for the next start.
    LidsAssigned {
        /// Every end port's LID by its GUID.
        #[serde(skip)]
        lids: BTreeMap<Guid, Lid>,
        /// How many of them are new.
        new: usize,
    },
    /// The fabric is up.
    Up {
        /// Switches in it.
        switches: usize,
        /// Hosts' adapters in it.
        hosts: usize,
        /// Links in it.
        links: usize,
    },
    /// The fabric cannot be brought up as asked.
    Refused {
        /// Why, and what would mend it.
        reason: String,
    },
    /// A trap came.
    Trap {
        /// Its number.
        number: u16,
        /// Who sent it.
        from: Lid,
        /// What it says, for a person.
        text: String,
    },
    /// The fabric is looked at anew.
    Resweep {
        /// Why.
        cause: String,
    },
    /// Another manager is the master; this one watches it.
    Standby {
        /// Its GUID.
        master: Guid,
        /// Its priority.
        priority: u8,
    },
    /// The master is gone or has handed over.
    TakeOver {
        /// Why.
        cause: String,
    },
}
