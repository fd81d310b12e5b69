//! Detects which parts of the Workload API are available (KUBE-06).
//!
//! Discovery shows the served version of Workload and PodGroup, and whether CompositePodGroup is served.
//! Dry-run creates show whether the fields survive: an API server with a gate off drops them without an
//! error. The profile declares the gates of the scheduler process, because no API exposes them. Answers are
//! cached, negative ones only briefly, so that an API installed later is found without a restart.

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
use crate::backend::remembered::Remembered;

/// How long to cache complete support.
const POSITIVE: Duration = Duration::from_secs(60);
/// How long to cache an answer that lacks only CompositePodGroup. Kubernetes 1.36 never has it.
const WITHOUT_COMPOSITE: Duration = Duration::from_secs(10);
/// How long to cache any other answer.
const NEGATIVE: Duration = Duration::from_secs(1);

/// What the cluster supports. An error names what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Support {
    /// Gangs, with this version of Workload and PodGroup.
    pub gangs: Result<Version, String>,
    pub topology: Result<(), String>,
    pub composite: Result<(), Lack>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Absent(String),
    /// The API server returned no answer.
    Unknown(String),
}

impl Lack {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Absent(reason) | Self::Unknown(reason) => reason,
        }
    }
}

impl Support {
    /// The scope of a new PodGang that requests `asked`: a tree if CompositePodGroup is available (KUBE-09).
    /// The error explains why a requested tree is missing, or why the answer is unknown.
    pub(super) fn scope(&self, asked: GangScope) -> Result<GangScope, String> {
        match &self.composite {
            Ok(()) => Ok(GangScope::Tree),
            Err(lack) if asked == GangScope::Tree => Err(lack.reason().to_owned()),
            Err(Lack::Absent(_)) => Ok(asked),
            Err(Lack::Unknown(reason)) => Err(reason.clone()),
        }
    }

    fn none(lack: Lack) -> Self {
        let reason = lack.reason().to_owned();
        Self { gangs: Err(reason.clone()), topology: Err(reason), composite: Err(lack) }
    }
}

pub(super) struct Detection {
    questions: Arc<Questions>,
    last: Remembered<Support>,
}

impl Detection {
    /// `namespace` must exist: the dry runs use it.
    pub(super) fn new(client: Client, namespace: String, gates: SchedulerFeatureGates) -> Self {
        let holds = |support: &Support| match (&support.gangs, &support.topology, &support.composite) {
            (Ok(_), Ok(()), Ok(())) => POSITIVE,
            (Ok(_), Ok(()), Err(Lack::Absent(_))) => WITHOUT_COMPOSITE,
            _ => NEGATIVE,
        };
        let unanswered = |reason| Support::none(Lack::Unknown(reason));
        let questions = Arc::new(Questions { client, namespace, gates });
        Self { questions, last: Remembered::new(holds, unanswered) }
    }

    pub(super) async fn support(&self) -> Support {
        let questions = Arc::clone(&self.questions);
        self.last.answer(async move { questions.ask().await }).await
    }
}

struct Questions {
    client: Client,
    namespace: String,
    gates: SchedulerFeatureGates,
}

