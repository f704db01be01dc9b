//! Limits of memory, which processes get from who starts them.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// Lets processes that are started while this is kept have no more data memory than this process may have; it gets back what
/// it had when this goes.
///
/// Data is what a process writes to: its heap and private memory. Address space alone is no measure: GPU libraries reserve far
/// more of it than they use.
pub struct Lowered {
    had: Rlimit,
    most: u64,
}

impl Lowered {
    /// With at most so much data memory, MiB.
    ///
    /// # Errors
    /// Where the limit is above what this process itself may have.
    pub fn to(memory_mib: u64) -> Result<Self, String> {
        let had = getrlimit(Resource::Data);
        let wanted = memory_mib.saturating_mul(1 << 20);
        let most = had.maximum.map_or(wanted, |most| most.min(wanted));
        setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: had.maximum })
            .map_err(|error| format!("cannot limit memory to {memory_mib} MiB: {error}"))?;
        Ok(Self { had, most })
    }

    /// Takes from a process that was started meanwhile the right to raise its limit again.
    pub fn seal(&self, pid: u32) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // One that has ended already needs no limit.
            let _ = prlimit(
                Some(pid),
                Resource::Data,
                Rlimit { current: Some(self.most), maximum: Some(self.most) },
            );
        }
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        // What was the limit before may be the limit again.
        let _ = setrlimit(Resource::Data, self.had);
    }
}
