//! What a local cluster should be like. The default is what a conformance run uses; negative controls change a part.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A second scheduler that the controller is told of beside the default: an External one, of which there is no process.
/// Its pods are released and never bound; what is promised about more than one backend is shown by it.
pub const EXTERNAL_SCHEDULER: &str = "conformance-external";

/// Feature gates, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(pub BTreeMap<String, bool>);

impl Gates {
    /// The Workload API with gangs and topology, all of it.
    pub fn workload_api() -> Self {
        ["GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling"]
            .into_iter()
            .fold(Self::default(), |gates, name| gates.with(name, true))
    }

    /// The same with one gate set.
    #[must_use]
    pub fn with(mut self, name: &str, on: bool) -> Self {
        self.0.insert(name.into(), on);
        self
    }

    /// Only the named ones.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(name, _)| names.contains(&name.as_str()))
                .map(|(n, v)| (n.clone(), *v))
                .collect(),
        )
    }

    /// Whether a gate is on; one that is not named is off (all of the Workload API's are, by default).
    pub fn is_on(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or(false)
    }

    /// `--feature-gates=…`, if any is named.
    pub fn flag(&self) -> Option<String> {
        let all: Vec<_> = self.0.iter().map(|(name, on)| format!("{name}={on}")).collect();
        (!all.is_empty()).then(|| format!("--feature-gates={}", all.join(",")))
    }
}

/// A control plane.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// Gates of the API server (and of the controller manager).
    pub api_gates: Gates,
    /// API versions that are off by default.
    pub runtime_config: Vec<String>,
    /// Whether the API server serves watches from memory, as it does by default. Without, a watch can be resumed
    /// across a restart of the API server: etcd still knows the versions that a fresh cache does not.
    pub watch_cache: bool,
    /// Gates of the scheduler.
    pub scheduler_gates: Gates,
    /// How the controller under test is configured.
    pub controller: ControllerSpec,
}

/// The reference backend controller's configuration file and hidden flags.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerSpec {
    /// OperatorConfiguration.
    pub configuration: Value,
    /// Faults it is started with; none but in negative controls and crash cases.
    pub faults: Vec<String>,
    /// Whether it elects a leader.
    pub leader_election: bool,
}

impl Default for ControllerSpec {
    fn default() -> Self {
        Self::with_profile(json!({"gangScheduling": true}))
    }
}

impl ControllerSpec {
    /// The default-scheduler profile with this `config`, and that of [`EXTERNAL_SCHEDULER`].
    pub fn with_profile(config: Value) -> Self {
        let configuration = json!({
            "apiVersion": "operator.config.grove.io/v1alpha1",
            "kind": "OperatorConfiguration",
            "scheduler": {
                "defaultProfileName": "default-scheduler",
                "profiles": [
                    {"name": "default-scheduler", "config": config},
                    {"name": EXTERNAL_SCHEDULER, "type": "External"},
                ],
            },
        });
        Self { configuration, faults: Vec::new(), leader_election: false }
    }

    /// The same without the profile of that name.
    #[must_use]
    pub fn without_profile(mut self, name: &str) -> Self {
        if let Some(profiles) = self.configuration["scheduler"]["profiles"].as_array_mut() {
            profiles.retain(|profile| profile["name"] != name);
        }
        self
    }

    /// The same with a fault.
    #[must_use]
    pub fn with_fault(mut self, fault: impl Into<String>) -> Self {
        self.faults.push(fault.into());
        self
    }
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            api_gates: Gates::workload_api(),
            runtime_config: vec!["scheduling.k8s.io/v1alpha2".into()],
            watch_cache: true,
            scheduler_gates: Gates::workload_api(),
            controller: ControllerSpec::default(),
        }
    }
}
