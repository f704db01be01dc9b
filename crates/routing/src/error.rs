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
    /// No engine has this name.
    #[error("no routing engine is called '{name}'; there are {}", known.join(", "))]
    UnknownEngine {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: &'static [&'static str],
    },
}
