//! TLS: the certificate and key from their files, read again when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};

/// Where the certificate and its key lie, both as PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Files {
    /// The certificate, then those that signed it.
    pub certificate: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is no PEM of what it should be.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: pem::Error,
    },
    /// There is no certificate in the file.
    #[error("{0}: there is no certificate in it")]
    Empty(PathBuf),
    /// The key does not fit the certificate, or is of no use.
    #[error("{path}: {why}")]
    Key {
        /// The key's file.
        path: PathBuf,
        /// Why.
        why: rustls::Error,
    },
}

fn read(files: &Files) -> Result<CertifiedKey, TlsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |why| TlsError::File { path, why }
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(failed(&files.certificate))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(files.certificate.clone()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(failed(&files.key))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|why| TlsError::Key { path: files.key.clone(), why })
}

/// The certificate in use; it may be renewed while connections stand.
#[derive(Debug)]
pub struct Certificate(RwLock<Arc<CertifiedKey>>);

impl Certificate {
    /// From its files.
    ///
    /// # Errors
    /// Where they cannot be read or do not fit each other.
    pub fn read(files: &Files) -> Result<Self, TlsError> {
        Ok(Self(RwLock::new(Arc::new(read(files)?))))
    }

    /// Reads the files again; where that fails, the former certificate stays.
    ///
    /// # Errors
    /// Where they cannot be read or do not fit each other.
    pub fn renew(&self, files: &Files) -> Result<(), TlsError> {
        let next = Arc::new(read(files)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    /// What a listener takes.
    pub(super) fn config(self: &Arc<Self>) -> Result<ServerConfig, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}
