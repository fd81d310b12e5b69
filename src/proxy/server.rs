use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::ProxyError;
use crate::forward::Forward;
use crate::log::Log;
use crate::rules::{ProxyHandle, Rules};
use crate::upstream::Upstream;

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Credentials {
    /// The certificate, with its chain if one is needed.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

/// The configuration of a proxy.
#[derive(Debug, Clone)]
pub struct ProxyConfig {
    /// Name in the log.
    pub name: String,
    /// Loopback port; 0 selects a free one.
    pub port: u16,
    /// Serving certificate for the program, valid for 127.0.0.1.
    pub serving: Credentials,
    /// The program's own client certificate, with which the proxy connects to the API server.
    pub identity: Credentials,
    /// The authority of all certificates, as PEM.
    pub ca: String,
    /// Address of the API server: `https://HOST:PORT`.
    pub server: String,
    /// File to which faults are written as they happen.
    pub log: Option<PathBuf>,
}

/// A running proxy. Dropping this value ends the proxy and all its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    handle: ProxyHandle,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy. It accepts connections when this function returns. Must be called on a Tokio runtime.
    pub fn start(config: &ProxyConfig) -> Result<Self, ProxyError> {
        let rules = Arc::new(Rules::new(config.name.clone(), Log::open(config.log.as_deref())?));
        let roots = Arc::new(roots(&config.ca)?);
        let upstream = Upstream::new(&config.server, client(&config.identity, roots.clone())?)?;
        let acceptor = TlsAcceptor::from(Arc::new(server(&config.serving, roots)?));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, config.port));
        let failed = |source| ProxyError::Listen { address, source };
        let socket = StdListener::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let listener = TcpListener::from_std(socket).map_err(failed)?;
        let forward = Arc::new(Forward { rules: rules.clone(), upstream });
        let serving = tokio::spawn(accept(listener, acceptor, forward));
        Ok(Self { address, handle: ProxyHandle { rules }, serving })
    }

    /// Returns the URL that the program uses instead of the API server's.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns the handle that controls the proxy.
    pub fn handle(&self) -> ProxyHandle {
        self.handle.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, forward: Arc<Forward>) {
    // All connections end when this set is dropped.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => drop(connections.spawn(serve(socket, acceptor.clone(), forward.clone()))),
                // The cause may be temporary, for example too many open files.
                Err(error) => {
                    if error.kind() != ErrorKind::ConnectionAborted {
                        tracing::warn!(%error, "the fault proxy failed to accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, acceptor: TlsAcceptor, forward: Arc<Forward>) {
    let _ = socket.set_nodelay(true);
    let stream = match acceptor.accept(socket).await {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a TLS handshake with the fault proxy failed"),
    };
    let service = service_fn(move |request| forward.clone().serve(request));
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new());
    server.http2().timer(TokioTimer::new()).max_concurrent_streams(1000);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection to the fault proxy ended");
    }
}

fn certificates(pem: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, ProxyError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let wrong = |reason: String| ProxyError::Certificate { what, reason };
    let all = all.map_err(|error| wrong(error.to_string()))?;
    if all.is_empty() { Err(wrong("it contains no certificate".into())) } else { Ok(all) }
}

pub(crate) fn roots(ca: &str) -> Result<RootCertStore, ProxyError> {
    const WHAT: &str = "the authority's certificate";
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca, WHAT)? {
        roots.add(certificate).map_err(wrong(WHAT))?;
    }
    Ok(roots)
}

fn key(credentials: &Credentials, what: &'static str) -> Result<PrivateKeyDer<'static>, ProxyError> {
    PrivateKeyDer::from_pem_slice(credentials.key.as_bytes()).map_err(wrong(what))
}

fn wrong<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> ProxyError {
    move |error| ProxyError::Certificate { what, reason: error.to_string() }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Returns the TLS configuration without ALPN protocols, because the connector adds them.
pub(crate) fn client(identity: &Credentials, roots: Arc<RootCertStore>) -> Result<ClientConfig, ProxyError> {
    const WHAT: &str = "the identity's certificate";
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(wrong(WHAT))?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates(&identity.certificate, WHAT)?, key(identity, WHAT)?)
        .map_err(wrong(WHAT))
}

pub(crate) fn server(serving: &Credentials, roots: Arc<RootCertStore>) -> Result<ServerConfig, ProxyError> {
    const WHAT: &str = "the serving certificate";
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(wrong(WHAT))?
        .with_client_cert_verifier(verifier.build().map_err(wrong(WHAT))?)
        .with_single_cert(certificates(&serving.certificate, WHAT)?, key(serving, WHAT)?)
        .map_err(wrong(WHAT))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
