//! Why a fabric cannot be routed.

use ib::Lid;

/// Why an engine gives no tables.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RouteError {
    /// Two ports hold the same LID.
    #[error("LID {lid} belongs to both {first} and {second}: give one of them another LID", lid = lid.0)]
    DuplicateLid {
        /// The LID.
        lid: Lid,
        /// One port's label.
        first: String,
        /// The other port's label.
        second: String,
    },
    /// The engine's rule leaves no path between two ends that are cabled together.
    #[error("{engine} finds no path from {from} to {to}: {why}")]
    NoPath {
        /// The engine's name.
        engine: &'static str,
        /// Where the path would start.
        from: String,
        /// Where it would end.
        to: String,
        /// What the engine needs that this fabric lacks, and which engine would do.
        why: &'static str,
    },
    /// Two switches are further apart than a subnet may reach.
    #[error(
        "{from} and {to} are more than {limit} hops apart: a subnet manager reaches at most 63 hops; split the \
         subnet or add links"
    )]
    TooFar {
        /// One switch's name.
        from: String,
        /// The other's.
        to: String,
        /// Most hops that tables are made for.
        limit: u32,
    },
    /// The cabling is not what the engine is for.
    #[error(
        "{engine} needs {wanted}, and this fabric is none: take 'auto', which finds an engine that suits it"
    )]
    OtherTopology {
        /// The engine's name.
        engine: &'static str,
        /// What it routes.
        wanted: &'static str,
    },
    /// The paths close credit loops on as many lanes as may be used.
    #[error(
        "{engine} needs {needed} virtual lanes and may use {given}: give it more, or take 'nue', which fits any number, or \
         'up-down', which fits one"
    )]
    TooFewLanes {
        /// The engine's name.
        engine: &'static str,
        /// How many lanes its paths need.
        needed: u8,
        /// How many it may use.
        given: u8,
    },
    /// The paths need more service levels than a packet can tell apart.
    #[error(
        "{engine} leaves {pairs} paths for which 16 service levels are too few to keep credit loops apart: take 'nue', \
         which fits any cabling"
    )]
    TooManyTurns {
        /// The engine's name.
        engine: &'static str,
        /// Paths that fit no simple service level, from a switch to a LID.
        pairs: u64,
    },
    /// Packets that may take any shortest path could wait for each other in a circle.
    #[error(
        "adaptive groups would deadlock: packets at {port} could wait for themselves; take an engine whose paths climb and \
         descend, as 'up-down' or 'fat-tree'"
    )]
    UnsafeGroups {
        /// A port on the circle or behind it, as `name[port]`.
        port: String,
    },
    /// No engine has this name.
    #[error("no routing engine is called '{name}'; there are {}", known.join(", "))]
    UnknownEngine {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: &'static [&'static str],
    },
}