impl Questions {
    async fn ask(&self) -> Support {
        if let Some(gate) = self.gates.missing_for_gangs() {
            return Support::none(Lack::Absent(declared_off(gate)));
        }
        let version = match self.version().await {
            Ok(version) => version,
            Err(lack) => return Support::none(lack),
        };
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.namespace);
        let gangs = self.survives(pods, &probe_pod()).await;
        let gangs = gangs.and_then(|object| field(&object, "/spec/schedulingGroup", "GenericWorkload"));
        if let Err(lack) = gangs {
            return Support::none(lack);
        }
        let topology = self.topology(version).await.map_err(|lack| lack.reason().to_owned());
        Support { gangs: Ok(version), topology, composite: self.composite(version).await }
    }

    /// The newest version that serves both Workload and PodGroup.
    async fn version(&self) -> Result<Version, Lack> {
        let mut lacks = Vec::new();
        for version in Version::ALL {
            match self.served(version.as_str(), &["workloads", "podgroups"]).await {
                Ok(()) => return Ok(version),
                Err(Lack::Absent(reason)) => lacks.push(reason),
                Err(lack) => return Err(lack),
            }
        }
        Err(Lack::Absent(lacks.join("; ")))
    }

    async fn served(&self, version: &str, resources: &[&str]) -> Result<(), Lack> {
        let version = format!("{GROUP}/{version}");
        match self.client.list_api_group_resources(&version).await {
            Ok(list) => {
                let is_served =
                    |resource: &&&str| list.resources.iter().any(|served| served.name == **resource);
                match resources.iter().find(|resource| !is_served(resource)) {
                    None => Ok(()),
                    Some(resource) => Err(Lack::Absent(format!("API {version} does not serve {resource}"))),
                }
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Err(Lack::Absent(format!(
                "API {version} ({}) is not served; kube-apiserver needs its feature gates and \
                 --runtime-config={version}=true",
                resources.join(", ")
            ))),
            Err(error) => Err(Lack::Unknown(format!("cannot ask the API server for {version}: {error}"))),
        }
    }

    async fn topology(&self, version: Version) -> Result<(), Lack> {
        const GATE: &str = "TopologyAwareWorkloadScheduling";
        if !self.gates.topology_aware_workload_scheduling {
            return Err(Lack::Absent(declared_off(GATE)));
        }
        let object = self.probe_pod_group(version, json!({})).await?;
        field(&object, "/spec/schedulingConstraints/topology/0/key", GATE)
    }

    async fn composite(&self, version: Version) -> Result<(), Lack> {
        const GATE: &str = "CompositePodGroup";
        if !self.gates.composite_pod_group {
            return Err(Lack::Absent(declared_off(GATE)));
        }
        if version == Version::V1Alpha2 {
            return Err(Lack::Absent(format!("{GATE} comes with Kubernetes 1.37")));
        }
        let absent = |lack| match lack {
            Lack::Absent(reason) => Lack::Absent(format!("{reason} (feature gate {GATE})")),
            unknown @ Lack::Unknown(_) => unknown,
        };
        self.served(COMPOSITE_VERSION, &["compositepodgroups"]).await.map_err(absent)?;
        let below = json!({
            "parentCompositePodGroupName": PROBE,
            "workloadRef": {"workloadName": PROBE, "templateName": PROBE},
        });
        let object = self.probe_pod_group(version, below).await?;
        field(&object, "/spec/parentCompositePodGroupName", GATE)
    }

    async fn probe_pod_group(&self, version: Version, more: Value) -> Result<Value, Lack> {
        let resource = version.pod_groups();
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let mut probe = probe_pod_group(version);
        if let (Some(spec), Value::Object(more)) = (probe["spec"].as_object_mut(), more) {
            spec.extend(more);
        }
        self.survives(api, &probe).await
    }

    /// Creates `probe` as a dry run and returns it as the API server would have stored it.
    async fn survives<K>(&self, api: Api<K>, probe: &Value) -> Result<Value, Lack>
    where
        K: Resource + Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        let unusable =
            |error: String| format!("cannot probe the Workload API in namespace {}: {error}", self.namespace);
        let wrong = |error: serde_json::Error| Lack::Unknown(unusable(error.to_string()));
        let probe: K = serde_json::from_value(probe.clone()).map_err(wrong)?;
        let stored = api.create(&PostParams { dry_run: true, ..PostParams::default() }, &probe).await;
        let stored = stored.map_err(|error| match error {
            kube::Error::Api(status) if status.code < 500 && status.code != 429 => {
                Lack::Absent(unusable(status.message.clone()))
            }
            other => Lack::Unknown(unusable(other.to_string())),
        })?;
        serde_json::to_value(stored).map_err(wrong)
    }
}

fn declared_off(gate: &str) -> String {
    format!(
        "feature gate {gate} is declared off on kube-scheduler (profile default-scheduler, \
         config.schedulerFeatureGates)"
    )
}

fn field(stored: &Value, pointer: &str, gate: &str) -> Result<(), Lack> {
    match stored.pointer(pointer) {
        Some(value) if !value.is_null() => Ok(()),
        _ => Err(Lack::Absent(format!(
            "kube-apiserver drops {}: its feature gate {gate} is off",
            pointer.trim_start_matches('/')
        ))),
    }
}

const PROBE: &str = "grove-workload-api-probe";

/// A pod that satisfies even a restricted namespace. It is never stored.
fn probe_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": format!("{PROBE}-")},
        "spec": {
            "schedulingGroup": {"podGroupName": PROBE},
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
        "metadata": {"generateName": format!("{PROBE}-")},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "schedulingConstraints": {"topology": [{"key": "kubernetes.io/hostname"}]},
        },
    })
}

#[cfg(test)]
#[path = "detection_tests.rs"]
mod tests;
