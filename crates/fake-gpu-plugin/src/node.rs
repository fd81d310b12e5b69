//! What the node object says of its GPUs: a label how many, an annotation which are unhealthy.
//!
//! Only the node's metadata is watched. An invalid value is logged and changes nothing; nor does the deletion of
//! the node object, because the GPUs of a machine do not disappear with it. Nothing is ever written to the node.

use std::path::PathBuf;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::api::PartialObjectMeta;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config, ResourceExt};
use tokio::sync::{Notify, watch};

use super::devices::{Devices, Malformed, Unhealthy, parse_count};
use super::reasons::Reasons;

/// The label that says how many GPUs a node has, unless another is asked for.
pub const COUNT_LABEL: &str = "conformance.grove.io/gpus";
/// The annotation that says which GPUs of a node are broken: `all`, or indices such as `0,3`.
pub const UNHEALTHY_ANNOTATION: &str = "conformance.grove.io/unhealthy-gpus";

/// Which node to watch, and how.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The node's name.
    pub name: String,
    /// The label that says how many GPUs it has.
    pub count_label: String,
    /// Kubeconfig file; without one the service account of the pod, or the user's own.
    pub kubeconfig: Option<PathBuf>,
}

/// There is no way to the API server.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to the API server: {0}")]
pub struct ConnectionError(String);

/// The node at a moment; `None` where there is none of that name.
pub(crate) type View = watcher::Result<Option<PartialObjectMeta<Node>>>;

/// How metadata becomes devices.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The label that says how many GPUs there are.
    pub count_label: String,
    /// How many there are where the label is not.
    pub gpus: u16,
    /// See [`super::faults::Faults::deaf`].
    pub deaf: bool,
}

/// A client of the API server. It has not been reached yet.
///
/// # Errors
/// The kubeconfig or the service account is no good.
pub(crate) async fn connect(options: &NodeOptions) -> Result<Client, ConnectionError> {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let failed = |error: &dyn std::error::Error| ConnectionError(error.to_string());
    let config = match &options.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| failed(&error))?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            config.map_err(|error| failed(&error))?
        }
        None => Config::infer().await.map_err(|error| failed(&error))?,
    };
    Client::try_from(config).map_err(|error| failed(&error))
}

/// The node of that name, now and after every change.
pub(crate) fn views(client: Client, name: &str) -> BoxStream<'static, View> {
    let nodes: Api<PartialObjectMeta<Node>> = Api::all(client);
    watcher::watch_object(nodes, name).default_backoff().boxed()
}

/// Writes what `views` says to `devices`, and tells `seen` once there has been a node. Returns when the views end.
pub(crate) async fn follow(
    mut views: impl Stream<Item = View> + Unpin,
    rules: &Rules,
    devices: &watch::Sender<Devices>,
    seen: &Notify,
) {
    let (mut failures, mut mistakes) = (Reasons::default(), Reasons::default());
    while let Some(view) = views.next().await {
        match view {
            Ok(Some(node)) => {
                failures.forget();
                let last = devices.borrow().clone();
                let next = rules.devices(&node, &last, &mut mistakes);
                if next != last {
                    tracing::info!(gpus = next.count, unhealthy = %next.unhealthy, "the node's GPUs");
                    devices.send_replace(next);
                }
                seen.notify_one();
            }
            Ok(None) => {
                if failures.is_new("no such node") {
                    tracing::warn!("the API server has no such node; its GPUs stay as they are");
                }
            }
            Err(error) => {
                if failures.is_new(&error.to_string()) {
                    tracing::warn!(%error, "the node cannot be watched, trying again");
                }
            }
        }
    }
}

impl Rules {
    /// What the metadata says; the last good state where it says nothing that can be understood.
    fn devices(&self, node: &PartialObjectMeta<Node>, last: &Devices, mistakes: &mut Reasons) -> Devices {
        let count = node.labels().get(&self.count_label);
        let count = count.map_or(Ok(self.gpus), |text| parse_count(text));
        let unhealthy = node.annotations().get(UNHEALTHY_ANNOTATION).filter(|_| !self.deaf);
        let unhealthy = unhealthy.map_or_else(|| Ok(Unhealthy::default()), |text| text.parse::<Unhealthy>());
        if count.is_ok() && unhealthy.is_ok() {
            mistakes.forget();
        }
        Devices {
            count: good_or_last(count, &last.count, &self.count_label, mistakes),
            unhealthy: good_or_last(unhealthy, &last.unhealthy, UNHEALTHY_ANNOTATION, mistakes),
        }
    }
}

fn good_or_last<T: Clone>(parsed: Result<T, Malformed>, last: &T, key: &str, mistakes: &mut Reasons) -> T {
    parsed.unwrap_or_else(|error| {
        // The node changes every few minutes anyway, and says the same again each time.
        if mistakes.is_new(&format!("{key}: {error}")) {
            tracing::warn!(key, %error, "the node says nothing that can be understood; the last state stays");
        }
        last.clone()
    })
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
