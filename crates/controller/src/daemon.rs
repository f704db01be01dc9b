//! Puts the controller together around a session: the keeper's thread, the journal in its store, the API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Semaphore, watch};

use crate::api::{Certificate, Doors, Gate, ServeError, Server, TlsError};
use crate::event::{Draft, Kind, Severity};
use crate::feed::Feed;
use crate::journal::Journal;
use crate::keeper::Keeper;
use crate::metrics::Counts;
use crate::mischief::{self, Mischief};
use crate::service::{Reload, Service};
use crate::session::Call;
use crate::site::Site;
use crate::store::{Embedded, Store, StoreError};
use crate::view::{Newest, View};
use crate::work::{self, Hosted};

/// What the controller is to serve and keep.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the API is served, and to whom.
    pub doors: Doors,
    /// The file that state is kept in; without one it is kept in memory.
    pub store: Option<PathBuf>,
    /// Where the fabric's door leads, for people.
    pub place: String,
    /// Whether the fabric is emulated.
    pub is_emulated: bool,
    /// How often a cable of the emulated fabric is pulled, if at all.
    pub pull_every: Option<Duration>,
    /// What chance is drawn from.
    pub seed: u64,
    /// Jobs, if it is to host any.
    pub work: Option<work::Config>,
}

/// Why the controller cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its API.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// What hosts its jobs.
    #[error(transparent)]
    Work(#[from] work::StartError),
}

/// What may change while a controller runs: who is let in, and a certificate that was renewed.
#[derive(Clone)]
pub struct Changing {
    gate: Arc<Gate>,
    certificate: Option<Arc<Certificate>>,
}

impl Changing {
    /// Takes it up. An error leaves all as it was.
    ///
    /// # Errors
    /// Where the certificate's files cannot be read.
    pub fn take(&self, doors: &Doors) -> Result<(), TlsError> {
        if let (Some(certificate), Some(files)) = (&self.certificate, &doors.tls) {
            certificate.renew(files)?;
        }
        self.gate.set(doors.rules.clone());
        Ok(())
    }
}

/// A running controller around a session that runs elsewhere; it ends in order when [`Daemon::end`] is called.
pub struct Daemon {
    server: Server,
    gate: Arc<Gate>,
    calls: Sender<Call>,
    service: Option<Service>,
    journal: Arc<Journal>,
    keeper: thread::JoinHandle<()>,
    jobs: Option<Hosted>,
    _mischief: Option<Mischief>,
}

impl Daemon {
    /// Starts. The session is to be observed by the feed and to hear the calls.
    ///
    /// # Errors
    /// Where the store or the API cannot be had.
    pub fn start(config: &Config) -> Result<(Self, Feed, Receiver<Call>), StartError> {
        let started = Timestamp::now();
        let store: Arc<dyn Store> = Arc::new(match &config.store {
            Some(path) => Embedded::open(path)?,
            None => Embedded::in_memory()?,
        });
        let journal = Arc::new(Journal::open(Arc::clone(&store))?);
        let newest = Arc::new(Newest::new(View::empty(started)));
        let counts = Arc::new(Counts::default());
        let gate = Arc::new(Gate::new(config.doors.rules.clone()));
        let (calls, called) = channel();
        let (end, ending) = watch::channel(false);
        let prepared = config.work.clone().map(work::prepare);
        let site = Site {
            newest: Arc::clone(&newest),
            journal: Arc::clone(&journal),
            counts: Arc::clone(&counts),
            calls: calls.clone(),
            questions: Arc::new(Semaphore::new(1)),
            started,
            place: config.place.as_str().into(),
            gate: Arc::clone(&gate),
            is_secure: config.doors.tls.is_some(),
            is_emulated: config.is_emulated,
            work: prepared.as_ref().map(work::Prepared::work),
            ending,
        };
        let mischief = config.pull_every.map(|every| mischief::start(site.clone(), every, config.seed));
        let mischief = mischief.transpose().map_err(ServeError::Threads)?;
        let server = Server::start(&config.doors, site.clone(), end)?;
        let text = format!("the controller has started: {}", config.place);
        journal.add(started, vec![Draft::new(Kind::ControllerStarted, Severity::Info, text)])?;
        let (news, heard) = channel();
        let keeper = Keeper::new(Arc::clone(&journal), newest, counts);
        let keeper = thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || keeper.run(&heard))
            .map_err(ServeError::Threads)?;
        let jobs = prepared.map(|prepared| prepared.start(site, store)).transpose()?;
        Ok((
            Self { server, gate, calls, service: None, journal, keeper, jobs, _mischief: mischief },
            Feed::new(news),
            called,
        ))
    }

    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What clients and browsers are to be given.
    pub fn url(&self) -> String {
        let scheme = if self.server.certificate().is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }

    /// What may change while it runs.
    pub fn changing(&self) -> Changing {
        Changing { gate: Arc::clone(&self.gate), certificate: self.server.certificate().cloned() }
    }

    /// Speaks with the service manager, and reads the configuration again on SIGHUP, until [`Daemon::end`].
    ///
    /// # Errors
    /// Where there is no thread for it.
    pub fn serve(&mut self, reload: Reload) -> Result<(), StartError> {
        let service = Service::start(self.calls.clone(), Arc::clone(&self.journal), reload);
        self.service = Some(service.map_err(ServeError::Threads)?);
        Ok(())
    }

    /// Ends in order: the last news are kept, readers get their last answers. The feed has to be gone.
    ///
    /// # Errors
    /// Where the end cannot be recorded.
    pub fn end(mut self) -> Result<(), StoreError> {
        drop(self.service.take());
        if let Some(jobs) = self.jobs {
            jobs.end();
        }
        // A keeper that broke off has nothing left to keep.
        let _ = self.keeper.join();
        let draft = Draft::new(Kind::ControllerStopped, Severity::Info, "the controller was stopped");
        let written = self.journal.add(Timestamp::now(), vec![draft]);
        drop(self.server);
        written
    }
}
