//! SIGINT and SIGTERM as a flag, so that a session ends in order. A second one ends the program at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether somebody wants the program to end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Set by SIGINT and SIGTERM from now on.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the second signal finds the flag set and ends the program.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.0))?;
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Whether it is wanted.
    pub fn wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Wants it.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
