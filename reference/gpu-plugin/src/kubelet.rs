//! Registers the plugin. The kubelet connects to the plugin's socket before it answers, so serve it first.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use super::v1beta1::RegisterRequest;
use super::v1beta1::registration_client::RegistrationClient;

/// Timeout of a registration. The kubelet waits up to 10 seconds for its connection back to the plugin.
const TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistrationError {
    #[error("cannot connect to {path}: {reason}")]
    Unreachable { path: PathBuf, reason: String },
    #[error("the kubelet refused the registration: {0}")]
    Refused(String),
    #[error("lost the connection to the kubelet: {0}")]
    Broken(String),
    #[error("the kubelet did not respond within {} s", TIMEOUT.as_secs())]
    NoAnswer,
}

pub(crate) async fn register(socket: &Path, request: RegisterRequest) -> Result<(), RegistrationError> {
    let call = async {
        let channel = dial(socket).await.map_err(|error| RegistrationError::Unreachable {
            path: socket.to_owned(),
            reason: with_sources(&error),
        })?;
        let answer = RegistrationClient::new(channel).register(request).await;
        // A status with a source is a transport error; the kubelet's own answer has none.
        answer.map(drop).map_err(|status| match status.source() {
            Some(error) => RegistrationError::Broken(with_sources(error)),
            None => RegistrationError::Refused(status.message().to_owned()),
        })
    };
    tokio::time::timeout(TIMEOUT, call).await.unwrap_or(Err(RegistrationError::NoAnswer))
}

pub(crate) async fn dial(socket: &Path) -> Result<Channel, tonic::transport::Error> {
    let path = socket.to_owned();
    let connector = service_fn(move |_: Uri| {
        let path = path.clone();
        async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
    });
    // The connector ignores the host, which becomes `:authority`. gRPC uses `localhost` for Unix sockets.
    Endpoint::from_static("http://localhost").connect_with_connector(connector).await
}

/// The error with its chain of sources: tonic itself prints only "transport error".
pub(crate) fn with_sources(error: &dyn Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts.dedup();
    texts.join(": ")
}
