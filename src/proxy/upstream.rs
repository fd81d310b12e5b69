use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

use crate::ProxyError;
use crate::error::Lost;

#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    authority: Authority,
}

impl Upstream {
    pub(crate) fn new(server: &str, tls: ClientConfig) -> Result<Self, ProxyError> {
        let wrong = || ProxyError::Server(server.to_owned());
        let uri: Uri = server.parse().map_err(|_| wrong())?;
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Err(wrong());
        }
        let authority = uri.authority().ok_or_else(wrong)?.clone();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_all_versions()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(https);
        Ok(Self { client, authority })
    }

    /// Sends a request. An error means that no response was received.
    pub(crate) async fn send(
        &self,
        parts: &http::request::Parts,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Lost> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = Uri::builder().scheme(Scheme::HTTPS).authority(self.authority.clone()).path_and_query(path);
        let lost = |error: &dyn std::fmt::Display| Lost(format!("{} {path}: {error}", parts.method));
        let uri = uri.build().map_err(|error| lost(&error))?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        self.client.request(request).await.map_err(|error| lost(&error))
    }
}
