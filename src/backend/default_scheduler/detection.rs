//! What of the Workload API is there (KUBE-06).
//!
//! Discovery tells whether Workload and PodGroup are served. Two dry-run creates, read back, tell whether the
//! fields survive: an API server with a gate off drops them without an error. The gates of the scheduler
//! process cannot be seen; they are declared in the profile. An answer is remembered for a while, a negative
//! one only briefly, so that an API installed later is found without a restart.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::config::SchedulerFeatureGates;
use super::workload_api::{GROUP, VERSION, pod_groups};

/// How long a good answer holds.
const POSITIVE: Duration = Duration::from_secs(60);
/// How long a bad answer holds.
const NEGATIVE: Duration = Duration::from_secs(1);

/// What can be asked of the cluster; where something cannot, what is missing, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Support {
    /// Gangs.
    pub gangs: Result<(), String>,
    /// A topology key per PodGroup.
    pub topology: Result<(), String>,
}

impl Support {
    fn none(reason: String) -> Self {
        Self { gangs: Err(reason.clone()), topology: Err(reason) }
    }
}

/// Asks and remembers.
pub(super) struct Detection {
    client: Client,
    namespace: String,
    gates: SchedulerFeatureGates,
    last: Mutex<Option<(Instant, Support)>>,
}

impl Detection {
    /// Dry runs are made in `namespace`, which has to exist.
    pub(super) fn new(client: Client, namespace: String, gates: SchedulerFeatureGates) -> Self {
        Self { client, namespace, gates, last: Mutex::new(None) }
    }

    /// What is there now, or was a moment ago.
    pub(super) async fn support(&self) -> Support {
        let mut last = self.last.lock().await;
        if let Some((asked, support)) = &*last {
            let good = support.gangs.is_ok() && support.topology.is_ok();
            if asked.elapsed() < if good { POSITIVE } else { NEGATIVE } {
                return support.clone();
            }
        }
        let support = self.ask().await;
        *last = Some((Instant::now(), support.clone()));
        support
    }

    async fn ask(&self) -> Support {
        if let Some(gate) = self.gates.missing_for_gangs() {
            return Support::none(format!(
                "feature gate {gate} is declared off on kube-scheduler (profile default-scheduler, \
                 config.schedulerFeatureGates)"
            ));
        }
        if let Err(reason) = self.served().await {
            return Support::none(reason);
        }
        let gangs =
            self.survives(Api::<Pod>::namespaced(self.client.clone(), &self.namespace), &probe_pod()).await;
        let gangs = gangs.and_then(|object| field(&object, "/spec/schedulingGroup", "GenericWorkload"));
        if let Err(reason) = gangs {
            return Support::none(reason);
        }
        Support { gangs: Ok(()), topology: self.topology().await }
    }

    async fn served(&self) -> Result<(), String> {
        let version = format!("{GROUP}/{VERSION}");
        match self.client.list_api_group_resources(&version).await {
            Ok(list) => {
                let missing = ["workloads", "podgroups"]
                    .into_iter()
                    .find(|resource| !list.resources.iter().any(|served| served.name == *resource));
                missing.map_or(Ok(()), |resource| Err(format!("API {version} does not serve {resource}")))
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Err(format!(
                "API {version} (Workload, PodGroup) is not served; kube-apiserver needs feature gate \
                 GenericWorkload and --runtime-config={version}=true"
            )),
            Err(error) => Err(format!("cannot ask the API server for {version}: {error}")),
        }
    }

    async fn topology(&self) -> Result<(), String> {
        if !self.gates.topology_aware_workload_scheduling {
            return Err(
                "feature gate TopologyAwareWorkloadScheduling is declared off on kube-scheduler (profile \
                        default-scheduler, config.schedulerFeatureGates)"
                    .to_owned(),
            );
        }
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), &self.namespace, &pod_groups());
        let object = self.survives(api, &probe_pod_group()).await?;
        field(&object, "/spec/schedulingConstraints/topology/0/key", "TopologyAwareWorkloadScheduling")
    }

    /// The object as the API server would have stored it.
    async fn survives<K>(&self, api: Api<K>, probe: &Value) -> Result<Value, String>
    where
        K: Resource + Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        let unusable =
            |error: String| format!("cannot probe the Workload API in namespace {}: {error}", self.namespace);
        let probe: K = serde_json::from_value(probe.clone()).map_err(|error| unusable(error.to_string()))?;
        let stored = api.create(&PostParams { dry_run: true, ..PostParams::default() }, &probe).await;
        let stored = stored.map_err(|error| unusable(describe(&error)))?;
        serde_json::to_value(stored).map_err(|error| unusable(error.to_string()))
    }
}

fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

fn field(stored: &Value, pointer: &str, gate: &str) -> Result<(), String> {
    match stored.pointer(pointer) {
        Some(value) if !value.is_null() => Ok(()),
        _ => Err(format!(
            "kube-apiserver drops {}: its feature gate {gate} is off",
            pointer.trim_start_matches('/')
        )),
    }
}

/// A pod that even a restricted namespace takes; it is never stored.
fn probe_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "grove-workload-api-probe-"},
        "spec": {
            "schedulingGroup": {"podGroupName": "grove-workload-api-probe"},
            "schedulingGates": [{"name": "grove.io/probe"}],
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "probe", "image": "none",
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "resources": {
                    "requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"cpu": "1m", "memory": "1Mi"},
                },
            }],
        },
    })
}

fn probe_pod_group() -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "PodGroup",
        "metadata": {"generateName": "grove-workload-api-probe-"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "schedulingConstraints": {"topology": [{"key": "kubernetes.io/hostname"}]},
        },
    })
}

#[cfg(test)]
#[path = "detection_tests.rs"]
mod tests;
