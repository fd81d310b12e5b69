use std::time::Duration;

use kube::Client;

use crate::ClusterError;

#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error(transparent)]
    Failed(Box<kube::Error>),
    #[error("404: nothing is served at that path")]
    NotServed,
    #[error("no response before the timeout")]
    Timeout,
}

pub(crate) fn plain_client(port: u16) -> Result<Client, ClusterError> {
    let url = format!("http://127.0.0.1:{port}");
    let url = url.parse().map_err(|source| ClusterError::Address { url, source })?;
    // Without a list of root certificates, the client reads the system's, and fails if there are none.
    let mut config = kube::Config::new(url);
    config.root_cert = Some(Vec::new());
    // A response 503 has a reason. Retries would hide it until the caller's timeout.
    config.default_retry = false;
    Client::try_from(config).map_err(ClusterError::during("connect"))
}

pub(crate) async fn get(client: &Client, path: &str, limit: Duration) -> Result<String, NoAnswer> {
    let request = http::Request::get(path).body(Vec::new())?;
    match tokio::time::timeout(limit, client.request_text(request)).await {
        Ok(answer) => answer.map_err(|error| NoAnswer::Failed(Box::new(error))),
        Err(_) => Err(NoAnswer::Timeout),
    }
}
