//! Serves the API beside the fabric's thread, on threads of its own: over TCP, with TLS where there is a certificate, and
//! over a Unix socket.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::gate::{Rules, Way};
use super::tls::{Certificate, Files, TlsError};
use crate::site::Site;

/// How long readers have to finish when the controller ends.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a client has to say what it wants.
const FIRST_WORDS: Duration = Duration::from_secs(10);
/// Clients at once; who comes after waits until one goes.
const CLIENTS: usize = 1_024;
/// Where connections cannot be taken, as when there are too many files open, it is tried again after this time.
const PAUSE: Duration = Duration::from_millis(100);

/// Where the API is served, and to whom.
#[derive(Clone, Debug)]
pub struct Doors {
    /// The address.
    pub listen: SocketAddr,
    /// The Unix socket, where there is to be one.
    pub socket: Option<PathBuf>,
    /// The certificate, where TLS is spoken.
    pub tls: Option<Files>,
    /// Who is let in.
    pub rules: Rules,
}

impl Doors {
    /// At an address of this machine alone, without tokens.
    pub fn local(listen: SocketAddr) -> Self {
        Self { listen, socket: None, tls: None, rules: Rules::default() }
    }
}

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others than this machine could reach it, and it asks nobody who they are.
    #[error("{0} can be reached from other machines, and no tokens say who may call")]
    Open(SocketAddr),
    /// Others than this machine could listen to what is said, tokens among it.
    #[error(
        "{0} can be reached from other machines, and there is no certificate: tokens would be sent in the clear"
    )]
    Clear(SocketAddr),
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        why: io::Error,
    },
    /// The socket cannot be had.
    #[error("cannot listen on {}: {why}", path.display())]
    Socket {
        /// Its file.
        path: PathBuf,
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
    socket: Option<PathBuf>,
    certificate: Option<Arc<Certificate>>,
    end: watch::Sender<bool>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A Unix socket that none but its file's owner and group may use. What a controller that was killed left is taken away.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "a running program has it"));
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => {
            std::fs::remove_file(path)?
        }
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
        }
        Err(_) => {}
    }
    // Bound aside and then moved, so that nobody can reach it before its mode is set.
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    let listener = UnixListener::bind(&aside)?;
    std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o660))?;
    std::fs::rename(&aside, path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// What every connection is served with.
struct Serving {
    router: Router,
    builder: http1::Builder,
    graceful: GracefulShutdown,
    clients: Arc<Semaphore>,
}

impl Serving {
    fn new(router: Router) -> Self {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(FIRST_WORDS);
        Self {
            router,
            builder,
            graceful: GracefulShutdown::new(),
            clients: Arc::new(Semaphore::new(CLIENTS)),
        }
    }

    /// A place for one more client.
    async fn place(&self) -> OwnedSemaphorePermit {
        match Arc::clone(&self.clients).acquire_owned().await {
            Ok(place) => place,
            // Nobody closes it.
            Err(_) => std::future::pending().await,
        }
    }

    /// Talks with a client until either has had enough.
    fn serve<S>(&self, stream: S, way: Way, place: OwnedSemaphorePermit)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = self.router.clone().map_request(move |mut request: Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(way);
            request.map(Body::new)
        });
        let connection =
            self.builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let connection = self.graceful.watch(connection);
        tokio::spawn(async move {
            // What goes wrong here went wrong between the client and its network.
            let _ = connection.await;
            drop(place);
        });
    }
}

async fn accept_tcp(serving: Arc<Serving>, listener: tokio::net::TcpListener, tls: Option<TlsAcceptor>) {
    loop {
        let place = serving.place().await;
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers are short and wanted at once; without it they come all the same.
        let _ = stream.set_nodelay(true);
        let way = Way::Tcp(from.ip());
        match &tls {
            None => serving.serve(stream, way, place),
            Some(tls) => {
                let (serving, greeting) = (Arc::clone(&serving), tls.accept(stream));
                tokio::spawn(async move {
                    if let Ok(Ok(stream)) = tokio::time::timeout(FIRST_WORDS, greeting).await {
                        serving.serve(stream, way, place);
                    }
                });
            }
        }
    }
}

async fn accept_socket(serving: Arc<Serving>, listener: tokio::net::UnixListener) {
    loop {
        let place = serving.place().await;
        match listener.accept().await {
            Ok((stream, _)) => serving.serve(stream, Way::Socket, place),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

impl Server {
    /// Serves at the doors; port 0 is any free port. `end` becomes true when the server is dropped; the site's `ending`
    /// should follow it.
    ///
    /// # Errors
    /// Where others than this machine could call without a token or in the clear, or a door cannot be had.
    pub fn start(doors: &Doors, site: Site, end: watch::Sender<bool>) -> Result<Self, ServeError> {
        let address = doors.listen;
        if !address.ip().is_loopback() {
            if !doors.rules.access.is_asked() {
                return Err(ServeError::Open(address));
            }
            if doors.tls.is_none() {
                return Err(ServeError::Clear(address));
            }
        }
        let certificate = doors.tls.as_ref().map(Certificate::read).transpose()?.map(Arc::new);
        let acceptor = match (&certificate, &doors.tls) {
            (Some(certificate), Some(files)) => {
                let config = certificate
                    .config()
                    .map_err(|why| TlsError::Key { path: files.certificate.clone(), why })?;
                Some(TlsAcceptor::from(Arc::new(config)))
            }
            _ => None,
        };
        let failed = |why| ServeError::Listen { address, why };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let bound = |path: &PathBuf| bind(path).map_err(|why| ServeError::Socket { path: path.clone(), why });
        let socket = doors.socket.as_ref().map(bound).transpose()?;
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
            let serving = Arc::new(Serving::new(super::router(site)));
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let mut accepting = vec![tokio::spawn(accept_tcp(Arc::clone(&serving), listener, acceptor))];
            if let Some(socket) = socket {
                let listener = tokio::net::UnixListener::from_std(socket)?;
                accepting.push(tokio::spawn(accept_socket(Arc::clone(&serving), listener)));
            }
            // Where nobody can end it any more, it ends.
            let _ = ending.wait_for(|&ending| ending).await;
            for task in accepting {
                task.abort();
                // It was ended just now.
                let _ = task.await;
            }
            if let Some(serving) = Arc::into_inner(serving) {
                // Who has not finished by then is cut off.
                let _ = tokio::time::timeout(LAST_WORDS, serving.graceful.shutdown()).await;
            }
            Ok(())
        };
        let thread = thread::Builder::new()
            .name("api".to_owned())
            .spawn(move || {
                // A listener that fails for good has told every client so.
                let _: io::Result<()> = runtime.block_on(serve);
                runtime.shutdown_timeout(LAST_WORDS);
            })
            .map_err(ServeError::Threads)?;
        Ok(Self { address, socket: doors.socket.clone(), certificate, end, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate in use, where TLS is spoken.
    pub fn certificate(&self) -> Option<&Arc<Certificate>> {
        self.certificate.as_ref()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A thread that broke off has nothing left to end.
            let _ = thread.join();
        }
        if let Some(socket) = &self.socket {
            // Where it has gone already, all the better.
            let _ = std::fs::remove_file(socket);
        }
    }
}
