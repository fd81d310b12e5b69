//! Registering with the kubelet, once.
//!
//! The kubelet connects to the plugin's socket before it answers, so the plugin serves already when this is called.
//! When to try again, and when a registration is lost, is `plugin`'s.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use super::v1beta1::RegisterRequest;
use super::v1beta1::registration_client::RegistrationClient;

/// How long a registration may take. The kubelet gives its connection back to the plugin 10 seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// Why the kubelet does not know the plugin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistrationError {
    /// Nobody listens at the socket, or it may not be used.
    #[error("cannot connect to {path}: {reason}")]
    Unreachable {
        /// The kubelet's socket.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The kubelet has answered, and not with yes.
    #[error("the kubelet refuses: {0}")]
    Refused(String),
    /// The kubelet has gone away meanwhile.
    #[error("the connection to the kubelet has broken: {0}")]
    Broken(String),
    /// The kubelet has not answered.
    #[error("the kubelet has not answered in {} s", PATIENCE.as_secs())]
    NoAnswer,
}

/// Registers with the kubelet whose socket is at `socket`.
///
/// # Errors
/// The kubelet cannot be reached, refuses, or does not answer in time.
pub(crate) async fn register(socket: &Path, request: RegisterRequest) -> Result<(), RegistrationError> {
    let call = async {
        let channel = dial(socket).await.map_err(|error| RegistrationError::Unreachable {
            path: socket.to_owned(),
            reason: in_full(&error),
        })?;
        let answer = RegistrationClient::new(channel).register(request).await;
        // A status that comes from another error is the transport's, not the kubelet's.
        answer.map(drop).map_err(|status| match status.source() {
            Some(error) => RegistrationError::Broken(in_full(error)),
            None => RegistrationError::Refused(status.message().to_owned()),
        })
    };
    tokio::time::timeout(PATIENCE, call).await.unwrap_or(Err(RegistrationError::NoAnswer))
}

/// A channel to the gRPC server at `socket`.
///
/// # Errors
/// Nobody listens there, or it may not be used.
pub(crate) async fn dial(socket: &Path) -> Result<Channel, tonic::transport::Error> {
    let path = socket.to_owned();
    let connector = service_fn(move |_: Uri| {
        let path = path.clone();
        async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
    });
    // The host is never resolved. It is what a server reads as authority, and gRPC says localhost for unix sockets.
    Endpoint::from_static("http://localhost").connect_with_connector(connector).await
}

/// The error and what it comes from: tonic's own text says no more than "transport error".
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts.dedup();
    texts.join(": ")
}
