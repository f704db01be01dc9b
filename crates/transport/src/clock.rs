//! The real clock of the doors to real fabrics.

use std::time::Instant;

use ib::Time;

/// A clock that reads zero when it is made and only goes forward.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the clock was made.
    #[inline]
    pub fn now(&self) -> Time {
        Time(self.0.elapsed().as_nanos() as u64)
    }

    /// How long to wait from now until `until`, as `ppoll` takes it: `None` is for ever, nothing left is zero.
    pub(crate) fn wait(&self, until: Option<Time>) -> Option<libc::timespec> {
        let left = until?.since(self.now());
        Some(libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(left.subsec_nanos() as i32),
        })
    }
}
