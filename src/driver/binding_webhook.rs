//! A gate on `pods/binding`, so that a scheduler can be stopped between two bindings of one gang (AON-12).
//!
//! A validating webhook of the suite on the case's namespace admits the first bindings of the workload and holds
//! back the rest. Once the scheduler is gone, its last request is refused: there is no process left that would know
//! it was granted. The failure policy is `Fail` for the same reason: a binding that the API server could not ask
//! about must not succeed.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use conformance_cluster::{ClusterError, deploy};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::limits::{self, Limit};
use crate::context::{Stop, TestContext};

/// The pod of the dry-run bindings that show whether the API server asks the webhook yet. It never exists.
const PROBE: &str = "binding-hold-probe";

/// What the webhook has been asked so far.
#[derive(Debug)]
struct Gate {
    /// Bindings that pass.
    passing: usize,
    /// Bindings in the namespace that were asked for.
    asked: AtomicUsize,
    /// How many are held.
    held: watch::Sender<usize>,
    /// Whether a probe has come through.
    probed: watch::Sender<bool>,
    /// What becomes of the held ones is known.
    over: watch::Sender<bool>,
}

/// A running hold. Dropping it ends its server.
#[derive(Debug)]
pub struct BindingHold {
    gate: Arc<Gate>,
    server: Handle<std::net::SocketAddr>,
    configuration: String,
}

impl BindingHold {
    /// Lets the first `passing` bindings in the case's namespace through and holds those after them; returns when
    /// the API server asks before every binding.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster that is not the harness's own, or if the webhook cannot be served or installed;
    /// [`Stop::Wait`] if the API server does not take it up.
    pub async fn begin(test: &TestContext, passing: usize) -> Result<Self, Stop> {
        let local = test.local()?;
        let (certificate, key, bundle) = local.webhook_identity();
        let unusable = |error: std::io::Error| ClusterError::File { path: certificate.into(), source: error };
        let tls = RustlsConfig::from_pem_file(certificate, key).await.map_err(unusable)?;
        let no_port = |error: std::io::Error| ClusterError::Ports(error.to_string());
        // The socket is open from here on, so that nobody else can be given its port.
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_port)?;
        socket.set_nonblocking(true).map_err(no_port)?;
        let url = format!("https://{}/bindings", socket.local_addr().map_err(no_port)?);
        let gate = Arc::new(Gate::new(passing));
        let router = Router::new().route("/bindings", post(review)).with_state(gate.clone());
        let server = Handle::new();
        let serving = axum_server::from_tcp_rustls(socket, tls).map_err(no_port)?.handle(server.clone());
        tokio::spawn(serving.serve(router.into_make_service()));
        let configuration = format!("hold-{}", test.namespace);
        let hold = Self { gate, server, configuration };
        deploy::apply(&test.test_cluster.client, &hold.webhook(&test.namespace, &url, bundle)).await?;
        match hold.until_asked(test).await {
            Ok(()) => Ok(hold),
            Err(stop) => hold.refuse_held(test).await.and(Err(stop)),
        }
    }

    fn webhook(&self, namespace: &str, url: &str, bundle: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.configuration},
            "webhooks": [{
                "name": "bindings.conformance.grove.io",
                "clientConfig": {"url": url, "caBundle": ByteString(bundle.as_bytes().to_vec())},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                           "resources": ["pods/binding"], "scope": "Namespaced"}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 30,
            }],
        })
    }

    /// The API server learns of a webhook by its own watch: dry-run bindings of a pod that is not there are sent until
    /// one of them is asked about.
    async fn until_asked(&self, test: &TestContext) -> Result<(), Stop> {
        const PAUSE: Duration = Duration::from_millis(25);
        let mut probed = self.gate.probed.subscribe();
        let asked = async {
            loop {
                let _ = send_probe(test).await;
                if tokio::time::timeout(PAUSE, probed.wait_for(|probed| *probed)).await.is_ok() {
                    return;
                }
            }
        };
        within(test, limits::REACTION, "the webhook asked before bindings", asked).await
    }

    /// Waits until that many bindings are held.
    ///
    /// # Errors
    /// [`Stop::Wait`].
    pub async fn until_held(&self, test: &TestContext, count: usize) -> Result<(), Stop> {
        let mut held = self.gate.held.subscribe();
        let enough = async { drop(held.wait_for(|held| *held >= count).await) };
        within(test, limits::SCHEDULING, &format!("{count} bindings held"), enough).await
    }

    /// Refuses what is held and holds nothing any more. The server goes on answering until the hold is dropped, for
    /// the API server may ask once more before it sees that the webhook is gone.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if the webhook cannot be removed.
    pub async fn refuse_held(&self, test: &TestContext) -> Result<(), Stop> {
        self.gate.over.send_replace(true);
        let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(test.test_cluster.client.clone());
        let failed = |source| ClusterError::api(format!("delete webhook {}", self.configuration), source);
        webhooks.delete(&self.configuration, &DeleteParams::default()).await.map_err(failed)?;
        Ok(())
    }
}

