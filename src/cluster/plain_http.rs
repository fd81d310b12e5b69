//! Requests to processes on a loopback port, without TLS.

use std::time::Duration;

use kube::Client;

use crate::ClusterError;

/// A client of the process on this port.
pub(crate) fn plain_client(port: u16) -> Result<Client, ClusterError> {
    let url = format!("http://127.0.0.1:{port}");
    let url = url.parse().map_err(|source| ClusterError::Address { url, source })?;
    Client::try_from(kube::Config::new(url)).map_err(|source| ClusterError::api("connect", source))
}

/// Sends one request. The error describes what happened instead of an answer.
pub(crate) async fn ask(client: &Client, path: &str, limit: Duration) -> Result<String, String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|e| e.to_string())?;
    match tokio::time::timeout(limit, client.request_text(request)).await {
        Ok(answer) => answer.map_err(|e| e.to_string()),
        Err(_) => Err("no answer".into()),
    }
}
