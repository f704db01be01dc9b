//! Serves the API beside the fabric's thread, on threads of its own.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use crate::site::Site;

/// How long readers have to finish when the controller ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others than this machine could reach it, and it asks nobody who they are.
    #[error("{0} can be reached from other machines, and the API does not ask who calls")]
    Open(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        why: io::Error,
    },
    /// No threads can be had for it.
    #[error("cannot start the API's threads: {0}")]
    Threads(io::Error),
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    end: watch::Sender<bool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Serves on `address`; port 0 is any free port. `end` becomes true when the server is dropped; the site's `ending`
    /// should follow it.
    ///
    /// # Errors
    /// Where the address is not this machine's alone, or cannot be had.
    pub fn start(address: SocketAddr, site: Site, end: watch::Sender<bool>) -> Result<Self, ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::Open(address));
        }
        let failed = |why| ServeError::Listen { address, why };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // One core is the fabric's.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores.saturating_sub(1).max(1))
            .max_blocking_threads(8)
            .thread_name("api")
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let mut ending = site.ending.clone();
        let serve = async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let ended = async move {
                // Where nobody can end it any more, it ends.
                let _ = ending.wait_for(|&ending| ending).await;
            };
            axum::serve(listener, super::router(site)).with_graceful_shutdown(ended).await
        };
        let thread = thread::Builder::new()
            .name("api".to_owned())
            .spawn(move || {
                // A listener that fails for good has told every client so.
                let _: io::Result<()> = runtime.block_on(serve);
                runtime.shutdown_timeout(LAST_WORDS);
            })
            .map_err(ServeError::Threads)?;
        Ok(Self { address, end, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A thread that broke off has nothing left to end.
            let _ = thread.join();
        }
    }
}
