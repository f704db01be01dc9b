//! Why a drill cannot be held.

/// Why a drill cannot be held.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DrillError {
    /// Nobody can sit where the manager should.
    #[error("the manager finds no place: {0}")]
    NoSeat(#[from] emulator::AttachError),
    /// The fabric has nothing that a failure of the kinds asked for could take away.
    #[error(
        "nothing in this fabric can fail in the ways asked for without taking the manager's own port away"
    )]
    NothingToBreak,
    /// The fabric is not up before the first failure.
    #[error("the fabric does not come up: {0}")]
    NotUp(String),
    /// There is no step of this number.
    #[error("step {0} is beyond the last one of this drill")]
    NoSuchStep(u32),
}
