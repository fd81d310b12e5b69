//! Detects which parts of the Workload API the cluster supports. Dry-run creates show whether the API server
//! keeps a field: with the feature gate off, it drops the field without an error (KUBE-06).

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::GangScope;
use super::config::SchedulerFeatureGates;
use super::workload_api::{COMPOSITE_VERSION, GROUP, Version};
use crate::backend::cached_answer::CachedAnswer;

const POSITIVE: Duration = Duration::from_secs(60);
/// How long to cache an answer without CompositePodGroup, which Kubernetes 1.36 never has.
const WITHOUT_COMPOSITE: Duration = Duration::from_secs(10);
const NEGATIVE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Support {
    pub gangs: Result<Version, String>,
    pub topology: Result<(), String>,
    pub composite: Result<(), Unavailable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unavailable {
    Absent(String),
    Unknown(String),
}

impl Unavailable {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Absent(reason) | Self::Unknown(reason) => reason,
        }
    }
}

impl Support {
    /// The scope of a new PodGang. It is a tree if CompositePodGroup is available (KUBE-09).
    pub(super) fn scope(&self, requested: GangScope) -> Result<GangScope, String> {
        match &self.composite {
            Ok(()) => Ok(GangScope::Tree),
            Err(unavailable) if requested == GangScope::Tree => Err(unavailable.reason().to_owned()),
            Err(Unavailable::Absent(_)) => Ok(requested),
            Err(Unavailable::Unknown(reason)) => Err(reason.clone()),
        }
    }

    fn none(unavailable: Unavailable) -> Self {
        let reason = unavailable.reason().to_owned();
        Self { gangs: Err(reason.clone()), topology: Err(reason), composite: Err(unavailable) }
    }
}

pub(super) struct Detection {
    probe: Arc<Probe>,
    last: CachedAnswer<Support>,
}

impl Detection {
    pub(super) fn new(client: Client, namespace: String, gates: SchedulerFeatureGates) -> Self {
        let ttl = |support: &Support| match (&support.gangs, &support.topology, &support.composite) {
            (Ok(_), Ok(()), Ok(())) => POSITIVE,
            (Ok(_), Ok(()), Err(Unavailable::Absent(_))) => WITHOUT_COMPOSITE,
            _ => NEGATIVE,
        };
        let on_timeout = |reason| Support::none(Unavailable::Unknown(reason));
        let probe = Arc::new(Probe { client, namespace, gates });
        Self { probe, last: CachedAnswer::new(ttl, on_timeout) }
    }

    pub(super) async fn support(&self) -> Support {
        let probe = Arc::clone(&self.probe);
        self.last.get(async move { probe.run().await }).await
    }
}

struct Probe {
    client: Client,
    namespace: String,
    gates: SchedulerFeatureGates,
}

