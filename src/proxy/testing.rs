//! A small API server in the test process, a proxy in front of it, and clients.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::body::{Body, full};
use crate::error::Lost;
use crate::server::{client as client_tls, roots, server as server_tls};
use crate::target::{Target, Verb};
use crate::{Credentials, Proxy, ProxyConfig, ProxyHandle, Rule, RuleId};

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const POD: &str = "/api/v1/namespaces/ns/pods/p";
pub(crate) const PODS: &str = "/api/v1/namespaces/ns/pods";
pub(crate) const VERSIONS: [Version; 2] = [Version::HTTP_11, Version::HTTP_2];
pub(crate) const WATCH: &str = "/api/v1/pods?watch=true";

#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub verb: Verb,
    pub path: String,
    pub body: Bytes,
    pub accept: String,
    pub version: Version,
    pub user: String,
}

#[derive(Default)]
struct Api {
    requests: Vec<ReceivedRequest>,
    watches: Vec<mpsc::UnboundedSender<Bytes>>,
}

pub(crate) struct World {
    issuer: CertifiedIssuer<'static, KeyPair>,
    api: Arc<Mutex<Api>>,
    pub server: String,
    pub proxy: Proxy,
    pub folder: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = issuer.pem();
        let serving = signed(&issuer, "server", ExtendedKeyUsagePurpose::ServerAuth);
        let api = Arc::new(Mutex::new(Api::default()));
        let server = serve(api.clone(), &serving, &ca).await;
        let folder = tempfile::tempdir().unwrap();
        let config = ProxyConfig {
            name: "scheduler".into(),
            port: 0,
            serving,
            identity: signed(&issuer, "the-scheduler", ExtendedKeyUsagePurpose::ClientAuth),
            ca,
            server: server.clone(),
            log: Some(folder.path().join("faults.jsonl")),
        };
        let proxy = Proxy::start(&config).unwrap();
        Self { issuer, api, server, proxy, folder }
    }

    pub(crate) fn handle(&self) -> ProxyHandle {
        self.proxy.handle()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("faults.jsonl")
    }

    pub(crate) fn add(&self, rule: Rule) -> RuleId {
        self.handle().add(rule).unwrap()
    }

    pub(crate) fn rule(&self, rule: Value) -> RuleId {
        let mut rule = rule;
        rule["name"] = "test".into();
        self.add(serde_json::from_value(rule).unwrap())
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.api.lock().unwrap().requests.clone()
    }

    pub(crate) fn writes(&self) -> usize {
        self.requests().iter().filter(|request| request.verb.is_write()).count()
    }

    pub(crate) async fn keeps_writes_at(&self, count: usize) -> bool {
        let another_write = async {
            while self.writes() == count {
                tokio::task::yield_now().await;
            }
        };
        is_silent(another_write).await
    }

    pub(crate) fn send_to_watches(&self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.api.lock().unwrap().watches.retain(|watch| watch.send(bytes.clone()).is_ok());
    }

    pub(crate) fn end_watches(&self) {
        self.api.lock().unwrap().watches.clear();
    }

    pub(crate) fn event(&self, kind: &str, namespace: &str, name: &str) {
        let metadata = json!({"namespace": namespace, "name": name});
        self.send_to_watches(format!(
            "{}\n",
            json!({"type": kind, "object": {"kind": "Pod", "metadata": metadata}})
        ));
    }

    pub(crate) fn client(&self, version: Version) -> TestClient {
        self.client_of(&self.proxy.url(), version)
    }

    pub(crate) fn client_of(&self, server: &str, version: Version) -> TestClient {
        let identity = signed(&self.issuer, "program", ExtendedKeyUsagePurpose::ClientAuth);
        let ca = Arc::new(roots(&self.issuer.pem()).unwrap());
        let tls = client_tls(&identity, ca).unwrap();
        let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
        let https = match version {
            Version::HTTP_2 => builder.enable_http2().build(),
            _ => builder.enable_http1().build(),
        };
        TestClient {
            client: Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build(https),
            server: server.to_owned(),
        }
    }
}

pub(crate) type TestError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
pub(crate) struct TestClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    server: String,
}