impl Drop for BindingHold {
    fn drop(&mut self) {
        self.server.shutdown();
    }
}

/// The webhook: answers an AdmissionReview for one binding, sooner or later.
async fn review(State(gate): State<Arc<Gate>>, Json(review): Json<Value>) -> Json<Value> {
    let request = &review["request"];
    let allowed = if request["name"] == PROBE {
        gate.probed.send_replace(true);
        true
    } else {
        gate.lets_pass().await
    };
    Json(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": request["uid"], "allowed": allowed, "status": {"message": "held by the harness"}},
    }))
}

impl Gate {
    fn new(passing: usize) -> Self {
        Self {
            passing,
            asked: AtomicUsize::new(0),
            held: watch::Sender::new(0),
            probed: watch::Sender::new(false),
            over: watch::Sender::new(false),
        }
    }

    /// Whether one more binding is granted; comes back only when that is known.
    async fn lets_pass(&self) -> bool {
        let mut over = self.over.subscribe();
        if *over.borrow() || self.asked.fetch_add(1, Ordering::Relaxed) < self.passing {
            return true;
        }
        self.held.send_modify(|held| *held += 1);
        // An error means that the hold is gone; then it is over as well.
        let _ = over.wait_for(|over| *over).await;
        false
    }
}

/// Sends a dry-run binding; its answer (the pod is not there) does not matter.
async fn send_probe(test: &TestContext) -> Result<Value, ClusterError> {
    let path = format!("/api/v1/namespaces/{}/pods/{PROBE}/binding?dryRun=All", test.namespace);
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": PROBE},
                         "target": {"apiVersion": "v1", "kind": "Node", "name": "none"}});
    let failed = |source| ClusterError::api("send a dry-run binding", source);
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(binding.to_string().into_bytes())
        .map_err(|error| failed(kube::Error::HttpError(error)))?;
    test.test_cluster.client.request(request).await.map_err(failed)
}

async fn within(
    test: &TestContext,
    limit: Limit,
    condition: &str,
    reached: impl Future<Output = ()>,
) -> Result<(), Stop> {
    let begin = Instant::now();
    let late = || test.waited(condition, limit, begin, String::new());
    test.within(limit, reached).await.ok_or_else(late)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_first_pass_the_rest_are_held_and_refused() {
        let gate = Gate::new(2);
        assert!(gate.lets_pass().await);
        assert!(gate.lets_pass().await);
        let mut third = Box::pin(gate.lets_pass());
        assert_eq!(third.as_mut().now_or_never(), None);
        assert_eq!(*gate.held.borrow(), 1);
        gate.over.send_replace(true);
        assert!(!third.await, "nobody is left who would know that it was granted");
        assert!(gate.lets_pass().await, "what is asked for afterwards passes");
    }
}
