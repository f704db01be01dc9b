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
    /// New ways around a change, and their proof.
    Repair,
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
        /// Every end port's LID by its GUID, those of ports that are away too.
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
    /// The fabric works again after a change, without a look at the rest of it.
    Healed {
        /// What was told first.
        cause: String,
        /// Links that were lost.
        lost: usize,
        /// Links that came back.
        back: usize,
        /// Devices that are new, and switches that started afresh.
        fresh: usize,
        /// Blocks of forwarding tables written for it.
        blocks: u64,
        /// MADs sent for it, these included.
        mads: u64,
        /// From the first word of it to the last answer.
        seconds: f64,
    },
    /// Some time after a change, paths were spread anew over what there is.
    Rebalanced {
        /// Entries of forwarding tables that changed.
        entries: usize,
        /// Blocks written for it.
        blocks: u64,
    },
    /// A link flaps and is left down for a while.
    HeldDown {
        /// One of its ends, as `name[port]`.
        port: String,
        /// For how long.
        seconds: f64,
    },
    /// A failure has cut the fabric: no cable leads from the manager to these switches any more.
    Cut {
        /// Their names.
        switches: Vec<String>,
        /// How many hosts hang on them.
        hosts: usize,
    },
    /// A change is too large to be healed by repair: all tables are computed anew.
    Reroute {
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
