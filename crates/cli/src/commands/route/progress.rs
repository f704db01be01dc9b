//! What is being done, on a terminal while it lasts.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::ProgressBar;

/// A line that says what is being done; nothing in a pipe.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// On standard error, where that is a terminal.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(ProgressBar::new_spinner);
        if let Some(bar) = &bar {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self(bar)
    }

    /// Says what is done from now on.
    pub fn say(&self, what: &'static str) {
        if let Some(bar) = &self.0 {
            bar.set_message(what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
