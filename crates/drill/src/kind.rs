//! The kinds of failures.

use serde::Serialize;

/// A kind of failure, or the end of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A link between a switch with hosts and another switch is lost.
    Uplink,
    /// A link between two switches is lost.
    Link,
    /// A switch loses its power.
    Switch,
    /// A host loses its power.
    Host,
    /// A line card fails: a quarter of a switch's ports, side by side.
    Card,
    /// A link goes down and up several times.
    Flap,
    /// Two or more of these at once.
    Several,
    /// More fails, or comes back, while the first is healed.
    DuringHeal,
    /// A failure strikes while the manager is at something of its own: a light sweep, a rebalance, a second look.
    DuringWork,
    /// MADs are lost at the manager's port while a failure is healed.
    LostMads,
    /// MADs come late, after their time-out too, and twice.
    LateMads,
    /// The manager is killed while it heals, and a fresh one starts.
    Restart,
    /// No trap arrives: the failure is found by the light sweep.
    LostTrap,
    /// What was lost comes back.
    Mend,
}

impl Kind {
    /// Those that are failures, each with its name and how often it is drawn among the others.
    pub const FAILURES: [(Self, &'static str, u32); 13] = [
        (Self::Link, "link", 8),
        (Self::Uplink, "uplink", 4),
        (Self::Switch, "switch", 2),
        (Self::Host, "host", 3),
        (Self::Card, "card", 2),
        (Self::Flap, "flap", 2),
        (Self::Several, "several", 2),
        (Self::DuringHeal, "during-heal", 3),
        (Self::DuringWork, "during-work", 2),
        (Self::LostMads, "lost-mads", 2),
        (Self::LateMads, "late-mads", 2),
        (Self::Restart, "restart", 2),
        (Self::LostTrap, "lost-trap", 1),
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::FAILURES.iter().find(|(kind, _, _)| *kind == self).map_or("mend", |(_, name, _)| name)
    }

    /// The failure with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::FAILURES.iter().find(|(_, other, _)| *other == name).map(|(kind, _, _)| *kind)
    }

    pub(crate) fn weight(self) -> u32 {
        Self::FAILURES.iter().find(|(kind, _, _)| *kind == self).map_or(0, |(_, _, weight)| *weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_kinds() {
        for (kind, name, weight) in Kind::FAILURES {
            assert_eq!((kind.name(), Kind::by_name(name), kind.weight()), (name, Some(kind), weight));
        }
        assert_eq!((Kind::Mend.name(), Kind::by_name("mend"), Kind::by_name("")), ("mend", None, None));
    }
}
