//! What every door of the controller to the outside shares: the picture, the journal, the way into the fabric's thread.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use jiff::Timestamp;
use subnet::SubnetManager;
use tokio::sync::{Semaphore, oneshot, watch};
use transport::Wire;

use crate::api::Gate;
use crate::journal::Journal;
use crate::metrics::Counts;
use crate::session::Call;
use crate::view::Newest;

/// How long a reader waits for the fabric's thread, which may be computing.
const PATIENCE: Duration = Duration::from_secs(10);

/// The fabric's thread has not answered: it is computing, or has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// What doors share.
#[derive(Clone)]
pub struct Site {
    /// The newest picture of the fabric.
    pub newest: Arc<Newest>,
    /// What has happened.
    pub journal: Arc<Journal>,
    /// What is counted.
    pub counts: Arc<Counts>,
    /// The way into the fabric's thread.
    pub calls: Sender<Call>,
    /// Held while a question is computed: one at a time.
    pub questions: Arc<Semaphore>,
    /// When the controller started.
    pub started: Timestamp,
    /// Where the fabric's door leads, for people.
    pub place: Arc<str>,
    /// Whether the fabric is emulated, and may be broken on purpose.
    pub is_emulated: bool,
    /// Who is let in.
    pub gate: Arc<Gate>,
    /// Whether TLS is spoken.
    pub is_secure: bool,
    /// Jobs and the pool, where this controller hosts any.
    pub work: Option<crate::work::Work>,
    /// Becomes true when the controller ends.
    pub ending: watch::Receiver<bool>,
}

impl Site {
    /// Asks the fabric's thread: a short look, no more.
    ///
    /// # Errors
    /// Where it does not answer in time.
    pub async fn ask<T: Send + 'static>(
        &self,
        look: impl FnOnce(&SubnetManager, &mut dyn Wire) -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let (answer, answered) = oneshot::channel();
        // Who asked may have gone meanwhile: then nobody wants the answer.
        let call: Call = Box::new(move |manager, wire| drop(answer.send(look(manager, wire))));
        self.calls.send(call).map_err(|_| Busy)?;
        tokio::time::timeout(PATIENCE, answered).await.map_err(|_| Busy)?.map_err(|_| Busy)
    }
}