impl TestClient {
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.server));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.client.request(request.body(Full::new(body.into())).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<(StatusCode, Value), TestError> {
        collected(self.send(Method::GET, path, &[], "").await?).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<(StatusCode, Value), TestError> {
        let headers = [("content-type", "application/json")];
        collected(self.send(Method::POST, path, &headers, body.to_string()).await?).await
    }

    pub(crate) async fn watch(&self, accept: &str) -> Incoming {
        let answer = self.send(Method::GET, WATCH, &[("accept", accept)], "").await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.into_body()
    }
}

async fn collected(answer: Response<Incoming>) -> Result<(StatusCode, Value), TestError> {
    let status = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    Ok((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
}

pub(crate) async fn chunk(watch: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        let frame = tokio::time::timeout(Duration::from_secs(20), watch.frame()).await;
        let data = frame.expect("a chunk within 20 s")?.map(|frame| frame.into_data().unwrap());
        // HTTP/2 may end with an empty frame.
        if !matches!(&data, Ok(data) if data.is_empty()) {
            return Some(data);
        }
    }
}

pub(crate) async fn event(watch: &mut Incoming) -> Value {
    serde_json::from_slice(&chunk(watch).await.unwrap().unwrap()).unwrap()
}

/// Whether `what` does not complete within 150 ms.
pub(crate) async fn is_silent<T>(what: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_millis(150), what).await.is_err()
}

fn signed(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> Credentials {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    Credentials { certificate: certificate.pem(), key: key.serialize_pem() }
}

async fn serve(api: Arc<Mutex<Api>>, serving: &Credentials, ca: &str) -> String {
    let tls = server_tls(serving, Arc::new(roots(ca).unwrap())).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            let (acceptor, api) = (acceptor.clone(), api.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else { return };
                let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
                // The certificate contains the common name as plain bytes.
                let is_scheduler = certificate.windows(13).any(|bytes| bytes == b"the-scheduler");
                let user = if is_scheduler { "the-scheduler" } else { "program" };
                let service = service_fn(move |request| answer(api.clone(), user, request));
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    format!("https://{address}")
}

/// Answers a request of the test as an API server would, and records the request.
async fn answer(
    api: Arc<Mutex<Api>>,
    user: &str,
    request: Request<Incoming>,
) -> Result<Response<Body>, Lost> {
    let target = Target::of(request.method(), request.uri());
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let accept = header(ACCEPT).unwrap_or_default();
    assert_eq!(header(AUTHORIZATION), None);
    let (path, version) = (request.uri().to_string(), request.version());
    // HTTP/2 requests have absolute URIs. An ephemeral port has 5 digits.
    let path = path.split_once("127.0.0.1:").map_or(path.clone(), |(_, rest)| rest[5..].to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let kind = if accept.starts_with(PROTOBUF) { PROTOBUF } else { "application/json" };
    let mut state = api.lock().unwrap();
    state.requests.push(ReceivedRequest {
        verb: target.verb,
        path,
        body: body.clone(),
        accept,
        version,
        user: user.to_owned(),
    });
    let metadata = |name: &str| json!({"namespace": "ns", "name": name});
    let (status, body) = match target.verb {
        Verb::Watch => {
            let (sender, receiver) = mpsc::unbounded_channel();
            state.watches.push(sender);
            let chunks = futures::stream::unfold(receiver, |mut receiver| async {
                Some((receiver.recv().await?, receiver))
            });
            let frames = chunks.map(|bytes| Ok(Frame::data(bytes)));
            (200, StreamBody::new(frames).boxed_unsync())
        }
        Verb::List => {
            let items = json!([{"metadata": metadata("a")}, {"metadata": metadata("b")}]);
            (200, full(json!({"kind": "PodList", "items": items}).to_string()))
        }
        verb if verb.is_write() && has_boolean_name(&body) => (422, full(body)),
        verb if verb.is_write() => (201, full(body)),
        _ if kind == PROTOBUF => (200, full(&b"k8s\0\x01\xffpod"[..])),
        _ => (200, full(json!({"kind": "Pod", "metadata": metadata("p")}).to_string())),
    };
    let answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    Ok(answer.body(body).unwrap())
}

fn has_boolean_name(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|object| object["metadata"]["name"].is_boolean())
}