impl Probe {
    async fn run(&self) -> Support {
        if let Some(gate) = self.gates.missing_for_gangs() {
            return Support::none(Unavailable::Absent(declared_off(gate)));
        }
        let version = match self.version().await {
            Ok(version) => version,
            Err(unavailable) => return Support::none(unavailable),
        };
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.namespace);
        let gangs = self.dry_run(pods, &probe_pod()).await;
        let gangs = gangs.and_then(|object| field(&object, "/spec/schedulingGroup", "GenericWorkload"));
        if let Err(unavailable) = gangs {
            return Support::none(unavailable);
        }
        let topology = self.topology(version).await.map_err(|unavailable| unavailable.reason().to_owned());
        Support { gangs: Ok(version), topology, composite: self.composite(version).await }
    }

    async fn version(&self) -> Result<Version, Unavailable> {
        let mut reasons = Vec::new();
        for version in Version::ALL {
            match self.served(version.as_str(), &["workloads", "podgroups"]).await {
                Ok(()) => return Ok(version),
                Err(Unavailable::Absent(reason)) => reasons.push(reason),
                Err(unavailable) => return Err(unavailable),
            }
        }
        Err(Unavailable::Absent(reasons.join("; ")))
    }

    async fn served(&self, version: &str, resources: &[&str]) -> Result<(), Unavailable> {
        let version = format!("{GROUP}/{version}");
        match self.client.list_api_group_resources(&version).await {
            Ok(list) => {
                let is_served =
                    |resource: &&&str| list.resources.iter().any(|served| served.name == **resource);
                match resources.iter().find(|resource| !is_served(resource)) {
                    None => Ok(()),
                    Some(resource) => {
                        Err(Unavailable::Absent(format!("API {version} does not serve {resource}")))
                    }
                }
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Err(Unavailable::Absent(format!(
                "API {version} ({}) is not served; start kube-apiserver with --runtime-config={version}=true \
                 and the feature gates of this API",
                resources.join(", ")
            ))),
            Err(error) => {
                Err(Unavailable::Unknown(format!("cannot ask the API server for {version}: {error}")))
            }
        }
    }

    async fn topology(&self, version: Version) -> Result<(), Unavailable> {
        const GATE: &str = "TopologyAwareWorkloadScheduling";
        if !self.gates.topology_aware_workload_scheduling {
            return Err(Unavailable::Absent(declared_off(GATE)));
        }
        let object = self.probe_pod_group(version, json!({})).await?;
        field(&object, "/spec/schedulingConstraints/topology/0/key", GATE)
    }

    async fn composite(&self, version: Version) -> Result<(), Unavailable> {
        const GATE: &str = "CompositePodGroup";
        if !self.gates.composite_pod_group {
            return Err(Unavailable::Absent(declared_off(GATE)));
        }
        if version == Version::V1Alpha2 {
            return Err(Unavailable::Absent(format!("{GATE} needs Kubernetes 1.37 or newer")));
        }
        let with_gate = |unavailable| match unavailable {
            Unavailable::Absent(reason) => Unavailable::Absent(format!("{reason} (feature gate {GATE})")),
            unknown @ Unavailable::Unknown(_) => unknown,
        };
        self.served(COMPOSITE_VERSION, &["compositepodgroups"]).await.map_err(with_gate)?;
        let child = json!({
            "parentCompositePodGroupName": PROBE_NAME,
            "workloadRef": {"workloadName": PROBE_NAME, "templateName": PROBE_NAME},
        });
        let object = self.probe_pod_group(version, child).await?;
        field(&object, "/spec/parentCompositePodGroupName", GATE)
    }

    async fn probe_pod_group(&self, version: Version, extra: Value) -> Result<Value, Unavailable> {
        let resource = version.pod_groups();
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let mut probe = probe_pod_group(version);
        if let (Some(spec), Value::Object(extra)) = (probe["spec"].as_object_mut(), extra) {
            spec.extend(extra);
        }
        self.dry_run(api, &probe).await
    }

    async fn dry_run<K>(&self, api: Api<K>, probe: &Value) -> Result<Value, Unavailable>
    where
        K: Resource + Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        let failure =
            |error: String| format!("cannot probe the Workload API in namespace {}: {error}", self.namespace);
        let malformed = |error: serde_json::Error| Unavailable::Unknown(failure(error.to_string()));
        let probe: K = serde_json::from_value(probe.clone()).map_err(malformed)?;
        let stored = api.create(&PostParams { dry_run: true, ..PostParams::default() }, &probe).await;
        let stored = stored.map_err(|error| match error {
            kube::Error::Api(status) if status.code < 500 && status.code != 429 => {
                Unavailable::Absent(failure(status.message.clone()))
            }
            other => Unavailable::Unknown(failure(other.to_string())),
        })?;
        serde_json::to_value(stored).map_err(malformed)
    }
}

fn declared_off(gate: &str) -> String {
    format!(
        "profile default-scheduler declares that feature gate {gate} is off on kube-scheduler \
         (config.schedulerFeatureGates)"
    )
}

fn field(stored: &Value, pointer: &str, gate: &str) -> Result<(), Unavailable> {
    match stored.pointer(pointer) {
        Some(value) if !value.is_null() => Ok(()),
        _ => Err(Unavailable::Absent(format!(
            "kube-apiserver drops {}: its feature gate {gate} is off",
            pointer.trim_start_matches('/')
        ))),
    }
}

const PROBE_NAME: &str = "grove-workload-api-probe";

/// A pod that a namespace with the `restricted` Pod Security Standard accepts. A dry run never stores it.
fn probe_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": format!("{PROBE_NAME}-")},
        "spec": {
            "schedulingGroup": {"podGroupName": PROBE_NAME},
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

fn probe_pod_group(version: Version) -> Value {
    json!({
        "apiVersion": version.api_version(), "kind": "PodGroup",
        "metadata": {"generateName": format!("{PROBE_NAME}-")},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "schedulingConstraints": {"topology": [{"key": "kubernetes.io/hostname"}]},
        },
    })
}

#[cfg(test)]
#[path = "detection_tests.rs"]
mod tests;
