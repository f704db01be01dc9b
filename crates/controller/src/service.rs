//! What a service manager and the administrator expect of a service: it says when it is ready and when it ends, proves at
//! times that the fabric's thread still works, and reads its configuration again on SIGHUP.
//!
//! Source of the protocol: sd_notify(3).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sd_notify::NotifyState;
use signal_hook::consts::SIGHUP;

use crate::event::{Draft, Kind, Severity};
use crate::journal::Journal;
use crate::session::Call;

/// A wish to reload is seen after this time at most.
const LOOK: Duration = Duration::from_millis(250);

/// Reads the configuration again and takes up what may change; says what was taken up, or why nothing was.
pub type Reload = Box<dyn FnMut() -> Result<String, String> + Send>;

/// Speaks with the service manager as long as it is kept.
#[derive(Debug)]
pub struct Service {
    end: Sender<()>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Where no service manager listens, nobody is told.
fn tell(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

struct Running {
    calls: Sender<Call>,
    journal: Arc<Journal>,
    reload: Reload,
    /// How often the service manager wants a sign of life.
    beat: Option<Duration>,
    hangup: Arc<AtomicBool>,
}

impl Running {
    /// Asks the fabric's thread for a sign of life; what this returns hears it.
    fn ask(&self) -> Receiver<()> {
        let (alive, heard) = channel();
        // Where either thread has ended, the program ends, and no sign is wanted any more.
        let call: Call = Box::new(move |_, _| {
            let _ = alive.send(());
        });
        let _ = self.calls.send(call);
        heard
    }

    fn reload(&mut self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(_) => tell(&[NotifyState::Reloading]),
        }
        let draft = match (self.reload)() {
            Ok(what) => Draft::new(Kind::ConfigurationReloaded, Severity::Info, what),
            Err(why) => Draft::new(Kind::ConfigurationRefused, Severity::Error, why),
        };
        // A store that refuses writes is counted where events are kept; the configuration is taken up all the same.
        let _ = self.journal.add(Timestamp::now(), vec![draft]);
        tell(&[NotifyState::Ready]);
    }

    fn run(mut self, ended: &Receiver<()>) {
        tell(&[NotifyState::Ready, NotifyState::Status("serving")]);
        let mut asked = self.beat.map(|_| (Instant::now(), self.ask()));
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if self.hangup.swap(false, Ordering::Relaxed) {
                self.reload();
            }
            if let (Some(beat), Some((since, sign))) = (self.beat, &asked)
                && since.elapsed() >= beat
                && sign.try_recv().is_ok()
            {
                tell(&[NotifyState::Watchdog]);
                asked = Some((Instant::now(), self.ask()));
            }
        }
        tell(&[NotifyState::Stopping]);
    }
}

impl Service {
    /// Says that the service is ready, and begins.
    ///
    /// # Errors
    /// Where there is no thread for it, or no signal can be waited for.
    pub fn start(calls: Sender<Call>, journal: Arc<Journal>, reload: Reload) -> io::Result<Self> {
        let hangup = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, Arc::clone(&hangup))?;
        // Twice as often as it has to be, as sd_watchdog_enabled(3) advises.
        let beat = sd_notify::watchdog_enabled().map(|most| most / 2);
        let running = Running { calls, journal, reload, beat, hangup };
        let (end, ended) = channel();
        let thread = thread::Builder::new().name("service".to_owned()).spawn(move || running.run(&ended))?;
        Ok(Self { end, thread: Some(thread) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Where the thread broke off, it has ended.
        let _ = self.end.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
