//! Reads a node's GPUs from its label and annotation. An invalid value changes nothing. Deleting the node
//! object changes nothing either, because the machine still has its GPUs.

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

pub const COUNT_LABEL: &str = "conformance.grove.io/gpus";
/// The annotation that lists the unhealthy GPUs of a node: `all`, or indices such as `0,3`.
pub const UNHEALTHY_ANNOTATION: &str = "conformance.grove.io/unhealthy-gpus";

#[derive(Clone, Debug)]
pub struct NodeOptions {
    pub name: String,
    pub count_label: String,
    /// `None` for the pod's service account or the user's own kubeconfig.
    pub kubeconfig: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot connect to the API server: {0}")]
pub struct ConnectionError(String);

pub(crate) type View = watcher::Result<Option<PartialObjectMeta<Node>>>;

#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub count_label: String,
    pub gpus: u16,
    pub ignores_annotation: bool,
}

pub(crate) async fn connect(options: &NodeOptions) -> Result<Client, ConnectionError> {
    // `install_default` fails if a provider is already installed.
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

pub(crate) fn views(client: Client, name: &str) -> BoxStream<'static, View> {
    let nodes: Api<PartialObjectMeta<Node>> = Api::all(client);
    watcher::watch_object(nodes, name).default_backoff().boxed()
}

pub(crate) async fn follow(
    mut views: impl Stream<Item = View> + Unpin,
    rules: &Rules,
    devices: &watch::Sender<Devices>,
    node_seen: &Notify,
) {
    let (mut failures, mut invalid_values) = (Reasons::default(), Reasons::default());
    while let Some(view) = views.next().await {
        match view {
            Ok(Some(node)) => {
                failures.forget();
                let last = devices.borrow().clone();
                let next = rules.devices(&node, &last, &mut invalid_values);
                if next != last {
                    tracing::info!(gpus = next.count, unhealthy = %next.unhealthy, "the GPUs of the node \
                                                                                    changed");
                    devices.send_replace(next);
                }
                node_seen.notify_one();
            }
            Ok(None) => {
                if failures.is_new("no such node") {
                    tracing::warn!("the node does not exist; the plugin keeps the last GPUs");
                }
            }
            Err(error) => {
                if failures.is_new(&error.to_string()) {
                    tracing::warn!(%error, "cannot watch the node; retrying");
                }
            }
        }
    }
}

impl Rules {
    fn devices(
        &self,
        node: &PartialObjectMeta<Node>,
        last: &Devices,
        invalid_values: &mut Reasons,
    ) -> Devices {
        let count = node.labels().get(&self.count_label);
        let count = count.map_or(Ok(self.gpus), |text| parse_count(text));
        let unhealthy = node.annotations().get(UNHEALTHY_ANNOTATION).filter(|_| !self.ignores_annotation);
        let unhealthy = unhealthy.map_or_else(|| Ok(Unhealthy::default()), |text| text.parse::<Unhealthy>());
        if count.is_ok() && unhealthy.is_ok() {
            invalid_values.forget();
        }
        Devices {
            count: valid_or_last(count, &last.count, &self.count_label, invalid_values),
            unhealthy: valid_or_last(unhealthy, &last.unhealthy, UNHEALTHY_ANNOTATION, invalid_values),
        }
    }
}

fn valid_or_last<T: Clone>(
    parsed: Result<T, Malformed>,
    last: &T,
    key: &str,
    invalid_values: &mut Reasons,
) -> T {
    parsed.unwrap_or_else(|error| {
        // The node is updated every few minutes, usually with the same invalid value.
        if invalid_values.is_new(&format!("{key}: {error}")) {
            tracing::warn!(key, %error, "invalid value on the node; the plugin keeps the last valid value");
        }
        last.clone()
    })
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
