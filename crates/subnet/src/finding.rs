//! What is not as it should be: which device, by which way, and what would mend it.

use serde::{Deserialize, Serialize};

/// What kind of thing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A device did not answer, however often it was asked.
    Silent,
    /// A device refused a request.
    Refused,
    /// An answer did not fit what was asked.
    Garbage,
    /// Two devices have one GUID.
    DuplicateGuid,
    /// Two ports claimed one LID.
    DuplicateLid,
    /// A port is cabled to itself.
    Loopback,
    /// A port did not go into the state asked for.
    StuckState,
    /// The tables failed their proof and were not written.
    Unproven,
    /// Another subnet manager is on the fabric.
    OtherManager,
}

/// Something is not as it should be.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// Which device and port, by name, GUID and directed route.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    pub mend: String,
}
